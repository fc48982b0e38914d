// Small parts that several panels use. Text is always a child or an attribute, never markup.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { App, Pending } from '../app';
import type { Frame } from '../core/protocol';
import { count } from '../core/units';
import { css } from '../timeline/palette';

export function Answer<T>({ pending, children }: { pending: Pending<T>; children: (value: T) => ComponentChildren }) {
  if (pending.error) return <p class="problem">{pending.error}</p>;
  if (pending.value === undefined) return pending.loading ? <p class="hint">Reading the trace …</p> : null;
  return <div class={pending.loading ? 'stale' : ''}>{children(pending.value)}</div>;
}

export function Swatch({ name, app }: { name: string; app: App }) {
  return <i class="swatch" aria-hidden="true" style={{ background: css(app.theme.colours[app.names.colourOfText(name)]) }} />;
}

export interface Column<Row> {
  title: string;
  text: (row: Row) => ComponentChildren;
  value?: (row: Row) => number | string; // to sort by; also makes it a column of numbers if it returns them
  wide?: boolean;
}

const kMaxRows = 500; // more at a click

/** A table that is sorted by a click on a title. `sort`: the column to begin with; none: the rows are in order. */
export function Table<Row>({ rows, columns, sort, choose }: { rows: readonly Row[]; columns: Array<Column<Row>>; sort?: number; choose?: (row: Row) => void }) {
  const [order, setOrder] = useState({ column: sort ?? -1, down: true });
  const [shown, setShown] = useState(kMaxRows);
  const value = columns[order.column]?.value;
  const sorted = [...rows];
  if (value) {
    sorted.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      const less = typeof x === 'string' ? x.localeCompare(String(y)) : x - Number(y);
      return order.down ? -less : less;
    });
  }
  return (
    <table>
      <thead>
        <tr>
          {columns.map((column, i) => (
            <th class={column.wide ? 'wide' : 'number'} aria-sort={order.column !== i || !column.value ? undefined : order.down ? 'descending' : 'ascending'}>
              <button disabled={!column.value} onClick={() => setOrder({ column: i, down: order.column === i ? !order.down : true })}>
                {column.title}
                {order.column === i && column.value ? (order.down ? ' ↓' : ' ↑') : ''}
              </button>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {sorted.slice(0, shown).map((row) => (
          <tr class={choose ? 'link' : ''} tabIndex={choose ? 0 : undefined} onClick={choose && (() => choose(row))} onKeyDown={choose && ((event) => { if (event.key === 'Enter') choose(row); })}>
            {columns.map((column) => (
              <td class={column.wide ? 'wide' : 'number'}>{column.text(row)}</td>
            ))}
          </tr>
        ))}
        {sorted.length > shown && (
          <tr>
            <td class="hint" colSpan={columns.length}><button onClick={() => setShown(shown + kMaxRows)}>{`The first ${count(shown)} of ${count(sorted.length)} rows: show more`}</button></td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

/** A horizontal bar of parts that sum to a whole. */
export function Bar({ parts, whole }: { parts: Array<{ name: string; value: number; colour: string; text: string }>; whole: number }) {
  return (
    <div class="bar">
      {parts.map((part) => (
        <span title={`${part.name}: ${part.text}`} style={{ width: `${(100 * part.value) / Math.max(1, whole)}%`, background: part.colour }} />
      ))}
    </div>
  );
}

/** Innermost function first. */
export function Stack({ frames }: { frames: readonly Frame[] }) {
  const place = (frame: Frame) => (frame.file ? ` (${frame.file}${frame.line ? `:${frame.line}` : ''})` : frame.module ? ` (${frame.module})` : '');
  return <ol class="stack">{frames.map((frame) => <li>{`${frame.function ?? '?'}${place(frame)}`}</li>)}</ol>;
}
