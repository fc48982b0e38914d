// The strip above the axis: how busy the whole trace is, where the search has hits, and which part is shown.

import type { App } from '../app';
import { kBinsPerTile, Tile, TileFlag, tileSpan, TraceInfo } from '../core/protocol';
import { kMaxTracksPerRequest, kPreliminaryMs, TileRequest, wholeTraceLevel } from '../core/tile_cache';
import { Geometry, kMinimapHeight } from './geometry';
import { isPlot } from './layout';

const kTop = 6;
const kGrip = 6;

/** Adds up, for each bin of a tile, how much of it the outermost ranges cover. Times are moved by `shiftOf` their track. */
export function coverage(tiles: readonly Tile[], shiftOf: (track: number) => number = () => 0): Float32Array {
  const bins = new Float32Array(kBinsPerTile);
  for (const tile of tiles) {
    const width = 2 ** tile.level;
    const origin = tile.index * tileSpan(tile.level) - shiftOf(tile.track);
    for (let i = 0; i < tile.rectangles; ++i) {
      if (tile.depth[i] !== 0) continue;
      const from = (tile.start[i] - origin) / width;
      const to = Math.min(kBinsPerTile, (tile.end[i] - origin) / width);
      const share = tile.busy[i];
      for (let bin = Math.max(0, Math.floor(from)); bin < to; ++bin) {
        bins[bin] += share * Math.max(0, Math.min(to, bin + 1) - Math.max(from, bin));
      }
    }
  }
  return bins;
}

/** What a sum of all tracks is made of. */
interface Round {
  trace: TraceInfo;
  tracks: number[];
  generation: number; // of the tiles
  shifts: number[];
  level: number;
  next: number; // the first track that is not added yet
  bins: Float32Array;
  showsProgress: boolean; // there is no older sum to show meanwhile
  preliminary: boolean; // the server could not finish some tiles in time
  ended: number; // when, in milliseconds of the page's clock
}

/**
 * A trace may have more tracks than the cache has room for their tiles, so they are added up in parts: a round. It is
 * done again when the trace has changed, but never before it has ended.
 */
export class Minimap {
  private round?: Round;
  private level = -1; // of the bins
  private bins?: Float32Array;
  private most = 1;
  private builds = 0;
  private imageKey = '';
  private readonly image = document.createElement('canvas');

  constructor(private readonly app: App) {}

  /** Whether to ask again a little later. */
  get isPreliminary(): boolean {
    return this.round?.preliminary ?? false;
  }

  /** How much of each part of the trace the tracks cover, all together. */
  get shares(): number[] {
    return [...(this.bins ?? [])];
  }

  /** The next request for the whole trace, or undefined if all tracks are added up. */
  missing(now: number): TileRequest | undefined {
    const { app } = this;
    const round = (this.round = this.currentRound(now));
    const { level, tracks } = round;
    if (round.next >= tracks.length) return undefined;
    for (; round.next < tracks.length; round.next += kMaxTracksPerRequest) {
      const part = tracks.slice(round.next, round.next + kMaxTracksPerRequest);
      const request = app.cache.missing(level, { from: 0, to: 0 }, part, app.duration, now);
      if (request) return request;
      const tiles = part.map((id) => app.cache.get(id, level, 0)).filter((tile) => tile !== undefined);
      coverage(tiles, (track) => app.shiftOf(app.track(track)?.file ?? 0)).forEach((share, bin) => (round.bins[bin] += share));
      round.preliminary ||= tiles.some((tile) => (tile.flags & TileFlag.Preliminary) !== 0);
      if (round.showsProgress) this.use(round);
    }
    round.ended = now;
    this.use(round);
    return undefined;
  }

  private currentRound(now: number): Round {
    const { app, round } = this;
    const trace = app.trace!;
    const { generation } = app.cache;
    const level = wholeTraceLevel(app.duration);
    if (round && round.level === level && round.next < round.tracks.length) return round;
    const isOld = round?.preliminary && now - round.ended > kPreliminaryMs;
    if (round && round.level === level && !isOld && round.trace === trace && round.generation === generation && round.shifts === app.shifts) return round;
    const tracks = trace.tracks.filter((track) => !isPlot(track) && track.kind !== 'states' && track.kind !== 'rank' && (track.ranges ?? 0) > 0).map((track) => track.id);
    return { trace, tracks, generation, shifts: app.shifts, level, next: 0, bins: new Float32Array(kBinsPerTile), showsProgress: this.level !== level, preliminary: false, ended: now };
  }

