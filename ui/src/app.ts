// The actions of the page: they change the state and call `redraw` (the timeline) or `notify` (the panels too).

import { AppConnection } from './app_connection';
import { kTabs, Menu, Pending, Selection, Tab } from './app_state';
import { ConnectionError } from './core/client';
import { Bookmark, readHash, writeHash } from './core/hash';
import { EventRef, kUnknown, LinkedEvent, SqlRow } from './core/protocol';
import { requestTotals, tracksByFile } from './core/totals';
import { around, clampSpan, panBy, Span, wholeSpan, zoomAt } from './core/viewport';
import { Arrangement, groupOf, hiddenBy, kArrangements, kRowHeight, moveTrack, rowTop, tracksOf } from './timeline/layout';

export { kTabs } from './app_state';
export type { Menu, Pending, Selection, Tab } from './app_state';

const kSearchLimit = 2000;
const kWheelSetting = 'kymo wheel';
const kHashDelayMs = 250;
const kRestMs = 400;
const kBelow = 40; // pixels below the last track
const kFewEvents = 2_000_000; // whose report takes little time
const kReportAfterMs = 500;
const kJump = 3; // a change of the zoom by this factor

/** Views of this page that are before the one that is shown. */
function pageDepth(): number {
  return typeof history.state === 'number' ? history.state : 0;
}

/** What Back should undo: another zoom, or another place. Small moves only change the link. */
function isJump(from: Span, to: Span): boolean {
  const zoom = (to.to - to.from) / (from.to - from.from);
  return zoom > kJump || zoom < 1 / kJump || to.to <= from.from || to.from >= from.to;
}

/** What panels ask for, one answer at a time. */
type Asked = 'details' | 'totals' | 'memory' | 'sqlRows';

export class App extends AppConnection {
  private hashTimer = 0;
  private entry: Span = { from: 0, to: 1 }; // what the history entry of the browser began with
  private abortSearch?: AbortController;
  private readonly asking = new Map<Asked, AbortController>();
  private measureTimer = 0;
  private visibleTotals?: Span; // the time of the totals, if nothing is selected

  // Start

