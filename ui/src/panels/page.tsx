// The frame around the timeline: toolbar, banner, panel and help.

import { useRef, useState } from 'preact/hooks';
import { App, kTabs, Tab } from '../app';
import { fileName, isGap, longest } from '../core/protocol';
import { bytes, count, counted, duration, timeLabel } from '../core/units';
import { wholeSpan } from '../core/viewport';
import type { Action } from '../keys';
import { describe } from '../timeline/name_column';
import { Compare, Comparing } from './compare';
import { copyText, textOf } from './copy';
import { Details } from './details';
import { useApp, useFocus } from './hooks';
import { Memory } from './memory';
import { Idle, ReportPanel } from './report';
import { Flame, Statistics } from './selection';
import { Sql } from './sql';

const kTitles: Record<Tab, string> = {
  details: 'Details',
  statistics: 'Statistics',
  flame: 'Flame graph',
  report: 'Report',
  idle: 'Idle time',
  memory: 'Memory',
  compare: 'Compare',
  sql: 'SQL',
};

const kSearchHelp = 'a part of a name, a pattern with * and ?, or "the whole name"; with conditions such as dur>1ms, dur<2s, thread:loader, category:io, arg:train, arg.bytes>1MB';

export function Toolbar({ app }: { app: App }) {
  useApp(app);
  const [typed, setTyped] = useState({ text: '', after: '' }); // a search that has not begun, and the one before it
  const { trace } = app;
  if (!trace) return <header class="toolbar"><b>kymo</b></header>;
  const query = typed.after === app.search ? typed.text : app.search;
  const found = query === app.search ? app.found.value : undefined;
  const hits = app.search === '' || query !== app.search ? '' : app.found.loading ? '…' : found ? (!found.complete ? `at least ${counted(found.total, 'hit')}` : app.hit >= 0 ? `${count(found.before + app.hit + 1)} of ${count(found.total)}` : counted(found.total, 'hit')) : app.found.error ?? '';
  const events = trace.files.reduce((sum, file) => sum + (file.events ?? 0), 0);
  const size = trace.files.reduce((sum, file) => sum + (file.bytes ?? 0), 0);
  const search = (event: Event) => {
    const text = (event.currentTarget as HTMLInputElement).value;
    if (text !== app.search) void app.find(text, true);
    else void app.nextHit(1);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Escape') setTyped({ text: '', after: '' });
    if (event.key !== 'Enter') return;
    const input = event.currentTarget as HTMLInputElement;
    setTyped({ text: input.value, after: input.value });
    if (input.value === app.search) void app.nextHit(event.shiftKey ? -1 : 1);
    else search(event);
  };
  return (
    <header class="toolbar">
      <b class="brand">kymo</b>
      <span class="file" title={trace.files.map((f) => f.name).join('\n')}>{trace.files.map((f) => fileName(f)).join(', ')}</span>
      <span class="facts">{`${duration(longest(trace))}, ${counted(events, 'event')}${size ? `, ${bytes(size)}` : ''}`}</span>
      {trace.live && <button class={app.follow ? 'live on' : 'live'} title="e: follow the end" onClick={() => { app.follow = !app.follow; app.notify(); }}>live</button>}
      <Comparing app={app} />
      <Problems app={app} />
      <span class="space" />
      <span class="searchbox">
        <input id="filter" aria-label="filter tracks" placeholder="Filter tracks (t)" spellcheck={false} value={app.filter} onInput={(event) => app.setFilter((event.currentTarget as HTMLInputElement).value)} />
        <button id="tracks" aria-haspopup="menu" aria-expanded={app.menu?.of === 'tracks'} title="sort the tracks, show hidden ones (Shift+T)" onClick={(event) => app.openMenu({ of: 'tracks', x: event.currentTarget.getBoundingClientRect().left, y: event.currentTarget.getBoundingClientRect().bottom })}>
          {`${app.layout.leftOut > 0 ? `${count(app.layout.leftOut)} hidden` : 'Tracks'} ▾`}
        </button>
      </span>
      <span class="searchbox">
        <input id="search" aria-label="search" placeholder="Search (/)" title={kSearchHelp} spellcheck={false} value={query} onInput={(event) => setTyped({ text: event.currentTarget.value, after: app.search })} onKeyDown={onKey} />
        <span class={app.found.error ? 'hits problem' : 'hits'} role="status" title={hits}>{hits}</span>
        <button aria-label="previous hit" title="previous hit (Shift+N)" disabled={!found?.hits.length} onClick={() => void app.nextHit(-1)}>‹</button>
        <button aria-label="next hit" title="next hit (n)" disabled={!found?.hits.length} onClick={() => void app.nextHit(1)}>›</button>
      </span>
      <button title="whole trace (0)" onClick={() => app.show(wholeSpan(app.duration))}>Fit</button>
      <button aria-label="light or dark theme" title="light or dark theme (l)" onClick={() => { app.setTheme(app.theme.name === 'dark' ? 'light' : 'dark', true); app.notify(); }}>{app.theme.name === 'dark' ? '☀' : '☾'}</button>
      <button aria-label="keys" title="keys (?)" onClick={() => { app.help = !app.help; app.notify(); }}>?</button>
    </header>
  );
}

