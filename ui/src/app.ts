// What the page knows and shows. Actions change it and call `redraw` (the timeline) or `notify` (the panels too).

import { Client, ConnectionError } from './core/client';
import { Bookmark, readHash, writeHash } from './core/hash';
import { matcher, Names } from './core/names';
import { EventDetails, EventRef, fileName, kUnknown, LinkedEvent, longest, SearchAnswer, SelectionAnswer, Track, TraceInfo } from './core/protocol';
import { TileCache } from './core/tile_cache';
import { around, clampSpan, panBy, Span, zoomAt } from './core/viewport';
import type { BackendName } from './render/backend';
import { buildLayout, Layout, moveTrack } from './timeline/layout';
import { Colour, kDark, kLight, Theme } from './timeline/palette';
import { Rows } from './timeline/rows';

export const kTabs = ['details', 'statistics', 'flame', 'report', 'idle', 'memory', 'compare'] as const;
export type Tab = (typeof kTabs)[number];

export interface Selection extends Span {
  tracks: number[]; // empty: all tracks of the first file
}

/** An answer that may still be on its way. */
export interface Pending<T> {
  loading: boolean;
  error?: string;
  value?: T;
}

const kSearchLimit = 2000;
const kHashDelayMs = 250;

export class App {
  readonly client = new Client();
  readonly cache = new TileCache();
  readonly names = new Names();
  readonly rows = new Rows();
  trace?: TraceInfo;
  started = false; // whether the first view is known; nothing is drawn or requested before
  duration = 1;
  span: Span = { from: 0, to: 1 };
  scroll = 0;
  collapsed = new Set<string>();
  pinned: number[] = [];
  order: number[] = [];
  filter = '';
  selection?: Selection;
  event?: EventRef;
  details: Pending<EventDetails> = { loading: false };
  totals: Pending<SelectionAnswer> = { loading: false };
  search = '';
  found: Pending<SearchAnswer> = { loading: false };
  hit = -1;
  tab?: Tab;
  help = false;
  follow = false;
  theme: Theme = kLight;
  themeChosen = false;
  backend?: BackendName;
  offline = false;
  fatal?: string;
  notice?: string;
  shifts: number[] = []; // by file: nanoseconds, to align files that are compared
  changes?: Map<string, number>; // by name: what became slower (1) or faster (-1)
  focus?: number; // the track that keys apply to

  private layout_?: Layout;
  private layoutRows = -1;
  private trackById_ = new Map<number, Track>();
  private matches: Uint8Array = new Uint8Array(0);
  private readonly listeners = new Set<() => void>();
  private hashTimer = 0;
  private abortSearch?: AbortController;
  private abortTotals?: AbortController;
  private fetchingNames = false;
  redraw: () => void = () => {};
  bodyHeight: () => number = () => 400; // of the part of the timeline that scrolls

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
  notify(): void {
    for (const listener of this.listeners) listener();
    this.redraw();
    this.saveHash();
  }

  // Start

