// A box for SQL, and its rows: those of `kymo query`.

import { useRef } from 'preact/hooks';
import type { App } from '../app';
import type { SqlAnswer, SqlRow, SqlTables } from '../core/protocol';
import { counted } from '../core/units';
import { useAnswer } from './hooks';
import { Answer, Table } from './parts';

const kLongest = 5000; // characters: the address of a request is limited

export function Sql({ app }: { app: App }) {
  const tables = useAnswer('sql', (signal) => app.client.sqlTables(signal));
  return <Answer pending={tables}>{(known) => (known.problem ? <p class="hint">{known.problem}</p> : <Box app={app} tables={known} />)}</Answer>;
}

function Box({ app, tables }: { app: App; tables: SqlTables }) {
  const box = useRef<HTMLTextAreaElement>(null);
  const run = () => void app.runSql(box.current!.value);
  const choose = (event: Event) => {
    box.current!.value = (event.currentTarget as HTMLSelectElement).value;
    run();
  };
  return (
    <>
      <textarea
        id="sql"
        aria-label="SQL"
        placeholder="SELECT name, count(*) FROM ranges GROUP BY name"
        rows={4}
        maxLength={kLongest}
        spellcheck={false}
        ref={box}
        defaultValue={app.statements}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) run();
        }}
      />
      <p class="buttons">
        <button title="Ctrl+Enter" onClick={run}>Run</button>
        {app.sqlRows.loading && <button onClick={() => app.cancelSql()}>Cancel</button>}
        <select aria-label="examples" onChange={choose}>
          <option value="">Examples</option>
          {tables.examples?.filter((one) => !one.sql.includes("'run.kymo'")).map((one) => <option value={one.sql}>{one.question}</option>)}
        </select>
      </p>
      <div class="rows">
        <Answer pending={app.sqlRows}>{(rows) => <Rows app={app} rows={rows} />}</Answer>
      </div>
      <details>
        <summary>Tables and columns</summary>
        <pre>{tables.schema}</pre>
      </details>
    </>
  );
}

function Rows({ app, rows }: { app: App; rows: SqlAnswer }) {
  const go = rows.rows.some((row) => row.start_ns !== undefined);
  return (
    <>
      <p class="hint">{`${counted(rows.rows.length, 'row')}${rows.complete ? '' : ', and more: kymo query has all'}${go ? '; a click on a row goes to its time' : ''}`}</p>
      <Table
        key={rows.columns.map((column) => column.name).join('\n')}
        rows={rows.rows}
        choose={go ? (row) => app.goToRow(row) : undefined}
        columns={rows.columns.map((column, i) => ({
          title: column.name,
          wide: !column.is_number,
          text: (row: SqlRow) => <span title={row.cells[i]}>{row.cells[i]}</span>,
          value: (row: SqlRow) => (column.is_number ? Number(row.cells[i]) || 0 : row.cells[i]),
        }))}
      />
    </>
  );
}
