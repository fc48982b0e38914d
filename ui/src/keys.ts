// Every action and its keys. The help lists this table, so an action without a key cannot be forgotten there.

import { App, kTabs, Menu, Tab } from './app';
import { wholeSpan } from './core/viewport';
import { groupOf, kArrangements, kHeaderHeight, tracksOf } from './timeline/layout';
import { save } from './timeline/picture';
import type { Stage } from './timeline/stage';
import { exactly } from './core/names';

export interface Action {
  group: 'Move' | 'Find' | 'Select' | 'Track' | 'Process' | 'Tracks' | 'Panels' | 'Page';
  keys: string[]; // as KeyboardEvent.key; "Shift+", "Alt+" and "Ctrl+" before it
  text: string;
  run: () => void;
  held?: (ms: number) => void; // while the key stays down, for each frame
}

const kPan = 0.12; // of the visible time
const kZoom = 0.8;
const kStepMs = 90; // of a key that stays down: so long is a step of kPan or kZoom
const kHoldMs = 160; // from then on it counts as held
const kLongestFrameMs = 50;

export function makeActions(app: App, stage: Stage): Action[] {
  const length = () => app.span.to - app.span.from;
  const anchor = () => {
    const { geometry, pointer } = stage;
    if (geometry && pointer.inside && pointer.x > geometry.left) return geometry.time(pointer.x);
    return app.span.from / 2 + app.span.to / 2;
  };
  const focused = (use: (id: number) => void) => () => {
    if (app.focus !== undefined) use(app.focus);
  };
  const focusBy = (by: number) => {
    const tracks = [...app.layout.pinned, ...app.layout.lanes].filter((l) => l.track).map((l) => l.track!.id);
    if (tracks.length === 0) return;
    const at = app.focus === undefined ? -1 : tracks.indexOf(app.focus);
    app.focus = tracks[Math.max(0, Math.min(tracks.length - 1, at + by))];
    app.reveal(app.focus);
    stage.element.focus();
    app.notify();
  };
  const focusInput = (id: string) => () => {
    const input = document.getElementById(id) as HTMLInputElement | null;
    input?.focus();
    input?.select();
  };
  const tab = (name: Tab) => () => app.setTab(app.tab === name ? undefined : name);
  const collapseAll = () => {
    const lanes = app.layout.lanes.filter((l) => l.track && l.folds);
    // Nothing but folded processes: there are tracks to see after these are unfolded.
    if (lanes.length === 0) for (const { group } of [...app.layout.lanes]) app.toggleFold(group);
    const all = lanes.every((l) => l.collapsed);
    for (const lane of lanes) if (lane.collapsed === all) app.toggleFold(`t${lane.track!.id}`);
  };
  const hide = (key: string) => {
    focusBy(1);
    app.hide(key);
  };
  const openMenu = (of: Menu['of']) => () => {
    const placed = stage.placed.find((p) => p.lane.track && p.lane.track.id === app.focus);
    const at = (of === 'tracks' ? document.getElementById('tracks')! : stage.element).getBoundingClientRect();
    if (of === 'tracks') app.openMenu({ of, x: at.left, y: at.bottom });
    else if (placed) app.openMenu({ of, x: at.left + 26, y: at.top + Math.max(placed.top, placed.clipTop) + kHeaderHeight });
  };
  const selectRange = () => {
    const { value } = app.details;
    if (!value) return;
    const shift = app.shiftOf(value.file);
    void app.select({ from: value.start_ns + shift, to: Math.max(value.end_ns, value.start_ns + 1) + shift, tracks: [value.track] });
  };
  const stepRange = (by: number, depth = 0) => {
    const next = neighbour(app, stage, by, depth);
    if (next) void app.open(next);
  };
  const tabs: Array<[Tab, string]> = [
    ['details', 'details of the selected range'],
    ['statistics', 'statistics of the selection'],
    ['flame', 'flame graph of the selection'],
    ['report', 'report of the trace'],
    ['idle', 'idle time of devices, by cause'],
    ['memory', 'memory: over time, and what is alive'],
    ['compare', 'comparison of two traces'],
    ['sql', 'SQL'],
  ];
  return [
    { group: 'Move', keys: ['w', '+', '='], text: 'zoom in at the pointer', run: () => app.zoom(anchor(), kZoom), held: (ms) => app.zoom(anchor(), kZoom ** (ms / kStepMs)) },
    { group: 'Move', keys: ['s', '-'], text: 'zoom out', run: () => app.zoom(anchor(), 1 / kZoom), held: (ms) => app.zoom(anchor(), kZoom ** (-ms / kStepMs)) },
    { group: 'Move', keys: ['a', 'ArrowLeft'], text: 'move left', run: () => app.pan(-length() * kPan), held: (ms) => app.pan((-length() * kPan * ms) / kStepMs) },
    { group: 'Move', keys: ['d', 'ArrowRight'], text: 'move right', run: () => app.pan(length() * kPan), held: (ms) => app.pan((length() * kPan * ms) / kStepMs) },
    { group: 'Move', keys: ['Shift+A', 'Shift+ArrowLeft'], text: 'move left by a screen', run: () => app.pan(-length() * 0.9) },
    { group: 'Move', keys: ['Shift+D', 'Shift+ArrowRight'], text: 'move right by a screen', run: () => app.pan(length() * 0.9) },
    { group: 'Move', keys: ['ArrowUp'], text: 'scroll up', run: () => app.setScroll(app.scroll - 40) },
    { group: 'Move', keys: ['ArrowDown'], text: 'scroll down', run: () => app.setScroll(app.scroll + 40) },
    { group: 'Move', keys: ['PageUp'], text: 'scroll up by a screen', run: () => app.setScroll(app.scroll - app.bodyHeight() * 0.9) },
    { group: 'Move', keys: ['PageDown'], text: 'scroll down by a screen', run: () => app.setScroll(app.scroll + app.bodyHeight() * 0.9) },
    { group: 'Move', keys: ['j'], text: 'next track', run: () => focusBy(1) },
    { group: 'Move', keys: ['k'], text: 'previous track', run: () => focusBy(-1) },
    { group: 'Move', keys: ['0', 'Home'], text: 'show the whole trace', run: () => app.show(wholeSpan(app.duration)) },
    { group: 'Move', keys: ['f'], text: 'fit the selection, or the selected range, to the screen', run: () => fit(app) },
    { group: 'Move', keys: ['e'], text: 'follow the end of a growing trace', run: () => { app.follow = !app.follow; app.notify(); } },
    { group: 'Move', keys: ['Backspace'], text: 'back to the view before', run: () => app.back() },
    { group: 'Move', keys: ['Shift+Backspace'], text: 'forward to the view after', run: () => app.forward() },
    { group: 'Find', keys: ['/', 'Ctrl+f'], text: 'search', run: focusInput('search') },
    { group: 'Find', keys: ['n'], text: 'next hit', run: () => void app.nextHit(1) },
    { group: 'Find', keys: ['Shift+N'], text: 'previous hit', run: () => void app.nextHit(-1) },
    { group: 'Find', keys: ['o'], text: 'other ranges with the name of the selected range', run: () => { if (app.details.value) void app.find(exactly(app.details.value.name), false); } },
    { group: 'Find', keys: ['.', ']'], text: 'next range in this row, or the first one of the track', run: () => stepRange(1) },
    { group: 'Find', keys: [',', '['], text: 'previous range in this row, or the last one of the track', run: () => stepRange(-1) },
    { group: 'Find', keys: ['Shift+ArrowDown'], text: 'first range inside of the selected range', run: () => stepRange(1, 1) },
    { group: 'Find', keys: ['g'], text: 'go to what launched the selected range', run: () => app.goTo(app.details.value?.launched_by) },
    { group: 'Find', keys: ['Shift+G'], text: 'go to what the selected range launched', run: () => app.goTo(app.details.value?.launched?.[0]) },
    { group: 'Find', keys: ['z'], text: 'go to what the selected range waited for', run: () => app.goTo(app.details.value?.waited_for?.[0]) },
    { group: 'Find', keys: ['u', 'Shift+ArrowUp'], text: 'go to the range around the selected range', run: () => app.goTo(app.details.value?.parents?.at(-1)) },
    { group: 'Select', keys: ['m'], text: 'measure the selected range', run: selectRange },
    { group: 'Select', keys: ['v'], text: 'select what is visible', run: () => void app.select({ from: Math.max(0, app.span.from), to: Math.min(app.duration, app.span.to), tracks: visibleTracks(stage) }) },
    { group: 'Select', keys: ['Shift+F'], text: 'flag with a note at the pointer; a click on it changes the note', run: () => app.editFlag(anchor()) },
    { group: 'Select', keys: ['Escape'], text: 'close the help, clear selection and search', run: () => escape(app) },
    { group: 'Track', keys: ['c'], text: 'collapse or expand the track', run: focused((id) => app.toggleFold(`t${id}`)) },
    { group: 'Track', keys: ['p'], text: 'pin the track at the top, or unpin it', run: focused((id) => app.togglePinned(id)) },
    { group: 'Track', keys: ['h'], text: 'hide the track', run: focused((id) => hide(`t${id}`)) },
    { group: 'Track', keys: ['Alt+ArrowUp'], text: 'move the track up', run: focused((id) => app.move(id, -1)) },
    { group: 'Track', keys: ['Alt+ArrowDown'], text: 'move the track down', run: focused((id) => app.move(id, 1)) },
    { group: 'Process', keys: ['x'], text: 'collapse or expand the process', run: focused((id) => { const t = app.track(id); if (t) app.toggleFold(groupOf(t, 'process')); }) },
    { group: 'Process', keys: ['Shift+H'], text: 'hide the process', run: focused((id) => { const t = app.track(id); if (t) hide(groupOf(t, 'process')); }) },
    { group: 'Tracks', keys: ['t'], text: 'filter the tracks', run: focusInput('filter') },
    { group: 'Tracks', keys: ['Shift+C'], text: 'collapse or expand all tracks', run: collapseAll },
    { group: 'Tracks', keys: ['Shift+O'], text: 'tracks by process, by activity, or by name', run: () => app.arrange(kArrangements[(kArrangements.indexOf(app.arrangement) + 1) % kArrangements.length]) },
    { group: 'Tracks', keys: ['Shift+U'], text: 'show all hidden tracks', run: () => app.unhide() },
    ...tabs.map(([name, text]): Action => ({ group: 'Panels', keys: [String(kTabs.indexOf(name) + 1)], text, run: tab(name) })),
    { group: 'Panels', keys: ['q', '`'], text: 'close the panel, or open the details', run: () => app.setTab(app.tab ? undefined : 'details') },
    { group: 'Panels', keys: ['Shift+M', 'ContextMenu', 'Shift+F10'], text: 'menu of the track', run: openMenu('track') },
    { group: 'Panels', keys: ['Shift+T'], text: 'menu of all tracks: sort, show hidden ones', run: openMenu('tracks') },
    { group: 'Panels', keys: ['i'], text: 'memory that is alive at the pointer', run: () => { app.setTab('memory'); void app.askMemory(anchor()); } },
    { group: 'Page', keys: ['r'], text: 'arrows of all that is visible, or of the selected range only', run: () => { app.arrows = !app.arrows; app.notify(); } },
    { group: 'Page', keys: ['l'], text: 'light or dark theme', run: () => { app.setTheme(app.theme.name === 'dark' ? 'light' : 'dark', true); app.notify(); } },
    { group: 'Page', keys: ['Shift+S'], text: 'save what is on the screen as SVG', run: () => save('kymo.svg', new Blob([stage.svg()], { type: 'image/svg+xml' })) },
    { group: 'Page', keys: ['Shift+P'], text: 'save what is on the screen as PNG', run: () => void app.attempt(async () => save('kymo.png', await stage.png())) },
    { group: 'Page', keys: ['y'], text: 'copy a link to this view', run: () => void copyLink(app) },
    { group: 'Page', keys: ['Shift+W'], text: 'the wheel scrolls the tracks, or zooms', run: () => app.setWheelZooms(!app.wheelZooms) },
    { group: 'Page', keys: ['?'], text: 'list of keys', run: () => { app.help = !app.help; app.notify(); } },
  ];
}

