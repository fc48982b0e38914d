// Memory: how much was in use over time, what is alive at the pointer, and what was alive at the peak.

import { useState } from 'preact/hooks';
import type { App } from '../app';
import type { Holder, MemoryAnswer, Track } from '../core/protocol';
import { bytes, count, timeLabel } from '../core/units';
import { Answer, Stack, Table } from './parts';
import { fileOfFocus, useReport } from './report';
import { Counters } from './selection';

const kMaxButtons = 8;
const kMaxMemories = 12;

/** With its process, if other memories have the same name. */
function fullName(app: App, track: Track, all: readonly Track[]): string {
  if (all.filter((other) => other.name === track.name).length === 1) return track.name;
  const process = app.trace!.processes.find((one) => one.id === track.process);
  return `${track.name} of ${process?.label ?? process?.name ?? track.process}`;
}

export function Memory({ app }: { app: App }) {
  const tracks = app.trace!.tracks.filter((t) => t.kind === 'memory');
  if (tracks.length === 0) {
    return (
      <>
        <p class="hint">{app.trace!.scanned ? 'No allocations in this trace. kymo record --memory records them.' : 'Reading the trace …'}</p>
        {app.selection && <Answer pending={app.totals}>{(files) => files.map((totals) => <Counters totals={totals} />)}</Answer>}
      </>
    );
  }
  return (
    <div class="columns">
      <section>
        <h3>Over time</h3>
        <p class="hint">Rest the pointer on the timeline to see what is alive there (i).</p>
        <p class="buttons">
          {tracks.slice(0, kMaxButtons).map((track) => (
            <button class={app.pinned.includes(track.id) ? 'on' : ''} onClick={() => app.togglePinned(track.id)}>{`${app.pinned.includes(track.id) ? 'Unpin' : 'Pin'} ${fullName(app, track, tracks)}`}</button>
          ))}
          {tracks.length > kMaxButtons && <span class="hint">{`and ${tracks.length - kMaxButtons} more: p pins the track that has the focus`}</span>}
        </p>
        <Peak app={app} />
      </section>
      <section class="wide">
        <Answer pending={app.memory}>{(memory) => <Alive memory={memory} />}</Answer>
      </section>
    </div>
  );
}

function Alive({ memory }: { memory: MemoryAnswer }) {
  const used = memory.memories.filter((m) => m.bytes > 0).sort((a, b) => b.bytes - a.bytes);
  return (
    <>
      <h2 class="alive">{`${bytes(memory.bytes)} alive at ${timeLabel(memory.at_ns, 1000)}`}</h2>
      <p class="summary">
        {`${count(memory.blocks)} ${memory.blocks === 1 ? 'block' : 'blocks'}`}
        {memory.memories.length > 1 && used.length > 0 ? `: ${used.slice(0, kMaxMemories).map((m) => `${m.name} ${bytes(m.bytes)}`).join(', ')}` : ''}
        {used.length > kMaxMemories ? `, and ${used.length - kMaxMemories} more` : ''}
        {memory.sampled ? ' (estimated from samples)' : ''}
      </p>
      {memory.blocks > 0 && (
        <div class="columns">
          {memory.by_range.some((row) => row.name !== '(in no range)') && <Holders title="Allocated in" rows={memory.by_range} />}
          {memory.by_stack.some((row) => row.where) && <Holders title="By function" rows={byPlace(memory.by_stack)} />}
        </div>
      )}
    </>
  );
}

/** One row for each place, with the callers of its largest stack. */
function byPlace(rows: Holder[]): Holder[] {
  const places = new Map<string, Holder>();
  for (const row of rows) {
    const key = `${row.name}\0${row.where}`, known = places.get(key);
    places.set(key, known ? { ...known, bytes: known.bytes + row.bytes, count: known.count + row.count } : row);
  }
  return [...places.values()];
}

/** A click on a row shows its callers. */
function Holders({ title, rows }: { title: string; rows: Holder[] }) {
  const [chosen, setChosen] = useState<Holder | undefined>(undefined);
  return (
    <section class="wide">
      {chosen?.stack && rows.includes(chosen) && <><h3>{`Callers of ${chosen.name}`}</h3><Stack frames={chosen.stack} /></>}
      <Table
        rows={rows}
        sort={1}
        choose={rows.some((row) => row.stack) ? (row) => setChosen(row === chosen ? undefined : row) : undefined}
        columns={[
          { title, wide: true, text: (r) => <>{r.name || 'no range'} {r.where ? <small>{r.where}</small> : null}</>, value: (r) => r.name },
          { title: 'Size', text: (r) => bytes(r.bytes), value: (r) => r.bytes },
          { title: 'Blocks', text: (r) => count(r.count), value: (r) => r.count },
        ]}
      />
    </section>
  );
}

function Peak({ app }: { app: App }) {
  const pending = useReport(app, fileOfFocus(app));
  return (
    <Answer pending={pending}>
      {({ memory }) =>
        memory ? (
          <>
            <h3>{`At the peak: ${bytes(memory.peak_bytes)}`}</h3>
            <p class="buttons">
              <button onClick={() => void app.goToPeak()}>Go to the peak</button>
            </p>
          </>
        ) : null
      }
    </Answer>
  );
}
