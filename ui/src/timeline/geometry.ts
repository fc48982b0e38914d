// Where things are on the stage: minimap, time axis, track names at the left, pinned tracks, and the tracks that scroll.

import { tickStep } from '../core/units';
import type { Span } from '../core/viewport';
import type { Layout } from './layout';
import { lanesBetween } from './layout';
import type { PlacedLane } from './scene';

export const kMinimapHeight = 42;
export const kAxisHeight = 26;
export const kTop = kMinimapHeight + kAxisHeight;
const kMaxPinnedShare = 0.6;
const kTickDistance = 110;
const kScrollbarWidth = 13; // of page.css

export class Geometry {
  constructor(readonly width: number, readonly height: number, readonly span: Span, readonly layout: Layout, readonly scroll: number) {}

  /** The width of the column with the names of the tracks. */
  get left(): number {
    return Math.min(240, Math.max(110, Math.round(this.width * 0.16)));
  }
  get plotWidth(): number {
    return Math.max(1, this.width - this.left);
  }
  /** Where text ends: the scrollbar of the tracks covers the rest. */
  get right(): number {
    return this.layout.height > this.height - this.bodyTop ? this.width - kScrollbarWidth : this.width;
  }
  get pinnedHeight(): number {
    return Math.min(this.layout.pinnedHeight, Math.floor((this.height - kTop) * kMaxPinnedShare));
  }
  /** The top of the tracks that scroll. */
  get bodyTop(): number {
    return kTop + this.pinnedHeight;
  }
  get nsPerPixel(): number {
    return (this.span.to - this.span.from) / this.plotWidth;
  }
  x(ns: number): number {
    return this.left + (ns - this.span.from) / this.nsPerPixel;
  }
  time(x: number): number {
    return this.span.from + (x - this.left) * this.nsPerPixel;
  }

  /** The times of the ticks of the axis, and their distance. */
  ticks(duration: number): { step: number; times: number[] } {
    const step = tickStep(this.nsPerPixel * kTickDistance);
    const times: number[] = [];
    const last = Math.floor(Math.min(this.span.to, duration * 1.01) / step);
    for (let i = Math.ceil(Math.max(0, this.span.from) / step); i <= last; ++i) times.push(i * step);
    return { step, times };
  }

  placed(shiftOf: (file: number) => number): PlacedLane[] {
    const result: PlacedLane[] = [];
    for (const lane of lanesBetween(this.layout.pinned, 0, this.pinnedHeight)) {
      result.push({ lane, top: kTop + lane.y, clipTop: kTop, shift: shiftOf(lane.track?.file ?? lane.process.file) });
    }
    const bodyTop = this.bodyTop;
    for (const lane of lanesBetween(this.layout.lanes, this.scroll, this.scroll + this.height - bodyTop)) {
      result.push({ lane, top: bodyTop + lane.y - this.scroll, clipTop: bodyTop, shift: shiftOf(lane.track?.file ?? lane.process.file) });
    }
    return result;
  }

  /** The lane at a point of the stage. */
  laneAt(y: number, placed: readonly PlacedLane[]): PlacedLane | undefined {
    return placed.find((p) => y >= Math.max(p.top, p.clipTop) && y < p.top + p.lane.height && (!p.lane.pinned || y < this.bodyTop));
  }
}
