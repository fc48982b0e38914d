// A trace in memory that answers like the server of `kymo view` (docs/view.md), by the simplest possible code.
// It serves tests of the page where no recorded trace is wanted.

import { PointKind, SelectionAnswer, tileSpan, TraceInfo, TrackKind } from '../../src/core/protocol';
import { matcher } from '../../src/core/names';

export interface FakeTrack {
  id: number;
  file: number;
  process: number;
  kind: TrackKind;
  name: string;
  device?: string;
  unit?: string;
  thread?: number; // of functions
  shared?: number;
  start: number[];
  end: number[];
  names: number[];
  depth: number[];
  lane: number[];
  link: number[]; // correlation, 0: none
  instants: Array<{ time: number; name: number }>;
  values: Array<{ time: number; value: number }>;
}

const kInstantBit = 0x40000000;

export class Engine {
  readonly tracks: FakeTrack[] = [];
  readonly names: string[] = [];
  readonly bases: number[] = [];
  readonly colours = new Map<string, number>(); // by name: 0xRRGGBB
  readonly files: string[];
  readonly processes: TraceInfo['processes'] = [];
  losses: TraceInfo['losses'] = [];
  clockError = 0;
  duration = 0;
  live = false;
  tracksVersion = 1;
  refuses = false; // to follow for one more page
  readonly args = new Map<string, Array<{ name: string; value: string }>>(); // by "track/index"
  readonly stacks = new Map<string, string[]>();
  sampled?: Pick<SelectionAnswer, 'functions' | 'samples' | 'sampled_ns' | 'function_flame'>; // totals of selected functions
  private readonly ids = new Map<string, number>();

  constructor(...files: string[]) {
    this.files = files;
  }

  name(text: string): number {
    let id = this.ids.get(text);
    if (id === undefined) {
      const base = text.replace(/\d+/g, '{}');
      const baseId = base === text ? this.names.length : this.name(base);
      id = this.names.length;
      this.names.push(text);
      this.bases.push(base === text ? id : baseId);
      this.ids.set(text, id);
    }
    return id;
  }

  process(name: string, pid: number, file = 0): number {
    this.processes.push({ id: this.processes.length, file, pid, name, label: `${name} (${pid})`, host: 'box' });
    return this.processes.length - 1;
  }

  track(process: number, kind: TrackKind, name: string, more: Partial<FakeTrack> = {}): FakeTrack {
    const track: FakeTrack = {
      id: this.tracks.length + 1, file: this.processes[process].file, process, kind, name,
      start: [], end: [], names: [], depth: [], lane: [], link: [], instants: [], values: [], ...more,
    };
    this.tracks.push(track);
    return track;
  }

  range(track: FakeTrack, name: string, start: number, end: number, depth = 0, link = 0, lane = 0): number {
    track.start.push(start);
    track.end.push(end);
    track.names.push(this.name(name));
    track.depth.push(depth);
    track.lane.push(lane);
    track.link.push(link);
    if (end > this.duration) this.duration = end;
    return track.start.length - 1;
  }

  trace(): TraceInfo {
    return {
      kymo: '0.0.0', names_version: this.names.length, tracks_version: this.tracksVersion, live: this.live, scanned: true,
      files: this.files.map((name) => ({ name, duration_ns: this.duration, wall_clock_ns: '1700000000000000000', events: this.tracks.reduce((n, t) => n + t.start.length, 0), bytes: 1 << 20, clock_error_ns: this.clockError, problems: [] })),
      processes: this.processes,
      tracks: this.tracks.map((t) => ({
        id: t.id, file: t.file, process: t.process, kind: t.kind, name: t.name, device: t.device ?? '', unit: t.unit, thread: t.thread, shared: t.shared,
        rows: t.depth.reduce((m, d) => Math.max(m, d + 1), 0), ranges: t.start.length, points: t.instants.length, values: t.values.length, start_ns: 0, end_ns: this.duration,
      })),
      losses: this.losses,
    };
  }

