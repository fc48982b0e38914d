// Statistics and flame graph of the selection.

import { useMemo, useState } from 'preact/hooks';
import type { App } from '../app';
import type { FlameBy } from '../app_state';
import { exactly } from '../core/names';
import { fileName, FlameFrame, NameTotal, SelectionAnswer, TrackKind } from '../core/protocol';
import { count, counted, duration, percent, quantity, splitUnit } from '../core/units';
import { LaunchedByName } from './details';
import { bottomUp, flameBoxes, FlameBox, flameHits, kTimed } from './flame_boxes';
import { useAnswer } from './hooks';
import { Answer, Swatch, Table } from './parts';
import { css } from '../timeline/palette';

export function Statistics({ app }: { app: App }) {
  const { from, to, tracks } = app.measured;
  const length = to - from;
  const where = !app.selection ? app.trace!.saved ? 'in the whole trace' : 'visible, on all tracks (drag over the timeline to select a part of it)' : tracks.length === 0 ? 'selected on all tracks' : tracks.length === 1 ? `selected on ${app.track(tracks[0])?.name ?? '1 track'}` : `selected on ${tracks.length} tracks`;
  return (
    <>
      <p class="summary">
        <b>{duration(length, 5)}</b>
        {` ${where}`}
      </p>
      <Answer pending={app.totals}>
        {(files) => files.map((totals) => (
          <>
            <FileTitle app={app} files={files} totals={totals} />
            <Ranges app={app} totals={totals} length={length} />
            <States app={app} totals={totals} />
            <Functions app={app} totals={totals} />
            <Others totals={totals} />
          </>
        ))}
      </Answer>
    </>
  );
}

/** Of what totals and flame graphs are. */
function partText(app: App): string {
  const { from, to, tracks } = app.measured;
  if (app.trace!.saved && !app.selection) return 'the whole trace';
  const length = duration(to - from, 5);
  return !app.selection ? `the visible ${length}` : tracks.length === 0 ? `the selected ${length}` : `the selected ${length} of ${counted(tracks.length, 'track')}`;
}

/** The name of the file, if totals of several files are shown. */
function FileTitle({ app, files, totals }: { app: App; files: readonly SelectionAnswer[]; totals: SelectionAnswer }) {
  return files.length > 1 ? <h3>{fileName(app.trace!.files[totals.file ?? 0])}</h3> : null;
}

/** What is not an ordinary range of a thread, as `kymo stats` marks it. */
function mark(row: NameTotal): string {
  return row.unfinished ? ' (unfinished)' : row.across_threads ? ' (across threads)' : row.on_device ? ' (device)' : '';
}

function Ranges({ app, totals, length }: { app: App; totals: SelectionAnswer; length: number }) {
  if (totals.ranges.length === 0) return totals.functions?.length ? null : <p class="hint">No ranges or functions in this part.</p>;
  const known = (row: NameTotal, ns: number | undefined) => (row.unfinished || ns === undefined ? '-' : duration(ns));
  return (
    <Table
      rows={totals.ranges}
      sort={2}
      choose={(row) => void app.find(exactly(row.name), false)}
      columns={[
        { title: 'Name', wide: true, text: (r) => <><Swatch name={r.name} app={app} />{r.name}<small>{mark(r)}</small></>, value: (r) => r.name },
        { title: 'Count', text: (r) => count(r.count), value: (r) => r.count },
        { title: 'Total', text: (r) => duration(r.total_ns), value: (r) => r.total_ns },
        { title: 'Share', text: (r) => percent(r.total_ns, length), value: (r) => r.total_ns },
        { title: 'Self', text: (r) => duration(r.self_ns), value: (r) => r.self_ns },
        { title: 'Min', text: (r) => known(r, r.min_ns), value: (r) => r.min_ns ?? 0 },
        { title: 'Median', text: (r) => known(r, r.median_ns), value: (r) => r.median_ns ?? 0 },
        { title: 'p99', text: (r) => known(r, r.p99_ns), value: (r) => r.p99_ns ?? 0 },
        { title: 'Max', text: (r) => known(r, r.max_ns), value: (r) => r.max_ns ?? 0 },
      ]}
    />
  );
}

