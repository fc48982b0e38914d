// The strip above the axis: how busy the whole trace is, where the search has hits, and which part is shown.

import type { App } from '../app';
import { kBinsPerTile, Tile, tileSpan } from '../core/protocol';
import { TileRequest, wholeTraceLevel } from '../core/tile_cache';
import { Geometry, kMinimapHeight } from './geometry';
import { isPlot } from './layout';

const kMaxTracks = 48;
const kTop = 6;
const kGrip = 6;

/** Adds up, for each bin of a tile, how much of it the outermost ranges cover. */
export function coverage(tiles: readonly Tile[]): Float32Array {
  const bins = new Float32Array(kBinsPerTile);
  for (const tile of tiles) {
    const width = 2 ** tile.level;
    const origin = tile.index * tileSpan(tile.level);
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

export class Minimap {
  private level = -1;
  private bins?: Float32Array;
  private most = 1;
  private builds = 0;
  private imageKey = '';
  private readonly image = document.createElement('canvas');

  constructor(private readonly app: App) {}

  /** The request for the whole trace, or undefined if its tiles are here. */
  missing(now: number): TileRequest | undefined {
    const { app } = this;
    const level = wholeTraceLevel(app.duration);
    const request = app.cache.missing(level, { from: 0, to: 0 }, this.tracks(), app.duration, now);
    if (level !== this.level || request) this.bins = undefined;
    this.level = level;
    return request;
  }

  private tracks(): number[] {
    const tracks = this.app.trace!.tracks.filter((t) => !isPlot(t) && (t.ranges ?? 0) > 0);
    tracks.sort((a, b) => (b.ranges ?? 0) - (a.ranges ?? 0));
    return tracks.slice(0, kMaxTracks).map((t) => t.id);
  }

  private build(): Float32Array {
    const tiles = this.tracks().map((id) => this.app.cache.get(id, this.level, 0)).filter((tile) => tile !== undefined);
    const bins = coverage(tiles);
    ++this.builds;
    this.most = Math.max(1e-6, ...bins);
    return bins;
  }

  draw(context: CanvasRenderingContext2D, geometry: Geometry): void {
    const { app } = this;
    const { theme } = app;
    context.fillStyle = theme.panel;
    context.fillRect(0, 0, geometry.width, kMinimapHeight);
    const height = kMinimapHeight - kTop - 4;
    if (this.level >= 0) {
      this.bins ??= this.build();
      this.drawBars(context, geometry, height);
    }
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
