// Memory at the pointer, arrows of all that is visible, ranges across threads, and what a range waited for.

import assert from 'node:assert/strict';
import { complete, shape, stageTop, state } from '../support/browser';
import { Engine } from '../support/engine';
import { pageTest } from '../support/page_test';
import { training } from '../support/traces';

pageTest('memory: over time as a track, and what is alive where the pointer rests', () => training(8), async (page, _, engine) => {
  const memory = engine.tracks.find((t) => t.kind === 'memory')!;
  const lanes = await page.evaluate(() => window.kymo.lanes());
  const lane = lanes.find((l) => l.track === memory.id)!;
  assert.ok(lane.height > 30);
  const left = await page.evaluate(() => window.kymo.left());
  const x = left + Math.round((1400 - left) * 0.5);
  await page.mouse.click(x, (await stageTop(page)) + lane.top + 20); // opens the panel
  await page.getByText('Rest the pointer').waitFor();
  await page.locator('.alive', { hasText: 'alive at' }).waitFor();
  const { from, to } = await state(page);
  const at = from + ((x - left) / (1400 - left)) * (to - from);
  const bytes = memory.values.filter((v) => v.time <= at).at(-1)!.value;
  assert.match(await page.locator('.alive').innerText(), new RegExp(`^${Number((bytes / 1e9).toFixed(1))} GB`));
  await page.locator('td', { hasText: 'step {}/forward' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('i'); // the same by a key
  await page.locator('.alive', { hasText: 'alive at' }).waitFor();
  await page.getByRole('button', { name: 'Pin device memory' }).click();
  assert.deepEqual((await state(page)).pinned, [memory.id]);
});

pageTest('arrows of all that is visible, bounded, and off by a key', () => training(3), async (page, _, engine) => {
  await page.waitForFunction(() => !window.kymo.state().linksBusy && window.kymo.state().links > 0);
  const kernels = engine.tracks.filter((t) => t.kind === 'queue').flatMap((t) => t.link).filter((link) => link !== 0).length;
  const { links } = await state(page);
  assert.equal(links, Math.min(300, kernels));
  const kernel = await shape(page, 'gemm_bf16_128x256');
  await page.evaluate(([from, to]) => window.kymo.show(from, to), [kernel.start - 10, kernel.end + 10]);
  await page.waitForFunction((before) => !window.kymo.state().linksBusy && window.kymo.state().links < before, links);
  await page.keyboard.press('r');
  await page.waitForFunction(() => window.kymo.state().links === 0);
});

function across(): Engine {
  const engine = new Engine('serve.kymo');
  const process = engine.process('serve', 12);
  const main = engine.track(process, 'thread', 'main');
  const track = engine.track(process, 'across', 'across threads');
  engine.range(main, 'loop', 0, 100_000);
  for (let i = 0; i < 12; ++i) engine.range(track, `request ${i}`, i * 8000, i * 8000 + 20_000, 0, 0, i % 3);
  return engine;
}

pageTest('ranges across threads have a track of their own, with lanes', across, async (page) => {
  await complete(page);
  const rows = await page.evaluate(() => window.kymo.shapes().filter((s) => s.trackName === 'across threads' && s.row >= 0).map((s) => [s.name, s.row]));
  assert.equal(rows.length, 12);
  assert.deepEqual([...new Set(rows.map(([, row]) => row))].sort(), [0, 1, 2]);
});