/** The functions of CPU samples: what `kymo stats --by function` lists. */
function Functions({ app, totals }: { app: App; totals: SelectionAnswer }) {
  if (!totals.functions?.length) return null;
  const whole = totals.sampled_ns ?? 0;
  return (
    <>
      <p class="summary">{`${counted(totals.samples ?? 0, 'CPU sample')}: ${duration(whole)} of CPU time`}</p>
      <Table
        rows={totals.functions}
        sort={1}
        choose={(row) => void app.find(exactly(row.function), false)}
        columns={[
          { title: 'Function', wide: true, text: (r) => <span title={r.module}><Swatch name={r.function} app={app} />{r.function}</span>, value: (r) => r.function },
          { title: 'Self', text: (r) => duration(r.self_ns), value: (r) => r.self_ns },
          { title: 'Share', text: (r) => percent(r.self_ns, whole), value: (r) => r.self_ns },
          { title: 'Total', text: (r) => duration(r.total_ns), value: (r) => r.total_ns },
          { title: 'Share', text: (r) => percent(r.total_ns, whole), value: (r) => r.total_ns },
          { title: 'Samples', text: (r) => count(r.self_samples), value: (r) => r.self_samples },
          { title: 'Module', text: (r) => r.module.slice(r.module.lastIndexOf('/') + 1), value: (r) => r.module },
        ]}
      />
    </>
  );
}

/** What the threads did. */
function States({ app, totals }: { app: App; totals: SelectionAnswer }) {
  if (!totals.states?.length) return null;
  const whole = totals.states.reduce((sum, row) => sum + row.total_ns, 0);
  return (
    <Table
      rows={totals.states}
      sort={2}
      choose={(row) => app.goTo(row.longest)}
      columns={[
        { title: 'Thread state', wide: true, text: (r) => <><Swatch name={r.name} app={app} />{r.name}</>, value: (r) => r.name },
        { title: 'Count', text: (r) => count(r.count), value: (r) => r.count },
        { title: 'Total', text: (r) => duration(r.total_ns), value: (r) => r.total_ns },
        { title: 'Share', text: (r) => percent(r.total_ns, whole), value: (r) => r.total_ns },
        { title: 'Max', text: (r) => duration(r.max_ns), value: (r) => r.max_ns },
      ]}
    />
  );
}

function Others({ totals }: { totals: SelectionAnswer }) {
  return (
    <>
      {totals.instants?.length ? (
        <Table
          rows={totals.instants}
          sort={1}
          columns={[
            { title: 'Instant', wide: true, text: (r) => r.name, value: (r) => r.name },
            { title: 'Count', text: (r) => count(r.count), value: (r) => r.count },
          ]}
        />
      ) : null}
      <Counters totals={totals} />
    </>
  );
}

export function Counters({ totals }: { totals: SelectionAnswer }) {
  if (!totals.counters?.length) return null;
  return (
    <Table
      rows={totals.counters}
      sort={0}
      columns={[
        { title: 'Counter', wide: true, text: (r) => splitUnit(r.name).name, value: (r) => r.name },
        { title: 'Values', text: (r) => count(r.count), value: (r) => r.count },
        { title: 'Min', text: (r) => quantity(r.min, splitUnit(r.name).unit), value: (r) => r.min },
        { title: 'Mean', text: (r) => quantity(r.mean, splitUnit(r.name).unit), value: (r) => r.mean },
        { title: 'Max', text: (r) => quantity(r.max, splitUnit(r.name).unit), value: (r) => r.max },
        { title: 'Last', text: (r) => quantity(r.last, splitUnit(r.name).unit), value: (r) => r.last },
      ]}
    />
  );
}

export function Flame({ app }: { app: App }) {
  return (
    <Answer pending={app.totals}>
      {(files) => files.map((totals) => (
        <>
          <FileTitle app={app} files={files} totals={totals} />
          <FlameGraphs app={app} totals={totals} />
        </>
      ))}
    </Answer>
  );
}

const hasTime = (frames: readonly FlameFrame[] | undefined) => (frames?.[0]?.total_ns ?? 0) > 0;

const kFlameTitles: Record<FlameBy, string> = { ranges: 'Ranges', functions: 'Functions', wait: 'Waits', device: 'Devices' };
const kFlameTimes: Record<FlameBy, string> = { ranges: 'in ranges', functions: 'of CPU time', wait: 'of waiting', device: 'of devices' };

/** By what the trace has: ranges, functions of samples, waits, work of devices. */
function FlameGraphs({ app, totals }: { app: App; totals: SelectionAnswer }) {
  const [wanted, setWanted] = useState(app.flame.by);
  const file = totals.file ?? 0;
  const hasKind = (kind: TrackKind) => app.trace!.tracks.some((track) => track.kind === kind && track.file === file);
  const has: Record<FlameBy, boolean> = { ranges: hasTime(totals.flame), functions: hasTime(totals.function_flame), wait: hasKind('states'), device: hasKind('queue') };
  const choices = (Object.keys(has) as FlameBy[]).filter((by) => has[by]);
  if (choices.length === 0) return <p class="hint">No ranges or functions in this part.</p>;
  const by = choices.find((one) => one === wanted) ?? choices[0];
  const choose = (one: FlameBy) => {
    app.flame.by = one;
    setWanted(one);
  };
  return (
    <>
      {choices.length > 1 && (
        <p class="buttons">
          {choices.map((one) => <button class={by === one ? 'on' : ''} aria-pressed={by === one} onClick={() => choose(one)}>{kFlameTitles[one]}</button>)}
        </p>
      )}
      {by === 'ranges' || by === 'functions' ? <FlameGraph key={by} app={app} file={file} by={by} frames={by === 'ranges' ? totals.flame! : totals.function_flame!} /> : <FlameOf key={by} app={app} by={by} totals={totals} />}
    </>
  );
}

