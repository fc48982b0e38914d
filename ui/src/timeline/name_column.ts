// The column at the left: names of processes and tracks, with a triangle to fold and a pin.

import type { App } from '../app';
import { count, counted, duration, splitUnit } from '../core/units';
import { Geometry, kTop } from './geometry';
import { isPlot, kLegendHeight, Lane, tracksOf } from './layout';
import { lineColour } from './plots';
import type { PlacedLane } from './scene';
import type { TextFitter } from './text';

const kIndent = 26;
export const kPinWidth = 22;
export const kMenuWidth = 16;

export function drawNames(context: CanvasRenderingContext2D, geometry: Geometry, placed: readonly PlacedLane[], app: App, fitter: TextFitter): void {
  const { theme } = app;
  context.save();
  context.beginPath();
  context.rect(0, kTop, geometry.left, geometry.height - kTop);
  context.clip();
  for (const p of placed) {
    const { lane } = p;
    const bottom = p.top + lane.height;
    if (bottom <= p.clipTop) continue;
    context.save();
    context.beginPath();
    context.rect(0, p.clipTop, geometry.width, geometry.height);
    context.clip();
    context.fillStyle = lane.track ? theme.panel : theme.header;
    context.fillRect(0, p.top, lane.track ? geometry.left - 1 : geometry.left, lane.height - 0.5);
    if (lane.track && app.focus === lane.track.id) {
      context.fillStyle = theme.accent;
      context.fillRect(0, p.top, 3, lane.height - 0.5);
    }
    // The name of a track that is higher than the screen stays visible.
    const y = Math.min(Math.max(p.top, p.clipTop) + 15, bottom - 6);
    if (lane.track) drawTrack(context, lane, y, geometry, app, fitter);
    else drawProcess(context, lane, p.top + 16, geometry, app, fitter);
    context.restore();
  }
  context.fillStyle = theme.line;
  context.fillRect(geometry.left - 1, kTop, 1, geometry.height);
  context.restore();
}

function drawProcess(context: CanvasRenderingContext2D, lane: Lane, y: number, geometry: Geometry, app: App, fitter: TextFitter): void {
  triangle(context, 13, y - 4, lane.collapsed, app.theme.muted);
  context.fillStyle = app.theme.text;
  context.font = '600 11px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
  context.fillText(fitter.fit(lane.label, (geometry.left - 34) * 0.9), 24, y); // bold is wider than what was measured
  context.font = '11px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
}

function drawTrack(context: CanvasRenderingContext2D, lane: Lane, y: number, geometry: Geometry, app: App, fitter: TextFitter): void {
  const track = lane.track!;
  const indent = lane.pinned ? 20 : kIndent;
  const room = geometry.left - indent - kPinWidth - (app.focus === track.id ? kMenuWidth : 2);
  if (lane.folds && (track.kind !== 'memory' || lane.collapsed)) triangle(context, indent - 9, y - 4, lane.collapsed, app.theme.muted);
  context.fillStyle = track.straggler ? app.theme.hit : app.theme.text;
  context.fillText(fitter.fit(lane.label, room), indent, y);
  if (lane.height >= 40) {
    context.fillStyle = app.theme.muted;
    describe(lane).forEach((line, i) => {
      const below = y + kLegendHeight * (i + 1);
      if (lane.others.length > 0) {
        context.fillStyle = lineColour(app.theme, i);
        context.fillRect(indent, below - 7, 8, 8);
        context.fillStyle = app.theme.muted;
      }
      const x = lane.others.length > 0 ? indent + 12 : indent;
      context.fillText(fitter.fit(line, room - x + indent), x, below);
    });
  }
  if (app.focus === track.id) dots(context, geometry.left - kPinWidth - kMenuWidth / 2, y - 4, app.theme.muted);
  pin(context, geometry.left - 14, y - 4, lane.pinned, lane.pinned ? app.theme.accent : app.theme.line);
}

/** What a lane is, in lines. */
export function describe(lane: Lane): string[] {
  const track = lane.track!;
  if (track.kind === 'memory') return ['memory in use'];
  if (track.kind === 'rank') return track.calls ? [track.awaited_ns! > track.waited_ns! ? `others wait ${duration(track.awaited_ns!)}` : `waits ${duration(track.waited_ns!)}`, `last at ${count(track.last_at!)} of ${count(track.calls)}`] : [];
  if (track.kind === 'functions') return lane.hiddenRows > 0 ? ['from CPU samples', `${lane.rows} of ${lane.rows + lane.hiddenRows} rows`] : ['from CPU samples'];
  if (lane.others.length > 0) return tracksOf(lane).map(({ name }) => splitUnit(name).name);
  if (isPlot(track)) return [track.values !== undefined ? counted(track.values, 'value') : track.kind];
  const ranges = counted(track.ranges ?? 0, 'range');
  return [track.device ? `${track.device}, ${ranges}` : ranges];
}

function triangle(context: CanvasRenderingContext2D, x: number, y: number, collapsed: boolean, colour: string): void {
  context.fillStyle = colour;
  context.beginPath();
  if (collapsed) {
    context.moveTo(x - 2, y - 4);
    context.lineTo(x + 3, y);
    context.lineTo(x - 2, y + 4);
  } else {
    context.moveTo(x - 4, y - 2);
    context.lineTo(x + 4, y - 2);
    context.lineTo(x, y + 3);
  }
  context.fill();
}

/** Where a click opens the menu of the track. */
function dots(context: CanvasRenderingContext2D, x: number, y: number, colour: string): void {
  context.fillStyle = colour;
  for (const at of [-4, 0, 4]) context.fillRect(x - 1, y + at - 1, 2, 2);
}

function pin(context: CanvasRenderingContext2D, x: number, y: number, on: boolean, colour: string): void {
  context.fillStyle = context.strokeStyle = colour;
  context.beginPath();
  context.arc(x, y - 1, 3.5, 0, 2 * Math.PI);
  if (on) context.fill();
  else context.stroke();
  context.fillRect(x - 0.5, y + 2, 1, 5);
}
