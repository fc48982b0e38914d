// Draws counters and memory: a filled line, with a band from the smallest to the largest value where many values are in
// one pixel.

import { Tile, tileSpan } from '../core/protocol';
import { TileCache, tileRange } from '../core/tile_cache';
import { quantity } from '../core/units';
import type { Geometry } from './geometry';
import type { Theme } from './palette';
import type { PlacedLane } from './scene';

/** The values of a counter for each pixel column; NaN where it has none yet. */
export interface PlotColumns {
  min: Float64Array;
  max: Float64Array;
  last: Float64Array;
  low: number;
  high: number;
}

/** Collects the values of tiles into pixel columns. A column without a value has the last one before it. */
export function plotColumns(tiles: readonly Tile[], from: number, nsPerPixel: number, width: number, end: number): PlotColumns {
  const min = new Float64Array(width).fill(NaN);
  const max = new Float64Array(width).fill(NaN);
  const last = new Float64Array(width).fill(NaN);
  let before = NaN;
  for (const tile of tiles) {
    for (let i = 0; i < tile.values; ++i) {
      const x = Math.floor((tile.time[i] - from) / nsPerPixel);
      if (x < 0) before = tile.last[i];
      if (x < 0 || x >= width) continue;
      if (!(min[x] <= tile.min[i])) min[x] = tile.min[i];
      if (!(max[x] >= tile.max[i])) max[x] = tile.max[i];
      last[x] = tile.last[i];
    }
  }
  let low = Infinity;
  let high = -Infinity;
  const columns = Math.min(width, Math.ceil((end - from) / nsPerPixel));
  for (let x = 0; x < columns; ++x) {
    if (Number.isNaN(last[x])) {
      min[x] = max[x] = last[x] = before;
    } else {
      if (before < min[x]) min[x] = before;
      if (before > max[x]) max[x] = before;
      before = last[x];
    }
    if (min[x] < low) low = min[x];
    if (max[x] > high) high = max[x];
  }
  return { min, max, last, low, high };
}

export function visibleTiles(cache: TileCache, track: number, level: number, span: { from: number; to: number }, duration: number): Tile[] {
  const [first, last] = tileRange(level, span, duration);
  const tiles: Tile[] = [];
  for (let index = first; index <= last; ++index) {
    const tile = cache.get(track, level, index) ?? cache.coarser(track, level, index);
    if (tile && !tiles.includes(tile)) tiles.push(tile);
  }
  // A coarser tile at the left may have later values than the finer one after it.
  tiles.sort((a, b) => a.index * tileSpan(a.level) - b.index * tileSpan(b.level));
  return tiles;
}

/** A counter as it is drawn: alone as a filled line, with others as a line of its own colour. */
export interface Plot {
  track: number;
  name: string;
  columns: PlotColumns;
}

export function drawPlots(context: CanvasRenderingContext2D, geometry: Geometry, placed: PlacedLane, plots: readonly Plot[], theme: Theme, unit: string): void {
  const { lane, top } = placed;
  const range = { low: Math.min(...plots.map(({ columns }) => columns.low)), high: Math.max(...plots.map(({ columns }) => columns.high)) };
  if (!(range.high >= range.low)) return;
  const isSmall = lane.collapsed && plots.length === 1;
  const pad = isSmall ? 3 : 6;
  const bottom = top + lane.height - pad;
  const low = Math.min(0, range.low);
  const high = Math.max(range.high, low + 1e-12);
  const scale = (lane.height - 2 * pad) / (high - low || 1);
  const y = (value: number) => bottom - (value - low) * scale;
  const zero = y(Math.max(low, Math.min(0, high)));
  context.save();
  context.beginPath();
  context.rect(geometry.left, placed.clipTop, geometry.plotWidth, geometry.height);
  context.clip();
  if (plots.length === 1) fillPlot(context, geometry.left, plots[0].columns, y, zero, theme.plot);
  plots.forEach(({ columns }, i) => {
    context.beginPath();
    for (let x = 0; x < columns.last.length; ++x) {
      if (Number.isNaN(columns.last[x])) continue;
      const y0 = y(columns.max[x]);
      context.rect(geometry.left + x, y0, 1, Math.max(1.25, y(columns.min[x]) - y0));
    }
    context.fillStyle = plots.length === 1 ? theme.plotLine : lineColour(theme, i);
    context.fill();
  });
  if (range.low < 0) {
    context.fillStyle = theme.muted;
    context.fillRect(geometry.left, Math.round(zero), geometry.plotWidth, 0.75);
  }
  if (!isSmall && high > low) {
    context.font = '10px system-ui, sans-serif';
    const text = rangeText(range, unit);
    const room = context.measureText(text).width;
    context.globalAlpha = 0.8;
    context.fillStyle = theme.background;
    context.fillRect(geometry.left + 4, top + 4, room + 6, 12);
    context.globalAlpha = 1;
    context.fillStyle = theme.muted;
    context.fillText(text, geometry.left + 7, top + 13);
  }
  context.restore();
}

/** The area between the line and zero. */
function fillPlot(context: CanvasRenderingContext2D, left: number, columns: PlotColumns, y: (value: number) => number, zero: number, colour: string): void {
  const width = columns.last.length;
  context.beginPath();
  let open = false;
  for (let x = 0; x <= width; ++x) {
    const value = x < width ? columns.max[x] : NaN;
    if (Number.isNaN(value)) {
      if (open) context.lineTo(left + x, zero);
      open = false;
      continue;
    }
    if (!open) context.moveTo(left + x, zero);
    open = true;
    context.lineTo(left + x, y(value));
    context.lineTo(left + x + 1, y(value));
  }
  context.fillStyle = colour;
  context.fill();
}

const kLineHues = [212, 28, 150, 320, 262, 190, 90, 0];

/** Of one of several counters in a lane: dark enough on the background to be told from the others. */
export function lineColour(theme: Theme, at: number): string {
  return `hsl(${kLineHues[at % kLineHues.length]} 65% ${theme.name === 'dark' ? 66 : 38}%)`;
}

/** The smallest and the largest value that is visible. */
export function rangeText({ low, high }: { low: number; high: number }, unit: string): string {
  return `min ${quantity(low, unit)}, max ${quantity(high, unit)}`;
}

/** What the tooltip says about a counter at a pixel: its value, or the smallest and the largest of several. */
export function valueText(columns: PlotColumns, x: number, name: string, unit: string): string[] {
  const last = columns.last[x];
  if (last === undefined || Number.isNaN(last)) return [];
  const [min, max] = [columns.min[x], columns.max[x]];
  return [`${name}: ${quantity(last, unit)}`, ...(min < max ? [`${quantity(min, unit)} to ${quantity(max, unit)} here`] : [])];
}