/** Losses and damage of the files: a short text, and all of it in the title. */
function Problems({ app }: { app: App }) {
  const trace = app.trace!;
  const lines = [
    ...(trace.left_out ?? []).map((reason) => `left out: ${reason}`),
    ...trace.files.flatMap((file) => (file.problems ?? []).map((problem) => `${file.name}: ${problem}`)),
    ...trace.losses.map((loss) => `${isGap(loss) ? 'lost: ' : ''}${count(loss.count)} × ${loss.text ?? loss.cause}`),
  ];
  const heldUp = trace.files.reduce((sum, file) => sum + (file.held_up_ns ?? 0), 0);
  if (heldUp > 0) lines.push(`${duration(heldUp)}: the threads waited for the collector of Kymo, as their states show`);
  if (lines.length === 0) return null;
  const lost = trace.losses.reduce((sum, loss) => sum + (isGap(loss) ? loss.count : 0), 0);
  const incomplete = trace.losses.reduce((sum, loss) => sum + (isGap(loss) ? 0 : loss.count), 0);
  const problems = lines.length - trace.losses.length - Number(heldUp > 0);
  const text = [lost > 0 ? `${count(lost)} lost` : '', incomplete > 0 ? `${count(incomplete)} incomplete` : '', heldUp > 0 ? `held up by Kymo ${duration(heldUp)}` : '', problems > 0 ? `${problems} ${problems === 1 ? 'problem' : 'problems'}` : ''].filter(Boolean).join(', ');
  const all = lines.slice(0, 40).join('\n');
  return <button class="warning" title={all} onClick={() => { app.notice = all; app.notify(); }}>{text}</button>;
}

/** What is selected, for people who do not see the timeline. */
export function Spoken({ app }: { app: App }) {
  useApp(app);
  const lane = app.trace && app.laneOf(app.focus);
  const range = app.details.value;
  const time = app.selection && app.selection.to - app.selection.from;
  const texts = [
    lane && `track ${lane.label} of ${lane.process.label ?? lane.process.name}, ${describe(lane).join(', ')}${lane.folds ? (lane.collapsed ? ', collapsed' : ', expanded') : ''}${lane.pinned ? ', pinned' : ''}`,
    range && `${range.name}, ${duration(range.end_ns - range.start_ns)}, at ${timeLabel(range.start_ns, 1000)}`,
    time && `${duration(time)} selected`,
  ];
  return <p class="spoken" aria-live="polite">{texts.filter(Boolean).join('; ')}</p>;
}

export function Banner({ app }: { app: App }) {
  useApp(app);
  if (app.fatal) return <div class="banner problem" role="alert">{app.fatal}</div>;
  if (app.offline) {
    return <div class="banner problem" role="alert">No answer from kymo view: it has ended, or the connection is lost. What was read before is still shown. Trying again …</div>;
  }
  const trouble = app.trace?.files.flatMap((file) => file.trouble ?? []) ?? [];
  if (trouble.length > 0) return <div class="banner problem" role="alert">{trouble.join(' ')}</div>;
  if (app.unfollowed && app.trace?.live) {
    return <div class="banner problem" role="alert">This page shows the trace as it was: too many pages follow it. Close some of them; this page then goes on.</div>;
  }
  if (app.trace?.scanned && app.trace.tracks.length === 0) {
    return <div class="banner" role="status">{app.trace.live ? 'This trace has no events yet.' : 'This trace has no events.'}</div>;
  }
  if (app.notice) {
    return (
      <div class="banner" role="status">
        <span>{app.notice}</span>
        <button onClick={() => { app.notice = undefined; app.notify(); }}>Close</button>
      </div>
    );
  }
  return null;
}

