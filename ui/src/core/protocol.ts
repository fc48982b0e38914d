// What the server says: the JSON answers as types, and the decoder of tiles. docs/view.md describes the protocol.

export type TrackKind = 'rank' | 'thread' | 'states' | 'functions' | 'across' | 'queue' | 'counter' | 'memory';

export interface TraceFile {
  name: string;
  duration_ns: number;
  wall_clock_ns?: string;
  events?: number;
  bytes?: number;
  clock_error_ns?: number;
  problems?: string[];
  trouble?: string; // what happened to the file since it was opened
  held_up_ns?: number; // how long its threads waited for the collector of Kymo, together
}

export interface Process {
  id: number;
  file: number;
  pid: number;
  name: string;
  label?: string;
  host?: string;
  device?: boolean;
}

export interface Track {
  id: number;
  file: number;
  process: number;
  kind: TrackKind;
  name: string;
  tid?: number;
  thread?: number; // of states, of functions, and of samples that are apart from the ranges: the track of their thread
  shared?: number; // of functions: so many outermost ones are in nearly all samples
  device?: string;
  rows?: number;
  ranges?: number;
  points?: number;
  values?: number;
  start_ns?: number;
  end_ns?: number;
  busy_ns?: number; // of threads and queues: how long they were in ranges; of states: how long the thread ran
  unit?: string;
  rank?: number; // of a merged trace: the track of the rank that it belongs to
  calls?: number; // of a rank: collectives with others
  last_at?: number; // it arrived last at so many of them
  waited_ns?: number; // in them, for others
  awaited_ns?: number; // all others waited for this one
  straggler?: boolean; // they waited for it the longest
}

export interface Loss {
  file: number;
  process?: number;
  track?: number;
  cause: string;
  text?: string;
  count: number;
  from_ns?: number;
  to_ns?: number;
}

export interface TraceInfo {
  kymo?: string;
  names_version: number;
  tracks_version: number; // changes whenever this answer does
  live: boolean;
  scanned: boolean;
  files: TraceFile[];
  processes: Process[];
  tracks: Track[];
  losses: Loss[];
  saved?: { arguments_left_out: number }; // the page is a file of its own, and answers itself
  left_out?: string[]; // files that could not be shown, and why
}

/** Of these losses nothing is missing in the timeline: a text was shortened, or a call could not be used. */
const kWithoutGap = new Set(['text_truncated', 'unmatched_pop', 'unknown_range', 'reported']);
export function isGap(loss: Loss): boolean {
  return !kWithoutGap.has(loss.cause);
}

/** Points at one event: a chunk of the trace and the index in it. */
export interface EventRef {
  track: number;
  chunk: number;
  index: number;
}

export interface LinkedEvent extends EventRef {
  name: string;
  start_ns: number;
  end_ns: number;
  depth?: number; // where it is in its track, of tracks that may be higher than the screen
  lane?: number;
}

export interface Frame {
  function?: string;
  file?: string;
  line?: number;
  module?: string;
}

export interface EventDetails {
  name: string;
  base?: string;
  category?: string;
  kind: string;
  track: number;
  file: number;
  start_ns: number;
  end_ns: number;
  duration_ns?: number;
  depth?: number;
  lane?: number;
  unfinished?: boolean;
  running_ns?: number; // what its thread did meanwhile, if that is known
  waiting_ns?: number;
  ready_ns?: number;
  held_up_ns?: number;
  arguments?: Array<{ name: string; value: string | number }>;
  correlation?: number;
  parents?: LinkedEvent[];
  launched_by?: LinkedEvent;
  launched?: LinkedEvent[];
  launch_stack?: Array<LinkedEvent & { category: string }>; // of work on a device: the ranges around its launch
  counters?: Array<{ name: string; mean: number; values: number }>; // likewise: of its device and its program, meanwhile
  waited_for?: LinkedEvent[];
  begins_on?: string; // of a range across threads
  ends_on?: string;
  flows?: Array<{ direction: 'from' | 'to'; event: LinkedEvent }>;
  stack?: Frame[];
}

export interface SearchAnswer {
  total: number;
  complete: boolean; // false: reading stopped, so there are at least so many
  before: number; // hits before the first of `hits`
  names: Array<{ id: number; name: string; count: number }>;
  hits: LinkedEvent[]; // those nearest to the time that was asked for, by time
  tracks: Array<{ track: number; total: number; bin_ns: number; bins: Array<[number, number]> }>;
  slowest?: LinkedEvent[]; // of all hits
  lengths?: Array<[number, number, number]>; // from, to, and how many hits are so long
}