  tiles(level: number, from: number, to: number, tracks: number[]): Buffer {
    const parts: Buffer[] = [];
    let count = 0;
    for (const id of tracks) {
      const track = this.tracks.find((t) => t.id === id);
      for (let index = from; index <= to; ++index, ++count) parts.push(track ? this.tile(track, level, index) : header(id, 0, 0, 0, index));
    }
    const head = Buffer.alloc(16);
    head.write('KYT1');
    head.writeUInt32LE(count, 4);
    head.writeUInt32LE(this.names.length, 8);
    return Buffer.concat([head, ...parts]);
  }

  private tile(track: FakeTrack, level: number, index: number): Buffer {
    const bin = 2 ** level;
    const begin = index * tileSpan(level);
    const end = begin + tileSpan(level);
    const runs = new Map<string, { start: number; end: number; total: number; count: number; longest: number; at: number }>();
    const single: number[] = [];
    for (let i = 0; i < track.start.length; ++i) {
      const [s, e] = [track.start[i], track.end[i]];
      if (s >= end || e < begin || (e === begin && e > s)) continue;
      if (e - s >= bin) {
        single.push(i);
        continue;
      }
      if (s < begin) continue;
      const key = `${track.lane[i]} ${track.depth[i]} ${Math.floor(s / bin)}`;
      const run = runs.get(key);
      if (!run) {
        runs.set(key, { start: s, end: e, total: e - s, count: 1, longest: e - s, at: i });
        continue;
      }
      run.end = Math.max(run.end, e);
      run.total += e - s;
      ++run.count;
      if (e - s > run.longest) Object.assign(run, { longest: e - s, at: i });
    }
    const rectangles = single.map((i) => ({ start: track.start[i], end: track.end[i], total: track.end[i] - track.start[i], count: 1, at: i }));
    rectangles.push(...runs.values());
    rectangles.sort((a, b) => track.lane[a.at] - track.lane[b.at] || track.depth[a.at] - track.depth[b.at] || a.start - b.start);
    const n = rectangles.length;

    const instants = new Map<number, { time: number; name: number; count: number; at: number }>();
    track.instants.forEach((instant, at) => {
      if (instant.time < begin || instant.time >= end) return;
      const slot = instants.get(Math.floor(instant.time / bin));
      if (slot) ++slot.count;
      else instants.set(Math.floor(instant.time / bin), { ...instant, count: 1, at });
    });
    const m = instants.size;

    const values: Array<{ time: number; min: number; max: number; last: number; bin: number }> = [];
    for (const { time, value } of track.values) {
      if (time >= end) break;
      const at = Math.floor(time / bin);
      const last = values.at(-1);
      if (time < begin) {
        values[0] = { time, min: value, max: value, last: value, bin: -1 };
      } else if (last && last.bin === at) {
        last.min = Math.min(last.min, value);
        last.max = Math.max(last.max, value);
        last.last = value;
      } else {
        values.push({ time, min: value, max: value, last: value, bin: at });
      }
    }
    const c = values.length;
    return Buffer.concat([
      header(track.id, n, m, c, index),
      f64(rectangles.map((r) => r.start)), f64(rectangles.map((r) => r.end)),
      padded(u32(rectangles.map((r) => track.names[r.at])), u32(rectangles.map((r) => r.count)),
             f32(rectangles.map((r) => (r.end > r.start ? Math.min(1, r.total / (r.end - r.start)) : 1))),
             u32(rectangles.map(() => 0)), u32(rectangles.map((r) => r.at)),
             u16(rectangles.map((r) => track.depth[r.at])), u16(rectangles.map((r) => track.lane[r.at]))),
      f64([...instants.values()].map((i) => i.time)),
      padded(u32([...instants.values()].map((i) => i.name)), u32([...instants.values()].map((i) => i.count)), u32([...instants.values()].map(() => PointKind.Instant)),
             u32([...instants.values()].map(() => 0)), u32([...instants.values()].map((i) => kInstantBit + i.at))),
      f64(values.map((v) => v.time)), f64(values.map((v) => v.min)), f64(values.map((v) => v.max)), f64(values.map((v) => v.last)),
    ]);
  }

  link(track: FakeTrack, i: number) {
    return { track: track.id, chunk: 0, index: i, name: this.names[track.names[i]], start_ns: track.start[i], end_ns: track.end[i], depth: track.depth[i], lane: track.lane[i] };
  }

