// The timeline on the screen: draws a frame when something has changed, and requests what is missing.

import type { App } from '../app';
import { TileFlag } from '../core/protocol';
import { levelFor } from '../core/viewport';
import type { TileRequest } from '../core/tile_cache';
import { Geometry } from './geometry';
import { kRowHeight, tracksOf } from './layout';
import { Links } from './links';
import { Minimap } from './minimap';
import { Overlay, Pointer } from './overlay';
import { css } from './palette';
import { SvgContext } from './picture';
import { Rectangles, resizeCanvas } from './rectangles';
import { PlacedLane, Scene, Shape } from './scene';

const kFrameTimes = 2000;
const kPreliminaryMs = 160;
const kRetryMs = 500;

export class Stage {
  readonly element = document.createElement('div');
  readonly scene = new Scene();
  readonly minimap: Minimap;
  readonly links: Links;
  readonly pointer: Pointer = { x: 0, y: 0, inside: false };
  readonly frameTimes: number[] = []; // milliseconds of JavaScript, the latest ones
  placed: PlacedLane[] = [];
  level = 0;
  frames = 0;
  tileRequests = 0;
  private readonly rectangles = new Rectangles();
  private readonly top = document.createElement('canvas');
  private readonly bar = document.createElement('div'); // scrolls the tracks
  readonly overlay: Overlay;
  private readonly context: CanvasRenderingContext2D;
  private width = 0;
  private height = 0;
  private ratio = 1;
  private scheduled = 0; // the request for a frame; 0: none
  private request?: { wanted: TileRequest; abort: AbortController };
  private timer = 0;

