import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeTiles } from '../../src/core/protocol';
import { TileCache, tileRange } from '../../src/core/tile_cache';
import { levelFor, Span } from '../../src/core/viewport';
import { kMaxRectangles } from '../../src/timeline/draw_list';
import { buildLayout } from '../../src/timeline/layout';
import { Rows } from '../../src/timeline/rows';
import { kMaxLabels, PlacedLane, Scene, SceneInput } from '../../src/timeline/scene';
import { Engine } from '../support/engine';
import { dense, training, year } from '../support/traces';

const kWidth = 1200;
const kLeft = 200;

function build(engine: Engine, span: Span, more: { height?: number; cache?: TileCache; skip?: number; scene?: Scene } = {}): Scene {
  const { height = 2000, cache = new TileCache(), scene = new Scene() } = more;
  const rows = new Rows();
  const level = levelFor(span, kWidth);
  const [first, last] = tileRange(level, span, engine.duration);
  for (const track of engine.tracks.slice(0, 60)) {
    for (let index = first; index <= last; ++index) {
      if (index === more.skip) continue;
      const bytes = new Uint8Array(engine.tiles(level, index, index, [track.id])).buffer;
      for (const tile of decodeTiles(bytes, level).tiles) cache.put(tile);
    }
  }
  for (const track of engine.tracks.slice(0, 60)) {
    for (let index = first; index <= last; ++index) {
      const tile = cache.get(track.id, level, index);
      if (tile) rows.learn(tile);
    }
  }
  const layout = buildLayout(engine.trace(), rows, { toggled: new Set(), hidden: new Set(), arrangement: 'process', pinned: [], order: [], filter: '' });
  const placed: PlacedLane[] = layout.lanes.filter((lane) => lane.y < height).map((lane) => ({ lane, top: lane.y, clipTop: 0, shift: 0 }));
  const input: SceneInput = { cache, rows, level, span, duration: () => engine.duration, left: kLeft, width: kWidth, height, colours: { colourOf: (name) => name % 16 }, grid: [] };
  scene.build(placed, input);
  return scene;
}

function ranges(scene: Scene) {
  return scene.shapes().map((shape, i) => ({ ...shape, x: scene.list.x[i], width: scene.list.width[i] })).filter((shape) => shape.row >= 0);
}

test('every range of the trace is drawn, alone or in a run', () => {
  const engine = training(4);
  const scene = build(engine, { from: 0, to: engine.duration });
  assert.equal(scene.ranges, engine.tracks.reduce((sum, track) => sum + track.start.length, 0));
  assert.ok(scene.complete);
});

test('a range is drawn where its times are', () => {
  const engine = new Engine('x');
  const track = engine.track(engine.process('p', 1), 'thread', 't');
  engine.range(track, 'a', 100, 200);
  engine.range(track, 'b', 500, 1000);
  const [a, b] = ranges(build(engine, { from: 0, to: 1000 }));
  assert.ok(Math.abs(a.x - (kLeft + 120)) < 0.01 && Math.abs(a.width - 120) < 1);
  assert.ok(Math.abs(b.x - (kLeft + 600)) < 0.01 && Math.abs(b.width - 600) < 1);
});

test('a range that is in several tiles is one rectangle', () => {
  const engine = new Engine('x');
  const track = engine.track(engine.process('p', 1), 'thread', 't');
  engine.range(track, 'long', 0, 1e6);
  const scene = build(engine, { from: 0, to: 1e6 });
  const all = ranges(scene);
  assert.equal(all.length, 1);
  assert.ok(Math.abs(all[0].width - kWidth) < 1);
  assert.equal(scene.labels.length, 1);
  assert.ok(scene.labels[0].width > kWidth - 2);
});

test('a range that begins in the last pixel of a tile has its label', () => {
  const engine = new Engine('x');
  const track = engine.track(engine.process('p', 1), 'thread', 't');
  engine.range(track, 'first', 0, 900);
  engine.range(track, 'over the border', 1023, 1900); // tiles of this view are 1,024 ns long
  const scene = build(engine, { from: 0, to: 2000 });
  assert.deepEqual(scene.labels.map((label) => engine.names[label.name]), ['first', 'over the border']);
});

test('ranges never leave the screen', () => {
  const engine = training(10);
  for (const span of [{ from: engine.duration * 0.31, to: engine.duration * 0.32 }, { from: -1e5, to: engine.duration / 7 }]) {
    for (const shape of ranges(build(engine, span))) {
      assert.ok(shape.x >= kLeft - 0.01 && shape.x + shape.width <= kLeft + kWidth + 1.01, `${shape.x} ${shape.width}`);
    }
  }
});

test('the number of rectangles and labels is bounded, and no range is lost', () => {
  const engine = dense(30, 8000);
  const scene = build(engine, { from: 0, to: engine.duration }, { height: 4000 });
  assert.ok(scene.list.count <= kMaxRectangles, `${scene.list.count}`);
  assert.ok(scene.labels.length <= kMaxLabels);
  assert.ok(scene.mergedBelow > 1);
  assert.equal(scene.ranges, engine.tracks.reduce((sum, track) => sum + track.start.length, 0));
});

test('after zooming in, ranges that were merged are alone again', () => {
  const engine = dense(30, 8000);
  const scene = new Scene();
  build(engine, { from: 0, to: engine.duration }, { height: 4000, scene });
  build(engine, { from: 0, to: 20_000 }, { height: 4000, scene });
  assert.equal(scene.mergedBelow, 1);
});

test('a year beside nanoseconds: both are drawn', () => {
  const engine = year(100_000);
  const whole = ranges(build(engine, { from: 0, to: engine.duration }));
  assert.deepEqual(whole.map((shape) => shape.count), [1, 100_000]);
  assert.ok(whole[1].width >= 1);
  const close = ranges(build(engine, { from: 1000, to: 1100 })).filter((shape) => shape.lane?.track?.name === 'short');
  assert.equal(close.length, 50);
  for (const shape of close) assert.ok(Math.abs(shape.width - 12) < 1.1);
});

test('runs that touch have one label with their count', () => {
  const engine = new Engine('x');
  const track = engine.track(engine.process('p', 1), 'thread', 't');
  for (let i = 0; i < 1000; ++i) engine.range(track, 'tick', i * 100, i * 100 + 90);
  const scene = build(engine, { from: 0, to: 1_000_000 });
  assert.deepEqual(scene.labels.map((label) => label.count), [1000]);
});

test('a coarser tile is drawn until the right one is here', () => {
  const engine = training(4);
  const cache = new TileCache();
  build(engine, { from: 0, to: engine.duration }, { cache });
  const span = { from: engine.duration * 0.25, to: engine.duration * 0.5 };
  const [first] = tileRange(levelFor(span, kWidth), span, engine.duration);
  const scene = build(engine, span, { cache, skip: first });
  assert.ok(!scene.complete);
  assert.ok(ranges(scene).some((shape) => shape.x < kLeft + 50));
});

test('lanes of a queue have their own rows', () => {
  const engine = new Engine('x');
  const track = engine.track(engine.process('p', 1), 'queue', 'q');
  engine.range(track, 'a', 0, 600, 0, 0, 0);
  engine.range(track, 'inside a', 100, 300, 1, 0, 0);
  engine.range(track, 'overlaps', 400, 900, 0, 0, 1);
  const rows = Object.fromEntries(ranges(build(engine, { from: 0, to: 1000 })).map((shape) => [engine.names[shape.name], shape.row]));
  assert.deepEqual(rows, { a: 0, 'inside a': 1, overlaps: 2 });
});