export interface NameTotal {
  name: string;
  category?: string;
  on_device?: boolean;
  across_threads?: boolean; // it nests in nothing
  unfinished?: boolean; // it was open at the end: no min, median, p99 and max
  count: number;
  total_ns: number;
  self_ns: number;
  min_ns: number;
  median_ns: number;
  p99_ns?: number;
  max_ns: number;
}

export interface FlameFrame {
  name: string;
  kind: string;
  depth: number;
  count: number;
  total_ns: number;
  self_ns: number;
}

/** A function of CPU samples. */
export interface FunctionTotal {
  function: string;
  module: string;
  self_samples: number;
  total_samples: number;
  self_ns: number;
  total_ns: number;
}

export interface SelectionAnswer {
  file?: number;
  from_ns: number;
  to_ns: number;
  ranges: NameTotal[];
  instants?: Array<{ name: string; count: number }>;
  counters?: Array<{ name: string; count: number; min: number; max: number; last: number; mean: number }>;
  flame?: FlameFrame[];
  functions?: FunctionTotal[]; // these only if there are CPU samples
  samples?: number;
  sampled_ns?: number; // that the samples stand for
  function_flame?: FlameFrame[];
  states?: Array<{ name: string; count: number; total_ns: number; max_ns: number; longest: LinkedEvent }>; // of the threads, if they are known
}

/** The work of devices that was launched in a part of a thread, or by all ranges and functions of one name. */
export interface LaunchedAnswer {
  count: number;
  complete: boolean; // false: reading stopped
  names: Array<{ name: string; count: number; total_ns: number; max_ns: number }>;
  work: LinkedEvent[]; // the first ones
}

/** One end of an arrow. */
export interface LinkEnd {
  track: number;
  time_ns: number;
  depth: number;
  lane: number;
}
export interface LinksAnswer {
  file: number;
  links: Array<{ kind: 'launch' | 'flow'; from: LinkEnd; to: LinkEnd }>;
  complete: boolean;
}

export interface Holder {
  name: string;
  where?: string;
  stack?: Frame[];
  bytes: number;
  count: number;
}
/** What is alive at a time. */
export interface MemoryAnswer {
  file: number;
  at_ns: number;
  bytes: number;
  blocks: number;
  sampled: boolean;
  memories: Array<{ name: string; bytes: number; peak_bytes?: number }>;
  by_range: Holder[];
  by_stack: Holder[];
  by_size?: Holder[];
}

/** What SQL can ask, or why it cannot. */
export interface SqlTables {
  problem?: string;
  schema?: string;
  examples?: Array<{ question: string; sql: string }>;
}
export interface SqlRow {
  cells: string[];
  track?: number; // these if the row has a time
  start_ns?: number;
  end_ns?: number;
}
export interface SqlAnswer {
  columns: Array<{ name: string; is_number: boolean }>;
  rows: SqlRow[];
  complete: boolean; // false: there are more rows
}

export interface LiveEvent {
  duration_ns: number[];
  names_version: number;
  tracks_version: number;
  live: boolean;
}

/** The content of one track between two multiples of 1024 bins of 2^level nanoseconds. */
export interface Tile {
  track: number;
  level: number;
  index: number;
  flags: number;
  received: number; // when, in milliseconds of the page's clock
  rectangles: number; // sorted by lane, depth and start
  start: Float64Array;
  end: Float64Array;
  name: Uint32Array;
  count: Uint32Array; // 1: one range; more: a run of ranges that are shorter than a bin
  busy: Float32Array;
  chunk: Uint32Array;
  event: Uint32Array;
  depth: Uint16Array;
  lane: Uint16Array;
  instants: number;
  instantTime: Float64Array;
  instantName: Uint32Array;
  instantCount: Uint32Array;
  instantKind: Uint32Array;
  instantChunk: Uint32Array;
  instantEvent: Uint32Array;
  values: number;
  time: Float64Array;
  min: Float64Array;
  max: Float64Array;
  last: Float64Array;
  bytes: number;
}

