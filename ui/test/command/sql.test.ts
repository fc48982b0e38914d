// The box for SQL in a real browser: its rows are those of `kymo query`, and go to their times.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { state } from '../support/browser';
import { ChromeTrace, json, kymo } from '../support/command';
import { files, opened, skip, viewing } from '../support/command_test';

const noDuckdb = skip || (/DuckDB/.test(spawnSync(kymo, ['query', '/dev/null', 'SELECT 1'], { encoding: 'utf8' }).stderr) && 'DuckDB is not installed: scripts/install-duckdb');

function trace(name: string): string {
  const path = files.path(name);
  const made = new ChromeTrace(path);
  made.thread(1, 'main');
  made.thread(2, 'loader');
  for (let i = 0; i < 300; ++i) {
    made.range(1, `step ${i}`, i * 10_000, i * 10_000 + 4000 + i);
    made.range(2, 'read', i * 10_000 + 2000, i * 10_000 + 3000 + (i === 200 ? 6000 : i), { bytes: i });
  }
  made.close();
  return path;
}

async function ask(page: Page, sql: string): Promise<void> {
  await page.fill('#sql', sql);
  await page.keyboard.press('Control+Enter');
}
const cells = (page: Page) => page.locator('.rows tbody tr').evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));

test('rows of SQL are those of kymo query', { skip: noDuckdb }, async () => {
  const path = trace('rows.json');
  await viewing([path], async (page) => {
    await page.keyboard.press('8');
    for (const sql of ['SELECT name, count(*) AS n, sum(duration_ns) AS total FROM ranges GROUP BY name ORDER BY name', 'SELECT full_name, args, start_ns, NULL FROM ranges ORDER BY start_ns, full_name LIMIT 40', 'SELECT [1, 2], 1.5, true']) {
      await ask(page, sql);
      const rows = json('query', path, sql, '--json') as Array<Record<string, unknown>>;
      await page.locator('.rows .hint', { hasText: `${rows.length} row` }).waitFor();
      const text = (value: unknown) => (value === null ? 'NULL' : typeof value === 'object' ? JSON.stringify(value) : String(value));
      const shown = await cells(page);
      assert.equal(shown.length, rows.length);
      // Times since 1970 have more digits than a number of JavaScript, so these are compared as text below.
      const names = Object.keys(rows[0]);
      for (const [i, row] of rows.entries()) for (const [k, name] of names.entries()) if (name !== 'start_ns') assert.equal(shown[i][k], text(row[name]), `${sql}: ${name}`);
    }
    await ask(page, 'SELECT min(start_ns) AS a, max(end_ns) AS b FROM ranges');
    await page.locator('.rows .hint', { hasText: '1 row' }).waitFor();
    const csv = spawnSync(kymo, ['query', path, 'SELECT min(start_ns) AS a, max(end_ns) AS b FROM ranges', '--csv'], { encoding: 'utf8' }).stdout.split('\n')[1];
    assert.equal((await cells(page))[0].join(), csv);
    await ask(page, 'SELECT a.name FROM ranges a, ranges b');
    await page.locator('.rows .hint', { hasText: 'and more' }).waitFor();
    assert.equal((await cells(page)).length, 500);
  });
});

test('a row with a time and a track goes there', { skip: noDuckdb }, async () => {
  const path = trace('places.json');
  const other = trace('others.json');
  for (const traces of [[path], [other, path]]) {
    await viewing(traces, async (page) => {
      await page.keyboard.press('8');
      await ask(page, "SELECT name, duration_ns, start_ns, track FROM ranges WHERE name = 'read' ORDER BY duration_ns DESC LIMIT 1");
      await page.locator('.rows tr.link').click();
      await page.waitForFunction(() => window.kymo.state().selection);
      const shown = await state(page);
      assert.deepEqual([shown.selection!.from, shown.selection!.to], [200 * 10_000 + 2000, 200 * 10_000 + 9000]);
      assert.ok(shown.from <= shown.selection!.from && shown.to >= shown.selection!.to && shown.to - shown.from < 100_000);
      const lanes = await page.evaluate(() => window.kymo.lanes());
      assert.equal(lanes.find((lane) => lane.track === shown.selection!.tracks[0])?.name, 'loader');
    });
  }
});

test('SQL reads only what the page shows, ends when the page goes, and says what is wrong', { skip: noDuckdb }, async () => {
  const path = trace('safe.json');
  const hidden = trace('hidden.json');
  const endless = 'SELECT count(*) FROM range(10000000000) a, range(10000000000) b WHERE a.range % 7 = b.range % 11';
  await viewing([path], async (page, server) => {
    await page.keyboard.press('8');
    for (const [sql, problem] of [
      [`SELECT * FROM ranges('${hidden}')`, 'only the traces that it shows'],
      [`COPY (SELECT 1) TO '${files.path('written.csv')}'`, 'Permission Error'],
      ["SELECT * FROM read_csv('/etc/passwd')", 'Permission Error'],
      ["SET memory_limit = '100GB'", 'locked'],
      ['SELEC 1', 'syntax error'],
    ]) {
      await ask(page, sql);
      await page.locator('.rows .problem', { hasText: problem }).waitFor();
    }
    await ask(page, endless);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await ask(page, 'SELECT 41 + 1');
    await page.locator('.rows td', { hasText: '42' }).waitFor();
    await opened(server.address, async (again) => {
      await again.keyboard.press('8');
      await again.waitForSelector('#sql');
      await ask(again, endless);
      await again.getByRole('button', { name: 'Cancel' }).waitFor();
    });
    await ask(page, 'SELECT 42 + 1');
    await page.locator('.rows td', { hasText: '43' }).waitFor();
  }, { mayFail: true }); // the browser reports each answer that is an error
});

test('without DuckDB the panel says how to get it', { skip }, async () => {
  await viewing([trace('without.json')], async (page) => {
    await page.keyboard.press('8');
    await page.locator('.panel .hint', { hasText: 'install-duckdb' }).waitFor();
    assert.equal(await page.locator('#sql').count(), 0);
  }, { environment: { KYMO_DUCKDB_LIBRARY: '/nonexistent/libduckdb.so' } });
});