  async start(): Promise<void> {
    const bookmark = readHash(location.hash);
    this.setTheme(bookmark.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'), !!bookmark.theme);
    await this.load();
    this.span = clampSpan({ from: 0, to: this.duration }, this.duration);
    this.started = true;
    this.restore(bookmark);
    this.notify();
  }

  /** Reads the list of tracks, again if the trace has grown. */
  async load(): Promise<void> {
    const trace = await this.client.trace();
    this.trace = trace;
    this.duration = Math.max(1, longest(trace));
    this.trackById_ = new Map(trace.tracks.map((t) => [t.id, t]));
    this.layout_ = undefined;
    document.title = `${trace.files.map((f) => fileName(f)).join(', ')} - kymo view`;
    await this.fetchNames(trace.names_version);
    if (!trace.scanned) setTimeout(() => this.attempt(() => this.load().then(() => this.notify())), 700);
  }

  async fetchNames(version: number): Promise<void> {
    if (this.fetchingNames) return;
    this.fetchingNames = true;
    try {
      while (this.names.count < version) {
        const before = this.names.count;
        this.names.add(await this.client.names(before));
        if (this.names.count === before) break;
      }
    } finally {
      this.fetchingNames = false;
    }
    this.updateMatches();
    this.redraw();
  }

  /** Runs a request. If the server is gone, the page says so and tries again until it is back. */
  async attempt(request: () => Promise<void>): Promise<void> {
    try {
      await request();
    } catch (error) {
      this.failed(error);
    }
  }

  failed(error: unknown): void {
    if (error instanceof DOMException && error.name === 'AbortError') return;
    if (error instanceof ConnectionError) {
      if (!this.offline) {
        this.offline = true;
        this.notify();
        void this.reconnect();
      }
      return;
    }
    this.notice = error instanceof Error ? error.message : String(error);
    this.notify();
  }

  private async reconnect(): Promise<void> {
    for (let wait = 500; this.offline; wait = Math.min(5000, wait * 1.5)) {
      await new Promise((resolve) => setTimeout(resolve, wait));
      try {
        await this.load();
        this.offline = false;
      } catch (error) {
        if (!(error instanceof ConnectionError)) {
          this.offline = false;
          this.fatal = `Another server answers at this address (${error instanceof Error ? error.message : error}). Run kymo view again and open the address that it prints.`;
        }
      }
    }
    this.notify();
  }

  // The view in the URL

  bookmark(): Bookmark {
    const whole = this.span.from <= 0 && this.span.to >= this.duration;
    return {
      time: whole ? undefined : this.span,
      scroll: this.scroll,
      selection: this.selection,
      event: this.event,
      collapsed: [...this.collapsed],
      pinned: this.pinned,
      order: this.order,
      filter: this.filter,
      search: this.search,
      tab: this.tab,
      theme: this.themeChosen ? this.theme.name : undefined,
      backend: this.backend,
    };
  }

  restore(view: Bookmark): void {
    if (view.time) this.span = clampSpan(view.time, this.duration);
    this.collapsed = new Set(view.collapsed ?? []);
    this.pinned = view.pinned ?? [];
    this.order = view.order ?? [];
    this.filter = view.filter ?? '';
    this.layout_ = undefined;
    this.setScroll(view.scroll ?? 0);
    if (view.theme) this.setTheme(view.theme, true);
    this.backend = view.backend as BackendName | undefined;
    this.tab = kTabs.find((tab) => tab === view.tab);
    if (view.selection) void this.select(view.selection, view.tab === undefined);
    else this.selection = undefined;
    if (view.event) void this.open(view.event);
    if ((view.search ?? '') !== this.search) void this.find(view.search ?? '', false);
  }

  saveHash(): void {
    clearTimeout(this.hashTimer);
    this.hashTimer = window.setTimeout(() => {
      const hash = writeHash(this.bookmark());
      if (hash !== location.hash.replace(/^#/, '')) history.replaceState(null, '', hash ? `#${hash}` : location.pathname);
    }, kHashDelayMs);
  }

  // Tracks

  get layout(): Layout {
    if (!this.layout_ || this.layoutRows !== this.rows.version) {
      this.layoutRows = this.rows.version;
      this.layout_ = buildLayout(this.trace!, this.rows, this);
    }
    return this.layout_;
  }
  track(id: number): Track | undefined {
    return this.trackById_.get(id);
  }
  shiftOf(file: number): number {
    return this.shifts[file] ?? 0;
  }
  changeLayout(): void {
    this.layout_ = undefined;
    this.setScroll(this.scroll);
    this.notify();
  }
  setFilter(filter: string): void {
    this.filter = filter;
    this.changeLayout();
  }
  toggleCollapsed(key: string): void {
    if (!this.collapsed.delete(key)) this.collapsed.add(key);
    this.changeLayout();
  }
  togglePinned(id: number): void {
    this.pinned = this.pinned.includes(id) ? this.pinned.filter((other) => other !== id) : [...this.pinned, id];
    this.changeLayout();
  }
  move(id: number, by: number): void {
    this.order = moveTrack(this.layout, this.order, id, by);
    this.changeLayout();
  }
  setScroll(scroll: number): void {
    if (!this.trace) return;
    const most = Math.max(0, this.layout.height - this.bodyHeight() + 40);
    this.scroll = Math.max(0, Math.min(most, scroll));
    this.redraw();
  }
  /** Scrolls so that a track is visible, and unfolds its process. */
  reveal(id: number): void {
    const track = this.track(id);
    if (!track || this.pinned.includes(id)) return;
    if (this.collapsed.delete(`p${track.process}`)) this.layout_ = undefined;
    const lane = this.layout.lanes.find((l) => l.track?.id === id);
    if (!lane) return;
    const height = this.bodyHeight();
    if (lane.y < this.scroll || lane.y + lane.height > this.scroll + height) this.setScroll(lane.y - Math.max(0, (height - lane.height) / 3));
  }

  // Time

  show(span: Span): void {
    this.span = clampSpan(span, this.duration);
    this.redraw();
    this.saveHash();
  }
  zoom(anchor: number, factor: number): void {
    this.show(zoomAt(this.span, anchor, factor, this.duration));
  }
  pan(ns: number): void {
    this.follow = false;
    this.show(panBy(this.span, ns, this.duration));
  }
  showEvent(event: LinkedEvent): void {
    const shift = this.shiftOf(this.track(event.track)?.file ?? 0);
    const { start_ns: start, end_ns: end } = event;
    const length = this.span.to - this.span.from;
    // Keeps the zoom if the event is visible at it, so that going from hit to hit does not jump.
    const keep = end - start < length * 0.8 && end - start > length / 60;
    if (keep) {
      const middle = start / 2 + end / 2 + shift;
      if (start + shift < this.span.from || end + shift > this.span.to) this.show({ from: middle - length / 2, to: middle + length / 2 });
    } else {
      this.show(around(start + shift, end + shift, this.duration));
    }
    this.reveal(event.track);
  }

  // Selection and details

  async select(selection: Selection | undefined, show = true): Promise<void> {
    this.selection = selection;
    this.abortTotals?.abort();
    if (!selection) {
      this.totals = { loading: false };
      this.notify();
      return;
    }
    if (show && this.tab !== 'flame' && this.tab !== 'memory') this.tab = 'statistics';
    const abort = (this.abortTotals = new AbortController());
    this.totals = { loading: true, value: this.totals.value };
    this.notify();
    try {
      const shift = this.shiftOf(this.track(selection.tracks[0])?.file ?? 0);
      const value = await this.client.selection(selection.from - shift, selection.to - shift, selection.tracks, abort.signal);
      this.totals = { loading: false, value };
    } catch (error) {
      if (abort.signal.aborted) return;
      this.totals = { loading: false, error: error instanceof Error ? error.message : String(error) };
      if (error instanceof ConnectionError) this.failed(error);
    }
    this.notify();
  }

  async open(ref: EventRef | undefined): Promise<void> {
    this.event = ref;
    this.details = { loading: !!ref };
    if (ref) {
      this.focus = ref.track;
      if (this.tab === undefined || this.tab === 'statistics' || this.tab === 'flame') this.tab = 'details';
    }
    this.notify();
    if (!ref || ref.index === kUnknown) return;
    try {
      const value = await this.client.event(ref);
      if (this.event === ref) this.details = { loading: false, value };
    } catch (error) {
      if (this.event === ref) this.details = { loading: false, error: error instanceof Error ? error.message : String(error) };
      if (error instanceof ConnectionError) this.failed(error);
    }
    this.notify();
  }

  goTo(event: LinkedEvent | undefined): void {
    if (!event) return;
    this.showEvent(event);
    void this.open({ track: event.track, chunk: event.chunk, index: event.index });
  }

  // Search

  async find(text: string, jump = true): Promise<void> {
    this.search = text;
    this.hit = -1;
    this.abortSearch?.abort();
    this.found = { loading: text !== '' };
    this.updateMatches();
    this.notify();
    if (text === '') return;
    const abort = (this.abortSearch = new AbortController());
    try {
      const value = await this.client.search(text, kSearchLimit, abort.signal);
      this.found = { loading: false, value };
      if (jump) this.nextHit(1);
    } catch (error) {
      if (abort.signal.aborted) return;
      this.found = { loading: false, error: error instanceof Error ? error.message : String(error) };
      if (error instanceof ConnectionError) this.failed(error);
    }
    this.notify();
  }

  nextHit(by: number): void {
    const hits = this.found.value?.hits ?? [];
    if (hits.length === 0) return;
    if (this.hit < 0) {
      const middle = this.span.from / 2 + this.span.to / 2;
      const visible = hits.findIndex((h) => h.end_ns >= this.span.from);
      this.hit = by > 0 ? Math.max(0, visible) : Math.max(0, hits.findLastIndex((h) => h.start_ns <= middle));
    } else {
      this.hit = (this.hit + by + hits.length) % hits.length;
    }
    this.goTo(hits[this.hit]);
  }

  private updateMatches(): void {
    const test = matcher(this.search);
    this.matches = new Uint8Array(this.names.count);
    if (this.search === '') return;
    for (let id = 0; id < this.names.count; ++id) this.matches[id] = test(this.names.text[id]) ? 1 : 0;
  }

  /** The colour of a range: by its name, unless the search or a comparison colours it. */
  colourOf(name: number): number {
    if (this.search !== '') return this.matches[name] ? Colour.Hit : Colour.Dimmed + this.names.colourOf(name);
    if (this.changes) {
      const change = this.changes.get(this.names.baseOf(name)) ?? 0;
      return change > 0 ? Colour.Slower : change < 0 ? Colour.Faster : Colour.Same;
    }
    return name === kUnknown ? Colour.Same : this.names.colourOf(name);
  }

  // The rest

  setTheme(name: string, chosen: boolean): void {
    this.theme = name === 'dark' ? kDark : kLight;
    this.themeChosen = chosen;
    document.documentElement.dataset.theme = this.theme.name;
    this.redraw();
  }
  setTab(tab: Tab | undefined): void {
    this.tab = tab;
    this.notify();
  }
}
