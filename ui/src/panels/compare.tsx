// Two traces: what became slower, in the colours of the timeline, and both aligned by iteration.

import { useState } from 'preact/hooks';
import type { App } from '../app';
import { fileName } from '../core/protocol';
import { duration } from '../core/units';
import { changesByName, DiffAnswer, iterationShift, lastName } from './changes';
import { useAnswer } from './hooks';
import { Answer, Table } from './parts';
import type { Report } from './report';
import { exactly } from '../core/names';

export function Compare({ app }: { app: App }) {
  const { files } = app.trace!;
  const [pair, setPair] = useState<[number, number]>([0, 1]);
  if (files.length < 2) return <p class="hint">Open two traces to compare them: kymo view before.kymo after.kymo</p>;
  const [base, other] = pair;
  return (
    <>
      <p class="buttons">
        {'Before '}
        <FileChoice app={app} value={base} choose={(file) => setPair([file, other])} />
        {' after '}
        <FileChoice app={app} value={other} choose={(file) => setPair([base, file])} />
        <button onClick={() => void align(app, base, other)}>Align by iteration</button>
        {moved(app) && <button onClick={() => { app.shifts = []; app.notify(); }}>Align by start</button>}
        {app.changes && <button onClick={() => { app.changes = undefined; app.notify(); }}>Normal colours</button>}
      </p>
      {moved(app) && <p class="summary">{`${moved(app)}, so that iterations with the same number start together.`}</p>}
      <Difference key={`${base} ${other}`} app={app} base={base} other={other} />
    </>
  );
}

/** "after.kymo is shown 1.2 ms later": which traces are moved, or undefined. */
export function moved(app: App): string | undefined {
  const texts = app.trace!.files.flatMap((file, i) => {
    const shift = app.shiftOf(i);
    return shift === 0 ? [] : [`${fileName(file)} is shown ${duration(Math.abs(shift))} ${shift > 0 ? 'later' : 'earlier'}`];
  });
  return texts.length > 0 ? texts.join(', ') : undefined;
}

/** The button of the toolbar that ends a comparison: its effects outlast its panel. */
export function Comparing({ app }: { app: App }) {
  const text = [moved(app), app.changes && 'colours show what became slower'].filter(Boolean).join('; ');
  if (text === '') return null;
  const end = () => {
    app.shifts = [];
    app.changes = undefined;
    app.notify();
  };
  return <button class="live on" title="Show all traces from their start, in normal colours" onClick={end}>{`${text} ×`}</button>;
}

function FileChoice({ app, value, choose }: { app: App; value: number; choose: (file: number) => void }) {
  return (
    <select value={String(value)} onChange={(event) => choose(Number((event.currentTarget as HTMLSelectElement).value))}>
      {app.trace!.files.map((file, i) => <option value={String(i)}>{fileName(file)}</option>)}
    </select>
  );
}

function Difference({ app, base, other }: { app: App; base: number; other: number }) {
  const pending = useAnswer<DiffAnswer>(`diff ${base} ${other}`, async (signal) => {
    const answer = (await app.client.diff(base, other, signal)) as DiffAnswer;
    // Without enough samples nothing is sure, and all ranges would be grey.
    app.changes = answer.enough ? changesByName(answer, app.names) : undefined;
    app.notify();
    if (app.shifts.length === 0) await align(app, base, other, true);
    return answer;
  });
  return (
    <Answer pending={pending}>
      {(diff) => (
        <>
          <p class="summary">
            {`An iteration takes ${duration(diff.iteration.median_a_ns)} before and ${duration(diff.iteration.median_b_ns)} after: `}
            <b>{diff.iteration.change}</b>
            {diff.enough ? '' : ' (fewer than four iterations in one of them: too few to be sure)'}
          </p>
          <Table
            rows={diff.rows}
            sort={3}
            choose={(row) => void app.find(exactly(lastName(row.path, app.names)), false)}
            columns={[
              { title: 'Path', wide: true, text: (r) => <><i class={`swatch ${r.significant ? (r.shift_ns > 0 ? 'slower' : 'faster') : 'same'}`} />{r.path}</>, value: (r) => r.path },
              { title: 'Before', text: (r) => duration(r.median_a_ns), value: (r) => r.median_a_ns },
              { title: 'After', text: (r) => duration(r.median_b_ns), value: (r) => r.median_b_ns },
              { title: 'Shift', text: (r) => `${r.shift_ns > 0 ? '+' : ''}${duration(r.shift_ns)}`, value: (r) => Math.abs(r.shift_ns) },
              { title: 'Change', text: (r) => r.change, value: (r) => r.change },
            ]}
          />
        </>
      )}
    </Answer>
  );
}

/** `quiet`: nobody asked for it, so traces without iterations are not worth a message. */
async function align(app: App, base: number, other: number, quiet = false): Promise<void> {
  await app.attempt(async () => {
    const [a, b] = (await Promise.all([app.client.report(base), app.client.report(other)])) as [Report, Report];
    const middle = app.span.from / 2 + app.span.to / 2 - app.shiftOf(base);
    const shift = iterationShift(a.iterations.list, b.iterations.list, middle);
    if (shift === undefined) {
      if (!quiet) app.notice = 'one of the traces has no iterations: both are aligned by their start';
    } else {
      app.shifts = [];
      app.shifts[other] = shift + app.shiftOf(base);
    }
    app.notify();
  });
}
