// A page that was saved with `kymo view -o`, opened from the disk.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { complete, shape, state } from '../support/browser';
import { binaries, ChromeTrace, kymo, notBuilt, recordSamples } from '../support/command';
import { files, opened, skip } from '../support/command_test';

/** Saves a page and returns its address. */
function save(...traces: string[]): string {
  const page = `${traces[0]}.html`;
  const made = spawnSync(kymo, ['view', ...traces, '-o', page], { encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  return pathToFileURL(page).href;
}

test('a saved page has arrows, flows, what is alive at the pointer, and says what it has not', { skip }, async () => {
  const path = files.path('saved.json');
  const trace = new ChromeTrace(path);
  trace.thread(1, 'main');
  trace.thread(2, 'worker');
  const change = (time: number, address: number, bytes: number) =>
    trace.event({ ph: 'i', s: 't', pid: 1, tid: 1, name: '[memory]', ts: time / 1000, args: { 'Device Type': 1, 'Device Id': 0, Addr: address, Bytes: bytes } });
  trace.range(1, 'forward', 0, 100_000, { batch: 32 });
  change(10_000, 256, 3 << 20);
  change(30_000, 512, 5 << 20);
  change(60_000, 256, -(3 << 20));
  for (let i = 0; i < 3; ++i) {
    trace.range(1, `send ${i}`, i * 20_000, i * 20_000 + 5_000);
    trace.event({ ph: 's', cat: 'test', pid: 1, tid: 1, id: i, name: 'message', ts: i * 20 + 2 });
    trace.range(2, `receive ${i}`, i * 20_000 + 8_000, i * 20_000 + 15_000);
    trace.event({ ph: 'f', bp: 'e', cat: 'test', pid: 1, tid: 2, id: i, name: 'message', ts: i * 20 + 9 });
  }
  trace.close();
  await opened(save(path), async (page) => {
    await page.waitForFunction(() => window.kymo.state().links === 3); // one for each message
    const range = await shape(page, 'send 1');
    await page.mouse.click(range.middle.x, range.middle.y);
    await page.locator('.panel', { hasText: 'Flows to' }).waitFor();
    await page.locator('.panel .links button', { hasText: 'receive 1' }).click();
    await page.locator('.panel h2', { hasText: 'receive 1' }).waitFor();
    await page.locator('.panel', { hasText: 'Flows from' }).waitFor();
    await page.locator('.panel .hint', { hasText: 'does not have what a call waited for' }).waitFor();
    const forward = await shape(page, 'forward');
    await page.mouse.click(forward.middle.x, forward.middle.y);
    await page.locator('.panel dl', { hasText: 'batch' }).waitFor(); // its arguments
    await page.keyboard.press('0');
    await page.keyboard.press('6');
    const { from, to } = await state(page);
    const left = await page.evaluate(() => window.kymo.left());
    for (const [time, text] of [[40_000, '8.4 MB alive'], [80_000, '5.2 MB alive']] as const) {
      await page.mouse.move(left + ((time - from) / (to - from)) * (1400 - left), 200);
      await page.keyboard.press('i');
      await page.locator('.alive', { hasText: text }).waitFor();
    }
    await page.locator('.panel td', { hasText: 'forward' }).waitFor();
    await page.keyboard.press('4');
    await page.locator('.panel', { hasText: /Findings|No findings/i }).waitFor();
  });
});

test('a saved page of two traces compares them', { skip }, async () => {
  const traces = ['before', 'after'].map((name, slow) => {
    const path = files.path(`${name}.json`);
    const trace = new ChromeTrace(path);
    for (let i = 0; i < 40; ++i) {
      const work = 40_000 + ((i * 7919) % 13) * 1000;
      trace.range(1, 'backward', i * 200_000 + 1000, i * 200_000 + work * (1 + slow));
      trace.range(1, `ProfilerStep#${i}`, i * 200_000, i * 200_000 + work * (1 + slow) + 2000);
    }
    trace.close();
    return path;
  });
  await opened(save(...traces), async (page) => {
    await page.keyboard.press('7');
    await page.locator('.panel td', { hasText: 'backward' }).first().waitFor();
    assert.match(await page.locator('.panel .summary').innerText(), /slower/);
  });
});

test('a saved page has the stacks of functions', { skip: skip || notBuilt('busy') }, async (context) => {
  const path = files.path('busy.kymo');
  if (!recordSamples(context, path, join(binaries, 'busy'), 'one', '300')) return;
  await opened(save(path), async (page) => {
    await page.keyboard.press('/');
    await page.keyboard.type('busy_inner');
    await page.keyboard.press('Enter');
    await page.locator('.searchbox .hits', { hasText: /^1 of [1-9]/ }).waitFor();
    await page.locator('.panel .stack', { hasText: 'busy_outer' }).waitFor();
    await complete(page);
  });
});
