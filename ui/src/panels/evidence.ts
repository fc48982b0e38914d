// Where the evidence of a finding of the report is, from the command that shows more of it.

import { exactly } from '../core/names';
import type { Span } from '../core/viewport';

export type Evidence = { span: Span } | { search: string } | 'functions' | 'totals';

const kNs = 1000; // of the microseconds in a command

export function evidenceOf(command: string): Evidence {
  const time = command.match(/ --from (\d+)us --to (\d+)us$/);
  if (time) return { span: { from: Number(time[1]) * kNs, to: Number(time[2]) * kNs } };
  const name = command.startsWith('kymo hist ') ? command.match(/ ('(?:[^']|'\\'')*'|[^' ]+)$/)?.[1] : undefined;
  if (name !== undefined) {
    const text = name.replaceAll("'\\''", '\0').replaceAll("'", '').replaceAll('\0', "'");
    return { search: /[*?]/.test(text) ? text : exactly(text) };
  }
  return command.endsWith(' --by function') ? 'functions' : 'totals';
}
