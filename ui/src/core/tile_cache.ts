// Tiles that were received, with a bound on their bytes, and what to request next.

import { kBinsPerTile, Tile, TileFlag, tileSpan } from './protocol';
import type { Span } from './viewport';

export interface TileRequest {
  level: number;
  from: number;
  to: number; // the last tile, included
  tracks: number[];
}

export const kMaxTracksPerRequest = 256;
const kMaxTilesPerRequest = 1024; // tracks times tiles
const kMaxTilesInARow = 16;
export const kPreliminaryMs = 150; // a tile that the server could not finish in time is requested again after this time
const kCoarserLevels = 24;

export class TileCache {
  private readonly tiles = new Map<string, Tile>(); // in the order of use, the oldest first
  private bytes_ = 0;
  generation = 0;

  constructor(private readonly limit = 96 << 20) {}

  get bytes(): number {
    return this.bytes_;
  }
  get size(): number {
    return this.tiles.size;
  }

  get(track: number, level: number, index: number): Tile | undefined {
    const key = keyOf(track, level, index);
    const tile = this.tiles.get(key);
    if (tile) {
      this.tiles.delete(key);
      this.tiles.set(key, tile);
    }
    return tile;
  }

  has(track: number, level: number, index: number): boolean {
    return this.tiles.has(keyOf(track, level, index));
  }

  put(tile: Tile): void {
    const key = keyOf(tile.track, tile.level, tile.index);
    const old = this.tiles.get(key);
    if (old) {
      this.bytes_ -= old.bytes;
      this.tiles.delete(key);
    }
    this.tiles.set(key, tile);
    this.bytes_ += tile.bytes;
    for (const [oldest, victim] of this.tiles) {
      if (this.bytes_ <= this.limit || oldest === key) break;
      this.tiles.delete(oldest);
      this.bytes_ -= victim.bytes;
    }
  }

  /** Tiles that contain times after `ns` are requested again, and drawn until the answer is here. */
  markStale(ns: number): void {
    ++this.generation;
    for (const tile of this.tiles.values()) if ((tile.index + 1) * tileSpan(tile.level) > ns) tile.flags |= TileFlag.Stale;
  }

  /** Stores the answer of a request that was sent in an older generation: something has changed meanwhile. */
  putLate(tile: Tile): void {
    tile.flags |= TileFlag.Stale;
    this.put(tile);
  }

  clear(): void {
    this.tiles.clear();
    this.bytes_ = 0;
  }

  /** The tile to draw for a place that has no tile at `level` yet: a coarser one that contains it. */
  coarser(track: number, level: number, index: number): Tile | undefined {
    for (let up = 1; up <= kCoarserLevels; ++up) {
      const tile = this.get(track, level + up, Math.floor(index / 2 ** up));
      if (tile) return tile;
    }
    return undefined;
  }

  /** The two finer tiles of a place, if both are here: after zooming out. */
  finer(track: number, level: number, index: number): Tile[] {
    if (level === 0) return [];
    const first = this.get(track, level - 1, index * 2);
    const second = this.get(track, level - 1, index * 2 + 1);
    return first && second ? [first, second] : [];
  }

  /** One request for everything that is missing, or undefined if all tiles are here. */
  missing(level: number, span: Span, tracks: readonly number[], duration: number, now: number): TileRequest | undefined {
    const [first, last] = tileRange(level, span, duration);
    let from = Infinity;
    let to = -1;
    const wanted: number[] = [];
    for (const track of tracks) {
      let isMissing = false;
      for (let index = first; index <= last; ++index) {
        const tile = this.tiles.get(keyOf(track, level, index));
        if (tile && !isOutdated(tile, now)) continue;
        isMissing = true;
        from = Math.min(from, index);
        to = Math.max(to, index);
      }
      if (isMissing) wanted.push(track);
      if (wanted.length >= kMaxTracksPerRequest || wanted.length * (to - from + 1) >= kMaxTilesPerRequest) break;
    }
    if (wanted.length === 0) return undefined;
    return { level, from, to: Math.min(to, from + kMaxTilesInARow - 1), tracks: wanted };
  }
}

/** The first and the last tile of a span, within the trace. */
export function tileRange(level: number, span: Span, duration: number): [number, number] {
  const width = tileSpan(level);
  const last = Math.max(0, Math.floor(duration / width));
  const clamp = (index: number) => Math.min(last, Math.max(0, index));
  return [clamp(Math.floor(span.from / width)), clamp(Math.floor(span.to / width))];
}

function isOutdated(tile: Tile, now: number): boolean {
  if (tile.flags & TileFlag.Stale) return true;
  return (tile.flags & TileFlag.Preliminary) !== 0 && now - tile.received > kPreliminaryMs;
}

function keyOf(track: number, level: number, index: number): string {
  return `${level}/${track}/${index}`;
}

/** The level at which the whole trace is one tile. */
export function wholeTraceLevel(duration: number): number {
  return Math.max(0, Math.ceil(Math.log2(Math.max(1, (duration + 1) / kBinsPerTile))));
}