  async start(): Promise<void> {
    const bookmark = readHash(location.hash);
    this.setTheme(bookmark.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'), !!bookmark.theme);
    try {
      this.wheelZooms = localStorage.getItem(kWheelSetting) === 'zooms';
    } catch {
      // as above
    }
    await this.load();
    this.started = true;
    this.restore(bookmark);
    this.notify();
    setTimeout(() => void this.countFindings(), kReportAfterMs);
  }

  /** So that the page says that there are some. */
  private async countFindings(): Promise<void> {
    const { files, live } = this.trace!;
    if (live || files.length !== 1 || !files[0].events || files[0].events > kFewEvents) return;
    const report = (await this.client.report(0).catch(() => undefined)) as { findings?: unknown[] } | undefined;
    this.findings = report?.findings?.length ?? 0;
    this.notify();
  }

  // The view in the URL

  bookmark(): Bookmark {
    return {
      time: this.showsAll ? undefined : this.span,
      scroll: this.scroll,
      selection: this.selection,
      event: this.event,
      toggled: [...this.toggled],
      hidden: [...this.hidden],
      arrangement: this.arrangement === 'process' ? undefined : this.arrangement,
      pinned: this.pinned,
      order: this.order,
      filter: this.filter,
      search: this.search,
      tab: this.tab,
      theme: this.themeChosen ? this.theme.name : undefined,
      shifts: this.shifts,
      flags: this.flags,
    };
  }

  restore(view: Bookmark): void {
    this.shifts = view.shifts ?? [];
    this.flags = view.flags ?? [];
    this.span = this.entry = clampSpan(view.time ?? wholeSpan(this.duration), this.duration);
    this.toggled = new Set(view.toggled ?? []);
    this.hidden = new Set(view.hidden ?? []);
    this.arrangement = kArrangements.find((one) => one === view.arrangement) ?? 'process';
    this.pinned = view.pinned ?? [];
    this.order = view.order ?? [];
    this.filter = view.filter ?? '';
    this.layout_ = undefined;
    this.setScroll(view.scroll ?? 0);
    if (view.theme) this.setTheme(view.theme, true);
    this.tab = kTabs.find((tab) => tab === view.tab);
    this.visibleTotals = undefined;
    if (view.selection) void this.select(view.selection, view.tab === undefined);
    else {
      this.selection = undefined;
      this.measureVisible();
    }
    if (view.event) void this.open(view.event);
    if ((view.search ?? '') !== this.search) void this.find(view.search ?? '', false);
  }

  saveHash(): void {
    clearTimeout(this.hashTimer);
    this.hashTimer = window.setTimeout(() => {
      const hash = writeHash(this.bookmark());
      if (hash === location.hash.replace(/^#/, '')) return;
      const address = hash ? `#${hash}` : location.pathname;
      const depth = pageDepth();
      if (isJump(this.entry, this.span)) {
        this.entry = this.span;
        history.pushState(depth + 1, '', address);
      } else {
        history.replaceState(depth, '', address);
      }
    }, kHashDelayMs);
  }

  /** To the view before this one, or to the one after it. Never leaves the page. */
  back(): void {
    if (pageDepth() > 0) history.back();
  }
  forward(): void {
    history.forward();
  }

  // Tracks

  changeLayout(): void {
    this.layout_ = undefined;
    this.setScroll(this.scroll);
    this.notify();
  }
  setFilter(filter: string): void {
    this.filter = filter;
    this.changeLayout();
  }
  toggleFold(key: string): void {
    if (key[0] === 't' && this.laneOf(Number(key.slice(1)))?.folds === false) return;
    if (!this.toggled.delete(key)) this.toggled.add(key);
    this.changeLayout();
  }
  /** The tracks of the lane of a track. */
  private laneMates(id: number): number[] {
    const lane = this.laneOf(id);
    return lane ? tracksOf(lane).map((track) => track.id) : [id];
  }
  /** `key`: of a track or a process. */
  hide(key: string): void {
    for (const one of key[0] === 't' ? this.laneMates(Number(key.slice(1))).map((id) => `t${id}`) : [key]) this.hidden.add(one);
    this.changeLayout();
  }
  /** Shows again what is hidden: one track or process, or all of them. */
  unhide(key?: string): void {
    if (key === undefined) this.hidden.clear();
    else this.hidden.delete(key);
    this.changeLayout();
  }
  arrange(by: Arrangement): void {
    this.arrangement = by;
    this.changeLayout();
  }
  openMenu(menu: Menu | undefined): void {
    this.menu = menu;
    this.notify();
  }
  togglePinned(id: number): void {
    const all = this.laneMates(id);
    this.pinned = this.pinned.includes(id) ? this.pinned.filter((other) => !all.includes(other)) : [...this.pinned, ...all];
    this.changeLayout();
  }
  move(id: number, by: number): void {
    this.order = moveTrack(this.layout, this.order, id, by);
    this.changeLayout();
  }
  setScroll(scroll: number): void {
    if (!this.trace) return;
    this.scroll = Math.max(0, Math.min(this.mostScroll, scroll));
    this.redraw();
  }
  get mostScroll(): number {
    const over = this.layout.height - this.bodyHeight();
    return over > 0 ? over + kBelow : 0;
  }
  /** Scrolls so that a track, or a row of it, is visible, and unfolds what hides it. */
  reveal(id: number, row?: number): void {
    const track = this.track(id);
    if (!track) return;
    const { rank } = track;
    const opened = rank !== undefined && this.arrangement === 'process' && !this.toggled.has(`t${rank}`);
    if (opened) this.toggled.add(`t${rank}`);
    const unfolded = this.toggled.delete(groupOf(track, this.arrangement)) || opened;
    const unhidden = hiddenBy(track).filter((key) => this.hidden.delete(key)).length > 0;
    if (unfolded || unhidden) this.layout_ = undefined;
    const lane = this.laneOf(id);
    if (!lane) return;
    if (lane.hiddenRows > 0 && row !== undefined && (row < lane.firstRow || row >= lane.firstRow + lane.rows)) {
      this.toggleFold(`t${id}`);
      return this.reveal(id, row);
    }
    if (lane.pinned) return;
    const visible = this.bodyHeight();
    const height = row === undefined ? lane.height : kRowHeight;
    const top = lane.y + (row === undefined ? 0 : rowTop(lane, row));
    if (top < this.scroll || top + height > this.scroll + visible) this.setScroll(top - Math.max(0, (visible - height) / 3));
  }

  // Time

  /** Ends following, unless the whole trace is shown. */
  show(span: Span): void {
    this.span = clampSpan(span, this.duration);
    this.follow &&= this.showsAll;
    this.measureVisible();
    this.redraw();
    this.saveHash();
  }
  zoom(anchor: number, factor: number): void {
    this.show(zoomAt(this.span, anchor, factor, this.duration));
  }
  pan(ns: number): void {
    this.show(panBy(this.span, ns, this.duration));
  }
  private rowOf(event: LinkedEvent): number | undefined {
    return event.depth === undefined ? undefined : this.rows.rowOf(event.track, event.lane ?? 0, event.depth);
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
    this.reveal(event.track, this.rowOf(event));
  }

  // Answers for panels

  /** An earlier question of the same kind is cancelled. The answer before it is kept until then. */
  private async ask<T>(what: Asked, request: (signal: AbortSignal) => Promise<T>): Promise<void> {
    const pending = this as unknown as Record<Asked, Pending<T>>;
    this.cancel(what);
    const { signal } = this.asking.set(what, new AbortController()).get(what)!;
    pending[what] = { loading: true, value: pending[what].value };
    this.notify();
    try {
      const value = await request(signal);
      if (signal.aborted) return;
      pending[what] = { loading: false, value };
    } catch (error) {
      if (signal.aborted) return;
      pending[what] = { loading: false, error: error instanceof Error ? error.message : String(error) };
      if (error instanceof ConnectionError) this.failed(error);
    }
    this.notify();
  }
  private cancel(what: Asked): void {
    this.asking.get(what)?.abort();
  }

  // Selection and details

  /** What the totals are of: the selection, or what is visible of all tracks. */
  get measured(): Selection {
    if (this.selection) return this.selection;
    const { files, tracks, saved } = this.trace!;
    const { from, to } = saved ? wholeSpan(this.duration) : this.span;
    return { from: Math.max(0, from), to: Math.min(this.duration, to), tracks: files.length === 1 ? [] : tracks.map((track) => track.id) };
  }

  /** The totals of what is visible, once it rests: they may need all of the trace. */
  private measureVisible(): void {
    clearTimeout(this.measureTimer);
    if (this.selection || (this.tab !== 'statistics' && this.tab !== 'flame')) return;
    const { from, to } = this.measured;
    if (this.visibleTotals?.from === from && this.visibleTotals.to === to) return;
    this.measureTimer = window.setTimeout(() => {
      this.visibleTotals = { from, to };
      void this.requestTotals(this.measured);
    }, kRestMs);
  }

  async select(selection: Selection | undefined, show = true): Promise<void> {
    this.selection = selection;
    this.visibleTotals = undefined;
    if (!selection) {
      this.cancel('totals');
      this.totals = { loading: false };
      this.measureVisible();
      this.notify();
      return;
    }
    if (show && this.tab !== 'flame' && this.tab !== 'memory') this.tab = 'statistics';
    await this.requestTotals(selection);
  }

  private requestTotals(selection: Selection): Promise<void> {
    const files = tracksByFile(selection.tracks, (id) => this.track(id));
    return this.ask('totals', (signal) => requestTotals(this.client, selection, files, (file) => (this.trace!.saved ? 0 : this.shiftOf(file)), signal));
  }

  /** `row`: where the event is. If the panel opens now, the timeline scrolls so that the panel does not hide it. */
  async open(ref: EventRef | undefined, row?: number): Promise<void> {
    if (ref && row !== undefined && this.tab === undefined) this.afterResize = () => this.reveal(ref.track, row);
    this.event = ref;
    this.details = { loading: !!ref };
    if (ref) {
      this.focus = ref.track;
      if (this.tab === undefined || this.tab === 'statistics' || this.tab === 'flame') this.tab = 'details';
    }
    this.cancel('details');
    if (!ref || ref.index === kUnknown) return this.notify();
    await this.ask('details', (signal) => this.client.event(ref, signal));
  }

  goTo(event: LinkedEvent | undefined): void {
    if (!event) return;
    this.showEvent(event);
    void this.open({ track: event.track, chunk: event.chunk, index: event.index }, this.rowOf(event));
  }

  // Search

  async find(text: string, jump = true): Promise<void> {
    this.search = text;
    this.hit = -1;
    this.found = { loading: text !== '' };
    this.updateMatches();
    this.notify();
    if ((await this.searchAt(this.span.from)) && jump) await this.nextHit(1);
    this.notify();
  }

  /** Goes to the longest hit. */
  async findLongest(text: string): Promise<void> {
    await this.find(text, false);
    this.goTo(this.found.value?.slowest?.[0] ?? this.found.value?.hits[0]);
  }

  /** Reads the hits around a time of the page. */
  private async searchAt(time: number): Promise<boolean> {
    this.abortSearch?.abort();
    if (this.search === '') return false;
    const abort = (this.abortSearch = new AbortController());
    try {
      const value = await this.client.search(this.search, kSearchLimit, time - this.shiftOf(0), abort.signal);
      this.found = { loading: false, value };
      return true;
    } catch (error) {
      if (abort.signal.aborted) return false;
      this.found = { loading: false, error: error instanceof Error ? error.message : String(error) };
      if (error instanceof ConnectionError) this.failed(error);
      return false;
    }
  }

  /** For tracks that have come since: the hit that is shown stays. */
  async findAgain(): Promise<void> {
    const shown = this.found.value?.hits[this.hit];
    if (!(await this.searchAt(shown ? this.timesOf(shown).from : this.span.from))) return;
    this.hit = shown ? this.indexOfHit(shown) : -1;
    this.notify();
  }

  private indexOfHit(hit: LinkedEvent): number {
    return this.found.value?.hits.findIndex((h) => h.track === hit.track && h.chunk === hit.chunk && h.index === hit.index) ?? -1;
  }

  /** The times of an event on the page. */
  private timesOf(event: LinkedEvent): Span {
    const shift = this.shiftOf(this.track(event.track)?.file ?? 0);
    return { from: event.start_ns + shift, to: event.end_ns + shift };
  }

  /** From the hit that is shown; if it is out of sight, from what is visible. After the last hit comes the first one. */
  async nextHit(by: 1 | -1): Promise<void> {
    const hits = () => this.found.value?.hits ?? [];
    if (hits().length === 0) return;
    const next = () => {
      const shown = hits()[this.hit];
      if (shown) return this.hit + by;
      const times = hits().map((hit) => this.timesOf(hit));
      return by > 0 ? times.findIndex((t) => t.from >= this.span.from) : times.findLastIndex((t) => t.from <= this.span.to);
    };
    const shown: LinkedEvent | undefined = hits()[this.hit];
    const isVisible = shown && this.timesOf(shown).from < this.span.to && this.timesOf(shown).to >= this.span.from;
    if (!isVisible) this.hit = -1;
    if (!hits()[next()] && hits().length < (this.found.value?.total ?? 0)) {
      const from = isVisible ? this.timesOf(shown).from : by > 0 ? this.span.from : this.span.to;
      if (!(await this.searchAt(from))) return this.notify();
      if (isVisible) this.hit = this.indexOfHit(shown);
      if (!hits()[next()] && !(await this.searchAt(by > 0 ? 0 : this.duration))) return this.notify();
    }
    this.hit = hits()[next()] ? next() : by > 0 ? 0 : hits().length - 1;
    this.goTo(hits()[this.hit]);
  }

  // Flags

  /** Asks for the note of the flag at a time. An empty one removes it. */
  editFlag(time: number): void {
    const note = window.prompt('The note of this flag; an empty one removes it', this.flags.find((flag) => flag.time === time)?.note ?? '');
    if (note === null) return;
    this.flags = this.flags.filter((flag) => flag.time !== time);
    if (note.trim() !== '') this.flags.push({ time: Math.round(time), note: note.trim() });
    this.notify();
  }

  /** The browser keeps it for the next page, if it can. */
  setWheelZooms(zooms: boolean): void {
    this.wheelZooms = zooms;
    this.notice = zooms ? 'the wheel zooms; with Ctrl it scrolls the tracks' : 'the wheel scrolls the tracks; with Ctrl it zooms';
    try {
      localStorage.setItem(kWheelSetting, zooms ? 'zooms' : 'scrolls');
    } catch {
      // a page without a place of its own, such as a file
    }
    this.notify();
  }

  // Memory

  /** Asks what is alive at a time of the page, or at the peak, in the file of the track that has the focus. */
  async askMemory(time?: number): Promise<void> {
    const file = this.track(this.focus ?? -1)?.file ?? 0;
    await this.ask('memory', (signal) => this.client.memory(file, time && time - this.shiftOf(file), signal));
  }

  async goToPeak(): Promise<void> {
    await this.askMemory();
    const { value } = this.memory;
    if (!value || this.memory.error) return;
    const [peak, half] = [value.at_ns + this.shiftOf(value.file), (this.span.to - this.span.from) / 2];
    this.show({ from: peak - half, to: peak + half });
  }

  // SQL

  /** A statement that still runs ends. */
  async runSql(statements: string): Promise<void> {
    this.cancelSql();
    this.statements = statements;
    if (statements.trim() !== '') await this.ask('sqlRows', (signal) => this.client.sql(statements, signal));
  }
  cancelSql(): void {
    this.cancel('sqlRows');
    this.sqlRows = { loading: false };
    this.notify();
  }

  /** To the time of a row, and to its track. */
  goToRow(row: SqlRow): void {
    const { track, start_ns: start, end_ns: end } = row;
    if (start === undefined || end === undefined) return;
    this.showEvent({ track: track ?? kUnknown, chunk: kUnknown, index: kUnknown, name: '', start_ns: start, end_ns: end });
    const shift = this.shiftOf(this.track(track ?? kUnknown)?.file ?? 0);
    this.focus = track ?? this.focus;
    void this.select({ from: start + shift, to: Math.max(end, start + 1) + shift, tracks: track === undefined ? [] : [track] }, false);
  }

  setTab(tab: Tab | undefined): void {
    this.tab = tab;
    this.measureVisible();
    // Until the pointer rests somewhere, what is alive at the end of what is visible: a leak is there. At the end of all,
    // a program that ends in order has freed everything, so it is the peak.
    const hasMemory = this.trace?.tracks.some((track) => track.kind === 'memory');
    if (tab === 'memory' && hasMemory && !this.memory.value && !this.memory.loading) void this.askMemory(this.showsAll ? undefined : Math.min(this.span.to, this.duration));
    this.notify();
  }
}
