// Everything on the upper canvas: names of ranges and tracks, the time axis, counters, selection, hits, losses, clock
// error, arrows and the tooltip.

import type { App } from '../app';
import { isGap, longest } from '../core/protocol';
import { count, duration, shortCount, splitUnit, timeLabel } from '../core/units';
import { drawArrows, drawLinks } from './arrows';
import { Geometry, kAxisHeight, kMinimapHeight, kTop } from './geometry';
import type { Links } from './links';
import { drawNames } from './name_column';
import { isPlot, tracksOf, unitOf } from './layout';
import { drawPlots, Plot, plotColumns, valueText, visibleTiles } from './plots';
import type { PlacedLane, Scene, Shape } from './scene';
import { TextFitter } from './text';

export const kFont = '11px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';

const kFlagWidth = 220;

export interface Pointer {
  x: number;
  y: number;
  inside: boolean;
}

export class Overlay {
  private readonly fitter: TextFitter;
  value: string[] = []; // of the counters at the pointer
  drawn: Plot[] = [];

  constructor(private readonly app: App, private readonly context: CanvasRenderingContext2D) {
    this.fitter = new TextFitter((text) => {
      context.font = kFont;
      return context.measureText(text).width;
    });
  }

  draw(geometry: Geometry, placed: readonly PlacedLane[], scene: Scene, links: Links, level: number, pointer: Pointer, hover: Shape | undefined): void {
    const { context, app } = this;
    context.clearRect(0, 0, geometry.width, geometry.height);
    context.font = kFont;
    context.textBaseline = 'alphabetic';
    this.separators(geometry, placed);
    this.axis(geometry);
    this.plots(geometry, placed, level, pointer);
    this.losses(geometry, placed);
    links.drawn = drawLinks(context, geometry, placed, app, app.arrows ? links.answers : []);
    this.labels(geometry, scene);
    this.hits(geometry, placed);
    this.outlines(geometry, scene, hover);
    this.selection(geometry, placed);
    if (app.details.value) drawArrows(context, geometry, placed, scene, app, app.details.value);
    drawNames(context, geometry, placed, app, this.fitter);
    this.flags(geometry);
    if (pointer.inside) this.cursor(geometry, pointer, hover);
  }

  private separators(geometry: Geometry, placed: readonly PlacedLane[]): void {
    const { context, app } = this;
    context.fillStyle = app.theme.line;
    for (const p of placed) {
      const bottom = p.top + p.lane.height;
      if (bottom > p.clipTop) context.fillRect(0, bottom - 0.5, geometry.width, 0.5);
    }
    if (geometry.pinnedHeight > 0) context.fillRect(0, geometry.bodyTop - 1.5, geometry.width, 1.5);
  }

  private axis(geometry: Geometry): void {
    const { context, app } = this;
    const { step, times } = geometry.ticks(app.duration);
    const y = kMinimapHeight;
    context.fillStyle = app.theme.panel;
    context.fillRect(0, y, geometry.width, kAxisHeight);
    context.fillStyle = app.theme.line;
    context.fillRect(0, kTop - 1, geometry.width, 1);
    context.font = kFont;
    for (const time of times) {
      const x = geometry.x(time);
      context.fillStyle = app.theme.line;
      context.fillRect(x, y + 16, 1, kAxisHeight - 17);
      context.fillStyle = app.theme.muted;
      context.fillText(timeLabel(time, step), x + 4, y + 15);
    }
    this.clockError(geometry);
    context.fillStyle = app.theme.muted;
    context.fillText(`${duration(geometry.span.to - geometry.span.from)} shown`, 10, y + 16);
  }

  private flags(geometry: Geometry): void {
    const { context, app } = this;
    for (const { time, note } of app.flags) {
      const x = geometry.x(time);
      if (x < geometry.left || x > geometry.width) continue;
      context.fillStyle = app.theme.accent;
      context.fillRect(x, kMinimapHeight, 1, geometry.height);
      context.beginPath();
      context.moveTo(x, kMinimapHeight);
      context.lineTo(x + 9, kMinimapHeight + 4);
      context.lineTo(x, kMinimapHeight + 8);
      context.fill();
      context.fillText(this.fitter.fit(note, Math.min(geometry.width - x, kFlagWidth)), x + 11, kMinimapHeight + 9);
    }
  }

