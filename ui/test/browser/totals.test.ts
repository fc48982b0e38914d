// Totals of a selection: functions of CPU samples, ranges across threads, and two files; and the search for one name.

import assert from 'node:assert/strict';
import { complete, shape } from '../support/browser';
import { Engine } from '../support/engine';
import { pageTest } from '../support/page_test';
import { pair, training } from '../support/traces';

/** A program that was only sampled: its thread has no ranges. */
function onlySampled(): Engine {
  const engine = new Engine('work.kymo');
  const process = engine.process('python3', 7);
  const thread = engine.track(process, 'thread', 'python3');
  thread.instants.push({ time: 500, name: engine.name('sample') });
  const functions = engine.track(process, 'functions', 'python3: functions', { thread: thread.id });
  engine.range(functions, 'main', 0, 100_000);
  engine.range(functions, 'parse', 10_000, 60_000, 1);
  const row = (name: string, self: number, total: number) => ({ function: name, module: '/usr/bin/python3', self_samples: self, total_samples: total, self_ns: self * 1000, total_ns: total * 1000 });
  const frame = (name: string, kind: string, depth: number, total: number, self: number) => ({ name, kind, depth, count: self, total_ns: total * 1000, self_ns: self * 1000 });
  engine.sampled = {
    functions: [row('parse', 60, 60), row('main', 40, 100)], samples: 100, sampled_ns: 100_000,
    function_flame: [frame('all', 'all', 0, 100, 0), frame('python3 (7)', 'process', 1, 100, 0), frame('main', 'function', 2, 100, 40), frame('parse', 'function', 3, 60, 60)],
  };
  return engine;
}

const rows = (page: import('playwright-core').Page) => page.locator('.panel tbody tr').allInnerTexts();

pageTest('a program that was only sampled has its functions in statistics and flame graph', onlySampled, async (page) => {
  await page.keyboard.press('v');
  await page.locator('.panel', { hasText: '100 CPU samples: 100 µs of CPU time' }).waitFor();
  const listed = await rows(page);
  assert.match(listed[0], /parse\s+60 µs\s+60\.0 %\s+60 µs\s+60\.0 %\s+60\s+python3/);
  assert.match(listed[1], /main\s+40 µs\s+40\.0 %\s+100 µs\s+100\.0 %\s+40/);
  await page.keyboard.press('3');
  await page.locator('.flame button', { hasText: 'parse' }).waitFor();
  // A click on a function, then m: the totals of its thread at this time.
  const parse = await shape(page, 'parse');
  await page.mouse.click(parse.middle.x, parse.middle.y);
  await page.locator('.panel h2', { hasText: 'parse' }).waitFor();
  await page.keyboard.press('m');
  await page.locator('.panel', { hasText: '50 µs selected on python3: functions' }).waitFor();
  await page.locator('.panel td', { hasText: 'parse' }).waitFor();
});

pageTest('ranges across threads are marked in statistics', () => {
  const engine = new Engine('serve.kymo');
  const process = engine.process('serve', 12);
  engine.range(engine.track(process, 'across', 'across threads'), 'request', 0, 100_000);
  return engine;
}, async (page) => {
  await page.keyboard.press('v');
  await page.locator('.panel td', { hasText: 'request (across threads)' }).waitFor();
});

pageTest('a selection in two traces has totals for each of them', pair, async (page) => {
  await page.keyboard.press('v');
  await page.locator('.panel h3', { hasText: 'after.kymo' }).waitFor();
  assert.deepEqual(await page.locator('.panel h3').allInnerTexts(), ['before.kymo', 'after.kymo']);
  assert.equal(await page.locator('.panel td', { hasText: 'optimizer step' }).count(), 2);
  await page.keyboard.press('3');
  await page.waitForFunction(() => document.querySelectorAll('.flame').length === 2);
});

pageTest('other ranges of a name are those with exactly this name', () => training(24), async (page) => {
  const step = await shape(page, 'step 1');
  await page.mouse.click(step.middle.x, step.middle.y);
  await page.locator('.panel h2', { hasText: 'step 1' }).waitFor();
  await page.keyboard.press('o');
  await page.locator('.searchbox .hits', { hasText: /^1 hit$/ }).waitFor(); // not step 10 to 19
  await complete(page);
  // A row of the statistics stands for the class: all of its ranges are found and marked.
  await page.keyboard.press('v');
  await page.locator('.panel td', { hasText: /^step \{\}$/ }).click();
  await page.locator('.searchbox .hits', { hasText: /^24 hits$/ }).waitFor();
  await complete(page);
  const colours = await page.evaluate(() => window.kymo.shapes().filter((s) => s.name.startsWith('step ')).map((s) => s.colour));
  assert.equal(new Set(colours).size, 1);
  await page.waitForFunction(() => location.hash.includes('q='));
});
