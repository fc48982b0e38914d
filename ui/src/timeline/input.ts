// Pointer, wheel and touch on the timeline. A wheel scrolls the tracks; with ctrl, or over the axis, it zooms at the
// pointer, or the other way round; with shift, or sideways, it pans. A drag measures; with shift or the middle button it pans. One finger pans, two zoom, a long press
// measures.

import type { App, Selection } from '../app';
import { kUnknown } from '../core/protocol';
import type { Span } from '../core/viewport';
import { kMinimapHeight, kTop } from './geometry';
import { Glide } from './glide';
import { kMenuWidth, kPinWidth } from './name_column';
import { tracksOf } from './layout';
import type { Stage } from './stage';

const kClickDistance = 4;
const kFlagPixels = 8;
const kLongPressMs = 450;
const kRestMs = 220;
const kZoomPerPixel = 0.0018;
const kPinchPerPixel = 0.012; // trackpads send small steps, with ctrl
const kNotch = 40; // pixels: a trackpad sends smaller steps, and ends them slowly itself

type Drag =
  | { kind: 'measure'; x: number; y: number; time: number; moved: boolean }
  | { kind: 'pan'; x: number; y: number; span: Span; scroll: number; moved: boolean; touch: boolean }
  | { kind: 'minimap'; part: 'left' | 'right' | 'window' | 'outside'; time: number; span: Span }
  | { kind: 'track'; id: number; y: number; moved: number };

export class Input {
  private drag?: Drag;
  private readonly fingers = new Map<number, { x: number; y: number }>();
  private pinch?: { distance: number; time: number; span: Span };
  private longPress = 0;
  private rest = 0; // until the pointer counts as resting
  private wheelAt = { x: 0, y: 0 };
  private readonly zooming = new Glide((part) => this.app.zoom(this.anchor(), Math.exp(part)), 0.002);
  private readonly panning = new Glide((part) => this.app.pan(part * (this.stage.geometry?.nsPerPixel ?? 0)), 0.5);
  private readonly scrolling = new Glide((part) => this.app.setScroll(this.app.scroll + part), 0.5);

  constructor(private readonly app: App, private readonly stage: Stage) {
    const { element } = stage;
    element.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    element.addEventListener('pointerdown', (event) => this.down(event));
    element.addEventListener('pointermove', (event) => this.move(event));
    element.addEventListener('pointerup', (event) => this.up(event));
    element.addEventListener('pointercancel', (event) => this.cancel(event));
    element.addEventListener('pointerleave', () => {
      stage.pointer.inside = false;
      stage.schedule();
    });
    element.addEventListener('dblclick', (event) => this.doubleClick(event));
    element.addEventListener('contextmenu', (event) => this.menu(event));
  }

  private place(event: MouseEvent): { x: number; y: number } {
    const box = this.stage.element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const { app, stage } = this;
    const { geometry } = stage;
    if (!geometry) return;
    const { x, y } = this.place(event);
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    const dx = event.deltaX * unit;
    const dy = event.deltaY * unit;
    // A pinch on a trackpad sends ctrl and small steps.
    const isPinch = event.ctrlKey && Math.abs(dy) < 40 && dx === 0;
    const zooms = isPinch || event.ctrlKey !== app.wheelZooms || y < kTop;
    const turn = (glide: Glide, amount: number) => {
      if (Math.max(Math.abs(dx), Math.abs(dy)) >= kNotch) return glide.add(amount);
      glide.stop();
      glide.move(amount);
    };
    if (event.altKey || (x < geometry.left && y > kTop && !event.ctrlKey)) return turn(this.scrolling, dy);
    if (event.shiftKey) return turn(this.panning, dx || dy);
    if (Math.abs(dx) > Math.abs(dy)) return turn(this.panning, dx);
    if (!zooms) return turn(this.scrolling, dy);
    this.wheelAt = { x, y };
    turn(this.zooming, Math.max(-240, Math.min(240, dy)) * (isPinch ? kPinchPerPixel : kZoomPerPixel));
  }

  /** The time at the pointer when the wheel turned: it stays there. */
  private anchor(): number {
    const { stage, wheelAt: { x, y } } = this;
    const geometry = stage.geometry!;
    return y < kMinimapHeight ? stage.minimap.time(x, geometry) : geometry.time(Math.max(x, geometry.left));
  }

