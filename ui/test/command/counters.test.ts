// Counters in a real browser: several with one unit in one track; the values that are drawn are those of `kymo query`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { quantity } from '../../src/core/units';
import { complete, stageTop, state } from '../support/browser';
import { ChromeTrace, json } from '../support/command';
import { files, skip, viewing } from '../support/command_test';

const kCounters = { 'SMs active [%]': [20, 97.5], 'DRAM read [%]': [3, 44], 'power [W]': [88.5, 613], 'device memory used [bytes]': [2e9, 71e9], 'queue length': [-4, 9] };

function sensors(path: string): string {
  const trace = new ChromeTrace(path);
  trace.range(1, 'work', 0, 100_000_000);
  for (let i = 0; i < 1000; ++i) {
    for (const [name, [low, high]] of Object.entries(kCounters)) trace.counter(name, i * 100_000, low + (high - low) * (((i * 37) % 101) / 100));
  }
  trace.close();
  return path;
}

interface Extremes { name: string; low: number; high: number }

/** A counter keeps its value: that of before counts too. */
function expected(path: string, from: number, to: number): Extremes[] {
  const before = `coalesce((SELECT max(time_ns) FROM counters b WHERE b.name = a.name AND b.time_ns <= z.zero + ${from}), z.zero)`;
  const rows: Extremes[] = json('query', path, `WITH z AS (SELECT min(start_ns) AS zero FROM ranges) SELECT name, min(value) AS low, max(value) AS high FROM counters a, z WHERE time_ns <= zero + ${to} AND time_ns >= ${before} GROUP BY name ORDER BY name`, '--json');
  return rows;
}

const drawn = (page: Page) => page.evaluate(() => window.kymo.plots().map(({ name, low, high }) => ({ name, low, high })).sort((a, b) => (a.name < b.name ? -1 : 1)));

test('counters with their units, the smallest and the largest visible value, and the value at the pointer', { skip }, async () => {
  const path = sensors(files.path('sensors.json'));
  await viewing([path], async (page) => {
    const withoutUnit = (rows: Extremes[]) => rows.map((row) => ({ ...row, name: row.name.replace(/ \[.*/, '') }));
    const { duration } = await state(page);
    assert.deepEqual(await drawn(page), withoutUnit(expected(path, 0, duration)));
    // Two of them are shares, and in one track.
    const lanes = await page.evaluate(() => window.kymo.lanes());
    const shares = lanes.find((lane) => lane.label === '2 counters [%]')!;
    assert.ok(shares, lanes.map((lane) => lane.label).join());
    await page.evaluate(() => window.kymo.show(20_010_000, 20_990_000));
    await complete(page);
    assert.deepEqual(await drawn(page), withoutUnit(expected(path, 20_010_000, 20_990_000)));
    const left = await page.evaluate(() => window.kymo.left());
    const x = Math.round(left + (1400 - left) / 2) + 20; // at 20.5 ms and a little
    const at = (name: string) => json('query', path, `SELECT arg_max(value, time_ns) AS value FROM counters WHERE name = '${name}' AND time_ns <= (SELECT min(start_ns) FROM ranges) + 20_510_000`, '--json')[0].value as number;
    await page.mouse.move(x, (await stageTop(page)) + shares.top + 20);
    await page.waitForFunction(() => window.kymo.value().length > 0);
    const value = await page.evaluate(() => window.kymo.value());
    for (const name of ['SMs active [%]', 'DRAM read [%]']) assert.ok(value.includes(`${name.replace(' [%]', '')}: ${quantity(at(name), '%')}`), `${value.join()}; ${name} ${at(name)}`);
    // Apart, and together again.
    for (const count of [5, 4]) {
      await page.keyboard.press('c');
      await page.waitForFunction((wanted) => window.kymo.lanes().filter((lane) => /%|active|DRAM|power|memory|queue/.test(lane.label)).length === wanted, count);
    }
    await page.keyboard.press('m');
    await page.keyboard.press('v');
    const row = page.locator('.panel tr', { has: page.locator('td.wide', { hasText: /^power$/ }) });
    await row.waitFor();
    const inside: { low: number; high: number } = json('query', path, `SELECT min(value) AS low, max(value) AS high FROM counters WHERE name = 'power [W]' AND time_ns - (SELECT min(start_ns) FROM ranges) BETWEEN 20_010_000 AND 20_990_000`, '--json')[0];
    const cells = await row.locator('td').allInnerTexts();
    assert.deepEqual([cells[2], cells[4]], [quantity(inside.low, 'W'), quantity(inside.high, 'W')]);
  });
});
