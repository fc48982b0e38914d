// Where tracks are: a list of lanes from top to bottom, built when tracks, filter, order or folding change.

import { splitUnit } from '../core/units';
import { fileName, Process, TraceInfo, Track } from '../core/protocol';
import type { Rows } from './rows';

export const kRowHeight = 18;
export const kHeaderHeight = 24;
const kPadding = 3;
const kCounterHeight = 46;
const kMaxPlots = 8; // in one lane
/** Of the names of several counters in one lane. */
export const kLegendHeight = 14;
const kCollapsedHeight = 22;
/** A lane of functions that is folded has this many rows: one row would say little. */
export const kShortRows = 6;
export const kInstantHeight = 9;

/** Tracks below their process, the busiest first; or all tracks of a file, by their activity or by their name. */
export const kArrangements = ['process', 'activity', 'name'] as const;
export type Arrangement = (typeof kArrangements)[number];

export interface Lane {
  group: string; // the key of its header, to fold it: "p3" of process 3, "f0" of file 0
  process: Process;
  track?: Track; // undefined: the header of a group
  others: Track[]; // counters of its process that have the same unit, and are drawn with it
  label: string; // the name of the track, with its number if another thread of the process has the same, and its process if no header says it
  y: number; // from the top of its list
  height: number;
  rows: number; // that are drawn
  firstRow: number; // the rows before it are not drawn
  hiddenRows: number; // of functions: rows that are not drawn, before and after
  instants: boolean; // whether there is a row for instants above the others
  collapsed: boolean; // of several counters: they are in this lane, and not each in its own
  folds: boolean; // whether it can be collapsed or expanded
  pinned: boolean;
}

export interface LayoutOptions {
  toggled: ReadonlySet<string>; // "p3": process 3, "t7": track 7: folded, or unfolded if it is folded by default
  hidden: ReadonlySet<string>; // likewise
  arrangement: Arrangement;
  pinned: readonly number[];
  order: readonly number[];
  filter: string;
}

export interface Layout {
  pinned: Lane[];
  pinnedHeight: number;
  lanes: Lane[];
  height: number;
  leftOut: number; // tracks that are hidden, or that the filter leaves out
}

export function buildLayout(trace: TraceInfo, rows: Rows, options: LayoutOptions): Layout {
  const processes = new Map(trace.processes.map((p) => [p.id, p]));
  const processOf = (track: Track) => processes.get(track.process) ?? unknownProcess(track.process);
  const layout: Layout = { pinned: [], pinnedHeight: 0, lanes: [], height: 0, leftOut: 0 };
  const labelOf = labels(trace);
  const labelWithProcess = (track: Track) => `${labelOf(track)} · ${processOf(track).name}`;
  const byId = new Map(trace.tracks.map((t) => [t.id, t]));
  for (const shown of together(options.pinned.flatMap((id) => byId.get(id) ?? []), options.toggled)) {
    const [first] = shown.tracks;
    const lane = laneOf(shown, processOf(first), labelWithProcess(first), rows, layout.pinnedHeight, options, true);
    layout.pinned.push(lane);
    layout.pinnedHeight += lane.height;
  }
  const isPinned = new Set(options.pinned);
  const matches = compileFilter(options.filter);
  const all = trace.tracks.filter((track) => !isPinned.has(track.id) && !isOnlySamples(track));
  const isFlat = options.arrangement !== 'process';
  const wanted = all.filter((track) => !isHidden(track, options.hidden) && matches(track, processOf(track)));
  layout.leftOut = all.length - wanted.length;
  // The tracks of a rank are shown if it is open, or if the filter finds them.
  const visible = wanted.filter((track) => isFlat || options.filter !== '' || track.rank === undefined || options.toggled.has(`t${track.rank}`));
  const place = new Map(options.order.map((id, at) => [id, at]));
  for (const [group, tracks] of arrange(trace, visible, processOf, options.arrangement)) {
    const process = processOf(tracks[0]);
    const collapsed = options.toggled.has(group);
    if (isFlat ? trace.files.length > 1 : tracks[0].kind !== 'rank') {
      const file = trace.files.length > 1 ? fileName(trace.files[process.file]) : '';
      const label = isFlat ? file : `${file && `${file}: `}${process.label ?? `${process.name} (${process.pid})`}`;
      layout.lanes.push({ group, process, label, others: [], y: layout.height, height: kHeaderHeight, rows: 0, firstRow: 0, hiddenRows: 0, instants: false, collapsed, folds: true, pinned: false });
      layout.height += kHeaderHeight;
      if (collapsed) continue;
    }
    if (tracks.some((t) => place.has(t.id))) {
      tracks.sort((a, b) => (place.get(a.id) ?? Infinity) - (place.get(b.id) ?? Infinity) || 0);
    }
    for (const shown of together(tracks, options.toggled)) {
      const [first] = shown.tracks;
      const lane = laneOf(shown, processOf(first), isFlat ? labelWithProcess(first) : labelOf(first), rows, layout.height, options, false);
      layout.lanes.push(lane);
      layout.height += lane.height;
    }
  }
  return layout;
}