  private down(event: PointerEvent): void {
    const { app, stage } = this;
    const { geometry } = stage;
    if (!geometry || event.button === 2) return;
    stage.element.focus({ preventScroll: true });
    stage.element.setPointerCapture(event.pointerId);
    const { x, y } = this.place(event);
    if (event.pointerType === 'touch') {
      this.fingers.set(event.pointerId, { x, y });
      if (this.fingers.size === 2) return this.beginPinch();
    }
    if (y < kMinimapHeight && x >= geometry.left) {
      const part = stage.minimap.part(x, geometry);
      this.drag = { kind: 'minimap', part, time: stage.minimap.time(x, geometry), span: app.span };
      if (part === 'outside') this.moveMinimap(x);
      return;
    }
    if (x < geometry.left) {
      const lane = geometry.laneAt(y, stage.placed)?.lane;
      if (lane?.track) this.drag = { kind: 'track', id: lane.track.id, y, moved: 0 };
      else if (lane) app.toggleFold(lane.group);
      return;
    }
    const flag = y < kTop ? app.flags.find(({ time }) => Math.abs(geometry.x(time) - x) <= kFlagPixels) : undefined;
    if (flag) return app.editFlag(flag.time);
    const touch = event.pointerType === 'touch';
    if (touch || event.shiftKey || event.button === 1 || y < kTop) {
      this.drag = { kind: 'pan', x, y, span: app.span, scroll: app.scroll, moved: false, touch };
      if (touch) this.longPress = window.setTimeout(() => this.beginMeasure(x, y), kLongPressMs);
    } else {
      this.beginMeasure(x, y);
    }
  }

  private beginMeasure(x: number, y: number): void {
    this.drag = { kind: 'measure', x, y, time: this.stage.geometry!.time(x), moved: false };
  }

  private beginPinch(): void {
    clearTimeout(this.longPress);
    this.drag = undefined;
    const [a, b] = [...this.fingers.values()];
    this.pinch = { distance: Math.max(10, Math.abs(a.x - b.x)), time: this.stage.geometry!.time((a.x + b.x) / 2), span: this.app.span };
  }

  private move(event: PointerEvent): void {
    const { app, stage } = this;
    const { geometry } = stage;
    if (!geometry) return;
    const { x, y } = this.place(event);
    Object.assign(stage.pointer, { x, y, inside: event.pointerType !== 'touch' });
    stage.schedule();
    if (this.fingers.has(event.pointerId)) this.fingers.set(event.pointerId, { x, y });
    if (this.pinch && this.fingers.size === 2) {
      const [a, b] = [...this.fingers.values()];
      const length = ((this.pinch.span.to - this.pinch.span.from) * this.pinch.distance) / Math.max(10, Math.abs(a.x - b.x));
      const share = ((a.x + b.x) / 2 - geometry.left) / geometry.plotWidth;
      app.show({ from: this.pinch.time - share * length, to: this.pinch.time + (1 - share) * length });
      return;
    }
    const lane = geometry.laneAt(y, stage.placed)?.lane;
    if (lane?.track && !this.drag) app.focus = lane.track.id;
    this.resting(x);
    // Names that are cut can be read in all.
    const name = x < geometry.left && lane && !this.drag ? (lane.track ? `${lane.label}\n${lane.process.label ?? lane.process.name}` : lane.label) : '';
    if (stage.element.title !== name) stage.element.title = name;
    const { drag } = this;
    stage.element.style.cursor = this.cursor(x, y);
    if (!drag) return;
    if (drag.kind === 'minimap') return this.moveMinimap(x);
    if (drag.kind === 'track') return this.moveTrack(drag, y);
    drag.moved ||= Math.hypot(x - drag.x, y - drag.y) > kClickDistance;
    if (!drag.moved) return;
    if (drag.kind === 'measure') {
      app.selection = this.measure(drag, x, y);
      app.redraw();
      return;
    }
    clearTimeout(this.longPress);
    const perPixel = (drag.span.to - drag.span.from) / geometry.plotWidth;
    app.show({ from: drag.span.from - (x - drag.x) * perPixel, to: drag.span.to - (x - drag.x) * perPixel });
    app.setScroll(drag.scroll - (y - drag.y));
  }

  /** With the memory panel open, what is alive at the pointer is shown once it rests. */
  private resting(x: number): void {
    const { app, stage } = this;
    clearTimeout(this.rest);
    if (app.tab !== 'memory' || this.drag || x < stage.geometry!.left || !app.trace!.tracks.some((t) => t.kind === 'memory')) return;
    this.rest = window.setTimeout(() => void app.askMemory(stage.geometry!.time(stage.pointer.x)), kRestMs);
  }

  private cursor(x: number, y: number): string {
    const geometry = this.stage.geometry!;
    if (y < kMinimapHeight && x >= geometry.left) {
      const part = this.stage.minimap.part(x, geometry);
      return part === 'window' ? 'grab' : part === 'outside' ? 'pointer' : 'ew-resize';
    }
    if (x < geometry.left && y > kTop) return 'pointer';
    return 'default';
  }

