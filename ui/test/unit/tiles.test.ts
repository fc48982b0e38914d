import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeTiles, Tile, TileFlag, tileSpan } from '../../src/core/protocol';
import { TileCache, tileRange, wholeTraceLevel } from '../../src/core/tile_cache';
import { Engine } from '../support/engine';
import { training, year } from '../support/traces';

function bytesOf(buffer: Buffer): ArrayBuffer {
  return new Uint8Array(buffer).buffer;
}

function tilesOf(engine: Engine, level: number, from: number, to: number, tracks: number[]): Tile[] {
  return decodeTiles(bytesOf(engine.tiles(level, from, to, tracks)), level).tiles;
}

test('all ranges are in the tiles exactly once, as themselves or in a run', () => {
  const engine = training(3);
  for (const track of engine.tracks) {
    for (const level of [0, 4, 8, 11, 14]) {
      const last = Math.floor(engine.duration / tileSpan(level));
      if (last > 2000) continue;
      const seen = new Set<number>();
      let merged = 0;
      for (const tile of tilesOf(engine, level, 0, last, [track.id])) {
        for (let i = 0; i < tile.rectangles; ++i) {
          if (tile.count[i] === 1) seen.add(tile.event[i]);
          else merged += tile.count[i];
        }
      }
      assert.equal(seen.size + merged, track.start.length, `${track.name} at level ${level}`);
    }
  }
});

test('an answer that is cut off is an error at every length', () => {
  const engine = training(1);
  const whole = bytesOf(engine.tiles(12, 0, 0, [1, 5]));
  assert.equal(decodeTiles(whole, 12).tiles.length, 2);
  for (let length = 0; length < whole.byteLength; length += 7) {
    assert.throws(() => decodeTiles(whole.slice(0, length), 12), /bytes/);
  }
});

test('an answer that promises too much is an error', () => {
  const bytes = bytesOf(training(1).tiles(12, 0, 0, [1]));
  new DataView(bytes).setUint32(20, 0xffffffff, true); // the number of rectangles
  assert.throws(() => decodeTiles(bytes, 12), /bytes/);
  new DataView(bytes).setUint32(0, 0x12345678, true);
  assert.throws(() => decodeTiles(bytes, 12), /KYT1/);
});

function made(track: number, level: number, index: number, bytes = 1000, flags = 0, received = 0): Tile {
  return { ...decodeTiles(bytesOf(new Engine('x').tiles(level, index, index, [track])), level).tiles[0], bytes, flags, received };
}

test('the cache keeps its bound and drops what was not used for longest', () => {
  const cache = new TileCache(10_000);
  for (let i = 0; i < 10; ++i) cache.put(made(1, 0, i));
  cache.get(1, 0, 0);
  cache.put(made(1, 0, 10));
  assert.ok(cache.bytes <= 10_000);
  assert.ok(cache.has(1, 0, 0));
  assert.ok(!cache.has(1, 0, 1));
  cache.put(made(1, 0, 10, 500)); // the same tile again
  assert.equal(cache.bytes, 9_500);
});

test('one request has everything that is missing', () => {
  const cache = new TileCache();
  const span = { from: 0, to: 3 * tileSpan(4) - 1 };
  assert.deepEqual(cache.missing(4, span, [1, 2], 1e9, 0), { level: 4, from: 0, to: 2, tracks: [1, 2] });
  for (const index of [0, 1, 2]) cache.put(made(1, 4, index));
  cache.put(made(2, 4, 0));
  assert.deepEqual(cache.missing(4, span, [1, 2], 1e9, 0), { level: 4, from: 1, to: 2, tracks: [2] });
  for (const index of [1, 2]) cache.put(made(2, 4, index));
  assert.equal(cache.missing(4, span, [1, 2], 1e9, 0), undefined);
});

test('a preliminary tile is requested again, but not at once', () => {
  const cache = new TileCache();
  cache.put(made(1, 4, 0, 1000, TileFlag.Preliminary, 1000));
  const missing = (now: number) => cache.missing(4, { from: 0, to: 10 }, [1], 1e9, now);
  assert.equal(missing(1050), undefined);
  assert.deepEqual(missing(1300)?.tracks, [1]);
});

test('a request has at most 16 tiles in a row and 1,024 in total', () => {
  const request = new TileCache().missing(0, { from: 0, to: 1e9 }, Array.from({ length: 5000 }, (_, i) => i), 1e9, 0)!;
  assert.ok(request.to - request.from + 1 <= 16);
  const many = new TileCache().missing(10, { from: 0, to: tileSpan(10) - 1 }, Array.from({ length: 5000 }, (_, i) => i), 1e9, 0)!;
  assert.ok(many.tracks.length <= 256);
});

test('tiles of other levels stand in for missing ones', () => {
  const cache = new TileCache();
  cache.put(made(1, 7, 0));
  assert.equal(cache.coarser(1, 4, 3)?.level, 7);
  assert.equal(cache.coarser(1, 4, 8), undefined);
  cache.put(made(1, 3, 6));
  assert.equal(cache.finer(1, 4, 3).length, 0);
  cache.put(made(1, 3, 7));
  assert.equal(cache.finer(1, 4, 3).length, 2);
});

test('when the trace has grown, tiles that reach its end are requested again, and kept until then', () => {
  const cache = new TileCache();
  for (const index of [0, 1, 2]) cache.put(made(1, 0, index));
  cache.markStale(1500);
  assert.deepEqual(cache.missing(0, { from: 0, to: 3000 }, [1], 1e9, 0), { level: 0, from: 1, to: 2, tracks: [1] });
  assert.ok(cache.has(1, 0, 2));
  cache.put(made(1, 0, 1));
  cache.putLate(made(1, 0, 2)); // was requested before the trace has grown
  assert.deepEqual(cache.missing(0, { from: 0, to: 3000 }, [1], 1e9, 0), { level: 0, from: 2, to: 2, tracks: [1] });
});

test('tiles of a year beside nanoseconds have exact numbers', () => {
  const engine = year(1000);
  const level = wholeTraceLevel(engine.duration);
  const [long, short] = tilesOf(engine, level, 0, 0, [1, 2]);
  assert.equal(long.rectangles, 1);
  assert.equal(long.end[0], 365 * 86400e9);
  assert.equal(short.count[0], 1000);
  const [first, last] = tileRange(0, { from: engine.duration - 2000, to: engine.duration }, engine.duration);
  assert.ok(first > 2 ** 32 && last >= first);
  assert.equal(tilesOf(engine, 0, first, first, [1])[0].index, first);
});
