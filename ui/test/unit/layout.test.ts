import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildLayout, kShortRows, laneAt, LayoutOptions, lanesBetween, moveTrack, rowTop, tracksOf } from '../../src/timeline/layout';
import { describe } from '../../src/timeline/name_column';
import { Rows } from '../../src/timeline/rows';
import type { TrackKind } from '../../src/core/protocol';
import { manyTracks, training } from '../support/traces';

const kPlain: LayoutOptions = { toggled: new Set(), hidden: new Set(), arrangement: 'process', pinned: [], order: [], filter: '' };
const trace = training(2).trace();
const layout = (options: Partial<LayoutOptions> = {}) => buildLayout(trace, new Rows(), { ...kPlain, ...options });
const names = (l: ReturnType<typeof layout>) => l.lanes.filter((lane) => lane.track).map((lane) => lane.track!.name);

test('lanes are below each other without gaps', () => {
  let y = 0;
  for (const lane of layout().lanes) {
    assert.equal(lane.y, y);
    y += lane.height;
  }
  assert.equal(layout().height, y);
});

test('the lane at a height is found among 10,000', () => {
  const large = buildLayout(manyTracks().trace(), new Rows(), kPlain);
  for (const at of [0, 1, 5000, 9999]) {
    const lane = large.lanes[at];
    assert.equal(laneAt(large.lanes, lane.y), at);
    assert.equal(laneAt(large.lanes, lane.y + lane.height - 0.5), at);
  }
  assert.equal(laneAt(large.lanes, large.height + 1), large.lanes.length);
  assert.ok(lanesBetween(large.lanes, 30_000, 31_000).length < 60);
});

test('a filter keeps tracks with all its words', () => {
  assert.deepEqual(names(layout({ filter: 'STREAM copies' })), ['stream 13 (copies)']);
  assert.deepEqual(names(layout({ filter: 'gpu -copies' })), ['stream 7']);
  assert.deepEqual(names(layout({ filter: 'nothing like this' })), []);
});

test('a pinned track is at the top and nowhere else', () => {
  const pinned = layout({ pinned: [3, 99] });
  assert.deepEqual(pinned.pinned.map((lane) => lane.track!.id), [3]);
  assert.ok(!names(pinned).includes('stream 7'));
});

test('a collapsed track has one row, a collapsed process only its header', () => {
  const main = (l: ReturnType<typeof layout>) => l.lanes.find((lane) => lane.track?.id === 1)!;
  const full = main(layout());
  const folded = main(layout({ toggled: new Set(['t1']) }));
  assert.equal(folded.rows, 1);
  assert.ok(folded.height < full.height);
  assert.equal(layout({ toggled: new Set(['p0']) }).lanes.length, 1);
});

test('a track moves inside of its process and stops at the ends', () => {
  const order = moveTrack(layout(), [], 3, -1);
  assert.deepEqual(names(layout({ order })).slice(0, 4), ['device memory', 'main', 'stream 7', 'data loader']);
  assert.deepEqual(names(layout({ order: moveTrack(layout(), [], 1, -5) }))[0], 'main');
  assert.deepEqual(moveTrack(layout(), [7], 12345, 1), [7]);
});

test('the order does not depend on the order of the server: devices, then programs; the main thread first', () => {
  const process = (id: number, pid: number, device = false) => ({ id, file: 0, pid, name: `p${pid}`, device });
  const track = (id: number, of: number, kind: 'thread' | 'queue' | 'counter', tid?: number) => ({ id, file: 0, process: of, kind, name: `t${id}`, tid });
  const info = {
    ...trace,
    processes: [process(0, 99, true), process(1, 20), process(2, 10)],
    tracks: [track(1, 0, 'queue'), track(2, 1, 'counter'), track(3, 1, 'thread', 21), track(4, 1, 'thread', 20), track(5, 2, 'thread', 10)],
  };
  assert.deepEqual(names(buildLayout(info, new Rows(), kPlain)), ['t1', 't5', 't4', 't3', 't2']);
});

test('the busiest processes and threads come first, with their parts; memory and devices stay in sight', () => {
  const track = (id: number, of: number, kind: TrackKind, busy_ns?: number, thread?: number) => ({ id, file: 0, process: of, kind, name: `t${id}`, tid: id, busy_ns, thread });
  const info = {
    names_version: 0, tracks_version: 0, live: false, scanned: true, files: [], losses: [],
    processes: [{ id: 1, file: 0, pid: 1, name: 'shell' }, { id: 2, file: 0, pid: 12, name: 'train' }, { id: 3, file: 0, pid: 99, name: 'GPU', device: true }],
    tracks: [
      track(1, 1, 'thread', 5), track(11, 2, 'thread', 10), track(12, 2, 'thread', 50), track(13, 2, 'thread'), track(14, 2, 'states', 90, 13),
      track(15, 2, 'functions', undefined, 13), track(16, 2, 'memory'), track(17, 2, 'counter'), track(21, 3, 'queue', 1), track(22, 3, 'queue', 2),
    ],
  };
  assert.deepEqual(names(buildLayout(info, new Rows(), kPlain)), ['t22', 't21', 't16', 't13', 't14', 't15', 't12', 't11', 't17', 't1']);
});

