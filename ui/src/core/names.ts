// The names of ranges by their id, and what depends only on a name: its colour and whether the search finds it.

import { nameColour, ownColour } from '../timeline/palette';
import { kUnknown } from './protocol';
import type { NamesAnswer } from './client';

export class Names {
  readonly text: string[] = [];
  private readonly bases: number[] = [];
  private readonly categories: string[] = [];
  private readonly colours: number[] = [];
  private readonly known = new Map<string, number>(); // the colours by text

  get count(): number {
    return this.text.length;
  }

  add(answer: NamesAnswer): void {
    if (answer.from > this.text.length) return; // a part is missing: the caller asks again from `count` on
    answer.names.forEach((name, i) => {
      const id = answer.from + i;
      const base = answer.bases?.[i] ?? id;
      this.text[id] = name;
      this.bases[id] = base;
      this.categories[id] = answer.categories?.[i] ?? '';
      const chosen = answer.colours?.[i] ? ownColour(answer.colours[i]) : undefined;
      this.colours[id] = chosen ?? (base < id ? this.colours[base] : undefined) ?? nameColour(name);
      this.known.set(name, this.colours[id]);
    });
  }

  has(name: string): boolean {
    return this.known.has(name);
  }
  of(id: number): string {
    if (id === kUnknown || id < 0) return '';
    return this.text[id] === '' ? '(no name)' : (this.text[id] ?? '…');
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
  /** The same colour, for a panel that has only the text. */
  colourOfText(name: string): number {
    return this.known.get(name) ?? nameColour(name);
  }
}

/** The search for this name alone: "step 13", but not "step 130". */
export function exactly(name: string): string {
  return `"${name}"`;
}

/** Words of a search that are no part of a name: "dur>1ms thread:loader". */
const kCondition = /^(dur[<>]|(thread|category):|arg(\.[^:<>=]+)?[:<>=])./;

/** What a search says about names. */
export function namePart(query: string): string {
  const exact = query.match(/^".+"(?= |$)/s)?.[0] ?? '';
  const words = query.slice(exact.length).split(' ');
  return exact + words.filter((word) => !kCondition.test(word)).join(' ').trimEnd();
}

/**
 * The rule of api/search: a part of the name in any case, a pattern with * and ? for the whole name, or the name itself
 * in quotation marks.
 */
export function matcher(search: string): (name: string) => boolean {
  const query = namePart(search);
  const text = query.toLowerCase();
  if (text === '') return () => false;
  if (/^".+"$/s.test(query)) return (name) => name === query.slice(1, -1);
  if (!/[*?]/.test(text)) return (name) => name.toLowerCase().includes(text);
  return (name) => matchesPattern(text, name.toLowerCase());
}

/** As base::matches of the server. A regular expression takes very long for some patterns, such as "*****a". */
function matchesPattern(pattern: string, name: string): boolean {
  let at = 0;
  let from = 0;
  let star = -1;
  let tried = 0;
  while (from < name.length) {
    if (pattern[at] === '*') {
      star = at++;
      tried = from;
    } else if (at < pattern.length && (pattern[at] === '?' || pattern[at] === name[from])) {
      ++at;
      ++from;
    } else if (star >= 0) {
      at = star + 1;
      from = ++tried;
    } else {
      return false;
    }
  }
  while (pattern[at] === '*') ++at;
  return at === pattern.length;
}
