// From tiles to rectangles: what one frame shows. Ranges that are too narrow to be seen alone are merged, so the number
// of rectangles is bounded by the size of the screen and not by the trace.

import { kUnknown, PointKind, Tile, tileSpan, Track } from '../core/protocol';
import { TileCache, tileRange } from '../core/tile_cache';
import type { Span } from '../core/viewport';
import { DrawList, kMaxRectangles } from './draw_list';
import { isPlot, kInstantHeight, kRowHeight, Lane, rowTop } from './layout';
import { Colour } from './palette';
import type { Rows } from './rows';

export const kMaxLabels = 300;
const kMinLabelWidth = 26;
const kRangeHeight = kRowHeight - 2;
const kInstantWidth = 3;
const kMaxMerged = 512;
const kRoomToSplit = 0.4; // if fewer rectangles than this share of the maximum are used, narrower ones may fit
const kSmall = 3; // pixels: narrower ranges join a run with a common label

/** A lane and where it is on the screen. */
export interface PlacedLane {
  lane: Lane;
  top: number;
  clipTop: number; // lanes that scroll are hidden above this height
  shift: number; // nanoseconds by which the file of this lane is moved, to compare it with another
}

/** What a rectangle stands for. */
export interface Shape {
  lane: Lane | undefined; // undefined: a line of the grid
  row: number; // -1: the background of the lane, -2: an instant
  name: number;
  start: number;
  end: number;
  count: number;
  chunk: number;
  event: number;
}

export interface Label {
  x: number;
  y: number;
  width: number;
  name: number; // -1: several names
  count: number;
}

/** How names are coloured: decided by the caller, because it depends on the search and on the comparison. */
export interface NameColours {
  colourOf(name: number): number;
}

interface Run {
  x0: number;
  x1: number;
  y: number;
  name: number;
  count: number;
}

export class Scene {
  readonly list = new DrawList();
  readonly pool: Shape[] = []; // by rectangle; kept from frame to frame, so that a frame does not allocate
  labels: Label[] = [];
  complete = true; // whether all tiles were here
  flags = 0; // TileFlag of all tiles together
  mergedBelow = 1; // pixels: narrower ranges were merged
  ranges = 0; // that the rectangles stand for

  /**
   * Builds the frame. If there are too many rectangles, it merges wider ones, until they fit. It begins with what was
   * right for the last frame, because that is usually right again.
   */
  build(lanes: readonly PlacedLane[], input: SceneInput): void {
    let below = this.mergedBelow;
    while (!new Builder(this, input, below).run(lanes) && below < kMaxMerged) below *= 2;
    while (below > 1 && this.list.count < kMaxRectangles * kRoomToSplit) {
      if (new Builder(this, input, below / 2).run(lanes)) {
        below /= 2;
      } else {
        new Builder(this, input, below).run(lanes);
        break;
      }
    }
    this.mergedBelow = below;
  }

  /** What the rectangles of the frame stand for. */
  shapes(): Shape[] {
    return this.pool.slice(0, this.list.count);
  }

  /** The shape of the rectangle that was added last. */
  set(at: number, lane: Lane | undefined, row: number, name: number, start: number, end: number, count: number, chunk: number, event: number): void {
    const shape = (this.pool[at] ??= { lane, row, name, start, end, count, chunk, event });
    shape.lane = lane;
    shape.row = row;
    shape.name = name;
    shape.start = start;
    shape.end = end;
    shape.count = count;
    shape.chunk = chunk;
    shape.event = event;
  }
}

export interface SceneInput {
  cache: TileCache;
  rows: Rows;
  level: number;
  span: Span;
  duration: (file: number) => number;
  left: number; // pixels, where the time axis begins
  width: number;
  height: number;
  colours: NameColours;
  grid: readonly number[]; // pixels
}

class Builder {
  private readonly scale: number;
  private runs: Array<Run | undefined> = [];
  private previous: number[] = []; // by row: the last rectangle
  private span: Span; // in the time of the file of the lane

  constructor(private readonly scene: Scene, private readonly input: SceneInput, private readonly below: number) {
    this.span = input.span;
    this.scale = input.width / (input.span.to - input.span.from);
  }