test('threads with the same name in a process have their numbers', () => {
  const track = (id: number, of: number, name: string) => ({ id, file: 0, process: of, kind: 'thread' as const, name, tid: 100 + id });
  const info = {
    names_version: 0, tracks_version: 0, live: false, scanned: true, files: [], losses: [],
    processes: [{ id: 1, file: 0, pid: 1, name: 'p' }, { id: 2, file: 0, pid: 2, name: 'q' }],
    tracks: [track(1, 1, 'worker'), track(2, 1, 'worker'), track(3, 1, 'main'), track(4, 2, 'worker')],
  };
  assert.deepEqual(buildLayout(info, new Rows(), kPlain).lanes.map((lane) => lane.label), ['p (1)', 'worker 101', 'worker 102', 'main', 'q (2)', 'worker']);
});

test('the functions of a thread are below it, or with the threads if it is not shown', () => {
  const track = (id: number, kind: 'thread' | 'functions', thread?: number) => ({ id, file: 0, process: 1, kind, name: `t${id}`, tid: id, thread });
  const sampled = {
    names_version: 0, tracks_version: 0, live: false, scanned: true, files: [], losses: [],
    processes: [{ id: 1, file: 0, pid: 2, name: 'p' }],
    tracks: [track(1, 'thread'), track(2, 'thread'), track(3, 'functions', 1), track(4, 'functions', 2)],
  };
  const shown = (options: Partial<LayoutOptions> = {}) => names(buildLayout(sampled, new Rows(), { ...kPlain, ...options }));
  assert.deepEqual(shown(), ['t2', 't4', 't1', 't3']);
  assert.deepEqual(shown({ pinned: [2] }), ['t1', 't3', 't4']);
});

test('a thread is listed once: its ranges and its functions, and not its samples again', () => {
  const track = (id: number, kind: 'thread' | 'functions', tid: number, ranges: number, thread?: number) => ({ id, file: 0, process: 1, kind, name: `t${id}`, tid, ranges, thread });
  const info = {
    names_version: 0, tracks_version: 0, live: false, scanned: true, files: [], losses: [],
    processes: [{ id: 1, file: 0, pid: 9, name: 'p' }],
    tracks: [track(1, 'thread', 11, 0, 4), track(2, 'thread', 12, 0, 3), track(3, 'thread', 12, 5), track(4, 'thread', 11, 5), track(5, 'functions', 0, 9, 4), track(6, 'functions', 0, 9, 3)],
  };
  assert.deepEqual(names(buildLayout(info, new Rows(), kPlain)), ['t3', 't6', 't4', 't5']);
});

test('deep functions are folded to few rows, from the last one that all samples share', () => {
  const of = (ranges: number, rows: number, toggled: string[] = []) => {
    const tracks = [
      { id: 1, file: 0, process: 1, kind: 'thread' as const, name: 't1', ranges },
      { id: 2, file: 0, process: 1, kind: 'functions' as const, name: 't1: functions', thread: 1, ranges: 100, rows, shared: 4 },
    ];
    const info = { names_version: 0, tracks_version: 0, live: false, scanned: true, files: [], losses: [], processes: [{ id: 1, file: 0, pid: 2, name: 'p' }], tracks };
    return buildLayout(info, new Rows(), { ...kPlain, toggled: new Set(toggled) }).lanes[2];
  };
  const folded = of(10, 40);
  assert.deepEqual([folded.collapsed, folded.rows, folded.firstRow, folded.hiddenRows], [true, kShortRows, 3, 40 - kShortRows]);
  assert.equal(rowTop(folded, 3), rowTop(of(10, 40, ['t2']), 0));
  assert.deepEqual(describe(folded), ['from CPU samples', `${kShortRows} of 40 rows`]);
  const whole = of(10, 40, ['t2']);
  assert.deepEqual([whole.collapsed, whole.rows, whole.firstRow], [false, 40, 0]);
  assert.deepEqual(describe(whole), ['from CPU samples']);
  assert.deepEqual([of(10, 4).collapsed, of(10, 4).rows, of(10, 4, ['t2']).rows], [false, 4, 1]);
  assert.equal(of(10, 7).firstRow, 1); // the last rows are drawn
});

