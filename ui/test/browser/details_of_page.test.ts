// Small things: a hit in a deep track, folded processes, memories of many processes, many threads, long names, names
// that turn text around.

import assert from 'node:assert/strict';
import { complete, shape, stageTop } from '../support/browser';
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

pageTest('500 threads have a scrollbar, and a name that is cut can be read in all', () => {
  const engine = new Engine('many.kymo');
  const process = engine.process('run', 1);
  for (let i = 0; i < 500; ++i) engine.range(engine.track(process, 'thread', `a thread with a name that is far too long for its column, number ${i}`), 'work', 0, 1000);
  return engine;
}, async (page) => {
  const bar = page.locator('.scrollbar');
  assert.ok((await bar.boundingBox())!.height > 300);
  await bar.evaluate((one) => (one.scrollTop = one.scrollHeight));
  await page.waitForFunction(() => window.kymo.lanes().some((lane) => lane.name.endsWith('number 499')));
  await complete(page);
  const lane = (await page.evaluate(() => window.kymo.lanes())).find(({ name }) => name.endsWith('number 499'))!;
  await page.mouse.move(60, (await stageTop(page)) + lane.top + 8);
  await page.waitForFunction((name) => document.querySelector<HTMLElement>('.stage')!.title.startsWith(name), lane.name);
});

pageTest('long names in the list of hits leave room for their times', () => {
  const engine = new Engine('hits.kymo');
  const track = engine.track(engine.process('run', 1), 'thread', 'main');
  for (let i = 0; i < 40; ++i) engine.range(track, `kernel_${'x'.repeat(10 * i)}`, 1000 * i, 1000 * i + 900);
  return engine;
}, async (page) => {
  await page.keyboard.press('/');
  await page.keyboard.type('kernel_*');
  await page.keyboard.press('Enter');
  const hits = page.locator('.hits li button');
  await hits.nth(39).waitFor();
  const parts = await hits.evaluateAll((all) => all.map((one) => ({ name: one.querySelector('span')!.getBoundingClientRect(), time: one.querySelector('small')!.getBoundingClientRect(), all: one.getBoundingClientRect() })));
  for (const { name, time, all } of parts) {
    assert.ok(name.right <= time.left + 0.5 || time.top >= name.bottom - 0.5, `${name.right} ${time.left}`);
    assert.ok(time.right <= all.right + 0.5, `${time.right} ${all.right}`);
  }
});
