// Where tracks are: a list of lanes from top to bottom, built when tracks, filter, order or folding change.

import type { Process, TraceInfo, Track } from '../core/protocol';
import type { Rows } from './rows';

export const kRowHeight = 18;
export const kHeaderHeight = 24;
const kPadding = 3;
const kCounterHeight = 46;
const kCollapsedHeight = 22;
/** A lane of functions that is folded has this many rows: one row would say little. */
export const kShortRows = 6;
export const kInstantHeight = 9;

export interface Lane {
  process: Process;
  track?: Track; // undefined: the header of the process
  label: string; // the name of the track, with its number if another thread of the process has the same
  y: number; // from the top of its list
  height: number;
  rows: number; // that are drawn
  firstRow: number; // the rows before it are not drawn
  hiddenRows: number; // of functions: rows that are not drawn, before and after
  instants: boolean; // whether there is a row for instants above the others
  collapsed: boolean;
  pinned: boolean;
}

export interface LayoutOptions {
  toggled: ReadonlySet<string>; // "p3": process 3, "t7": track 7: folded, or unfolded if it is folded by default
  pinned: readonly number[];
  order: readonly number[];
  filter: string;
}

export interface Layout {
  pinned: Lane[];
  pinnedHeight: number;
  lanes: Lane[];
  height: number;
  shown: number; // tracks that pass the filter
}

export function buildLayout(trace: TraceInfo, rows: Rows, options: LayoutOptions): Layout {
  const processes = new Map(trace.processes.map((p) => [p.id, p]));
  const groups = new Map<number, Track[]>(trace.processes.map((p) => [p.id, []]));
  const isPinned = new Set(options.pinned);
  const matches = compileFilter(options.filter);
  const activity = new Map<number, number>(); // of threads and queues
  let shown = 0;
  for (const track of trace.tracks) {
    activity.set(track.thread ?? track.id, Math.max(track.busy_ns ?? 0, activity.get(track.thread ?? track.id) ?? 0));
  }
  for (const track of trace.tracks) {
    if (isPinned.has(track.id) || isOnlySamples(track)) continue;
    const process = processes.get(track.process) ?? unknownProcess(track.process);
    if (!matches(track, process)) continue;
    ++shown;
    if (!processes.has(process.id)) processes.set(process.id, process);
    const group = groups.get(process.id);
    if (group) group.push(track);
    else groups.set(process.id, [track]);
  }
  for (const [id, tracks] of groups) {
    const busy = (track: Track) => (track.kind === 'thread' || track.kind === 'queue' ? (activity.get(track.id) ?? 0) : 0);
    tracks.sort((a, b) => kKinds.indexOf(a.kind) - kKinds.indexOf(b.kind) || busy(b) - busy(a) || mainFirst(a, b, processes)); // stable
    groups.set(id, partsBelowThreads(tracks));
  }
  const busiest = (process: Process) => (groups.get(process.id) ?? []).reduce((most, track) => Math.max(most, activity.get(track.id) ?? 0), 0);
  const twins = new Map<string, number>();
  const nameOf = (track: Track) => `${track.process} ${track.name}`;
  for (const track of trace.tracks) if (track.kind === 'thread' && !isOnlySamples(track)) twins.set(nameOf(track), (twins.get(nameOf(track)) ?? 0) + 1);
  const labelOf = (track: Track) => (track.kind === 'thread' && track.tid && twins.get(nameOf(track))! > 1 ? `${track.name} ${track.tid}` : track.name || `track ${track.id}`);
  const layout: Layout = { pinned: [], pinnedHeight: 0, lanes: [], height: 0, shown };
  const byId = new Map(trace.tracks.map((t) => [t.id, t]));
  for (const id of options.pinned) {
    const track = byId.get(id);
    if (!track) continue;
    const process = processes.get(track.process) ?? unknownProcess(track.process);
    const lane = laneOf(track, process, labelOf(track), rows, layout.pinnedHeight, options.toggled, true);
    layout.pinned.push(lane);
    layout.pinnedHeight += lane.height;
  }
  const place = new Map(options.order.map((id, at) => [id, at]));
  for (const process of [...processes.values()].sort((a, b) => byFile(a, b) || busiest(b) - busiest(a) || byPid(a, b))) {
    const { id } = process;
    const tracks = groups.get(id) ?? [];
    if (tracks.length === 0) continue;
    const collapsed = options.toggled.has(`p${id}`);
    layout.lanes.push({ process, label: '', y: layout.height, height: kHeaderHeight, rows: 0, firstRow: 0, hiddenRows: 0, instants: false, collapsed, pinned: false });
    layout.height += kHeaderHeight;
    if (collapsed) continue;
    if (tracks.some((t) => place.has(t.id))) {
      tracks.sort((a, b) => (place.get(a.id) ?? Infinity) - (place.get(b.id) ?? Infinity) || 0);
    }
    for (const track of tracks) {
      const lane = laneOf(track, process, labelOf(track), rows, layout.height, options.toggled, false);
      layout.lanes.push(lane);
      layout.height += lane.height;
    }
  }
  return layout;
}

const kKinds = ['memory', 'thread', 'states', 'functions', 'across', 'queue', 'counter']; // memory is one row, and stays in sight