  private use(round: Round): void {
    this.level = round.level;
    this.bins = round.bins.slice();
    this.most = this.bins.reduce((most, share) => Math.max(most, share), 1e-6);
    ++this.builds;
  }

  draw(context: CanvasRenderingContext2D, geometry: Geometry): void {
    const { app } = this;
    const { theme } = app;
    context.fillStyle = theme.panel;
    context.fillRect(0, 0, geometry.width, kMinimapHeight);
    const height = kMinimapHeight - kTop - 4;
    if (this.bins) this.drawBars(context, geometry, height);
    this.drawHits(context, geometry, height);
    const [x0, x1] = this.window(geometry);
    context.globalAlpha = 0.55;
    context.fillStyle = theme.background;
    context.fillRect(geometry.left, 0, x0 - geometry.left, kMinimapHeight);
    context.fillRect(x1, 0, geometry.width - x1, kMinimapHeight);
    context.globalAlpha = 1;
    context.fillStyle = theme.accent;
    context.fillRect(x0, 0, 1.5, kMinimapHeight);
    context.fillRect(x1 - 1.5, 0, 1.5, kMinimapHeight);
    context.fillRect(x0 - 1.5, kMinimapHeight / 2 - 6, 4, 12);
    context.fillRect(x1 - 2.5, kMinimapHeight / 2 - 6, 4, 12);
    context.fillStyle = theme.line;
    context.fillRect(0, kMinimapHeight - 1, geometry.width, 1);
  }

  /** The bars are drawn once and then copied, because they rarely change. */
  private drawBars(context: CanvasRenderingContext2D, geometry: Geometry, height: number): void {
    const { app, image } = this;
    const key = `${geometry.plotWidth} ${app.duration} ${app.theme.name} ${this.builds}`;
    if (this.imageKey !== key) {
      this.imageKey = key;
      image.width = Math.ceil(geometry.plotWidth);
      image.height = Math.ceil(height);
      const bars = image.getContext('2d')!;
      const scale = (geometry.plotWidth * 2 ** this.level) / app.duration;
      bars.fillStyle = app.theme.plotLine;
      bars.globalAlpha = 0.55;
      this.bins!.forEach((value, bin) => {
        if (value <= 0 || bin * scale > geometry.plotWidth) return;
        const bar = Math.max(1, (value / this.most) * height);
        bars.fillRect(Math.floor(bin * scale), height - bar, Math.floor((bin + 1) * scale) - Math.floor(bin * scale) || 1, bar);
      });
    }
    context.drawImage(image, geometry.left, kTop);
  }

  private drawHits(context: CanvasRenderingContext2D, geometry: Geometry, height: number): void {
    const { app } = this;
    const scale = geometry.plotWidth / app.duration;
    context.fillStyle = app.theme.hit;
    let drawn = new Uint8Array(Math.ceil(geometry.plotWidth) + 1);
    for (const track of app.found.value?.tracks ?? []) {
      for (const [bin] of track.bins) {
        const x = Math.floor(bin * track.bin_ns * scale);
        if (x < 0 || x >= drawn.length || drawn[x]) continue;
        drawn[x] = 1;
        context.fillRect(geometry.left + x, kTop, 1.5, height);
      }
    }
  }

  private window(geometry: Geometry): [number, number] {
    const scale = geometry.plotWidth / this.app.duration;
    const x0 = geometry.left + Math.max(0, this.app.span.from * scale);
    const x1 = geometry.left + Math.min(geometry.plotWidth, this.app.span.to * scale);
    return [x0, Math.max(x0 + 3, x1)];
  }

  time(x: number, geometry: Geometry): number {
    return ((x - geometry.left) / geometry.plotWidth) * this.app.duration;
  }

  /** What a press at x takes hold of. */
  part(x: number, geometry: Geometry): 'left' | 'right' | 'window' | 'outside' {
    const [x0, x1] = this.window(geometry);
    if (Math.abs(x - x0) <= kGrip) return 'left';
    if (Math.abs(x - x1) <= kGrip) return 'right';
    return x > x0 && x < x1 ? 'window' : 'outside';
  }
}