  run(lanes: readonly PlacedLane[]): boolean {
    const scene = this.scene;
    scene.list.clear();
    scene.labels = [];
    scene.complete = true;
    scene.flags = 0;
    scene.ranges = 0;
    for (const placed of lanes) {
      if (!placed.lane.track) this.background(placed, Colour.Header);
      else if (placed.lane.pinned) this.background(placed, Colour.Lane);
    }
    for (const x of this.input.grid) this.addBackground(undefined, x, 0, 1, this.input.height, Colour.Grid);
    for (const placed of lanes) {
      const { track } = placed.lane;
      if (!track) continue;
      this.span = { from: this.input.span.from - placed.shift, to: this.input.span.to - placed.shift };
      this.runs = [];
      this.previous = [];
      let fits = true;
      for (const other of placed.lane.others) this.forEachTile(other, () => {});
      this.forEachTile(track, (tile, from, to) => {
        if (isPlot(track)) return;
        fits = fits && this.addRanges(placed, tile, from, to) && this.addInstants(placed, tile, from, to);
      });
      for (const run of this.runs) this.endRun(run);
      if (!fits) return false;
    }
    this.chooseLabels();
    return true;
  }

  private background(placed: PlacedLane, colour: number): void {
    const top = Math.max(placed.top, placed.clipTop);
    const bottom = Math.min(placed.top + placed.lane.height, this.input.height);
    if (bottom <= top) return;
    this.addBackground(placed.lane, 0, top, this.input.left + this.input.width, bottom - top, colour);
  }

  private addBackground(lane: Lane | undefined, x: number, y: number, width: number, height: number, colour: number): void {
    const at = this.scene.list.add(x, y, width, height, colour);
    if (at >= 0) this.scene.set(at, lane, -1, -1, 0, 0, 0, kUnknown, kUnknown);
  }

  /** Calls `use` for the best tiles that are here, from left to right, each with the times it is used for. */
  private forEachTile({ id: track, file }: Track, use: (tile: Tile, from: number, to: number) => void): void {
    const { cache, level } = this.input;
    const [first, last] = tileRange(level, this.span, this.input.duration(file));
    const width = tileSpan(level);
    for (let index = first; index <= last; ++index) {
      const from = index * width;
      const tile = cache.get(track, level, index);
      if (tile) {
        this.scene.flags |= tile.flags;
        use(tile, from, from + width);
        continue;
      }
      this.scene.complete = false;
      const finer = cache.finer(track, level, index);
      if (finer.length === 2) {
        use(finer[0], from, from + width / 2);
        use(finer[1], from + width / 2, from + width);
        continue;
      }
      const coarser = cache.coarser(track, level, index);
      if (coarser) use(coarser, from, from + width);
    }
  }

  private addRanges(placed: PlacedLane, tile: Tile, from: number, to: number): boolean {
    const { lane } = placed;
    const { list, pool } = this.scene;
    const { left, colours } = this.input;
    const bases = this.input.rows.basesOf(tile.track);
    const isStates = lane.track!.kind === 'states' || lane.track!.kind === 'rank'; // they are no ranges of the trace
    const visibleFrom = Math.max(from, this.span.from);
    const visibleTo = Math.min(to, this.span.to);
    const right = left + this.input.width;
    for (let i = 0; i < tile.rectangles; ++i) {
      const start = tile.start[i];
      const end = tile.end[i];
      if (start >= visibleTo || end < visibleFrom || (end === visibleFrom && start < end)) continue;
      const row = (bases[tile.lane[i]] ?? 0) + tile.depth[i];
      if (row < lane.firstRow || row >= lane.firstRow + lane.rows) continue;
      const top = placed.top + rowTop(lane, row);
      const y0 = Math.max(top, placed.clipTop);
      const y1 = Math.min(top + kRangeHeight, this.input.height);
      if (y1 <= y0) continue;
      const x0 = left + (Math.max(start, visibleFrom) - this.span.from) * this.scale;
      const x1 = Math.min(right, left + (Math.min(end, visibleTo) - this.span.from) * this.scale);
      const name = tile.name[i];
      const count = tile.count[i];
      const small = x1 - x0 < kSmall || count > 1;
      // A range that started on the screen, in another tile, was counted there.
      const added = isStates || (start < from && from > this.span.from) ? 0 : count;
      const last = this.previous[row] ?? -1;
      if (last >= 0) {
        const shape = pool[last];
        if (shape.event === tile.event[i] && shape.chunk === tile.chunk[i] && shape.event !== kUnknown && count === 1) {
          // The same range, in the next tile. If its first part was too narrow for a label, it gets one now.
          const wasSmall = list.width[last] < kSmall;
          list.width[last] = Math.max(list.width[last], x1 - list.x[last]);
          if (wasSmall && list.width[last] >= kSmall && y0 === top && y1 === top + kRangeHeight) this.scene.labels.push({ x: last, y: top, width: -1, name, count: 1 });
          continue;
        }
        const used = list.x[last] + list.width[last];
        if (x1 - x0 < this.below && list.width[last] <= this.below && x0 < list.x[last] + this.below && used <= list.x[last] + this.below + 0.5) {
          list.width[last] = Math.max(list.width[last], x1 - list.x[last], 1);
          if (end - start > shape.end - shape.start) {
            shape.name = name;
            list.colour[last] = colours.colourOf(name);
          }
          shape.count += added;
          shape.end = Math.max(shape.end, end);
          shape.event = kUnknown;
          this.scene.ranges += added;
          this.extendRun(row, x0, x1, top, name, added);
          continue;
        }
      }
      const colour = colours.colourOf(name);
      // A pixel between neighbours, where there is room for it.
      const gap = x1 - x0 > 4 && end <= visibleTo ? 0.75 : 0;
      const at = list.add(x0, y0, Math.max(1, x1 - x0 - gap), y1 - y0, colour);
      if (at < 0 || list.count > kMaxRectangles) return false;
      this.scene.set(at, lane, row, name, start, end, count, tile.chunk[i], tile.event[i]);
      this.previous[row] = at;
      this.scene.ranges += added;
      if (small) {
        this.extendRun(row, x0, x1, top, name, added);
      } else {
        this.endRun(this.runs[row]);
        this.runs[row] = undefined;
        if (y0 === top && y1 === top + kRangeHeight) this.scene.labels.push({ x: at, y: top, width: -1, name, count: 1 });
      }
    }
    return true;
  }