  /** The selection of a drag: the time, and the tracks that it touches. */
  private measure(drag: { x: number; y: number; time: number }, x: number, y: number): Selection {
    const geometry = this.stage.geometry!;
    const time = geometry.time(Math.max(geometry.left, Math.min(geometry.width, x)));
    const [top, bottom] = [Math.min(drag.y, y), Math.max(drag.y, y)];
    const tracks: number[] = [];
    for (const p of this.stage.placed) {
      if (p.top + p.lane.height > Math.max(top, p.clipTop) && p.top <= bottom) tracks.push(...tracksOf(p.lane).map((track) => track.id));
    }
    const from = Math.max(0, Math.min(drag.time, time));
    return { from, to: Math.max(from + 1, Math.min(this.app.duration, Math.max(drag.time, time))), tracks };
  }

  private moveMinimap(x: number): void {
    const { app, stage, drag } = this;
    if (drag?.kind !== 'minimap') return;
    const time = stage.minimap.time(x, stage.geometry!);
    const { span } = drag;
    if (drag.part === 'left') app.show({ from: Math.min(time, span.to - 1), to: span.to });
    else if (drag.part === 'right') app.show({ from: span.from, to: Math.max(time, span.from + 1) });
    else if (drag.part === 'window') app.show({ from: span.from + time - drag.time, to: span.to + time - drag.time });
    else app.show({ from: time - (span.to - span.from) / 2, to: time + (span.to - span.from) / 2 });
  }

  private moveTrack(drag: { id: number; y: number; moved: number }, y: number): void {
    const { app } = this;
    const lanes = app.layout.lanes.filter((l) => l.track);
    const at = lanes.findIndex((l) => l.track!.id === drag.id);
    const neighbour = lanes[at + Math.sign(y - drag.y)];
    if (at < 0 || !neighbour || neighbour.group !== lanes[at].group) return;
    if (Math.abs(y - drag.y) < neighbour.height * 0.6 + 4) return;
    app.move(drag.id, Math.sign(y - drag.y));
    drag.moved += 1;
    drag.y += Math.sign(y - drag.y) * neighbour.height;
  }

  private up(event: PointerEvent): void {
    clearTimeout(this.longPress);
    this.fingers.delete(event.pointerId);
    if (this.fingers.size < 2) this.pinch = undefined;
    const { drag, app } = this;
    this.drag = undefined;
    const { x, y } = this.place(event);
    if (!drag || drag.kind === 'minimap') return app.saveHash();
    if (drag.kind === 'track') {
      if (drag.moved === 0) this.clickName(drag.id, x, event);
      return;
    }
    if (!drag.moved) return this.click(x, y);
    if (drag.kind === 'measure') void app.select(this.measure(drag, x, y));
    else app.saveHash();
  }

  private cancel(event: PointerEvent): void {
    clearTimeout(this.longPress);
    this.fingers.delete(event.pointerId);
    this.pinch = undefined;
    this.drag = undefined;
  }

  private clickName(id: number, x: number, event: MouseEvent): void {
    const { app } = this;
    app.focus = id;
    const { left } = this.stage.geometry!;
    if (x > left - kPinWidth) app.togglePinned(id);
    else if (x > left - kPinWidth - kMenuWidth) this.menu(event);
    else app.toggleFold(`t${id}`);
  }

  private click(x: number, y: number): void {
    const { app, stage } = this;
    if (stage.geometry!.laneAt(y, stage.placed)?.lane.track?.kind === 'memory') app.tab = 'memory';
    if (app.tab === 'memory') void app.askMemory(stage.geometry!.time(x));
    const shape = stage.shapeAt(x, y);
    if (!shape || !shape.lane?.track) {
      if (app.selection) void app.select(undefined);
      return void app.open(undefined);
    }
    if (shape.count > 1 && shape.end > shape.start) {
      // A run has no details of its own: zoom until its ranges can be seen.
      const shift = app.shiftOf(shape.lane.track.file);
      return app.show({ from: shape.start + shift, to: shape.end + shift });
    }
    if (shape.event !== kUnknown) void app.open({ track: shape.lane.track.id, chunk: shape.chunk, index: shape.event }, shape.row < 0 ? undefined : shape.row);
  }

  /** Of a track or of its process, at their names. */
  private menu(event: MouseEvent): void {
    event.preventDefault();
    const { app, stage } = this;
    const { x, y } = this.place(event);
    const lane = x < stage.geometry!.left ? stage.geometry!.laneAt(y, stage.placed)?.lane : undefined;
    if (!lane || (!lane.track && app.arrangement !== 'process')) return;
    app.focus = lane.track?.id ?? app.trace!.tracks.find((track) => track.process === lane.process.id)?.id;
    app.openMenu({ of: lane.track ? 'track' : 'process', x: event.clientX, y: event.clientY });
  }

  private doubleClick(event: MouseEvent): void {
    const { x, y } = this.place(event);
    const shape = this.stage.shapeAt(x, y);
    if (!shape?.lane?.track) return;
    const shift = this.app.shiftOf(shape.lane.track.file);
    const margin = (shape.end - shape.start) * 0.05;
    this.app.show({ from: shape.start + shift - margin, to: shape.end + shift + margin });
  }
}