  /** The error of the conversion of clocks, as a bar at the left end of the axis, as soon as it is wide enough to be seen. */
  private clockError(geometry: Geometry): void {
    const { context, app } = this;
    const error = Math.max(0, ...app.trace!.files.map((file) => file.clock_error_ns ?? 0));
    const width = (2 * error) / geometry.nsPerPixel;
    if (width < 2) return;
    const shown = Math.min(width, geometry.plotWidth);
    context.fillStyle = app.theme.loss;
    context.fillRect(geometry.left, kTop - 6, shown, 4);
    context.fillStyle = app.theme.muted;
    context.font = '10px system-ui, sans-serif';
    context.fillText(`clock error ±${duration(error)}`, geometry.left + Math.min(shown, 200) + 6, kTop - 2);
    context.font = kFont;
  }

  private plots(geometry: Geometry, placed: readonly PlacedLane[], level: number, pointer: Pointer): void {
    const { app } = this;
    this.value = [];
    this.drawn = [];
    for (const p of placed) {
      const { track } = p.lane;
      if (!track || !isPlot(track) || p.top + p.lane.height < p.clipTop) continue;
      const span = { from: geometry.span.from - p.shift, to: geometry.span.to - p.shift };
      const end = app.trace!.files[track.file]?.duration_ns ?? longest(app.trace!);
      const plots = tracksOf(p.lane).map(({ id, name }): Plot => {
        const tiles = visibleTiles(app.cache, id, level, span, end);
        return { track: id, name: splitUnit(name).name, columns: plotColumns(tiles, span.from, geometry.nsPerPixel, Math.ceil(geometry.plotWidth), end) };
      });
      drawPlots(this.context, geometry, p, plots, app.theme, unitOf(track));
      this.drawn.push(...plots);
      if (pointer.inside && pointer.y >= Math.max(p.top, p.clipTop) && pointer.y < p.top + p.lane.height) {
        this.value = plots.flatMap(({ columns, name }) => valueText(columns, Math.floor(pointer.x - geometry.left), name, unitOf(track)));
      }
    }
  }

  private labels(geometry: Geometry, scene: Scene): void {
    const { context, app, fitter } = this;
    context.fillStyle = app.theme.rangeText;
    context.font = kFont;
    for (const label of scene.labels) {
      const name = label.name < 0 ? '' : app.names.of(label.name);
      const room = Math.min(label.width, geometry.right - label.x) - 8;
      let text = name;
      if (label.count > 1) {
        const times = `${shortCount(label.count)} ranges`;
        text = name !== '' && fitter.width(`${name} × ${shortCount(label.count)}`) <= room ? `${name} × ${shortCount(label.count)}` : times;
        if (fitter.width(text) > room) text = `×${shortCount(label.count)}`;
        if (fitter.width(text) > room) continue;
        const x = Math.max(label.x, geometry.left) + 3;
        context.globalAlpha = 0.82;
        context.fillStyle = app.theme.background;
        context.fillRect(x, label.y + 2, fitter.width(text) + 6, 12);
        context.globalAlpha = 1;
        context.fillStyle = app.theme.text;
        context.fillText(text, x + 3, label.y + 12);
        context.fillStyle = app.theme.rangeText;
        continue;
      }
      text = fitter.fit(text, room);
      if (text !== '') context.fillText(text, Math.max(label.x, geometry.left) + 4, label.y + 12);
    }
  }

