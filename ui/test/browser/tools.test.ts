// What helps to look at a trace and to show it to others: totals of what is visible, flags, pictures.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { complete, shape, state } from '../support/browser';
import { pageTest } from '../support/page_test';
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
