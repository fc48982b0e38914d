// Everything about the selected range: times, arguments, stack, and the ranges that belong to it.

import { useState } from 'preact/hooks';
import type { App } from '../app';
import type { EventDetails, LaunchedAnswer, LinkedEvent, SearchAnswer } from '../core/protocol';
import { count, counted, duration, quantity, splitUnit, timeLabel } from '../core/units';
import { useAnswer } from './hooks';
import { Answer, Stack, Swatch, Table } from './parts';
import { exactly, namePart } from '../core/names';

const kMaxLinks = 50;

export function Details({ app }: { app: App }) {
  if (!app.event) {
    return app.search === '' ? <p class="hint">Click a range to see its arguments, its stack, and what launched it. Drag to measure.</p> : <Hits app={app} />;
  }
  return (
    <>
      <Answer pending={app.details}>{(event) => <Event app={app} event={event} />}</Answer>
      {app.search !== '' && <Hits app={app} />}
    </>
  );
}

function Event({ app, event }: { app: App; event: EventDetails }) {
  const track = app.track(event.track);
  const length = event.end_ns - event.start_ns;
  const shift = app.shiftOf(event.file);
  // Of a wait for a lock (kymo record --with waits).
  const holder = event.category === 'wait' && event.arguments?.find((argument) => argument.name === 'holder')?.value;
  const heldBy = holder && app.trace!.tracks.find((one) => one.tid === Number(holder) && one.process === track?.process);
  return (
    <div class="columns">
      <section>
        <h2>
          <Swatch name={event.base ?? event.name} app={app} />
          {event.name || 'no name'}
        </h2>
        <dl>
          {event.kind === 'range' || length > 0 ? (
            <>
              <dt>Duration</dt>
              <dd>{event.unfinished ? `${duration(length, 6)}, without an end in the trace` : duration(length, 6)}</dd>
            </>
          ) : null}
          <dt>Start</dt>
          <dd>{`${timeLabel(event.start_ns, 1)}${shift === 0 ? '' : ` of its trace, ${timeLabel(event.start_ns + shift, 1)} on the axis`}`}</dd>
          <dt>Track</dt>
          <dd>{track?.name ?? event.track}</dd>
          {event.begins_on ? <><dt>Begins on</dt><dd>{event.begins_on}</dd></> : null}
          {event.ends_on ? <><dt>Ends on</dt><dd>{event.ends_on}</dd></> : null}
          {heldBy ? <><dt>Held by</dt><dd>{heldBy.name}</dd></> : null}
          {event.category ? <><dt>Category</dt><dd>{event.category}</dd></> : null}
          {event.kind !== 'range' && event.kind !== event.category ? <><dt>Kind</dt><dd>{event.kind}</dd></> : null}
          {event.running_ns === undefined ? null : (
            <>
              <dt>CPU time</dt>
              <dd>{duration(event.running_ns, 6)}</dd>
              <dt>Waiting</dt>
              <dd>{duration(event.waiting_ns!, 6)}</dd>
              {event.ready_ns ? <><dt title="it could have run, but others ran">Ready</dt><dd>{duration(event.ready_ns, 6)}</dd></> : null}
              {event.held_up_ns ? <><dt title="it waited for the collector of Kymo">Held up by Kymo</dt><dd>{duration(event.held_up_ns, 6)}</dd></> : null}
            </>
          )}
          {event.kind === 'rank' && track?.calls ? (
            <>
              <dt>Rank</dt>
              <dd>{`last at ${count(track.last_at!)} of ${counted(track.calls, 'collective')}; all others waited ${duration(track.awaited_ns!)} for it; it waited ${duration(track.waited_ns!)} itself`}</dd>
            </>
          ) : null}
          {event.correlation ? <><dt>Correlation</dt><dd>{event.correlation}</dd></> : null}
        </dl>
        <p class="buttons">
          <button title="m" onClick={() => void app.select({ from: event.start_ns + shift, to: Math.max(event.end_ns, event.start_ns + 1) + shift, tracks: [event.track] })}>Measure</button>
          <button title="o" onClick={() => void app.find(exactly(event.name), false)}>Histogram and other ranges of this name</button>
        </p>
      </section>
      {event.arguments?.length ? (
        <section>
          <h3>Arguments</h3>
          <dl>
            {event.arguments.map((argument) => (
              <>
                <dt>{argument.name}</dt>
                <dd>{String(argument.value)}</dd>
              </>
            ))}
          </dl>
        </section>
      ) : null}
      <section>
        <LaunchedBy app={app} event={event} />
        <Links app={app} title="Launched" events={event.launched ?? []} />
        <Links app={app} title="Waited for" events={event.waited_for ?? []} />
        <Links app={app} title="Flows from" events={(event.flows ?? []).filter((f) => f.direction === 'from').map((f) => f.event)} />
        <Links app={app} title="Flows to" events={(event.flows ?? []).filter((f) => f.direction === 'to').map((f) => f.event)} />
        <Links app={app} title="Inside of" events={[...(event.parents ?? [])].reverse()} />
      </section>
      {event.counters?.length ? (
        <section>
          <h3>Counters meanwhile</h3>
          <dl>
            {event.counters.map(({ name, mean, values }) => (
              <>
                <dt>{splitUnit(name).name}</dt>
                <dd title={`mean over time, with ${counted(values, 'value')} in it`}>{quantity(mean, splitUnit(name).unit)}</dd>
              </>
            ))}
          </dl>
        </section>
      ) : null}
      {launches(app, event) && <section class="wide"><LaunchedInside app={app} event={event} /></section>}
      {app.trace!.saved && <section><p class="hint">{savedHint(app.trace!.saved.arguments_left_out)}</p></section>}
      {event.stack?.length ? (
        <section>
          <h3>Stack</h3>
          <Stack frames={event.stack} />
        </section>
      ) : null}
    </div>
  );
}