  event(id: number, index: number): unknown {
    const track = this.tracks.find((t) => t.id === id);
    if (!track) return undefined;
    if (index >= kInstantBit) {
      const instant = track.instants[index - kInstantBit];
      return instant && { name: this.names[instant.name], kind: 'instant', track: id, file: track.file, start_ns: instant.time, end_ns: instant.time };
    }
    if (index >= track.start.length) return undefined;
    const self = this.link(track, index);
    const linked = track.link[index] === 0 ? [] : this.tracks.flatMap((t) => (t === track ? [] : t.link.flatMap((l, i) => (l === track.link[index] ? [{ t, i }] : []))));
    const parents = track.start.flatMap((s, i) => (track.depth[i] < track.depth[index] && s <= self.start_ns && track.end[i] >= self.end_ns ? [i] : [])).sort((a, b) => track.depth[a] - track.depth[b]).map((i) => this.link(track, i));
    return {
      ...self, base: this.names[this.bases[track.names[index]]], kind: 'range', category: track.kind === 'queue' ? 'kernel' : '', file: track.file, depth: track.depth[index], lane: track.lane[index],
      arguments: this.args.get(`${id}/${index}`), correlation: track.link[index] || undefined, parents,
      launched_by: track.kind === 'queue' && linked[0] ? this.link(linked[0].t, linked[0].i) : undefined,
      launched: track.kind === 'thread' ? linked.map(({ t, i }) => this.link(t, i)) : undefined,
      stack: this.stacks.get(`${id}/${index}`)?.map((text) => ({ function: text, file: `${text}.cc`, line: 12 })),
    };
  }

  /** The arrows from launches to the work that begins between two times. */
  links(from: number, to: number, ids: number[]): unknown {
    const end = (track: FakeTrack, i: number) => ({ track: track.id, time_ns: track.start[i], depth: track.depth[i], lane: track.lane[i] });
    const links: unknown[] = [];
    for (const queue of this.tracks.filter((t) => t.kind === 'queue' && ids.includes(t.id))) {
      queue.link.forEach((link, i) => {
        if (link === 0 || queue.start[i] < from || queue.start[i] >= to || links.length >= 300) return;
        for (const thread of this.tracks.filter((t) => t.kind === 'thread' && t.file === queue.file)) {
          const at = thread.link.indexOf(link);
          if (at >= 0) links.push({ kind: 'launch', from: end(thread, at), to: end(queue, i) });
        }
      });
    }
    return { file: 0, links, complete: links.length < 300 };
  }

  memory(at: number): unknown {
    const memory = this.tracks.find((t) => t.kind === 'memory');
    const bytes = memory?.values.filter((v) => v.time <= at).at(-1)?.value ?? 0;
    const rows = [{ name: 'step {}/forward', bytes: bytes * 0.7, count: 96 }, { name: 'optimizer', bytes: bytes * 0.3, count: 12 }];
    return { file: 0, at_ns: at, bytes, blocks: 108, sampled: false, memories: [{ name: memory?.name ?? '', bytes, peak_bytes: bytes }], by_range: rows, by_stack: [], by_size: [] };
  }

  search(query: string, limit: number, at: number): unknown {
    const test = matcher(query);
    const isHit = this.names.map((name, id) => test(name) || test(this.names[this.bases[id]]));
    const binNs = 2 ** Math.ceil(Math.log2(Math.max(1, this.duration / 1024)));
    const hits: Array<ReturnType<Engine['link']>> = [];
    const tracks: unknown[] = [];
    const counts = new Map<number, number>();
    for (const track of this.tracks) {
      const bins = new Map<number, number>();
      let total = 0;
      track.names.forEach((name, i) => {
        if (!isHit[name]) return;
        ++total;
        hits.push(this.link(track, i));
        counts.set(name, (counts.get(name) ?? 0) + 1);
        const bin = Math.floor(track.start[i] / binNs);
        bins.set(bin, (bins.get(bin) ?? 0) + 1);
      });
      if (total > 0) tracks.push({ track: track.id, total, bin_ns: binNs, bins: [...bins] });
    }
    hits.sort((a, b) => a.start_ns - b.start_ns);
    const near = new Set([...hits].sort((a, b) => Math.abs(a.start_ns - at) - Math.abs(b.start_ns - at)).slice(0, limit));
    const before = hits.findIndex((hit) => near.has(hit));
    return { total: hits.length, complete: true, before: Math.max(0, before), names: [...counts].map(([id, count]) => ({ id, name: this.names[id], count })), hits: hits.filter((hit) => near.has(hit)), tracks };
  }

