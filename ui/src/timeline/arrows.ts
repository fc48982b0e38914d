// Arrows: of the selected range, from what launched it, to what it launched, and its flows; and thin ones of everything
// that is visible.

import type { App } from '../app';
import type { EventDetails, EventRef, LinkedEvent, LinkEnd, LinksAnswer } from '../core/protocol';
import type { Geometry } from './geometry';
import { kRowHeight, rowTop } from './layout';
import type { PlacedLane, Scene } from './scene';

const kMaxArrows = 100;

interface Place {
  x: number;
  y: number;
}

export function drawArrows(context: CanvasRenderingContext2D, geometry: Geometry, placed: readonly PlacedLane[], scene: Scene, app: App,
                           details: EventDetails): void {
  if (!app.event) return;
  const self: LinkedEvent = { ...app.event, name: details.name, start_ns: details.start_ns, end_ns: details.end_ns };
  const pairs: Array<[LinkedEvent, LinkedEvent]> = [];
  if (details.launched_by) pairs.push([details.launched_by, self]);
  for (const launched of details.launched ?? []) pairs.push([self, launched]);
  for (const flow of details.flows ?? []) pairs.push(flow.direction === 'from' ? [flow.event, self] : [self, flow.event]);
  context.save();
  context.beginPath();
  context.rect(geometry.left, geometry.bodyTop - geometry.pinnedHeight, geometry.plotWidth, geometry.height);
  context.clip();
  for (const [from, to] of pairs.slice(0, kMaxArrows)) {
    const begin = place(from, 'source', geometry, placed, scene, app);
    const end = place(to, 'target', geometry, placed, scene, app);
    if (begin && end) arrow(context, begin, end, app.theme.flow, app.theme.background);
  }
  context.restore();
}

/** The arrows of what is visible: thin, without a halo, so that the ranges stay readable. */
export function drawLinks(context: CanvasRenderingContext2D, geometry: Geometry, placed: readonly PlacedLane[], app: App, answers: readonly LinksAnswer[]): number {
  let drawn = 0;
  context.save();
  context.beginPath();
  context.rect(geometry.left, geometry.bodyTop - geometry.pinnedHeight, geometry.plotWidth, geometry.height);
  context.clip();
  context.strokeStyle = app.theme.flow;
  context.lineWidth = 1;
  const links = answers.flatMap((answer) => answer.links);
  context.globalAlpha = Math.max(0.14, Math.min(0.5, 12 / Math.sqrt(links.length + 1) / 5));
  context.beginPath();
  for (const link of links) {
    const from = placeOf(link.from, geometry, placed, app);
    const to = placeOf(link.to, geometry, placed, app);
    if (!from || !to || to.x < geometry.left - 400 || from.x > geometry.width + 400) continue;
    const bend = Math.min(60, Math.max(8, Math.abs(to.x - from.x) / 2));
    context.moveTo(from.x, from.y);
    context.bezierCurveTo(from.x + bend, from.y, to.x - bend, to.y, to.x, to.y);
    ++drawn;
  }
  context.stroke();
  context.restore();
  return drawn;
}

function placeOf(end: LinkEnd, geometry: Geometry, placed: readonly PlacedLane[], app: App): Place | undefined {
  const track = app.track(end.track);
  if (!track) return undefined;
  const x = geometry.x(end.time_ns + app.shiftOf(track.file));
  const visible = placed.find((p) => p.lane.track?.id === end.track);
  if (visible) {
    const { firstRow, rows } = visible.lane;
    const row = Math.min(firstRow + rows - 1, app.rows.rowOf(end.track, end.lane, end.depth));
    return { x, y: Math.max(visible.clipTop, visible.top + rowTop(visible.lane, Math.max(firstRow, row)) + kRowHeight / 2 - 1) };
  }
  const lane = geometry.layout.lanes.find((l) => l.track?.id === end.track);
  return lane ? { x, y: geometry.bodyTop + lane.y - geometry.scroll + 10 } : undefined;
}

/** Where an arrow touches an event. Below or above the screen if its track is not visible. */
function place(event: LinkedEvent, side: 'source' | 'target', geometry: Geometry, placed: readonly PlacedLane[], scene: Scene, app: App): Place | undefined {
  const track = app.track(event.track);
  if (!track) return undefined;
  const time = side === 'source' ? Math.min(event.end_ns, event.start_ns + (event.end_ns - event.start_ns) / 2) : event.start_ns;
  const x = geometry.x(time + app.shiftOf(track.file));
  const at = scene.shapes().findIndex((s) => sameEvent(s.chunk, s.event, event) && s.lane?.track?.id === event.track);
  if (at >= 0) return { x, y: scene.list.y[at] + scene.list.height[at] / 2 };
  const visible = placed.find((p) => p.lane.track?.id === event.track);
  if (visible) return { x, y: Math.max(visible.clipTop, visible.top + rowTop(visible.lane, visible.lane.firstRow) + kRowHeight / 2) };
  const lane = geometry.layout.lanes.find((l) => l.track?.id === event.track);
  return lane ? { x, y: geometry.bodyTop + lane.y - geometry.scroll + 10 } : undefined;
}

function sameEvent(chunk: number, index: number, event: EventRef): boolean {
  return chunk === event.chunk && index === event.index;
}

function arrow(context: CanvasRenderingContext2D, from: Place, to: Place, colour: string, halo: string): void {
  const bend = Math.max(24, Math.min(120, Math.abs(to.x - from.x) / 2));
  const path = () => {
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.bezierCurveTo(from.x + bend, from.y, to.x - bend, to.y, to.x - 1, to.y);
    context.stroke();
  };
  context.strokeStyle = halo;
  context.lineWidth = 4;
  path();
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = 1.5;
  path();
  context.beginPath();
  context.moveTo(to.x, to.y);
  context.lineTo(to.x - 7, to.y - 4);
  context.lineTo(to.x - 7, to.y + 4);
  context.fill();
  context.lineWidth = 1;
}