  private addInstants(placed: PlacedLane, tile: Tile, from: number, to: number): boolean {
    const { lane } = placed;
    const { list, pool } = this.scene;
    if (!lane.instants || tile.instants === 0) return true;
    const y0 = Math.max(placed.top + 3, placed.clipTop);
    const y1 = Math.min(placed.top + 3 + kInstantHeight - 2, this.input.height);
    if (y1 <= y0) return true;
    let last = -1;
    for (let i = 0; i < tile.instants; ++i) {
      const time = tile.instantTime[i];
      if (time < from || time >= to || time < this.span.from || time > this.span.to) continue;
      const x = this.input.left + (time - this.span.from) * this.scale;
      const count = tile.instantCount[i];
      if (last >= 0 && x < list.x[last] + Math.max(this.below, kInstantWidth - 1)) {
        pool[last].count += count;
        pool[last].end = time;
        continue;
      }
      const kind = tile.instantKind[i];
      last = list.add(x - 1, y0, kInstantWidth, y1 - y0, kind === PointKind.Instant ? Colour.Instant : Colour.Point);
      if (last < 0 || list.count > kMaxRectangles) return false;
      this.scene.set(last, lane, -2, tile.instantName[i], time, time, count, tile.instantChunk[i], tile.instantEvent[i]);
    }
    return true;
  }

  private extendRun(row: number, x0: number, x1: number, y: number, name: number, count: number): void {
    const run = this.runs[row];
    if (run && x0 - run.x1 < kSmall) {
      run.x1 = Math.max(run.x1, x1);
      run.count += count;
      if (run.name !== name) run.name = -1;
      return;
    }
    this.endRun(run);
    this.runs[row] = { x0, x1, y, name, count };
  }

  private endRun(run: Run | undefined): void {
    if (!run || run.count < 2 || run.x1 - run.x0 < kMinLabelWidth) return;
    this.scene.labels.push({ x: run.x0, y: run.y, width: run.x1 - run.x0, name: run.name, count: run.count });
  }

  /** Labels of single ranges get their final width only now, because a range may continue in the next tile. */
  private chooseLabels(): void {
    const { list } = this.scene;
    const labels: Label[] = [];
    for (const label of this.scene.labels) {
      if (label.width < 0) {
        label.width = list.width[label.x];
        label.x = list.x[label.x];
      }
      if (label.width >= kMinLabelWidth) labels.push(label);
    }
    if (labels.length > kMaxLabels) {
      labels.sort((a, b) => b.width - a.width);
      labels.length = kMaxLabels;
    }
    this.scene.labels = labels;
  }
}