export function Panel({ app }: { app: App }) {
  useApp(app);
  const drag = useRef<{ y: number; height: number } | undefined>(undefined);
  const box = useRef<HTMLElement>(null);
  if (!app.trace) return null;
  const resize = (height: number) => document.documentElement.style.setProperty('--panel-height', `${Math.max(80, Math.min(innerHeight - 240, height))}px`);
  const Content = { details: Details, statistics: Statistics, flame: Flame, report: ReportPanel, idle: Idle, memory: Memory, compare: Compare, sql: Sql };
  const Current = app.tab && Content[app.tab];
  return (
    <aside aria-label="panel" class={app.tab ? 'panel open' : 'panel'} ref={box}>
      <div
        class="handle"
        role="separator"
        aria-label="height of the panel"
        aria-orientation="horizontal"
        tabIndex={app.tab ? 0 : undefined}
        onKeyDown={(event) => {
          const by = { ArrowUp: 40, ArrowDown: -40 }[event.key];
          if (by === undefined) return;
          event.stopPropagation();
          resize(box.current!.offsetHeight + by);
        }}
        onPointerDown={(event) => {
          drag.current = { y: event.clientY, height: box.current!.offsetHeight };
          (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => {
          if (drag.current) resize(drag.current.height + drag.current.y - event.clientY);
        }}
        onPointerUp={() => { drag.current = undefined; }}
      />
      <nav aria-label="panels">
        {kTabs.map((tab, i) => (
          <button class={app.tab === tab ? 'current' : ''} aria-pressed={app.tab === tab} title={`key ${i + 1}`} onClick={() => app.setTab(app.tab === tab ? undefined : tab)}>
            {kTitles[tab]}
            {tab === 'report' && app.findings > 0 && <b class="findings" title={counted(app.findings, 'finding')}>{app.findings}</b>}
          </button>
        ))}
        <span class="space" />
        {app.tab && <Copy of={() => box.current!.querySelector('.content')!} />}
        {app.tab && <button aria-label="close the panel" title="close (`)" onClick={() => app.setTab(undefined)}>×</button>}
      </nav>
      {Current && <div class="content"><Current app={app} /></div>}
    </aside>
  );
}

function Copy({ of }: { of: () => Element }) {
  const [said, setSaid] = useState('');
  const copy = async () => {
    setSaid((await copyText(textOf(of()))) ? 'Copied' : 'Not allowed by the browser');
    setTimeout(() => setSaid(''), 2000);
  };
  return <button title="what the panel shows, with tabs between the cells" onClick={() => void copy()}>{said || 'Copy as text'}</button>;
}

export function Help({ app, actions }: { app: App; actions: readonly Action[] }) {
  useApp(app);
  return app.help ? <Keys app={app} actions={actions} /> : null;
}

function Keys({ app, actions }: { app: App; actions: readonly Action[] }) {
  const box = useRef<HTMLDivElement>(null);
  useFocus(() => box.current!);
  const groups = [...new Set(actions.map((action) => action.group))];
  const close = () => {
    app.help = false;
    app.notify();
  };
  return (
    <div class="help" role="dialog" aria-modal="true" aria-label="keys" onClick={close}>
      <div tabIndex={-1} ref={box} onClick={(event) => event.stopPropagation()}>
        <h2>Keys</h2>
        <div class="groups">
          {groups.map((group) => (
            <section>
              <h3>{group}</h3>
              {actions.filter((action) => action.group === group).map((action) => (
                <p>
                  <span>{action.keys.map((key) => <kbd>{keyName(key)}</kbd>)}</span>
                  {action.text}
                </p>
              ))}
            </section>
          ))}
          <section>
            <h3>Pointer</h3>
            <p><span>wheel</span>{app.wheelZooms ? 'zoom at the pointer' : 'scroll the tracks'}</p>
            <p><span>Ctrl + wheel</span>{app.wheelZooms ? 'scroll the tracks' : 'zoom at the pointer'}</p>
            <p><span>Shift + wheel</span>move left and right</p>
            <p><span>drag</span>measure</p>
            <p><span>Shift + drag</span>move; also with the middle button</p>
            <p><span>click</span>details; on a name: fold, pin, menu</p>
            <p><span>right click</span>on a name: menu</p>
            <p><span>drag a name</span>move the track</p>
            <p><span>two fingers</span>zoom; a long press measures</p>
          </section>
        </div>
        <p class="hint">{`kymo ${app.trace?.kymo ?? ''}. The page contains preact, © 2015-present Jason Miller, MIT license.`}</p>
      </div>
    </div>
  );
}

export function keyName(key: string): string {
  return key.replace('Shift+', '⇧ ').replace('Ctrl+', 'Ctrl ').replace('Alt+', 'Alt ').replace('ArrowLeft', '←').replace('ArrowRight', '→').replace('ArrowUp', '↑').replace('ArrowDown', '↓').replace('Escape', 'Esc');
}
