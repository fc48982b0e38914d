// Where the evidence of a finding of the report is, from the command that shows more of it.

import { exactly } from '../core/names';
import type { Span } from '../core/viewport';

/** 'waiting', 'ready': the longest of these states of a thread that the finding names. */
export type Evidence = { span: Span } | { search: string } | 'functions' | 'waiting' | 'ready' | 'memory' | 'totals';

const kNs = 1000; // of the microseconds in a command

/**
 * The wait that a text names: "waits for a mutex: lookup" if it says "waiting for a mutex, in lookup", otherwise any wait of
 * a function in it. `names`: the one with the most time first.
 */
export function stateIn(text: string, names: readonly string[]): number {
  const waits = names.map((name) => name.match(/^(.*?): (.*)$/s) ?? ['', '\0', '\0']).map(([, how, where]) => ({ how: how.replace('waits', 'waiting'), where }));
  const sameHow = waits.findIndex(({ how, where }) => text.includes(where) && text.includes(how));
  return sameHow >= 0 ? sameHow : waits.findIndex(({ where }) => text.includes(where));
}

export function evidenceOf(command: string): Evidence {
  const time = command.match(/ --from (\d+)us --to (\d+)us$/);
  if (time) return { span: { from: Number(time[1]) * kNs, to: Number(time[2]) * kNs } };
  const name = /^kymo hist | --callees /.test(command) ? command.match(/ ('(?:[^']|'\\'')*'|[^' ]+)$/)?.[1] : undefined;
  if (name !== undefined) {
    const text = name.replaceAll("'\\''", '\0').replaceAll("'", '').replaceAll('\0', "'");
    return { search: /[*?]/.test(text) ? text : exactly(text) };
  }
  if (command.startsWith('kymo memory ')) return 'memory';
  const by = command.match(/ --by (\w+)$/)?.[1];
  return by === 'function' ? 'functions' : by === 'wait' || by === 'lock' ? 'waiting' : by === 'thread' ? 'ready' : 'totals';
}