function visibleTracks(stage: Stage): number[] {
  return stage.placed.flatMap((p) => tracksOf(p.lane).map((track) => track.id));
}

function fit(app: App): void {
  const { value } = app.details;
  const shift = value ? app.shiftOf(value.file) : 0;
  const target = app.selection ?? (value && { from: value.start_ns + shift, to: value.end_ns + shift });
  if (!target) return;
  const margin = (target.to - target.from) * 0.04;
  app.show({ from: target.from - margin, to: target.to + margin });
}

function escape(app: App): void {
  if (app.help || app.notice) {
    app.help = false;
    app.notice = undefined;
    return app.notify();
  }
  if (app.selection) return void app.select(undefined);
  if (app.search !== '') return void app.find('', false);
  if (app.event) {
    if (app.tab === 'details') app.tab = undefined;
    return void app.open(undefined);
  }
  app.setTab(undefined);
}

async function copyLink(app: App): Promise<void> {
  try {
    await navigator.clipboard.writeText(location.href);
    app.notice = 'the link to this view is copied';
  } catch {
    app.notice = 'the browser does not allow to copy: take the address from its address bar';
  }
  app.notify();
}

/**
 * The range before or after the selected one, in its row, or the first one inside of it, among those that are drawn.
 * Without a selected range on the track that has the focus: the first or the last one of its first row.
 */
