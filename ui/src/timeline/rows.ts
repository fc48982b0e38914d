// The rows of a track. Its ranges are in lanes, because work on a device overlaps without nesting, and each lane is as
// deep as its deepest range. The server does not know all depths before it has read the trace, so the page counts them.

import type { Tile, Track } from '../core/protocol';

const kMaxRows = 5000; // of a track; deeper ranges are not drawn

export class Rows {
  private readonly depths = new Map<number, number[]>(); // by track: rows of each lane
  private readonly bases = new Map<number, number[]>(); // by track: first row of each lane
  version = 0; // changes when a track gets more rows

  /** Learns from a tile. */
  learn(tile: Tile): void {
    let depths = this.depths.get(tile.track);
    if (!depths) this.depths.set(tile.track, (depths = []));
    let changed = false;
    for (let i = 0; i < tile.rectangles; ++i) {
      const lane = tile.lane[i];
      if (lane >= kMaxRows || tile.depth[i] < (depths[lane] ?? 0)) continue;
      while (depths.length <= lane) depths.push(0);
      depths[lane] = tile.depth[i] + 1;
      changed = true;
    }
    if (!changed) return;
    const bases: number[] = [];
    let row = 0;
    for (const depth of depths) {
      bases.push(row);
      row += depth;
    }
    bases.push(row);
    this.bases.set(tile.track, bases);
    ++this.version;
  }

  /** The row of a range. */
  rowOf(track: number, lane: number, depth: number): number {
    return (this.bases.get(track)?.[lane] ?? 0) + depth;
  }

  /** The first rows of the lanes of a track. */
  basesOf(track: number): readonly number[] {
    return this.bases.get(track) ?? [0];
  }

  count(track: Track): number {
    const known = this.bases.get(track.id)?.at(-1) ?? 0;
    const told = (this.depths.get(track.id)?.length ?? 0) > 1 ? 0 : (track.rows ?? 0);
    return Math.max(1, Math.min(kMaxRows, Math.max(known, told)));
  }
}