  /** Bars below the tracks where the search has hits: also those that are hidden in a run. */
  private hits(geometry: Geometry, placed: readonly PlacedLane[]): void {
    const { context, app } = this;
    const found = app.found.value;
    if (!found) return;
    const byTrack = new Map(found.tracks.map((t) => [t.track, t]));
    context.fillStyle = app.theme.hit;
    for (const p of placed) {
      const hits = p.lane.track && byTrack.get(p.lane.track.id);
      const y = p.top + p.lane.height - 3;
      if (!hits || y < p.clipTop) continue;
      let right = -1;
      for (const [bin] of hits.bins) {
        const x0 = geometry.x(bin * hits.bin_ns + p.shift);
        const x1 = Math.max(x0 + 2, geometry.x((bin + 1) * hits.bin_ns + p.shift));
        if (x1 < geometry.left || x0 > geometry.width || x1 <= right) continue;
        // A bin that is wide on the screen says little: its ranges are marked themselves.
        if (x1 - x0 < 40) context.fillRect(Math.max(x0, geometry.left), y, Math.min(x1, geometry.width) - Math.max(x0, geometry.left), 2);
        right = x1;
      }
    }
  }

  private losses(geometry: Geometry, placed: readonly PlacedLane[]): void {
    const { context, app } = this;
    for (const loss of app.trace!.losses) {
      if (loss.from_ns === undefined || loss.to_ns === undefined) continue;
      for (const p of placed) {
        const { track } = p.lane;
        const concerns = loss.track !== undefined ? track?.id === loss.track : track && track.process === loss.process;
        const bottom = p.top + p.lane.height - 1;
        const top = Math.max(p.top, p.clipTop);
        if (!concerns || bottom <= top) continue;
        const x0 = Math.max(geometry.left, geometry.x(loss.from_ns + p.shift));
        const x1 = Math.min(geometry.width, Math.max(geometry.x(loss.to_ns + p.shift), geometry.x(loss.from_ns + p.shift) + 3));
        if (x1 <= x0) continue;
        if (!isGap(loss)) {
          context.fillStyle = app.theme.muted;
          context.fillRect(x0, bottom - 1, x1 - x0, 1);
          continue;
        }
        context.fillStyle = app.theme.loss;
        context.fillRect(x0, top, x1 - x0, bottom - top);
        context.save();
        context.beginPath();
        context.rect(x0, top, x1 - x0, bottom - top);
        context.clip();
        context.strokeStyle = app.theme.loss;
        context.beginPath();
        for (let x = x0 - (bottom - top); x < x1; x += 7) {
          context.moveTo(x, bottom);
          context.lineTo(x + bottom - top, top);
        }
        context.stroke();
        context.fillStyle = app.theme.hit;
        const text = this.fitter.fit(`lost: ${count(loss.count)} × ${loss.text ?? loss.cause}`, x1 - x0 - 8);
        if (text !== '') context.fillText(text, x0 + 4, bottom - 4);
        context.restore();
      }
    }
  }

  private outlines(geometry: Geometry, scene: Scene, hover: Shape | undefined): void {
    const { context, app } = this;
    const { list, pool } = scene;
    context.save();
    context.beginPath();
    context.rect(geometry.left, kTop, geometry.plotWidth, geometry.height);
    context.clip();
    for (let i = 0; i < list.count; ++i) {
      const shape = pool[i];
      const selected = app.event !== undefined && shape.row !== -1 && shape.event === app.event.index && shape.chunk === app.event.chunk && shape.lane?.track?.id === app.event.track;
      if (!selected && shape !== hover) continue;
      context.strokeStyle = selected ? app.theme.text : app.theme.muted;
      context.lineWidth = selected ? 2 : 1;
      context.strokeRect(list.x[i] + 0.5, list.y[i] + 0.5, Math.max(2, list.width[i] - 1), list.height[i] - 1);
      if (selected) this.errorBars(geometry, shape, list.y[i] + list.height[i] / 2);
    }
    context.restore();
    context.lineWidth = 1;
  }