  constructor(private readonly app: App) {
    this.element.className = 'stage';
    this.element.tabIndex = 0;
    this.element.setAttribute('role', 'application'); // keys go to the page, also those of a screen reader
    this.element.setAttribute('aria-label', 'timeline: j and k select a track, . and , a range in it, ? lists all keys');
    this.top.className = 'overlay';
    this.context = this.top.getContext('2d')!;
    this.bar.className = 'scrollbar';
    this.bar.append(document.createElement('div'));
    this.bar.addEventListener('pointerdown', (event) => event.stopPropagation());
    this.bar.addEventListener('scroll', () => Math.abs(this.bar.scrollTop - app.scroll) >= 1 && app.setScroll(this.bar.scrollTop));
    this.element.append(this.rectangles.canvas, this.top, this.bar);
    this.overlay = new Overlay(app, this.context);
    this.minimap = new Minimap(app);
    this.links = new Links(app);
    app.redraw = () => this.schedule();
    app.bodyHeight = () => Math.max(50, this.height - (this.geometry?.bodyTop ?? 80));
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  /** Where things are now: after an action, also before the next frame. */
  get geometry(): Geometry | undefined {
    const { app } = this;
    if (!app.trace || !app.started || this.width === 0) return undefined;
    return new Geometry(this.width, this.height, app.span, app.layout, app.scroll);
  }

  private resize(): void {
    this.width = this.element.clientWidth;
    this.height = this.element.clientHeight;
    this.ratio = Math.min(2, devicePixelRatio || 1);
    this.rectangles.resize(this.width, this.height, this.ratio);
    resizeCanvas(this.top, this.width, this.height, this.ratio);
    if (this.app.trace) this.app.setScroll(this.app.scroll);
    this.app.afterResize?.();
    this.app.afterResize = undefined;
    this.frame(); // at once: a canvas that was resized is empty
  }

  /** Draws with the next frame of the screen. What is missing is requested at once, not only after that frame. */
  schedule(): void {
    if (this.scheduled !== 0) return;
    this.scheduled = requestAnimationFrame(() => this.frame());
    queueMicrotask(() => this.prepare() && this.plan());
  }

  /** Computes where the tracks are; undefined if there is nothing to show yet. */
  private prepare(): Geometry | undefined {
    const { app, geometry } = this;
    if (!geometry) return undefined;
    this.placed = geometry.placed((file) => app.shiftOf(file));
    this.level = levelFor(app.span, geometry.plotWidth);
    return geometry;
  }

  frame(): void {
    const { app } = this;
    cancelAnimationFrame(this.scheduled);
    this.scheduled = 0;
    const begin = performance.now();
    const geometry = this.prepare();
    if (!geometry) return;
    const rowsBefore = app.rows.version;
    this.scene.build(this.placed, {
      cache: app.cache,
      rows: app.rows,
      level: this.level,
      span: app.span,
      duration: (file) => app.trace!.files[file]?.duration_ns ?? app.duration,
      left: geometry.left,
      width: geometry.plotWidth,
      height: this.height,
      colours: app,
      grid: geometry.ticks(app.duration).times.map((time) => geometry.x(time)),
    });
    this.rectangles.draw(this.scene.list, app.theme);
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.overlay.draw(geometry, this.placed, this.scene, this.links, this.level, this.pointer, this.pointer.inside ? this.shapeAt(this.pointer.x, this.pointer.y) : undefined);
    this.minimap.draw(this.context, geometry);
    this.placeBar(geometry);
    this.plan();
    this.links.update(this.placed);
    if (rowsBefore !== app.rows.version) this.schedule();
    ++this.frames;
    this.frameTimes.push(performance.now() - begin);
    if (this.frameTimes.length > kFrameTimes) this.frameTimes.shift();
  }

  private placeBar(geometry: Geometry): void {
    const room = this.height - geometry.bodyTop;
    const most = this.app.mostScroll;
    this.bar.hidden = most <= 0;
    if (most <= 0) return;
    this.bar.style.top = `${geometry.bodyTop}px`;
    (this.bar.firstChild as HTMLElement).style.height = `${room + most}px`;
    if (Math.abs(this.bar.scrollTop - this.app.scroll) >= 1) this.bar.scrollTop = this.app.scroll;
  }

  /** What is on the screen, with all names as text. */
  svg(): string {
    this.frame();
    const { geometry, app, scene } = this;
    const svg = new SvgContext(this.context, this.width, this.height);
    const canvas = svg as unknown as CanvasRenderingContext2D;
    svg.fillStyle = app.theme.background;
    svg.fillRect(0, 0, this.width, this.height);
    for (let i = 0; i < scene.list.count; ++i) {
      svg.fillStyle = css(app.theme.colours[scene.list.colour[i]]);
      svg.fillRect(scene.list.x[i], scene.list.y[i], scene.list.width[i], scene.list.height[i]);
    }
    new Overlay(app, canvas).draw(geometry!, this.placed, scene, this.links, this.level, { x: 0, y: 0, inside: false }, undefined);
    this.minimap.draw(canvas, geometry!);
    return svg.text();
  }
  async png(): Promise<Blob> {
    this.frame();
    const picture = document.createElement('canvas');
    picture.width = this.top.width;
    picture.height = this.top.height;
    const context = picture.getContext('2d')!;
    for (const canvas of [this.rectangles.canvas, this.top]) context.drawImage(canvas, 0, 0, picture.width, picture.height);
    return new Promise((resolve, reject) => picture.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('the browser makes no picture of this size')))));
  }

  /** Requests what is missing: one request at a time, so that a fast pan does not queue up. */
  private plan(): void {
    const { app } = this;
    if (app.offline || app.fatal) return;
    const now = performance.now();
    const wanted = this.missing(now);
    if (this.request) {
      // A request for another zoom level is of no use any more.
      if (!wanted || wanted.level === this.request.wanted.level || this.request.wanted.level === -1) return;
      if (this.request.wanted.level !== this.level) this.request.abort.abort();
      return;
    }
    if (wanted) void this.fetch(wanted);
    else if (this.scene.flags & TileFlag.Preliminary || this.minimap.isPreliminary) this.later(kPreliminaryMs);
  }

  private missing(now: number): TileRequest | undefined {
    const { app } = this;
    const files = new Map<number, number[]>();
    for (const { lane } of this.placed) {
      for (const { id, file } of tracksOf(lane)) {
        const tracks = files.get(file);
        if (tracks) tracks.push(id);
        else files.set(file, [id]);
      }
    }
    for (const [file, tracks] of files) {
      const shift = app.shiftOf(file);
      const end = app.trace!.files[file]?.duration_ns ?? app.duration;
      const request = app.cache.missing(this.level, { from: app.span.from - shift, to: app.span.to - shift }, tracks, end, now);
      if (request) return request;
    }
    return this.minimap.missing(now);
  }

  private async fetch(wanted: TileRequest): Promise<void> {
    const { app } = this;
    const { generation } = app.cache;
    const abort = new AbortController();
    this.request = { wanted, abort };
    ++this.tileRequests;
    try {
      const answer = await app.client.tiles(wanted, abort.signal);
      for (const tile of answer.tiles) {
        app.rows.learn(tile);
        if (generation === app.cache.generation) app.cache.put(tile);
        else app.cache.putLate(tile);
      }
      if (answer.namesVersion > app.names.count) void app.attempt(() => app.fetchNames(answer.namesVersion));
    } catch (error) {
      if (!abort.signal.aborted) {
        app.failed(error);
        this.later(kRetryMs);
        return;
      }
    } finally {
      this.request = undefined;
    }
    this.frame(); // at once: the next frame of the screen may be far away
  }

  private later(ms: number): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.schedule(), ms);
  }

  /** Whether a frame or an answer is still to come. */
  get busy(): boolean {
    return this.request !== undefined || this.scheduled !== 0;
  }

  /** The range or instant at a point, the topmost one. */
  shapeAt(x: number, y: number): Shape | undefined {
    const { list, pool } = this.scene;
    const { geometry } = this;
    if (!geometry || x < geometry.left) return undefined;
    let best: Shape | undefined;
    let distance = 3; // pixels: narrow ranges are hard to hit
    for (let i = list.count - 1; i >= 0; --i) {
      if (pool[i].row === -1 || y < list.y[i] || y >= list.y[i] + Math.min(list.height[i], kRowHeight)) continue;
      const away = Math.max(list.x[i] - x, x - (list.x[i] + list.width[i]), 0);
      if (away < distance) {
        distance = away;
        best = pool[i];
        if (away === 0) break;
      }
    }
    return best;
  }
}