test('tracks by activity, by name, and without those that are hidden', () => {
  const track = (id: number, of: number, kind: TrackKind, name: string, busy_ns?: number, thread?: number) => ({ id, file: 0, process: of, kind, name, busy_ns, thread });
  const info = {
    names_version: 0, tracks_version: 0, live: false, scanned: true, files: [], losses: [],
    processes: [{ id: 1, file: 0, pid: 1, name: 'p' }, { id: 2, file: 0, pid: 2, name: 'q' }],
    tracks: [track(1, 1, 'thread', 'worker 10', 7), track(2, 1, 'states', 'worker 10: states', 90, 1), track(3, 1, 'thread', 'worker 9', 5), track(4, 2, 'thread', 'worker 9', 9), track(5, 2, 'counter', 'a counter')],
  };
  const shown = (options: Partial<LayoutOptions>) => buildLayout(info, new Rows(), { ...kPlain, ...options });
  const ids = (options: Partial<LayoutOptions>) => shown(options).lanes.map((lane) => lane.track?.id);
  assert.deepEqual(ids({}), [undefined, 1, 2, 3, undefined, 4, 5]);
  assert.deepEqual(ids({ arrangement: 'activity' }), [1, 2, 4, 3, 5]);
  assert.deepEqual(ids({ arrangement: 'name' }), [5, 3, 4, 1, 2]);
  assert.equal(shown({ arrangement: 'name' }).lanes[1].label, 'worker 9 · p');
  assert.deepEqual(ids({ hidden: new Set(['t1', 'p2']) }), [undefined, 3]); // with its states
  assert.equal(shown({ hidden: new Set(['t1', 'p2']) }).leftOut, 4);
  assert.deepEqual(moveTrack(shown({ arrangement: 'name' }), [], 4, -1), [5, 4, 3, 1, 2]); // also between processes
});

test('counters of a process with the same unit are in one lane until it is unfolded', () => {
  const counter = (id: number, of: number, name: string) => ({ id, file: 0, process: of, kind: 'counter' as const, name, values: 9 });
  const info = {
    names_version: 0, tracks_version: 0, live: false, scanned: true, files: [], losses: [],
    processes: [{ id: 1, file: 0, pid: 1, name: 'GPU' }, { id: 2, file: 0, pid: 2, name: 'q' }],
    tracks: [counter(1, 1, 'active [%]'), counter(2, 1, 'power [W]'), counter(3, 1, 'DRAM [%]'), counter(4, 2, 'active [%]'), counter(5, 1, 'steps'), counter(6, 1, 'losses')],
  };
  const shown = (options: Partial<LayoutOptions> = {}) => buildLayout(info, new Rows(), { ...kPlain, ...options }).lanes.filter((lane) => lane.track);
  const ids = (options?: Partial<LayoutOptions>) => shown(options).map((lane) => tracksOf(lane).map((track) => track.id).join('+'));
  assert.deepEqual(ids(), ['1+3', '2', '5', '6', '4']);
  assert.deepEqual([shown()[0].label, ...describe(shown()[0])], ['2 counters [%]', 'active', 'DRAM']);
  assert.deepEqual(shown().map((lane) => lane.folds), [true, false, false, false, false]);
  assert.deepEqual(ids({ toggled: new Set(['t1']) }), ['1', '2', '3', '5', '6', '4']);
  assert.deepEqual(ids({ hidden: new Set(['t1']) }), ['2', '3', '5', '6', '4']);
  assert.deepEqual(buildLayout(info, new Rows(), { ...kPlain, pinned: [3, 1] }).pinned.map((lane) => lane.label), ['2 counters [%] · GPU']);
});

test('the tracks of a rank are below it if it is open, if the filter finds them, or if tracks are sorted', () => {
  const [one, two] = [training(1).trace(), training(1).trace()];
  const ranks = { ...one, tracks: [...one.tracks, ...two.tracks.map((track) => ({ ...track, id: track.id + 50, process: track.process + 10 }))], processes: [...one.processes, ...two.processes.map((process) => ({ ...process, id: process.id + 10 }))] };
  const rank = (id: number, process: number, straggler: boolean) => ({ id, file: 0, process, kind: 'rank' as TrackKind, name: `rank ${id - 100}`, rows: 2, ranges: 3, calls: 3, last_at: 1, waited_ns: 5, awaited_ns: 7, straggler });
  for (const track of ranks.tracks) track.rank = track.id < 50 ? 100 : 101;
  ranks.tracks.push(rank(100, 0, false), rank(101, 10, true));
  const built = (options: Partial<LayoutOptions>) => buildLayout(ranks, new Rows(), { ...kPlain, ...options });
  const closed = built({});
  assert.deepEqual(closed.lanes.map((lane) => [lane.label, lane.collapsed, lane.rows]), [['rank 0', true, 2], ['rank 1: straggler', true, 2]]);
  assert.equal(closed.leftOut, 0); // they are not hidden
  assert.deepEqual(describe(closed.lanes[1]), ['others wait 7 ns', 'last at 1 of 3']);
  const open = built({ toggled: new Set(['t101']) });
  assert.deepEqual(open.lanes.slice(0, 2).map((lane) => lane.label), ['rank 0', 'rank 1: straggler']);
  const below = open.lanes.slice(2);
  assert.ok(below.length > 2 && below.every((lane) => (lane.track ? lane.track.rank === 101 : lane.group.endsWith('r101'))));
  assert.ok(names(built({ filter: 'main' })).length > 0);
  assert.ok(built({ arrangement: 'name' }).lanes.length > below.length);
  assert.deepEqual(names(built({ hidden: new Set(['t100', 't101']) })), []);
});