/** Of threads that are equally busy. */
function mainFirst(a: Track, b: Track, processes: ReadonlyMap<number, Process>): number {
  const isMain = (track: Track) => track.kind === 'thread' && track.tid !== undefined && track.tid === processes.get(track.process)?.pid;
  return Number(isMain(b)) - Number(isMain(a));
}

/** The samples of a thread that is shown already: their functions say more. */
function isOnlySamples(track: Track): boolean {
  return track.kind === 'thread' && track.thread !== undefined && (track.ranges ?? 0) === 0;
}

/** The samples, the states and the functions of a thread are below it. */
function partsBelowThreads(tracks: Track[]): Track[] {
  const ids = new Set(tracks.map((t) => t.id));
  const parts = new Map<number, Track[]>();
  for (const track of tracks) {
    if (track.thread === undefined || !ids.has(track.thread)) continue;
    const below = parts.get(track.thread);
    if (below) below.push(track);
    else parts.set(track.thread, [track]);
  }
  if (parts.size === 0) return tracks;
  return tracks.flatMap((track) => (track.thread !== undefined && ids.has(track.thread) ? [] : [track, ...(parts.get(track.id) ?? [])]));
}

/** Devices before the programs of a file: they have few rows, and those of many threads would move them out of sight. */
function byFile(a: Process, b: Process): number {
  return a.file - b.file || Number(b.device ?? false) - Number(a.device ?? false);
}

/** What has no id is last. */
function byPid(a: Process, b: Process): number {
  const pid = (process: Process) => process.pid || Number.MAX_SAFE_INTEGER;
  return pid(a) - pid(b) || a.id - b.id;
}

function laneOf(track: Track, process: Process, label: string, table: Rows, y: number, toggled: ReadonlySet<string>, pinned: boolean): Lane {
  const all = table.count(track);
  const isDeep = track.kind === 'functions' && all > kShortRows;
  const collapsed = toggled.has(`t${track.id}`) !== isDeep;
  const instants = !collapsed && (track.points ?? 0) > 0;
  const empty = instants && (track.ranges ?? 0) === 0;
  const rows = collapsed ? (isDeep ? kShortRows : 1) : empty ? 0 : all;
  let height = rows * kRowHeight + (instants ? kInstantHeight + (empty ? 6 : 0) : 0) + 2 * kPadding;
  if ((collapsed && rows === 1) || track.kind === 'states') height = kCollapsedHeight;
  else if (isPlot(track)) height = kCounterHeight;
  // The outermost functions that all samples share say nothing: the last of them is the first row.
  const firstRow = collapsed && track.kind === 'functions' ? Math.max(0, Math.min((track.shared ?? 0) - 1, all - rows)) : 0;
  const hiddenRows = track.kind === 'functions' ? all - rows : 0;
  return { process, track, label, y, height, rows, firstRow, hiddenRows, instants, collapsed, pinned };
}

export function isPlot(track: Track): boolean {
  return track.kind === 'counter' || track.kind === 'memory';
}

/** The y of a row inside its lane. */
export function rowTop(lane: Lane, row: number): number {
  return (lane.height === kCollapsedHeight ? 2 : kPadding) + (lane.instants ? kInstantHeight : 0) + (row - lane.firstRow) * kRowHeight;
}

/** The first lane that ends below `y`. */
export function laneAt(lanes: readonly Lane[], y: number): number {
  let low = 0;
  let high = lanes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lanes[middle].y + lanes[middle].height > y) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The lanes between two heights. */
export function lanesBetween(lanes: readonly Lane[], top: number, bottom: number): Lane[] {
  const first = laneAt(lanes, top);
  let end = first;
  while (end < lanes.length && lanes[end].y < bottom) ++end;
  return lanes.slice(first, end);
}

/** Every word must be in the name of the track, its process, its device or its kind. A word after "-" must not. */
export function compileFilter(filter: string): (track: Track, process: Process) => boolean {
  const words = filter.toLowerCase().split(/\s+/).filter((word) => word !== '' && word !== '-');
  if (words.length === 0) return () => true;
  return (track, process) => {
    const text = `${track.name} ${track.kind} ${track.device ?? ''} ${process.name} ${process.pid}`.toLowerCase();
    return words.every((word) => (word.startsWith('-') ? !text.includes(word.slice(1)) : text.includes(word)));
  };
}

/** The order of tracks after `id` was moved by `by` places inside its process. */
export function moveTrack(layout: Layout, order: readonly number[], id: number, by: number): number[] {
  const lane = layout.lanes.find((l) => l.track?.id === id);
  if (!lane) return [...order];
  const siblings = layout.lanes.filter((l) => l.track && l.process === lane.process).map((l) => l.track!.id);
  const from = siblings.indexOf(id);
  const to = Math.max(0, Math.min(siblings.length - 1, from + by));
  siblings.splice(from, 1);
  siblings.splice(to, 0, id);
  const moved = new Set(siblings);
  return [...order.filter((other) => !moved.has(other)), ...siblings];
}

function unknownProcess(id: number): Process {
  return { id, file: 0, pid: 0, name: `process ${id}` };
}