/** As `kymo flame --by` computes it. */
function FlameOf({ app, by, totals }: { app: App; by: 'wait' | 'device'; totals: SelectionAnswer }) {
  const file = totals.file ?? 0;
  const tracks = app.measured.tracks.filter((id) => app.track(id)?.file === file);
  const pending = useAnswer(`flame ${by} ${totals.from_ns} ${totals.to_ns} ${tracks.join()}`, (signal) => app.client.flame(by, totals.from_ns, totals.to_ns, tracks, signal));
  return (
    <Answer pending={pending}>
      {({ flame }) => (hasTime(flame) ? <FlameGraph app={app} file={file} by={by} frames={flame} /> : <p class="hint">{by === 'wait' ? 'No waits with a stack in this part: record with kymo record --with waits.' : 'No work of a device in this part.'}</p>)}
    </Answer>
  );
}

function FlameGraph({ app, file, by, frames: topDown }: { app: App; file: number; by: FlameBy; frames: FlameFrame[] }) {
  const [isInverted, setInverted] = useState(app.flame.isInverted);
  const frames = useMemo(() => (isInverted ? bottomUp(topDown) : topDown), [topDown, isInverted]);
  const [root, setRoot] = useState(0);
  const [search, setSearch] = useState('');
  const at = root < frames.length ? root : 0;
  const boxes = flameBoxes(frames, at);
  const whole = frames[at].total_ns;
  const rows = boxes.reduce((most, box) => Math.max(most, box.row), 0) + 1;
  const { has, found, total } = flameHits(frames, at, search);
  const colour = (box: FlameBox) => (kTimed.has(box.frame.kind) ? css(app.theme.colours[app.names.colourOfText(box.frame.name)]) : 'var(--header)');
  const times = (frame: FlameFrame) => (frame.count === 0 ? '' : `, ${counted(frame.count, frame.kind === 'function' ? 'sample' : 'time')}`);
  const invert = (to: boolean) => {
    app.flame.isInverted = to;
    setInverted(to);
    setRoot(0);
  };
  return (
    <>
      <p class="buttons">
        <button class={isInverted ? '' : 'on'} aria-pressed={!isInverted} title="from the outermost frames to those inside" onClick={() => invert(false)}>Top down</button>
        <button class={isInverted ? 'on' : ''} aria-pressed={isInverted} title="from the frames that take the time to their callers" onClick={() => invert(true)}>Bottom up</button>
        <input aria-label="search the flame graph" placeholder="Search the flame graph" spellcheck={false} value={search} onInput={(event) => setSearch((event.currentTarget as HTMLInputElement).value)} />
        <span>{`${duration(whole)} ${kFlameTimes[by]} in ${partText(app)}`}</span>
        {search !== '' && <span class="hint" role="status">{`${counted(found, 'frame')}, ${duration(total)} (${percent(total, whole)})`}</span>}
      </p>
      <div class="flame" style={{ height: `${rows * 19}px` }}>
        {boxes.map((box) => (
          <button
            class={search === '' ? '' : has(box.frame) ? 'hit' : 'miss'}
            data-row={box.row}
            title={`${box.frame.name}\n${duration(box.frame.total_ns)} (${percent(box.frame.total_ns, whole)}), self ${duration(box.frame.self_ns)}${times(box.frame)}`}
            style={{ left: `${box.left * 100}%`, width: `${box.width * 100}%`, top: `${box.row * 19}px`, background: colour(box) }}
            onClick={() => setRoot(box.index === at ? 0 : box.index)}
          >
            {box.width > 0.02 ? box.frame.name : ''}
            {box.width > 0.1 ? <small>{duration(box.frame.total_ns)}</small> : null}
          </button>
        ))}
      </div>
      {frames[at].kind === 'range' && topDown.some((frame) => frame.kind === 'work') && !app.trace!.saved && <LaunchedByName key={frames[at].name} app={app} file={file} name={frames[at].name} />}
    </>
  );
}
