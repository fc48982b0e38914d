// Thread states in a real browser: what is drawn is what `kymo query` has.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { duration } from '../../src/core/units';
import { complete, stageTop, state } from '../support/browser';
import { binaries, json, notBuilt, recordSamples } from '../support/command';
import { files, skip, viewing } from '../support/command_test';

interface State { state: string; function: string | null; from_ns: number; to_ns: number; thread: string }

test('thread states below their thread, with the function that waits, its stack and the sums', { skip: skip || notBuilt('waits') }, async (context) => {
  const path = files.path('waits.kymo');
  if (!recordSamples(context, path, join(binaries, 'waits'), 'lock')) return;
  await viewing([path], async (page) => {
    // A thread may have begun to run before the first event, where the timeline begins.
    const zero = await page.evaluate(async () => ((await (await fetch('api/trace')).json()) as { files: Array<{ wall_clock_ns: string }> }).files[0].wall_clock_ns);
    const rows: State[] = json('query', path, `SELECT state, function, thread, greatest(start_ns, ${zero}) - ${zero} AS from_ns, end_ns - ${zero} AS to_ns FROM states WHERE state != 'unknown' AND end_ns > ${zero}`, '--json');
    const longest = rows.filter((row) => row.state === 'waiting' && row.function).sort((a, b) => b.to_ns - b.from_ns - (a.to_ns - a.from_ns))[0];
    if (!longest) return context.skip('kymo record has no stack of a wait here');
    const shortName = longest.function!.replace(/\([^()]*\)$/, ''); // as everywhere on the page: without parameters
    const name = `: ${shortName}`; // after how it waits
    await page.waitForFunction((thread) => window.kymo.lanes().some((lane) => lane.name === `${thread}: states`), longest.thread); // they come later
    await complete(page);
    const lanes = await page.evaluate(() => window.kymo.lanes());
    const at = lanes.findIndex((lane) => lane.name === `${longest.thread}: states`);
    assert.equal(lanes[at - 1].name, longest.thread);
    assert.equal(lanes[at].top, lanes[at - 1].top + lanes[at - 1].height);
    const shapes = await page.evaluate(() => window.kymo.shapes().filter((s) => s.row >= 0));
    const [wait] = shapes.filter((s) => s.track === lanes[at].track && s.count === 1 && s.name.endsWith(name)).sort((a, b) => b.end - b.start - (a.end - a.start));
    assert.ok(wait, name);
    assert.ok(Math.abs(wait.start - longest.from_ns) <= 1 && Math.abs(wait.end - longest.to_ns) <= 1, `${wait.start} to ${wait.end}: ${JSON.stringify(longest)}`);
    // A state is no range.
    const ranges = shapes.filter((s) => !s.trackName.endsWith(': states')).reduce((sum, s) => sum + s.count, 0);
    assert.equal((await state(page)).ranges, ranges);
    await page.mouse.click(wait.x + wait.width / 2, (await stageTop(page)) + wait.y + wait.height / 2);
    await page.locator('.panel h2', { hasText: name }).waitFor();
    await page.locator('.panel .stack', { hasText: shortName }).waitFor();
    await page.keyboard.press('v');
    const table = page.locator('.panel table', { hasText: 'Thread state' });
    await table.waitFor();
    for (const kind of ['running', 'ready']) {
      const of = rows.filter((row) => row.state === kind);
      if (of.length === 0) continue;
      const cells = await table.locator('tr', { has: page.locator('td.wide', { hasText: kind }) }).first().locator('td').allInnerTexts();
      assert.deepEqual(cells.slice(1, 3), [of.length.toLocaleString('en'), duration(of.reduce((sum, row) => sum + row.to_ns - row.from_ns, 0))], kind);
    }
    // A click goes to the longest one.
    await table.getByText(wait.name, { exact: true }).click();
    await page.locator('.panel h2', { hasText: wait.name }).waitFor();
    await page.locator('.panel dd', { hasText: duration(longest.to_ns - longest.from_ns, 6) }).waitFor();
  });
});
