// Statistics and flame graph of the selection.

import { useState } from 'preact/hooks';
import type { App } from '../app';
import type { FlameFrame, SelectionAnswer } from '../core/protocol';
import { count, duration, percent, quantity } from '../core/units';
import { flameBoxes, FlameBox } from './flame_boxes';
import { Answer, Swatch, Table } from './parts';
import { css, nameColour } from '../timeline/palette';

const kNothing = 'Drag over the timeline to select a part of it, or press v to select what is visible.';

export function Statistics({ app }: { app: App }) {
  if (!app.selection) return <p class="hint">{kNothing}</p>;
  const { selection } = app;
  const length = selection.to - selection.from;
  return (
    <>
      <p class="summary">
        <b>{duration(length, 5)}</b>
        {` selected on ${selection.tracks.length === 0 ? 'all tracks' : selection.tracks.length === 1 ? (app.track(selection.tracks[0])?.name ?? '1 track') : `${selection.tracks.length} tracks`}`}
      </p>
      <Answer pending={app.totals}>
        {(totals) => (
          <>
            <Ranges app={app} totals={totals} length={length} />
            <Others totals={totals} />
          </>
        )}
      </Answer>
    </>
  );
}

function Ranges({ app, totals, length }: { app: App; totals: SelectionAnswer; length: number }) {
  if (totals.ranges.length === 0) return <p class="hint">No ranges in this part.</p>;
  return (
    <Table
      rows={totals.ranges}
      sort={2}
      choose={(row) => void app.find(row.name, false)}
      columns={[
        { title: 'Name', wide: true, text: (r) => <><Swatch name={r.name} theme={app.theme} />{r.name}</>, value: (r) => r.name },
        { title: 'Count', text: (r) => count(r.count), value: (r) => r.count },
        { title: 'Total', text: (r) => duration(r.total_ns), value: (r) => r.total_ns },
        { title: 'Share', text: (r) => percent(r.total_ns, length), value: (r) => r.total_ns },
        { title: 'Self', text: (r) => duration(r.self_ns), value: (r) => r.self_ns },
        { title: 'Min', text: (r) => duration(r.min_ns), value: (r) => r.min_ns },
        { title: 'Median', text: (r) => duration(r.median_ns), value: (r) => r.median_ns },
        { title: 'p99', text: (r) => (r.p99_ns === undefined ? '-' : duration(r.p99_ns)), value: (r) => r.p99_ns ?? 0 },
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
        { title: 'Counter', wide: true, text: (r) => r.name, value: (r) => r.name },
        { title: 'Values', text: (r) => count(r.count), value: (r) => r.count },
        { title: 'Min', text: (r) => quantity(r.min, r.unit), value: (r) => r.min },
        { title: 'Mean', text: (r) => quantity(r.mean, r.unit), value: (r) => r.mean },
        { title: 'Max', text: (r) => quantity(r.max, r.unit), value: (r) => r.max },
        { title: 'Last', text: (r) => quantity(r.last, r.unit), value: (r) => r.last },
      ]}
    />
  );
}

export function Flame({ app }: { app: App }) {
  if (!app.selection) return <p class="hint">{kNothing}</p>;
  return <Answer pending={app.totals}>{(totals) => <FlameGraph app={app} frames={totals.flame ?? []} />}</Answer>;
}

function FlameGraph({ app, frames }: { app: App; frames: FlameFrame[] }) {
  const [root, setRoot] = useState(0);
  if (frames.length === 0) return <p class="hint">No ranges in this part.</p>;
  const at = root < frames.length ? root : 0;
  const boxes = flameBoxes(frames, at);
  const whole = frames[at].total_ns;
  const rows = boxes.reduce((most, box) => Math.max(most, box.row), 0) + 1;
  const colour = (box: FlameBox) => (['range', 'work', 'function'].includes(box.frame.kind) ? css(app.theme.colours[nameColour(box.frame.name)]) : 'var(--header)');
  return (
    <div class="flame" style={{ height: `${rows * 19}px` }}>
      {boxes.map((box) => (
        <button
          title={`${box.frame.name}\n${duration(box.frame.total_ns)} (${percent(box.frame.total_ns, whole)}), self ${duration(box.frame.self_ns)}, ${count(box.frame.count)} times`}
          style={{ left: `${box.left * 100}%`, width: `${box.width * 100}%`, top: `${box.row * 19}px`, background: colour(box) }}
          onClick={() => setRoot(box.index === at ? 0 : box.index)}
        >
          {box.width > 0.02 ? box.frame.name : ''}
        </button>
      ))}
    </div>
  );
}
