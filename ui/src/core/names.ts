// The names of ranges by their id, and what depends only on a name: its colour and whether the search finds it.

import { nameColour } from '../timeline/palette';
import { kUnknown } from './protocol';
import type { NamesAnswer } from './client';

export class Names {
  readonly text: string[] = [];
  private readonly bases: number[] = [];
  private readonly categories: string[] = [];
  private readonly colours: number[] = [];
  private readonly known = new Set<string>();

  get count(): number {
    return this.text.length;
  }

  add(answer: NamesAnswer): void {
    if (answer.from > this.text.length) return; // a part is missing: the caller asks again from `count` on
    answer.names.forEach((name, i) => {
      const id = answer.from + i;
      const base = answer.bases?.[i] ?? id;
      this.text[id] = name;
      this.known.add(name);
      this.bases[id] = base;
      this.categories[id] = answer.categories?.[i] ?? '';
      this.colours[id] = base < id ? (this.colours[base] ?? nameColour(name)) : nameColour(name);
    });
  }

  has(name: string): boolean {
    return this.known.has(name);
  }
  of(id: number): string {
    return id === kUnknown || id < 0 ? '' : (this.text[id] ?? '…');
  }
  baseOf(id: number): string {
    return this.text[this.bases[id] ?? id] ?? '';
  }
  categoryOf(id: number): string {
    return this.categories[id] ?? '';
  }
  colourOf(id: number): number {
    return this.colours[id] ?? 0;
  }
}

/** The rule of api/search: a part of the name in any case, or a pattern with * and ? for the whole name. */
export function matcher(query: string): (name: string) => boolean {
  const text = query.toLowerCase();
  if (text === '') return () => false;
  if (!/[*?]/.test(text)) return (name) => name.toLowerCase().includes(text);
  const escaped = text.replace(/[.+^${}()|[\]\\]/g, '\\$&').replace(/\*/g, '[^]*').replace(/\?/g, '[^]');
  const pattern = new RegExp(`^${escaped}$`, 'i');
  return (name) => pattern.test(name);
}