/** The key of the header that a track is below. */
export function groupOf(track: Track, arrangement: Arrangement): string {
  if (arrangement !== 'process') return `f${track.file}`;
  if (track.kind === 'rank') return `r${track.id}`;
  return track.rank === undefined ? `p${track.process}` : `p${track.process}r${track.rank}`;
}

/** The unit of a counter. */
export function unitOf(track: Track): string {
  return track.unit || (track.kind === 'memory' ? 'bytes' : splitUnit(track.name).unit);
}

interface Together {
  tracks: Track[];
  folds: boolean;
}

/** Tracks by lane: counters of a process with the same unit are in one, until it is unfolded. */
function together(tracks: readonly Track[], toggled: ReadonlySet<string>): Together[] {
  const lanes: Together[] = [];
  const known = new Map<string, Together>(); // by process and unit
  for (const track of tracks) {
    const unit = track.kind === 'counter' ? unitOf(track) : '';
    const key = `${track.process} ${unit}`;
    const lane = unit === '' ? undefined : known.get(key);
    if (lane && lane.tracks.length < kMaxPlots) {
      lane.folds = true;
      if (!toggled.has(`t${lane.tracks[0].id}`)) lane.tracks.push(track);
      else lanes.push({ tracks: [track], folds: false });
      continue;
    }
    lanes.push({ tracks: [track], folds: track.kind !== 'states' && track.kind !== 'counter' });
    if (unit !== '') known.set(key, lanes.at(-1)!);
  }
  return lanes;
}

/** All tracks of a lane. */
export function tracksOf(lane: Lane): Track[] {
  return lane.track ? [lane.track, ...lane.others] : [];
}

/** What is hidden, of which a track is a part. */
export function hiddenBy(track: Track): string[] {
  return [`t${track.id}`, `t${track.thread}`, `t${track.rank}`, `p${track.process}`];
}

function isHidden(track: Track, hidden: ReadonlySet<string>): boolean {
  return hidden.size > 0 && hiddenBy(track).some((key) => hidden.has(key));
}

/** The groups of tracks, and their tracks, in order. */
function arrange(trace: TraceInfo, tracks: readonly Track[], processOf: (track: Track) => Process, arrangement: Arrangement): Array<[string, Track[]]> {
  const activity = new Map<number, number>(); // of threads and queues
  for (const track of trace.tracks) {
    activity.set(track.thread ?? track.id, Math.max(track.busy_ns ?? 0, activity.get(track.thread ?? track.id) ?? 0));
  }
  const busy = (track: Track) => (track.kind === 'thread' || track.kind === 'queue' ? (activity.get(track.id) ?? 0) : 0);
  const groups = new Map<string, Track[]>();
  for (const track of tracks) {
    const key = groupOf(track, arrangement);
    const group = groups.get(key);
    if (group) group.push(track);
    else groups.set(key, [track]);
  }
  const byKind = (a: Track, b: Track) => kKinds.indexOf(a.kind) - kKinds.indexOf(b.kind);
  const byActivity = (a: Track, b: Track) => busy(b) - busy(a);
  for (const [key, group] of groups) {
    group.sort((a, b) => {
      if (arrangement === 'process') return byKind(a, b) || byActivity(a, b) || mainFirst(a, b, processOf); // stable
      if (arrangement === 'activity') return byActivity(a, b) || byKind(a, b) || kNatural.compare(a.name, b.name);
      return kNatural.compare(a.name, b.name) || byPid(processOf(a), processOf(b));
    });
    groups.set(key, partsBelowThreads(group));
  }
  const busiest = new Map([...groups].map(([key, group]) => [key, group.reduce((most, track) => Math.max(most, activity.get(track.id) ?? 0), 0)]));
  return [...groups].sort(([a, [first]], [b, [second]]) => {
    const [p, q] = [processOf(first), processOf(second)];
    return arrangement === 'process' ? p.file - q.file || byRank(first, second) || byFile(p, q) || busiest.get(b)! - busiest.get(a)! || byPid(p, q) : p.file - q.file;
  });
}