/** Where work on a device was launched, and by which operator and functions of Python. */
function LaunchedBy({ app, event }: { app: App; event: EventDetails }) {
  const launch = event.launched_by;
  if (!launch) return null;
  const around = [...(event.launch_stack ?? [])].reverse();
  const isPython = (one: { category: string }) => one.category.startsWith('python');
  const operator = around.find((one) => one.category === 'cpu_op');
  return (
    <>
      <Links app={app} title={`Launched by ${app.track(launch.track)?.name ?? ''}, ${duration(Math.max(0, event.start_ns - launch.start_ns))} before its start`} events={[launch]} />
      <Links app={app} title="Operator" events={operator ? [operator] : []} />
      <Links app={app} title="Python stack" events={around.filter(isPython)} />
      <Links app={app} title="Ranges around the launch" events={around.filter((one) => one !== operator && !isPython(one))} />
    </>
  );
}

/** Whether work of devices may have been launched in it. */
function launches(app: App, event: EventDetails): boolean {
  const kind = app.track(event.track)?.kind;
  return (kind === 'thread' || kind === 'functions') && !app.trace!.saved && event.end_ns > event.start_ns && app.trace!.tracks.some((track) => track.kind === 'queue' && track.file === event.file);
}

/** The kernels of a range or a function, or of all with its name. */
function LaunchedInside({ app, event }: { app: App; event: EventDetails }) {
  const [all, setAll] = useState(false);
  return (
    <>
      <p class="buttons">
        <button class={all ? '' : 'on'} aria-pressed={!all} onClick={() => setAll(false)}>Kernels of this range</button>
        <button class={all ? 'on' : ''} aria-pressed={all} onClick={() => setAll(true)}>Of all with this name</button>
      </p>
      {all ? <LaunchedByName app={app} file={event.file} name={event.base ?? event.name} /> : <Kernels app={app} id={`${event.track} ${event.start_ns} ${event.end_ns}`} request={(signal) => app.client.launchedIn(event.track, event.start_ns, event.end_ns, signal)} />}
    </>
  );
}

export function LaunchedByName({ app, file, name }: { app: App; file: number; name: string }) {
  return <Kernels app={app} id={`${file} ${name}`} request={(signal) => app.client.launchedByName(file, name, signal)} />;
}

function Kernels({ app, id, request }: { app: App; id: string; request: (signal: AbortSignal) => Promise<LaunchedAnswer> }) {
  const pending = useAnswer(`launched ${id}`, request);
  return (
    <Answer pending={pending}>
      {({ count: all, complete, names, work }) => (
        <>
          <p class="hint">{all === 0 ? 'No work of a device was launched here.' : `${complete ? '' : 'at least '}${counted(all, 'operation')} of devices, ${duration(names.reduce((sum, one) => sum + one.total_ns, 0))}${work.length < all ? `; the first ${count(work.length)} are listed` : ''}`}</p>
          {names.length > 1 && (
            <Table
              rows={names}
              sort={2}
              choose={(row) => void app.find(exactly(row.name), false)}
              columns={[
                { title: 'Kernel', wide: true, text: (r) => <><Swatch name={r.name} app={app} />{r.name}</>, value: (r) => r.name },
                { title: 'Count', text: (r) => count(r.count), value: (r) => r.count },
                { title: 'Total', text: (r) => duration(r.total_ns), value: (r) => r.total_ns },
                { title: 'Max', text: (r) => duration(r.max_ns), value: (r) => r.max_ns },
              ]}
            />
          )}
          {work.length > 0 && (
            <Table
              rows={work}
              choose={(row) => app.goTo(row)}
              columns={[
                { title: 'Each', wide: true, text: (r) => <><Swatch name={r.name} app={app} />{r.name}</>, value: (r) => r.name },
                { title: 'Start', text: (r) => timeLabel(r.start_ns, 1000), value: (r) => r.start_ns },
                { title: 'Duration', text: (r) => duration(r.end_ns - r.start_ns), value: (r) => r.end_ns - r.start_ns },
              ]}
            />
          )}
        </>
      )}
    </Answer>
  );
}

