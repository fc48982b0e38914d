// What helps to look at a trace and to show it to others: totals of what is visible, flags, pictures.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { complete, shape, state } from '../support/browser';
import { pageTest } from '../support/page_test';
import { Engine } from '../support/engine';
import { training } from '../support/traces';

pageTest('totals of what is visible, without a selection, also after a move', () => training(8), async (page, _, engine) => {
  const counts = async () => {
    const { from, to } = await state(page);
    const totals = engine.selection(Math.max(0, from), Math.min(engine.duration, to), []) as { ranges: Array<{ name: string; count: number }> };
    return totals.ranges.find((row) => row.name === 'aten::linear')!.count;
  };
  const cell = (text: string) => page.locator('tr', { has: page.locator('td.wide', { hasText: 'aten::linear' }) }).locator('td', { hasText: new RegExp(`^${text}$`) });
  await page.keyboard.press('2');
  await cell(String(await counts())).first().waitFor();
  assert.equal((await state(page)).selection, undefined);
  await page.evaluate(() => window.kymo.show(1e5, 1.2e6));
  const fewer = await counts();
  assert.ok(fewer < 96);
  await cell(String(fewer)).first().waitFor();
  await page.keyboard.press('3');
  await page.locator('.flame button[title^="main"]').first().waitFor();
});

async function saved(page: Page, key: string): Promise<{ name: string; bytes: Buffer }> {
  const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press(key)]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

pageTest('a picture as SVG has all names as text, and one as PNG is a picture', () => training(3), async (page) => {
  await complete(page);
  const svg = await saved(page, 'Shift+S');
  assert.equal(svg.name, 'kymo.svg');
  const { texts, rectangles, error } = await page.evaluate((text) => {
    const picture = new DOMParser().parseFromString(text, 'image/svg+xml');
    return { texts: [...picture.querySelectorAll('text')].map((one) => one.textContent), rectangles: picture.querySelectorAll('rect').length, error: picture.querySelector('parsererror')?.textContent };
  }, svg.bytes.toString());
  assert.equal(error, undefined);
  assert.ok(rectangles >= (await state(page)).rectangles);
  for (const name of ['main', 'data loader', 'stream 7', 'forward']) assert.ok(texts.some((text) => text?.startsWith(name)), name);
  const png = await saved(page, 'Shift+P');
  assert.equal(png.bytes.subarray(1, 4).toString(), 'PNG');
  assert.ok(png.bytes.length > 5000);
});

pageTest('the selected track and range are readable without seeing the timeline', () => training(3), async (page) => {
  await page.keyboard.press('j');
  const first = (await page.evaluate(() => window.kymo.lanes().filter((lane) => lane.track !== undefined)))[0].name;
  await page.locator('.spoken', { hasText: `track ${first}` }).waitFor({ state: 'attached' });
  const range = await shape(page, 'forward');
  await page.mouse.click(range.middle.x, range.middle.y);
  await page.locator('.spoken', { hasText: 'forward, ' }).waitFor({ state: 'attached' });
  for (const name of ['search', 'filter tracks']) await page.getByRole('textbox', { name }).waitFor();
  assert.deepEqual(await page.locator('button').evaluateAll((all) => all.filter((one) => !(one.getAttribute('aria-label') ?? one.textContent)?.match(/\w/)).map((one) => one.outerHTML)), []);
});

pageTest('a flag has a note, is in the link and in a picture, and an empty note removes it', () => training(3), async (page) => {
  let note = 'slow <here>, or not?';
  page.on('dialog', (dialog) => void dialog.accept(note));
  await page.mouse.move(700, 300);
  await page.keyboard.press('Shift+F');
  await page.waitForFunction(() => location.hash.includes('n='));
  assert.match((await saved(page, 'Shift+S')).bytes.toString(), /slow &#60;here&#62;, or not\?/);
  await page.reload();
  await complete(page);
  assert.match((await saved(page, 'Shift+S')).bytes.toString(), /slow &#60;here&#62;, or not\?/);
  note = '';
  await page.mouse.click(700, (await page.evaluate(() => document.querySelector('.stage')!.getBoundingClientRect().top)) + 48);
  await page.waitForFunction(() => !location.hash.includes('n='));
});

pageTest('a long table says how many rows it has, and shows more', () => {
  const engine = new Engine('many.kymo');
  const thread = engine.track(engine.process('many', 7), 'thread', 'main');
  for (let i = 0; i < 1200; ++i) engine.range(thread, `name ${[...i.toString(5)].map((digit) => 'abcde'[Number(digit)]).join('')}`, i * 1000, i * 1000 + 500);
  return engine;
}, async (page) => {
  await page.keyboard.press('2');
  const rows = page.locator('.panel tr.link');
  await page.locator('.panel td', { hasText: 'The first 500 of 1,200 rows' }).waitFor();
  assert.equal(await rows.count(), 500);
  for (let i = 0; i < 2; ++i) await page.locator('.panel td button', { hasText: 'show more' }).click();
  await page.waitForFunction(() => document.querySelectorAll('.panel tr.link').length === 1200);
});

pageTest('hits are those of the text in the box', () => training(3), async (page) => {
  const box = page.locator('#search'), hits = page.locator('.searchbox .hits');
  await box.fill('forward');
  assert.equal(await hits.innerText(), '');
  await box.press('Enter');
  await page.waitForFunction(() => /hit|of/.test(document.querySelector('.searchbox .hits')!.textContent!));
  await box.fill('forwar');
  await page.waitForFunction(() => document.querySelector('.searchbox .hits')!.textContent === '');
  await box.fill('forward');
  await page.waitForFunction(() => /hit|of/.test(document.querySelector('.searchbox .hits')!.textContent!));
  await box.press('Escape');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape'); // the search, after the range
  await page.waitForFunction(() => (document.getElementById('search') as HTMLInputElement).value === '');
});

pageTest('idle time goes to its longest one, and has what is outside of any range; lines of a finding stay lines', () => training(8), async (page, _, engine) => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.keyboard.press('5');
  const outside = page.locator('.panel tr', { hasText: '(outside of any range)' });
  await outside.waitFor();
  await outside.click(); // finds nothing: it is no name
  assert.equal((await state(page)).search, '');
  await page.locator('.legend button', { hasText: 'idle: launch came late' }).click();
  await page.waitForFunction(() => window.kymo.state().selection);
  const { selection, from, to } = await state(page);
  assert.deepEqual([selection!.from, selection!.to], [engine.duration * 0.4, engine.duration * 0.42]);
  assert.ok(from <= selection!.from && to >= selection!.to && to - from < engine.duration * 0.04);
  await page.keyboard.press('4');
  await page.locator('.legend button', { hasText: 'device idle: launch came late' }).waitFor();
  await page.locator('.panel tr', { hasText: 'aten::linear' }).locator('td', { hasText: 'main' }).waitFor();
  await page.locator('.panel button', { hasText: 'Copy as text' }).click();
  await page.locator('.panel button', { hasText: 'Copied' }).waitFor();
  const lines = (await page.evaluate(() => navigator.clipboard.readText())).split('\n');
  const at = lines.findIndex((line) => line.startsWith('The device waits for launches'));
  assert.equal(lines[at + 1], 'aten::linear 0.2 ms', lines.join('\n'));
});
