// Small things: a hit in a deep track, folded processes, memories of many processes, names that turn text around.

import assert from 'node:assert/strict';
import { complete, shape } from '../support/browser';
import { Engine } from '../support/engine';
import { pageTest } from '../support/page_test';

pageTest('a hit in a track that is higher than the screen is scrolled to', () => {
  const engine = new Engine('deep.kymo');
  const track = engine.track(engine.process('deep', 1), 'thread', 'main');
  const letters = (n: number) => String.fromCharCode(...[...String(n)].map((digit) => 97 + Number(digit)));
  for (let depth = 0; depth < 1300; ++depth) engine.range(track, `d_${letters(depth)}`, depth, 100_000 - depth, depth);
  return engine;
}, async (page) => {
  await page.keyboard.press('/');
  await page.keyboard.type('"d_bcaa"'); // 1200
  await page.keyboard.press('Enter');
  await page.locator('.panel h2', { hasText: 'd_bcaa' }).waitFor();
  await complete(page);
  const found = await shape(page, 'd_bcaa');
  const stage = await page.evaluate(() => document.querySelector('.stage')!.getBoundingClientRect().height);
  assert.ok(found.y > 60 && found.y + found.height <= stage, `${found.y} of ${stage}`);
});

pageTest('Shift+C unfolds processes that hide all tracks', () => {
  const engine = new Engine('run.kymo');
  engine.range(engine.track(engine.process('run', 1), 'thread', 'main'), 'work', 0, 1000);
  return engine;
}, async (page) => {
  await page.waitForFunction(() => window.kymo.lanes().length === 1);
  await page.keyboard.press('Shift+C');
  await page.waitForFunction(() => window.kymo.lanes().length === 2);
}, { hash: '#c=p0' });

pageTest('memories of several processes have different buttons', () => {
  const engine = new Engine('mem.kymo');
  for (const [name, pid] of [['sh', 5], ['python3', 6]] as const) {
    const track = engine.track(engine.process(name, pid), 'memory', 'heap', { unit: 'bytes' });
    track.values.push({ time: 10, value: pid });
    engine.duration = 1000;
  }
  return engine;
}, async (page) => {
  await page.keyboard.press('6');
  await page.locator('.panel button', { hasText: 'Pin heap of python3 (6)' }).waitFor();
  await page.locator('.panel button', { hasText: 'Pin heap of sh (5)' }).waitFor();
});

pageTest('a name cannot turn around what is written after it', () => {
  const engine = new Engine('bidi.kymo');
  engine.range(engine.track(engine.process('run', 1), 'thread', 'main'), 'a\u202eb', 0, 1000);
  return engine;
}, async (page) => {
  await shape(page, 'a\\u202eb');
});

pageTest('a small window shows the timeline and the names', () => {
  const engine = new Engine('small.kymo');
  engine.range(engine.track(engine.process('run', 1), 'thread', 'main'), 'a name of some length', 0, 1000);
  return engine;
}, async (page) => {
  await page.setViewportSize({ width: 500, height: 300 });
  await page.keyboard.press('v');
  await page.locator('.panel td', { hasText: 'a name of some length' }).waitFor();
  await page.waitForFunction(() => document.querySelector('.stage')!.clientHeight >= 120);
  assert.ok((await page.locator('.panel td.wide').first().boundingBox())!.width >= 150);
});
