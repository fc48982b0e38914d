// Two traces that are compared: the second one is moved, and the page says so everywhere.

import assert from 'node:assert/strict';
import { complete, shape, state } from '../support/browser';
import { pageTest } from '../support/page_test';
import { pair } from '../support/traces';

pageTest('a trace that is moved: said, in the overview, the details and the bookmark, until it is ended', pair, async (page) => {
  const before = (await state(page)).overview;
  await page.keyboard.press('7');
  const badge = page.locator('.toolbar button', { hasText: /after\.kymo is shown .* (earlier|later); colours show what became slower/ });
  await badge.waitFor();
  await page.locator('.panel .summary', { hasText: /after\.kymo is shown .* so that iterations with the same number start together/ }).waitFor();
  await page.waitForFunction((old) => window.kymo.complete() && window.kymo.state().overview.some((share, bin) => share !== old[bin]), before);
  await page.waitForFunction(() => /[#&]d=0,-?\d/.test(location.hash));
  await page.keyboard.press('`'); // the panel closes, and the effects stay visible
  await badge.waitFor();
  await page.waitForFunction(() => !location.hash.includes('tab='));
  await page.reload(); // the bookmark has the shift
  await complete(page);
  await page.locator('.toolbar button', { hasText: /after\.kymo is shown/ }).waitFor();
  await page.locator('#filter').fill('main'); // the second trace is on the screen
  await complete(page);
  const moved = await page.evaluate(() => window.kymo.shapes().filter((s) => s.name.startsWith('step ')).at(-1)!);
  assert.ok(moved);
  await page.mouse.click(moved.x + moved.width / 2, (await page.evaluate(() => document.querySelector('.stage')!.getBoundingClientRect().top)) + moved.y + 5);
  await page.locator('.panel dd', { hasText: /of its trace, .* on the axis/ }).waitFor();
  await page.locator('.toolbar button', { hasText: /after\.kymo is shown/ }).click();
  await page.waitForFunction(() => !/[#&]d=/.test(location.hash));
  assert.equal(await page.locator('.toolbar button', { hasText: 'is shown' }).count(), 0);
  await shape(page, 'step 3');
});
