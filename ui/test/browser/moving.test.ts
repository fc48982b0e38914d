// From view to view: back and forward, from hit to hit, and while a trace grows or its server ends.

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { complete, state } from '../support/browser';
import { pageTest } from '../support/page_test';
import { training } from '../support/traces';
import { Engine } from '../support/engine';

/** One step of the history, and waits until the link has the view. */
async function zoomIn(page: Page): Promise<void> {
  for (let i = 0; i < 6; ++i) await page.keyboard.press('w');
  await page.waitForFunction(() => {
    const from = /t=([\d.]+)/.exec(location.hash)?.[1];
    return history.state === 1 && from !== undefined && Math.abs(Number(from) - window.kymo.state().from) < 1;
  });
}

pageTest('Backspace goes back to the view before a zoom, Shift+Backspace forward again, and neither leaves the page', () => training(8), async (page) => {
  const whole = await state(page);
  await page.keyboard.press('Backspace'); // nothing to go back to
  await zoomIn(page);
  const near = await state(page);
  assert.ok(near.to - near.from < (whole.to - whole.from) / 3);
  await page.keyboard.press('Backspace');
  await page.waitForFunction((to) => window.kymo.state().to === to, whole.to);
  await page.keyboard.press('Shift+Backspace');
  await page.waitForFunction((to) => Math.abs(window.kymo.state().to - to) < 1, near.to);
});

pageTest('a key that is held zooms with each frame, at the pointer, until it is released', () => training(8), async (page) => {
  const whole = await state(page);
  const left = await page.evaluate(() => window.kymo.left());
  await page.mouse.move(900, 300);
  const time = (view: { from: number; to: number }) => view.from + ((900 - left) / (1400 - left)) * (view.to - view.from);
  await page.keyboard.down('w');
  await page.waitForFunction((length) => window.kymo.state().to - window.kymo.state().from < length / 20, whole.to - whole.from);
  await page.keyboard.up('w');
  await complete(page);
  const view = await state(page);
  assert.ok(Math.abs(time(view) - time(whole)) < (view.to - view.from) / 100);
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  assert.equal((await state(page)).to, view.to);
});

pageTest('a small move is no step of the history', () => training(8), async (page) => {
  await zoomIn(page);
  const before = page.url();
  await page.keyboard.press('d');
  await page.waitForFunction((url) => location.href !== url, before);
  assert.equal(await page.evaluate(() => history.state), 1);
});

pageTest('zooming into a growing trace stays where it is', () => {
  const engine = training(4);
  engine.live = true;
  return engine;
}, async (page, server, engine) => {
  for (let i = 0; i < 10; ++i) await page.keyboard.press('w');
  const near = await state(page);
  const end = engine.duration * 2;
  engine.range(engine.tracks[0], 'new work', engine.duration + 1000, end);
  server.grow();
  await page.waitForFunction((ns) => window.kymo.state().duration >= ns, end);
  assert.deepEqual([(await state(page)).from, (await state(page)).to], [near.from, near.to]);
  await page.keyboard.press('e'); // follow again
  engine.range(engine.tracks[0], 'newer work', end + 1000, end * 2);
  server.grow();
  await page.waitForFunction((ns) => window.kymo.state().to >= ns, end * 2);
});

const kMany = 5000;

function many() {
  const engine = new Engine('beats.kymo');
  const track = engine.track(engine.process('drum', 1), 'thread', 'main');
  for (let i = 0; i < kMany; ++i) engine.range(track, 'beat', i * 1000, i * 1000 + 500);
  return engine;
}

pageTest('next and previous reach every hit from where the page is, and count them', many, async (page, _, engine) => {
  const from = 4000 * 1000 - 200;
  await page.evaluate((t) => { location.hash = `t=${t},${t + 100_000}`; }, from);
  await page.waitForFunction((t) => window.kymo.state().from === t, from);
  await page.keyboard.press('/');
  await page.keyboard.type('beat');
  await page.keyboard.press('Enter');
  const shown = (text: string) => page.locator('.searchbox .hits', { hasText: text }).waitFor();
  await shown('4,001 of 5,000');
  await page.keyboard.press('Escape');
  await page.keyboard.press('n');
  await shown('4,002 of 5,000');
  await page.keyboard.press('Shift+N');
  await page.keyboard.press('Shift+N');
  await shown('4,000 of 5,000');
  // The last one, then the first one, which was not in the answer.
  await page.evaluate((t) => { location.hash = `t=${t - 50_000},${t}&q=beat`; }, engine.duration);
  await page.waitForFunction((t) => window.kymo.state().to === t, engine.duration);
  await page.keyboard.press('Shift+N');
  await shown('5,000 of 5,000');
  await page.keyboard.press('n');
  await shown('1 of 5,000');
  await page.waitForFunction(() => window.kymo.state().from <= 0);
  await page.keyboard.press('Shift+N');
  await shown('5,000 of 5,000');
});

pageTest('a page that nobody touches says that its server has ended', () => training(4), async (page, server) => {
  await server.stop();
  await page.getByRole('alert').getByText('No answer from kymo view').waitFor();
}, { mayFail: true });

pageTest('a notch of the wheel is spread over several frames, and ends where it should', () => training(8), async (page) => {
  await complete(page);
  const before = await state(page);
  const left = await page.evaluate(() => window.kymo.left());
  await page.mouse.move(left + 300, 400);
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, -200);
  await page.keyboard.up('Control');
  await complete(page);
  const after = await state(page);
  assert.ok(after.frames - before.frames >= 2, `${after.frames - before.frames} frames`);
  const factor = (after.to - after.from) / (before.to - before.from);
  assert.ok(Math.abs(factor - Math.exp(-200 * 0.0018)) < 1e-6, String(factor));
});
