// What a comparison means for the colours and the alignment of the timeline.

export interface DiffRow {
  path: string;
  device: boolean;
  change: string;
  median_a_ns: number;
  median_b_ns: number;
  shift_ns: number;
  significant: boolean;
}
export interface DiffAnswer {
  enough: boolean;
  iteration: DiffRow;
  rows: DiffRow[];
}

/** By the name of a range: 1 if its paths together became slower, -1 if faster. A name without a significant change is missing. */
export function changesByName(diff: DiffAnswer, names: KnownNames): Map<string, number> {
  const shifts = new Map<string, number>();
  for (const row of diff.rows) {
    if (!row.significant) continue;
    const name = lastName(row.path, names);
    shifts.set(name, (shifts.get(name) ?? 0) + row.shift_ns);
  }
  return new Map([...shifts].map(([name, shift]) => [name, Math.sign(shift)]));
}

/** Tells whether a text is the name of a range. */
export interface KnownNames {
  has(name: string): boolean;
}

/**
 * The name at the end of a path such as "step {}/forward > gemm". A name may contain the separator, so it is the longest
 * end of the path that is a name.
 */
export function lastName(path: string, names: KnownNames): string {
  const kernel = path.lastIndexOf(' > ');
  const end = kernel >= 0 ? path.slice(kernel + 3) : path;
  for (let at = 0; at >= 0; at = end.indexOf('/', at) + 1 || -1) {
    if (names.has(end.slice(at))) return end.slice(at);
  }
  return end.slice(end.lastIndexOf('/') + 1);
}

/** How far to move the second trace so that its iteration with the number of the one at `time` starts with it. */
export function iterationShift(a: ReadonlyArray<{ start_ns: number }>, b: ReadonlyArray<{ start_ns: number }>, time: number): number | undefined {
  if (a.length === 0 || b.length === 0) return undefined;
  let number = a.findIndex((iteration) => iteration.start_ns > time) - 1;
  if (number === -2) number = a.length - 1;
  number = Math.max(0, Math.min(number, b.length - 1, a.length - 1));
  return a[number].start_ns - b[number].start_ns;
}
