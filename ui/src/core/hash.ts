// The view in the URL: what is after the # is enough to open the same view again.

export interface Bookmark {
  time?: { from: number; to: number };
  scroll?: number;
  selection?: { from: number; to: number; tracks: number[] };
  event?: { track: number; chunk: number; index: number };
  toggled?: string[];
  hidden?: string[];
  arrangement?: string;
  pinned?: number[];
  order?: number[];
  filter?: string;
  search?: string;
  tab?: string;
  theme?: string;
  shifts?: number[]; // by file
  flags?: Array<{ time: number; note: string }>;
}

const kMaxIds = 500;
const kLongestNs = 2 ** 62; // the server accepts no later time

export function writeHash(view: Bookmark): string {
  const parts: string[] = [];
  const add = (key: string, value: string | undefined) => {
    if (value) parts.push(`${key}=${value}`);
  };
  if (view.time) add('t', `${plain(view.time.from)},${plain(view.time.to)}`);
  if (view.scroll) add('y', String(Math.round(view.scroll)));
  if (view.selection) add('s', [view.selection.from, view.selection.to].map(plain).concat(view.selection.tracks.slice(0, kMaxIds).map(String)).join(','));
  if (view.event) add('e', `${view.event.track}.${view.event.chunk}.${view.event.index}`);
  add('c', view.toggled?.slice(0, kMaxIds).join(','));
  add('h', view.hidden?.slice(0, kMaxIds).join(','));
  add('by', view.arrangement);
  add('p', view.pinned?.slice(0, kMaxIds).join(','));
  add('o', view.order?.slice(0, kMaxIds).join(','));
  if (view.filter) add('f', encodeURIComponent(view.filter));
  if (view.search) add('q', encodeURIComponent(view.search));
  add('tab', view.tab);
  add('theme', view.theme);
  if (view.shifts?.some((shift) => shift !== 0)) add('d', Array.from(view.shifts, (shift) => plain(shift ?? 0)).join(','));
  add('n', view.flags?.slice(0, kMaxIds).map(({ time, note }) => `${plain(time)}:${encodeURIComponent(note)}`).join(','));
  return parts.join('&');
}

/** Reads a hash. A part that does not make sense is ignored: a bookmark may be older than the page. */
export function readHash(hash: string): Bookmark {
  const view: Bookmark = {};
  for (const part of hash.replace(/^#/, '').split('&')) {
    const [key, value] = split(part);
    if (!value) continue;
    const values = value.split(',');
    if (key === 't') {
      const span = numbers(values);
      if (span.length === 2 && span[1] > span[0]) view.time = { from: span[0], to: span[1] };
    } else if (key === 'y') {
      const [scroll] = numbers([value]);
      if (scroll !== undefined) view.scroll = scroll;
    } else if (key === 's') {
      const all = numbers(values);
      if (all.length >= 2 && all[1] > all[0] && all[1] < kLongestNs) view.selection = { from: all[0], to: all[1], tracks: all.slice(2).filter(isId) };
    } else if (key === 'e') {
      const ids = numbers(value.split('.')).filter(isId);
      if (ids.length === 3) view.event = { track: ids[0], chunk: ids[1], index: ids[2] };
    } else if (key === 'c') view.toggled = values.filter((id) => /^[ptf]\d+$/.test(id));
    else if (key === 'h') view.hidden = values.filter((id) => /^[pt]\d+$/.test(id));
    else if (key === 'by' && /^[a-z]+$/.test(value)) view.arrangement = value;
    else if (key === 'p') view.pinned = numbers(values).filter(isId);
    else if (key === 'o') view.order = numbers(values).filter(isId);
    else if (key === 'f') view.filter = decode(value);
    else if (key === 'q') view.search = decode(value);
    else if (key === 'tab' && /^[a-z]+$/.test(value)) view.tab = value;
    else if (key === 'theme' && (value === 'dark' || value === 'light')) view.theme = value;
    else if (key === 'd') view.shifts = numbers(values).filter((shift) => Math.abs(shift) < kLongestNs);
    else if (key === 'n') {
      const flags = values.map((flag) => ({ time: Number(flag.split(':')[0]), note: decode(flag.slice(flag.indexOf(':') + 1)) }));
      view.flags = flags.filter(({ time, note }) => time >= 0 && time < kLongestNs && note !== '');
    }
  }
  return view;
}

function split(part: string): [string, string] {
  const at = part.indexOf('=');
  return at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)];
}

function plain(value: number): string {
  return String(Math.round(value * 1000) / 1000);
}

function numbers(values: string[]): number[] {
  return values.filter((v) => v !== '').map(Number).filter(Number.isFinite);
}

function isId(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < 2 ** 32;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