  selection(from: number, to: number, ids: number[]): unknown {
    const totals = new Map<number, number[]>();
    const self = new Map<number, number>();
    const flame: unknown[] = [{ name: 'all', kind: 'all', depth: 0, count: 0, total_ns: 0, self_ns: 0 }];
    const chosen = this.tracks.filter((t) => ids.length === 0 || ids.includes(t.id));
    const wanted = chosen.filter((t) => t.kind !== 'functions');
    for (const track of wanted) {
      const perName = new Map<string, number>();
      track.start.forEach((s, i) => {
        const length = Math.min(to, track.end[i]) - Math.max(from, s);
        if (s >= to || track.end[i] < from) return;
        const name = this.bases[track.names[i]];
        const list = totals.get(name);
        if (list) list.push(length);
        else totals.set(name, [length]);
        self.set(name, (self.get(name) ?? 0) + length - inside(track, i, from, to));
        if (track.depth[i] === 0) perName.set(this.names[name], (perName.get(this.names[name]) ?? 0) + length);
      });
      const sum = [...perName.values()].reduce((a, b) => a + b, 0);
      if (sum > 0) flame.push({ name: track.name, kind: 'track', depth: 1, count: 0, total_ns: sum, self_ns: 0 }, ...[...perName].map(([name, ns]) => ({ name, kind: 'range', depth: 2, count: 1, total_ns: ns, self_ns: ns })));
      (flame[0] as { total_ns: number }).total_ns += sum;
    }
    return {
      from_ns: from, to_ns: to, flame, ...(chosen.length > wanted.length ? this.sampled : {}),
      ranges: [...totals].map(([name, list]) => {
        list.sort((a, b) => a - b);
        const total = list.reduce((a, b) => a + b, 0);
        return { name: this.names[name], category: '', count: list.length, total_ns: total, self_ns: self.get(name), min_ns: list[0], median_ns: list[list.length >> 1], p99_ns: list[Math.floor(list.length * 0.99)], max_ns: list.at(-1), across_threads: wanted.every((t) => t.kind === 'across') };
      }),
      instants: [],
      counters: wanted.filter((t) => t.values.length > 0).map((t) => {
        const inside = t.values.filter((v) => v.time >= from && v.time < to).map((v) => v.value);
        const most = (f: (a: number, b: number) => number) => inside.reduce((a, b) => f(a, b), inside[0] ?? 0);
        return { name: t.name, unit: t.unit, count: inside.length, min: most(Math.min), max: most(Math.max), last: inside.at(-1) ?? 0, mean: inside.reduce((a, b) => a + b, 0) / (inside.length || 1) };
      }),
    };
  }
}

/** The time of the ranges directly inside of one, between two times. */
function inside(track: FakeTrack, i: number, from: number, to: number): number {
  let sum = 0;
  track.start.forEach((s, k) => {
    if (track.depth[k] !== track.depth[i] + 1 || s < track.start[i] || track.end[k] > track.end[i]) return;
    sum += Math.max(0, Math.min(to, track.end[k]) - Math.max(from, s));
  });
  return sum;
}

function header(track: number, n: number, m: number, c: number, index: number): Buffer {
  const bytes = Buffer.alloc(32);
  [track, n, m, c].forEach((value, i) => bytes.writeUInt32LE(value, i * 4));
  bytes.writeDoubleLE(index, 16);
  return bytes;
}
function padded(...columns: Buffer[]): Buffer {
  const bytes = Buffer.concat(columns);
  return Buffer.concat([bytes, Buffer.alloc((8 - (bytes.length % 8)) % 8)]);
}
const bytesOf = (array: Float64Array | Float32Array | Uint32Array | Uint16Array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);
const f64 = (values: number[]) => bytesOf(Float64Array.from(values));
const f32 = (values: number[]) => bytesOf(Float32Array.from(values));
const u32 = (values: number[]) => bytesOf(Uint32Array.from(values));
const u16 = (values: number[]) => bytesOf(Uint16Array.from(values));
