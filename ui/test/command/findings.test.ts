// Findings of the report in a real browser: a click goes to the evidence and selects it.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { duration } from '../../src/core/units';
import { state } from '../support/browser';
import { binaries, ChromeTrace, json, notBuilt, recordSamples } from '../support/command';
import { files, skip, viewing } from '../support/command_test';

test('a finding goes to its evidence: the longest range of a name, or a time', { skip }, async () => {
  const path = files.path('uneven.json');
  const trace = new ChromeTrace(path);
  trace.thread(1, 'main');
  for (let i = 0, time = 0; i < 40; ++i) {
    const slow = i === 17 ? 9_000_000 : 600_000;
    trace.range(1, `ProfilerStep#${i}`, time, time + 300_000 + slow);
    trace.range(1, 'forward', time + 1000, time + 290_000);
    trace.range(1, 'backward', time + 300_000, time + 300_000 + slow - 1000);
    time += 301_000 + slow;
  }
  trace.close();
  const findings: Array<{ text: string; command: string }> = json('report', path, '--json').findings;
  const longest = json('stats', path, '--json').rows.find((row: { name: string }) => row.name === 'backward').max_ns;
  const [named, timed] = [findings.find(({ command }) => /kymo hist .*backward/.test(command)), findings.find(({ command }) => command.includes('--from'))];
  assert.ok(named && timed, findings.map(({ command }) => command).join('\n'));
  await viewing([path], async (page) => {
    await page.keyboard.press('4');
    await page.locator('.finding button', { hasText: timed.text }).click();
    const [from, to] = timed.command.match(/--from (\d+)us --to (\d+)us/)!.slice(1).map((us) => Number(us) * 1000);
    await page.waitForFunction(() => window.kymo.state().selection);
    const shown = await state(page);
    assert.deepEqual([shown.selection!.from, shown.selection!.to], [from, to]);
    assert.ok(shown.from <= from && shown.to >= to && shown.to - shown.from < 2 * (to - from));
    await page.keyboard.press('Escape');
    await page.locator('.finding button', { hasText: named.text }).click();
    await page.waitForFunction(() => window.kymo.state().event);
    await page.keyboard.press('1');
    await page.locator('.panel h2', { hasText: 'backward' }).waitFor();
    await page.locator('.panel dd', { hasText: duration(longest, 6) }).waitFor();
  });
});

test('the report of the page is that of kymo report, with what samples and waits say', { skip: skip || notBuilt('waits') }, async (context) => {
  const path = files.path('report.kymo');
  if (!recordSamples(context, path, join(binaries, 'waits'), 'lock')) return;
  const expected = json('report', path, '--json');
  await viewing([path], async (page) => {
    const shown = await page.evaluate(async () => (await (await fetch('api/report?file=0')).json()) as unknown);
    assert.deepEqual(shown, expected);
    await page.keyboard.press('4');
    for (const { text } of expected.findings) await page.locator('.finding', { hasText: text }).waitFor();
    await page.locator('nav .findings', { hasText: String(expected.findings.length) }).waitFor();
    // The longest wait for the lock, with its stack.
    const lock = expected.findings.find(({ kind }: { kind: string }) => kind === 'lock');
    await page.waitForFunction(() => window.kymo.lanes().some(({ name }) => name.endsWith(': states')));
    await page.locator('.finding button', { hasText: lock.text }).click();
    await page.waitForFunction(() => window.kymo.state().event);
    await page.keyboard.press('1');
    await page.locator('.panel h2', { hasText: 'waits for a mutex: ' }).waitFor();
    const where = (await page.locator('.panel h2').first().innerText()).trim().replace('waits for a mutex: ', '');
    assert.ok(lock.text.includes(where), `${where} in ${lock.text}`);
    await page.locator('.stack li', { hasText: where }).first().waitFor();
  });
});