const kNatural = new Intl.Collator('en', { numeric: true }); // "worker 10" after "worker 9"

/** The names of tracks: of threads with the same name in a process, with their numbers. */
function labels(trace: TraceInfo): (track: Track) => string {
  const twins = new Map<string, number>();
  const nameOf = (track: Track) => `${track.process} ${track.name}`;
  for (const track of trace.tracks) if (track.kind === 'thread' && !isOnlySamples(track)) twins.set(nameOf(track), (twins.get(nameOf(track)) ?? 0) + 1);
  return (track) => (track.kind === 'thread' && track.tid && twins.get(nameOf(track))! > 1 ? `${track.name} ${track.tid}` : track.name || `track ${track.id}`);
}

const kKinds = ['rank', 'memory', 'thread', 'states', 'functions', 'across', 'queue', 'counter']; // memory is one row, and stays in sight

/** Of threads that are equally busy. */
function mainFirst(a: Track, b: Track, processOf: (track: Track) => Process): number {
  const isMain = (track: Track) => track.kind === 'thread' && track.tid !== undefined && track.tid === processOf(track).pid;
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

/** A rank, and what belongs to it; then what belongs to none. */
function byRank(a: Track, b: Track): number {
  const rank = (track: Track) => (track.kind === 'rank' ? track.id : (track.rank ?? Infinity));
  return rank(a) === rank(b) ? Number(b.kind === 'rank') - Number(a.kind === 'rank') : rank(a) - rank(b);
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

function laneOf({ tracks: [track, ...others], folds }: Together, process: Process, label: string, table: Rows, y: number, { toggled, arrangement }: LayoutOptions, pinned: boolean): Lane {
  const all = table.count(track);
  const isDeep = track.kind === 'functions' && all > kShortRows;
  const isRank = track.kind === 'rank'; // its triangle is about its tracks
  const collapsed = track.kind === 'counter' ? others.length > 0 : toggled.has(`t${track.id}`) !== (isDeep || isRank);
  const instants = !collapsed && (track.points ?? 0) > 0;
  const empty = instants && (track.ranges ?? 0) === 0;
  const rows = collapsed && !isRank ? (isDeep ? kShortRows : 1) : empty ? 0 : all;
  let height = rows * kRowHeight + (instants ? kInstantHeight + (empty ? 6 : 0) : 0) + 2 * kPadding;
  if (track.kind === 'counter') height = Math.max(kCounterHeight, others.length > 0 ? 2 * kPadding + kLegendHeight * (others.length + 2) : 0);
  else if ((collapsed && rows === 1) || track.kind === 'states') height = kCollapsedHeight;
  else if (isPlot(track)) height = kCounterHeight;
  else if (isRank) height = Math.max(height, 2 * kPadding + 3 * kLegendHeight); // for what it waited
  // The outermost functions that all samples share say nothing: the last of them is the first row.
  const firstRow = collapsed && track.kind === 'functions' ? Math.max(0, Math.min((track.shared ?? 0) - 1, all - rows)) : 0;
  const hiddenRows = track.kind === 'functions' ? all - rows : 0;
  return { group: groupOf(track, arrangement), process, track, others, label: isRank && track.straggler ? `${label}: straggler` : others.length > 0 ? label.replace(track.name, `${others.length + 1} counters [${unitOf(track)}]`) : label, y, height, rows, firstRow, hiddenRows, instants, collapsed, folds, pinned };
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

/** The order of tracks after `id` was moved by `by` places inside its group. */
export function moveTrack(layout: Layout, order: readonly number[], id: number, by: number): number[] {
  const lane = layout.lanes.find((l) => l.track?.id === id);
  if (!lane) return [...order];
  const siblings = layout.lanes.filter((l) => l.track && l.group === lane.group).map((l) => l.track!.id); // of a lane, the first
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