export const kBinsPerTile = 1024;
export const kUnknown = 0xffffffff; // a name or an event that the server does not know
/** Flags of the server, and Stale, which only the page uses: the trace has grown since this tile was received. */
export const TileFlag = { Truncated: 1, Preliminary: 2, Damaged: 4, Stale: 0x100 } as const;
export const PointKind = { Instant: 1, FlowBegin: 5, FlowStep: 6, FlowEnd: 7, Allocation: 8, Free: 9, Sample: 10 } as const;

const kMagic = 0x3154594b; // "KYT1"
const kAnswerHeader = 16;
const kTileHeader = 32;

function padded(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

/** Takes columns one after the other from a buffer that is known to be long enough. */
class Columns {
  constructor(private readonly buffer: ArrayBuffer, public at = 0) {}

  f64(n: number): Float64Array {
    return this.advance(new Float64Array(this.buffer, this.at, n), n * 8);
  }
  f32(n: number): Float32Array {
    return this.advance(new Float32Array(this.buffer, this.at, n), n * 4);
  }
  u32(n: number): Uint32Array {
    return this.advance(new Uint32Array(this.buffer, this.at, n), n * 4);
  }
  u16(n: number): Uint16Array {
    return this.advance(new Uint16Array(this.buffer, this.at, n), n * 2);
  }
  align(): void {
    this.at = padded(this.at);
  }
  private advance<T>(column: T, bytes: number): T {
    this.at += bytes;
    return column;
  }
}

export interface TilesAnswer {
  tiles: Tile[];
  namesVersion: number;
}

/**
 * Decodes an answer of api/tiles. Throws if it is shorter than it says. Each tile has a copy of its bytes, so that the
 * cache frees memory when it drops a tile.
 */
export function decodeTiles(buffer: ArrayBuffer, level: number, now = 0): TilesAnswer {
  const view = new DataView(buffer);
  const need = (at: number, bytes: number) => {
    if (at + bytes > buffer.byteLength) {
      throw new Error(`the answer with tiles has ${buffer.byteLength} bytes, but ${at + bytes} are needed`);
    }
  };
  need(0, kAnswerHeader);
  if (view.getUint32(0, true) !== kMagic) throw new Error('the answer with tiles does not start with "KYT1"');
  const tiles: Tile[] = [];
  let at = kAnswerHeader;
  for (let left = view.getUint32(4, true); left > 0; --left) {
    need(at, kTileHeader);
    const [track, n, m, c, flags] = [0, 4, 8, 12, 24].map((offset) => view.getUint32(at + offset, true));
    const index = view.getFloat64(at + 16, true);
    const bytes = padded(n * (2 * 8 + 5 * 4 + 2 * 2)) + padded(m * (8 + 5 * 4)) + c * 4 * 8;
    need(at + kTileHeader, bytes);
    const columns = new Columns(buffer.slice(at + kTileHeader, at + kTileHeader + bytes));
    const start = columns.f64(n);
    const end = columns.f64(n);
    const name = columns.u32(n);
    const count = columns.u32(n);
    const busy = columns.f32(n);
    const chunk = columns.u32(n);
    const event = columns.u32(n);
    const depth = columns.u16(n);
    const lane = columns.u16(n);
    columns.align();
    const instantTime = columns.f64(m);
    const instantName = columns.u32(m);
    const instantCount = columns.u32(m);
    const instantKind = columns.u32(m);
    const instantChunk = columns.u32(m);
    const instantEvent = columns.u32(m);
    columns.align();
    tiles.push({
      track, level, index, flags, received: now, bytes: bytes + 1000,
      rectangles: n, start, end, name, count, busy, chunk, event, depth, lane,
      instants: m, instantTime, instantName, instantCount, instantKind, instantChunk, instantEvent,
      values: c, time: columns.f64(c), min: columns.f64(c), max: columns.f64(c), last: columns.f64(c),
    });
    at += kTileHeader + bytes;
  }
  return { tiles, namesVersion: view.getUint32(8, true) };
}

export function tileSpan(level: number): number {
  return kBinsPerTile * 2 ** level;
}

/** The duration of the longest file. */
export function longest(trace: TraceInfo): number {
  return trace.files.reduce((most, file) => Math.max(most, file.duration_ns), 0);
}

/** The name of a file without its folders. */
export function fileName(file: TraceFile | undefined): string {
  return file ? file.name.slice(file.name.lastIndexOf('/') + 1) : '';
}
