// The totals of a selection: the server reads one file at a time.

import type { SelectionAnswer, Track } from './protocol';
import type { Client } from './client';
import type { Span } from './viewport';
import { isPlot } from '../timeline/layout';

/** The tracks of a selection by file, in the order of the files. No tracks: all of the first file. */
export function tracksByFile(ids: readonly number[], track: (id: number) => Track | undefined): Map<number, number[]> {
  const files = new Map<number, number[]>();
  const withEvents = new Set<number>();
  for (const id of ids) {
    const known = track(id);
    const file = known?.file ?? 0;
    if (!files.has(file)) files.set(file, []);
    files.get(file)!.push(id);
    if (known && !isPlot(known)) withEvents.add(file);
  }
  if (files.size === 0) files.set(0, []);
  // A file of which only plots are selected has no totals.
  const wanted = [...files].filter(([file]) => withEvents.size === 0 || withEvents.has(file));
  return new Map(wanted.sort(([a], [b]) => a - b));
}

/** Requests the totals of each file. `shiftOf` says how far the times of a file are moved on the page. */
export function requestTotals(client: Client, span: Span, files: ReadonlyMap<number, number[]>, shiftOf: (file: number) => number, signal: AbortSignal): Promise<SelectionAnswer[]> {
  return Promise.all(
    [...files].map(async ([file, tracks]) => {
      const shift = shiftOf(file);
      return { ...(await client.selection(span.from - shift, span.to - shift, tracks, signal)), file };
    }),
  );
}