  /** How uncertain the two ends of the selected range are, as soon as that can be seen. */
  private errorBars(geometry: Geometry, shape: Shape, y: number): void {
    const { context, app } = this;
    const { track } = shape.lane!;
    const error = app.trace!.files[track?.file ?? 0]?.clock_error_ns ?? 0;
    if (error / geometry.nsPerPixel < 1.5) return;
    context.strokeStyle = app.theme.hit;
    context.lineWidth = 1;
    context.beginPath();
    for (const end of [shape.start, shape.end]) {
      const [x0, x1] = [end - error, end + error].map((ns) => geometry.x(ns + app.shiftOf(track?.file ?? 0)));
      context.moveTo(x0, y);
      context.lineTo(x1, y);
      for (const x of [x0, x1]) {
        context.moveTo(x, y - 3);
        context.lineTo(x, y + 3);
      }
    }
    context.stroke();
  }

  private selection(geometry: Geometry, placed: readonly PlacedLane[]): void {
    const { context, app } = this;
    if (!app.selection) return;
    const x0 = Math.max(geometry.left, geometry.x(app.selection.from));
    const x1 = Math.min(geometry.width, geometry.x(app.selection.to));
    if (x1 < geometry.left || x0 > geometry.width) return;
    context.fillStyle = app.theme.selection;
    context.fillRect(x0, kMinimapHeight, x1 - x0, kAxisHeight);
    const selected = new Set(app.selection.tracks);
    for (const { lane, top, clipTop } of placed) {
      const y = Math.max(top, clipTop);
      if (lane.track && (selected.size === 0 || tracksOf(lane).some((track) => selected.has(track.id)))) context.fillRect(x0, y, x1 - x0, top + lane.height - y);
    }
    context.fillStyle = app.theme.selectionEdge;
    context.fillRect(x0, kMinimapHeight, 1, geometry.height);
    context.fillRect(x1 - 1, kMinimapHeight, 1, geometry.height);
    const text = duration(app.selection.to - app.selection.from, 4);
    const width = this.fitter.width(text) + 14;
    const x = Math.max(geometry.left, Math.min(geometry.width - width, (x0 + x1 - width) / 2));
    context.fillStyle = app.theme.accent;
    context.beginPath();
    context.roundRect(x, kMinimapHeight + 4, width, 17, 8);
    context.fill();
    context.fillStyle = app.theme.background;
    context.fillText(text, x + 7, kMinimapHeight + 16);
  }

  private cursor(geometry: Geometry, pointer: Pointer, hover: Shape | undefined): void {
    const { context, app } = this;
    if (pointer.x < geometry.left || pointer.y < kMinimapHeight) return;
    context.fillStyle = app.theme.muted;
    context.globalAlpha = 0.5;
    context.fillRect(pointer.x, kMinimapHeight, 1, geometry.height);
    context.globalAlpha = 1;
    const lines = [`at ${timeLabel(Math.max(0, geometry.time(pointer.x)), geometry.nsPerPixel)}`];
    if (hover && hover.row !== -1) lines.unshift(...this.tooltip(hover));
    else lines.unshift(...this.value);
    const width = Math.min(520, Math.max(...lines.map((line) => this.fitter.width(line))) + 18);
    const height = lines.length * 16 + 10;
    const x = Math.min(pointer.x + 14, geometry.width - width - 4);
    const y = pointer.y < kTop ? kTop + 4 : Math.min(pointer.y + 16, geometry.height - height - 4);
    context.fillStyle = app.theme.panel;
    context.strokeStyle = app.theme.line;
    context.beginPath();
    context.roundRect(x, y, width, height, 6);
    context.fill();
    context.stroke();
    lines.forEach((line, i) => {
      context.fillStyle = i === 0 && lines.length > 1 ? app.theme.text : app.theme.muted;
      context.fillText(this.fitter.fit(line, width - 16), x + 9, y + 18 + i * 16);
    });
  }

  private tooltip(shape: Shape): string[] {
    const name = this.app.names.of(shape.name) || 'not read yet';
    if (shape.row === -2) return shape.count > 1 ? [`${count(shape.count)} instants`, `the first: ${name}`] : [name, 'instant'];
    if (shape.count > 1) return [`${count(shape.count)} ranges in ${duration(shape.end - shape.start)}`, `the longest: ${name}`];
    const category = this.app.names.categoryOf(shape.name);
    return [name, duration(shape.end - shape.start, 4) + (category ? `, ${category}` : '')];
  }
}

