// Searches with conditions, and how long the hits are, against `kymo query`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { duration } from '../../src/core/units';
import { ChromeTrace, json } from '../support/command';
import { files, skip, viewing } from '../support/command_test';

test('conditions on duration, thread, category and arguments; the histogram and the slowest ones', { skip }, async () => {
  const path = files.path('conditions.json');
  const trace = new ChromeTrace(path);
  trace.thread(1, 'main');
  trace.thread(2, 'loader');
  for (let i = 0; i < 300; ++i) {
    const start = i * 1_000_000;
    trace.range(1, 'forward', start, start + 1000 * (1 + ((i * 7919) % 300)), { batch: i % 10 });
    trace.range(2, 'forward', start, start + 40_000);
    trace.range(2, 'read', start + 50_000, start + 50_000 + i * 100, { bytes: i * 10_000, file: `part ${i % 3}` });
  }
  trace.close();
  const count = (where: string): number => json('query', path, `SELECT count(*) AS many FROM ranges WHERE ${where}`, '--json')[0].many;
  const find = async (page: Page, text: string) => {
    await page.locator('#search').fill(text);
    await page.locator('#search').press('Enter');
    await page.waitForFunction((wanted) => window.kymo.state().search === wanted && !/…/.test(document.querySelector('.searchbox .hits')!.textContent!), text);
    return Number((await page.locator('.searchbox .hits').innerText()).match(/(?:of )?([\d,]+)(?: hits?)?$/)![1].replaceAll(',', ''));
  };
  await viewing([path], async (page) => {
    assert.equal(await find(page, 'forward dur>100us'), count("name = 'forward' AND duration_ns > 100000"));
    assert.equal(await find(page, 'dur>20us dur<30us'), count('duration_ns > 20000 AND duration_ns < 30000'));
    assert.equal(await find(page, 'forward thread:loader'), count("name = 'forward' AND thread = 'loader'"));
    assert.equal(await find(page, 'category:test thread:main'), count("category = 'test' AND thread = 'main'"));
    assert.equal(await find(page, 'arg.bytes>1MB'), 199);
    assert.equal(await find(page, 'read arg.file:PART'), 300);
    assert.equal(await find(page, 'arg:part'), 300);
    assert.equal(await find(page, 'arg.batch=7'), 30);
    assert.equal(await find(page, '"forward"'), 600);
    const slowest: Array<{ duration_ns: number }> = json('query', path, "SELECT duration_ns FROM ranges WHERE name = 'forward' ORDER BY duration_ns DESC LIMIT 20", '--json');
    await page.keyboard.press('Escape');
    await page.locator('.lengths .links button').first().waitFor();
    assert.deepEqual(await page.locator('.lengths .links b').allInnerTexts(), slowest.map((row) => duration(row.duration_ns)));
    const bars = await page.locator('.histogram button').evaluateAll((all) => all.map((bar) => Number((bar as HTMLElement).title.split(': ')[1])));
    assert.equal(bars.reduce((sum, many) => sum + many, 0), 600);
    assert.equal(await page.locator('.histogram .current').count(), 1); // the selected one
    await page.locator('.lengths .links button').first().click();
    await page.locator('.panel dd', { hasText: duration(slowest[0].duration_ns, 6) }).waitFor();
    // A click on a bar finds what is in it.
    const last = Number((await page.locator('.histogram button').last().getAttribute('title'))!.split(': ')[1]);
    await page.locator('.histogram button').last().click();
    await page.locator('.searchbox .hits', { hasText: new RegExp(`^${last} hits?$`) }).waitFor();
    // A condition that makes no sense says so.
    await page.locator('#search').fill('dur>soon');
    await page.locator('#search').press('Enter');
    await page.locator('.searchbox .problem', { hasText: "'soon' is not a time" }).waitFor();
  }, { mayFail: true });
});
