// Lanes of functions of CPU samples, and the search in them and in ranges across threads.

import assert from 'node:assert/strict';
import { complete, shape, stageTop, state } from '../support/browser';
import { Engine } from '../support/engine';
import { pageTest } from '../support/page_test';

const kDeep = 60;

/** Two threads with ranges and deep stacks, whose outermost functions are always the same. */
function sampled(): Engine {
  const engine = new Engine('sampled.kymo');
  const process = engine.process('train', 7);
  for (const name of ['main', 'loader']) {
    const thread = engine.track(process, 'thread', name);
    engine.range(thread, 'epoch', 0, 90_000);
    const functions = engine.track(process, 'functions', `${name}: functions`, { thread: thread.id, shared: 3 });
    ['_start', 'libc_start_main', 'main'].forEach((root, depth) => engine.range(functions, root, 0, 90_000, depth));
    for (let depth = 3; depth < kDeep; ++depth) engine.range(functions, `${name}_call_${String.fromCharCode(97 + (depth % 26))}${'x'.repeat(depth)}`, depth * 100, 90_000 - depth * 100, depth);
  }
  return engine;
}
const innermost = (name: string) => `${name}_call_${String.fromCharCode(97 + ((kDeep - 1) % 26))}${'x'.repeat(kDeep - 1)}`;

pageTest('deep functions are folded to a few rows, below their thread, and unfold by a click', sampled, async (page) => {
  const lanes = () => page.evaluate(() => window.kymo.lanes().filter((lane) => lane.track !== undefined));
  assert.deepEqual((await lanes()).map((lane) => lane.name), ['main', 'main: functions', 'loader', 'loader: functions']); // all are visible
  const folded = (await lanes())[1];
  assert.ok(folded.collapsed && folded.height < 130);
  const drawn = () => page.evaluate((track) => window.kymo.shapes().filter((s) => s.track === track && s.row >= 0).map((s) => s.name), folded.track);
  assert.ok((await drawn()).includes('main') && !(await drawn()).includes('libc_start_main'));
  await page.mouse.click(60, (await stageTop(page)) + folded.top + 8);
  await page.waitForFunction((track) => !window.kymo.lanes().find((lane) => lane.track === track)!.collapsed, folded.track);
  await complete(page);
  assert.ok((await drawn()).includes('_start'));
  await page.waitForFunction((id) => location.hash.includes(`c=t${id}`), folded.track); // a bookmark keeps it
  await page.keyboard.press('Shift+C');
  await page.waitForFunction(() => window.kymo.lanes().filter((lane) => lane.track !== undefined).every((lane) => lane.collapsed));
  await page.keyboard.press('Shift+C');
  await page.waitForFunction(() => window.kymo.lanes().filter((lane) => lane.track !== undefined).every((lane) => !lane.collapsed));
});

pageTest('a function is found, and its lane unfolds and scrolls to it', sampled, async (page, _, engine) => {
  await page.keyboard.press('/');
  await page.keyboard.type(innermost('loader'));
  await page.keyboard.press('Enter');
  await page.locator('.searchbox .hits', { hasText: '1 of 1' }).waitFor();
  await page.locator('.panel h2', { hasText: innermost('loader') }).waitFor();
  await complete(page);
  const found = await shape(page, innermost('loader'));
  assert.equal(found.track, engine.tracks[3].id);
  const stage = await page.evaluate(() => document.querySelector('.stage')!.getBoundingClientRect().height);
  assert.ok(found.y > 60 && found.y + found.height <= stage, `${found.y} of ${stage}`);
});

pageTest('a click opens the panel, which does not hide what was clicked', sampled, async (page) => {
  await page.keyboard.press('Shift+C'); // all functions, so that the lanes are higher than the screen
  await page.keyboard.press('Shift+C');
  await complete(page);
  const stageHeight = () => page.evaluate(() => document.querySelector('.stage')!.getBoundingClientRect().height);
  const before = await stageHeight();
  const lowest = await page.evaluate((height) => window.kymo.shapes().filter((s) => s.row >= 0 && s.y + s.height < height).sort((a, b) => b.y - a.y)[0], before);
  await page.mouse.click(lowest.x + lowest.width / 2, (await stageTop(page)) + lowest.y + 5);
  await page.locator('.panel h2', { hasText: lowest.name }).waitFor();
  await page.waitForFunction((old) => document.querySelector('.stage')!.getBoundingClientRect().height < old, before);
  await complete(page);
  const now = await shape(page, lowest.name);
  assert.ok(now.y + now.height <= (await stageHeight()), `${now.y}`);
});

pageTest('ranges across threads are found, marked in their lane and counted', () => {
  const engine = new Engine('serve.kymo');
  const process = engine.process('serve', 12);
  engine.range(engine.track(process, 'thread', 'main'), 'loop', 0, 100_000);
  const track = engine.track(process, 'across', 'across threads');
  for (let i = 0; i < 12; ++i) engine.range(track, `request ${i}`, i * 8000, i * 8000 + 20_000, 0, 0, i % 3);
  return engine;
}, async (page) => {
  const before = await page.evaluate(() => window.kymo.shapes().find((s) => s.name === 'request 3')!.colour);
  await page.keyboard.press('/');
  await page.keyboard.type('request');
  await page.keyboard.press('Enter');
  await page.locator('.searchbox .hits', { hasText: '1 of 12' }).waitFor();
  await complete(page);
  assert.notEqual(await page.evaluate(() => window.kymo.shapes().find((s) => s.name === 'request 3')!.colour), before);
  await page.locator('.links.hits button', { hasText: 'request 5' }).click();
  await page.waitForFunction(() => window.kymo.state().hit === 5);
  assert.equal((await state(page)).event?.index, 5);
});

pageTest('a track that comes later is searched as well', sampled, async (page, server, engine) => {
  await page.keyboard.press('/');
  await page.keyboard.type('late');
  await page.keyboard.press('Enter');
  await page.locator('.searchbox .hits', { hasText: '0 hits' }).waitFor();
  const track = engine.track(0, 'across', 'across threads');
  engine.range(track, 'late', 1000, 2000);
  ++engine.tracksVersion;
  server.grow();
  await page.locator('.searchbox .hits', { hasText: '1 hit' }).waitFor();
});

/** A track comes between the first answer about the trace and the first message about changes. */
function lateTrack(): Engine {
  const engine = sampled();
  const trace = engine.trace.bind(engine);
  engine.trace = () => {
    const before = trace();
    engine.trace = trace;
    engine.range(engine.track(0, 'across', 'across threads'), 'late', 1000, 2000);
    ++engine.tracksVersion;
    return before;
  };
  return engine;
}

pageTest('a track that comes while the page is loaded is shown', lateTrack, async (page) => {
  await page.waitForFunction(() => window.kymo.lanes().some((lane) => lane.name === 'across threads'));
});