function savedHint(leftOut: number): string {
  const left = leftOut > 0 ? `, and not the arguments of ${count(leftOut)} events: they are too long` : '';
  return `This page was saved. It does not have what a call waited for, the counters and the kernels of a range${left}. kymo view shows it from the trace.`;
}

function Links({ app, title, events }: { app: App; title: string; events: LinkedEvent[] }) {
  if (events.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul class="links">
        {events.slice(0, kMaxLinks).map((event) => (
          <li>
            <button onClick={() => app.goTo(event)}>
              <Swatch name={event.name} app={app} />
              {event.name} <small>{duration(event.end_ns - event.start_ns)}</small>
            </button>
          </li>
        ))}
        {events.length > kMaxLinks && <li class="hint">{`and ${events.length - kMaxLinks} more`}</li>}
      </ul>
    </>
  );
}

/** How long the hits are, with the selected one marked, and the slowest ones. */
function Lengths({ app, found }: { app: App; found: SearchAnswer }) {
  const lengths = found.lengths?.filter(([from]) => from > 0) ?? [];
  if (found.total < 2 || lengths.length === 0) return null;
  const selected = app.details.value && app.details.value.end_ns - app.details.value.start_ns;
  const most = Math.max(...lengths.map(([, , many]) => many));
  const [first, last] = [Math.log2(lengths[0][0]), Math.log2(lengths.at(-1)![1])];
  const place = (ns: number) => `${(100 * (Math.log2(Math.max(1, ns)) - first)) / (last - first)}%`;
  return (
    <div class="lengths">
      <div>
        <div class="histogram">
          {lengths.map(([from, to, many]) => (
            <button
              class={selected !== undefined && selected >= from && selected < to ? 'current' : ''}
              title={`${duration(from)} to ${duration(to)}: ${count(many)}`}
              style={{ left: place(from), width: `calc(${place(to)} - ${place(from)})`, height: `${Math.max(4, (100 * many) / most)}%` }}
              onClick={() => void app.find(`${namePart(app.search)} dur>${from - 1}ns dur<${to}ns`, false)}
            />
          ))}
        </div>
        <p class="ends"><span>{duration(lengths[0][0])}</span><span>{duration(lengths.at(-1)![1])}</span></p>
      </div>
      <div>
        <h3>Slowest</h3>
        <ul class="links">
          {found.slowest?.map((event) => (
            <li>
              <button onClick={() => app.goTo(event)} title={event.name}>
                <b>{duration(event.end_ns - event.start_ns)}</b> <small>{`at ${timeLabel(event.start_ns, 1000)}, ${app.track(event.track)?.name ?? ''}`}</small>
              </button>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

const kListedHits = 200; // those around the one that is shown

function Hits({ app }: { app: App }) {
  const first = Math.max(0, app.hit - kListedHits / 2);
  return (
    <Answer pending={app.found}>
      {(found) => (
        <section>
          <h3>{`${found.complete ? '' : 'At least '}${counted(found.total, 'event')} ${found.total === 1 ? 'matches' : 'match'} “${app.search}”${found.complete ? '' : ': reading stopped after two seconds'}`}</h3>
          <Lengths app={app} found={found} />
          <ul class="links hits">
            {found.hits.slice(first, first + kListedHits).map((hit, i) => (
              <li>
                <button class={first + i === app.hit ? 'current' : ''} title={hit.name} onClick={() => { app.hit = first + i; app.goTo(hit); }}>
                  <Swatch name={hit.name} app={app} />
                  <span>{hit.name}</span> <small>{`${duration(hit.end_ns - hit.start_ns)} at ${timeLabel(hit.start_ns, 1000)}, ${app.track(hit.track)?.name ?? ''}`}</small>
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </Answer>
  );
}
