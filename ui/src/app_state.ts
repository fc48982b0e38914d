// What the page knows and shows: the state that everything else reads.

import { Client } from './core/client';
import { matcher, namePart, Names } from './core/names';
import { EventDetails, EventRef, kUnknown, MemoryAnswer, SearchAnswer, SelectionAnswer, SqlAnswer, Track, TraceInfo } from './core/protocol';
import { TileCache } from './core/tile_cache';
import { clampSpan, Span, wholeSpan } from './core/viewport';
import { Arrangement, buildLayout, Lane, Layout, tracksOf } from './timeline/layout';
import { Colour, dimmed, kDark, kLight, Theme } from './timeline/palette';
import { Rows } from './timeline/rows';

export const kTabs = ['details', 'statistics', 'flame', 'report', 'idle', 'memory', 'compare', 'sql'] as const;
export type Tab = (typeof kTabs)[number];
export type FlameBy = 'ranges' | 'functions' | 'wait' | 'device';

export interface Selection extends Span {
  tracks: number[]; // empty: all tracks of the first file
}

/** A time with a note. */
export interface Flag {
  time: number;
  note: string;
}

/** A menu that is open, and where: of the focused track, of its process, or of all tracks. */
export interface Menu {
  of: 'track' | 'process' | 'tracks';
  x: number;
  y: number;
}

/** An answer that may still be on its way. */
export interface Pending<T> {
  loading: boolean;
  error?: string;
  value?: T;
}

export abstract class AppState {
  readonly client = new Client();
  readonly cache = new TileCache();
  readonly names = new Names();
  readonly rows = new Rows();
  trace?: TraceInfo;
  started = false; // whether the first view is known; nothing is drawn or requested before
  duration = 1;
  span: Span = { from: 0, to: 1 };
  scroll = 0;
  toggled = new Set<string>(); // processes and tracks that are not folded or unfolded as they are by default
  hidden = new Set<string>(); // likewise
  arrangement: Arrangement = 'process';
  pinned: number[] = [];
  order: number[] = [];
  filter = '';
  selection?: Selection;
  event?: EventRef;
  details: Pending<EventDetails> = { loading: false };
  totals: Pending<SelectionAnswer[]> = { loading: false }; // by file
  search = '';
  found: Pending<SearchAnswer> = { loading: false };
  hit = -1;
  memory: Pending<MemoryAnswer> = { loading: false }; // what is alive at the pointer
  statements = ''; // of SQL
  sqlRows: Pending<SqlAnswer> = { loading: false };
  arrows = true; // of all that is visible, and not only of the selected range
  flags: Flag[] = [];
  wheelZooms = false; // otherwise it scrolls the tracks, and zooms with ctrl
  tab?: Tab;
  findings = 0; // of the report, if it is known
  help = false;
  follow = false;
  unfollowed = false; // the server does not tell this page what is new
  theme: Theme = kLight;
  flame: { by?: FlameBy; isInverted: boolean } = { isInverted: false }; // what the flame graph showed last
  themeChosen = false;
  offline = false;
  fatal?: string;
  notice?: string;
  shifts: number[] = []; // by file: nanoseconds, to align files that are compared
  changes?: Map<string, number>; // by name: what became slower (1) or faster (-1)
  focus?: number; // the track that keys apply to
  menu?: Menu;

  protected layout_?: Layout;
  private layoutRows = -1;
  protected trackById_ = new Map<number, Track>();
  private matches: Uint8Array = new Uint8Array(0);
  private marksNames = false; // the search says something about names
  private readonly listeners = new Set<() => void>();
  abstract saveHash(): void;
  redraw: () => void = () => {};
  afterResize?: () => void; // what to do when the timeline has its new size
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
  /** Where a track is, if it is not hidden, filtered out or in a folded process. */
  laneOf(id: number | undefined): Lane | undefined {
    return [...this.layout.pinned, ...this.layout.lanes].find((lane) => tracksOf(lane).some((track) => track.id === id));
  }
  shiftOf(file: number): number {
    return this.shifts[file] ?? 0;
  }

  protected updateMatches(): void {
    const test = matcher(this.search);
    this.matches = new Uint8Array(this.names.count);
    this.marksNames = namePart(this.search) !== '';
    if (!this.marksNames) return;
    // As the server: the text of a range, or the name of its class.
    for (let id = 0; id < this.names.count; ++id) this.matches[id] = test(this.names.text[id]) || test(this.names.baseOf(id)) ? 1 : 0;
  }

  /** The colour of a range: by its name, unless the search or a comparison colours it. */
  colourOf(name: number): number {
    if (this.marksNames) return this.matches[name] ? Colour.Hit : dimmed(this.names.colourOf(name));
    if (this.changes) {
      const change = this.changes.get(this.names.baseOf(name)) ?? 0;
      return change > 0 ? Colour.Slower : change < 0 ? Colour.Faster : Colour.Same;
    }
    return name === kUnknown ? Colour.Same : this.names.colourOf(name);
  }

  get showsAll(): boolean {
    return this.span.from <= 0 && this.span.to >= this.duration;
  }

  /** The trace has grown. A page that follows it shows its new end, and all of it if it did so before. */
  setDuration(ns: number): void {
    const all = this.showsAll;
    const length = this.span.to - this.span.from;
    this.duration = Math.max(1, ns);
    if (!this.follow) return;
    this.span = clampSpan(all ? wholeSpan(this.duration) : { from: this.duration - length * 0.95, to: this.duration + length * 0.05 }, this.duration);
  }

  setTheme(name: string, chosen: boolean): void {
    this.theme = name === 'dark' ? kDark : kLight;
    this.themeChosen = chosen;
    document.documentElement.dataset.theme = this.theme.name;
    this.redraw();
  }
}