function neighbour(app: App, stage: Stage, by: number, depth: number) {
  const { event } = app;
  const shapes = stage.scene.shapes().filter((s) => s.lane?.track && s.row >= 0 && s.count === 1).sort((a, b) => a.start - b.start);
  const self = event && event.track === app.focus && shapes.find((s) => s.event === event.index && s.chunk === event.chunk && s.lane!.track!.id === event.track);
  const track = shapes.filter((s) => s.lane!.track!.id === app.focus);
  const first = track.filter((s) => s.row === Math.min(...track.map(({ row }) => row)));
  const row = self && track.filter((s) => s.row === self.row + depth && (depth === 0 || (s.start >= self.start && s.end <= self.end)));
  const next = row ? row[depth === 0 ? row.indexOf(self) + by : 0] : first.at(by > 0 ? 0 : -1);
  return next && { track: app.focus!, chunk: next.chunk, index: next.event };
}

/** The text of a key event, as in Action.keys. */
export function keyText(event: KeyboardEvent): string {
  const prefix = (event.ctrlKey || event.metaKey ? 'Ctrl+' : '') + (event.altKey ? 'Alt+' : '');
  const isLetter = /^[a-z]$/i.test(event.key);
  const shift = event.shiftKey && (isLetter || event.key.length > 1);
  return prefix + (shift ? 'Shift+' : '') + (isLetter && !shift ? event.key.toLowerCase() : isLetter ? event.key.toUpperCase() : event.key);
}

export function listenToKeys(actions: readonly Action[]): void {
  const table = new Map(actions.flatMap((action) => action.keys.map((key) => [key, action] as const)));
  const held = new Map<string, Action>(); // by the code of the key
  let last = 0;
  const move = (now: number) => {
    if (held.size === 0) return;
    if (now > last) {
      for (const action of held.values()) action.held!(Math.min(kLongestFrameMs, now - last));
      last = now;
    }
    requestAnimationFrame(move);
  };
  addEventListener('keyup', (event) => held.delete(event.code));
  addEventListener('blur', () => held.clear());
  addEventListener('keydown', (event) => {
    const { target } = event;
    if (target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) {
      if (event.key === 'Escape') target.blur();
      return;
    }
    const action = table.get(keyText(event));
    if (!action) return;
    event.preventDefault();
    if (action.held) {
      if (event.repeat) return; // the frames move it
      if (held.size === 0) {
        last = performance.now() + kHoldMs;
        requestAnimationFrame(move);
      }
      held.set(event.code, action);
    }
    action.run();
  });
}
