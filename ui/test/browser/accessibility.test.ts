// The page for people who do not use a mouse, do not see the timeline, or do not see faint text.

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { complete, state } from '../support/browser';
import { pageTest } from '../support/page_test';
import { training } from '../support/traces';

const kLeastContrast = 4.5;
const spoken = (page: Page, text: string) => page.locator('.spoken', { hasText: text }).waitFor({ state: 'attached' });

async function focusMain(page: Page): Promise<void> {
  const main = await page.evaluate(() => window.kymo.lanes().filter((lane) => lane.track !== undefined).findIndex((lane) => lane.name === 'main'));
  await page.evaluate(() => (document.activeElement as HTMLElement).blur());
  for (let at = 0; at <= main; ++at) await page.keyboard.press('j');
  await spoken(page, 'track main of train');
}

/** Text on the page with too little contrast to what is behind it. Disabled buttons do not count. */
function faintTexts(page: Page): Promise<string[]> {
  return page.evaluate((least) => {
    type Colour = [number, number, number, number];
    const parse = (text: string): Colour => {
      const [r, g, b, a = 1] = text.match(/[\d.]+/g)!.map(Number);
      return [r, g, b, a];
    };
    const over = ([r, g, b, a]: Colour, below: Colour): Colour => [r * a + below[0] * (1 - a), g * a + below[1] * (1 - a), b * a + below[2] * (1 - a), 1];
    const background = (element: Element | null): Colour => {
      if (!element) return [255, 255, 255, 1];
      const own = parse(getComputedStyle(element).backgroundColor);
      return own[3] === 1 ? own : over(own, background(element.parentElement));
    };
    const luminance = (colour: Colour) => {
      const [r, g, b] = colour.slice(0, 3).map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const faint: string[] = [];
    for (const element of document.querySelectorAll('body *')) {
      const text = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.textContent).join('').trim();
      if (text === '' || element.closest('button:disabled, noscript, script, style') || element.getClientRects().length === 0) continue;
      const behind = background(element);
      const [light, dark] = [luminance(over(parse(getComputedStyle(element).color), behind)), luminance(behind)].sort((a, b) => b - a);
      const contrast = (light + 0.05) / (dark + 0.05);
      if (contrast < least) faint.push(`${contrast.toFixed(2)}: "${text}" of ${element.tagName}.${element.className}`);
    }
    return faint;
  }, kLeastContrast);
}

pageTest('all buttons are in reach on a narrow screen', () => training(3), async (page) => {
  await page.keyboard.press('2');
  for (const width of [900, 480, 320]) {
    await page.setViewportSize({ width, height: 700 });
    await page.waitForFunction((wanted) => innerWidth === wanted, width);
    const outside = await page.evaluate(() =>
      [...document.querySelectorAll('.toolbar button, .toolbar input, .panel nav button')]
        .filter((one) => {
          one.scrollIntoView({ block: 'nearest', inline: 'nearest' }); // the list of panels scrolls
          const { left, right } = one.getBoundingClientRect();
          return one.getClientRects().length > 0 && (left < 0 || right > innerWidth + 1);
        })
        .map((one) => one.textContent || one.id));
    assert.deepEqual(outside, [], `${width} pixels`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  }
});

for (const dark of [false, true]) {
  pageTest(`text can be read in the ${dark ? 'dark' : 'light'} theme`, () => training(3), async (page) => {
    assert.equal((await state(page)).theme, dark ? 'dark' : 'light');
    await focusMain(page);
    await page.keyboard.press('.');
    await page.locator('.panel h2').waitFor();
    await page.keyboard.press('o');
    await page.locator('.links.hits').waitFor();
    assert.deepEqual(await faintTexts(page), []);
    for (const tab of ['2', '3', '4', '5', '6', '7']) {
      await page.keyboard.press(tab);
      await page.waitForFunction(() => document.querySelector('.panel .content')!.textContent !== '' && !/Reading/.test(document.querySelector('.panel .content')!.textContent!) && !document.querySelector('.stale'));
      assert.deepEqual(await faintTexts(page), [], `panel ${tab}`);
    }
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'keys' }).waitFor();
    assert.deepEqual(await faintTexts(page), []);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Shift+T');
    await page.getByRole('menu').waitFor();
    assert.deepEqual(await faintTexts(page), []);
  }, { dark });
}

pageTest('a track, a range and a time are selected with the keyboard alone, and said', () => training(3), async (page) => {
  await focusMain(page);
  assert.equal(await page.evaluate(() => document.activeElement!.className), 'stage');
  // The first range of the track, the one inside of it, its neighbour, and back.
  await page.keyboard.press('.');
  await page.locator('.panel h2', { hasText: /^step 0$/ }).waitFor();
  await spoken(page, 'step 0, ');
  await page.keyboard.press('Shift+ArrowDown');
  await page.locator('.panel h2', { hasText: /^forward$/ }).waitFor();
  await page.keyboard.press('.');
  await page.locator('.panel h2', { hasText: /^backward$/ }).waitFor();
  await page.keyboard.press('Shift+ArrowUp');
  await page.locator('.panel h2', { hasText: /^step 0$/ }).waitFor();
  // Its time, its totals, and a row of them.
  await page.keyboard.press('m');
  await spoken(page, 'selected');
  assert.equal((await state(page)).selection?.tracks.length, 1);
  const row = page.locator('tr.link', { hasText: 'aten::softmax' });
  await row.waitFor();
  for (let presses = 0; !(await row.evaluate((one) => one === document.activeElement)); ++presses) {
    assert.ok(presses < 200, 'the row cannot be reached with the key Tab');
    await page.keyboard.press('Tab');
    // What has the focus can be seen: it has an outline, or a frame around it.
    const visible = await page.evaluate(() => {
      const one = document.activeElement!;
      if (one === document.body) return true;
      const around = one.closest('.searchbox:has(input:focus)') ?? one;
      return getComputedStyle(around).outlineStyle !== 'none' || getComputedStyle(one, '::after').borderTopWidth === '2px' || one.outerHTML;
    });
    assert.equal(visible, true);
  }
  await page.keyboard.press('Enter');
  assert.equal((await state(page)).search, '"aten::softmax"');
  // The panel can be made higher.
  const height = () => page.locator('.panel').evaluate((panel) => (panel as HTMLElement).offsetHeight);
  await page.getByRole('separator').focus();
  const before = await height();
  await page.keyboard.press('ArrowUp');
  assert.equal(await height(), before + 40);
});

pageTest('menus and the list of keys take the focus and give it back', () => training(3), async (page) => {
  await page.keyboard.press('j');
  await complete(page);
  const focused = () => page.evaluate(() => document.activeElement!.closest('[role]')?.getAttribute('role'));
  for (const [key, role] of [['Shift+M', 'menuitem'], ['Shift+T', 'menuitemradio'], ['?', 'dialog']]) {
    await page.keyboard.press(key);
    await page.waitForFunction((wanted) => document.activeElement!.closest('[role]')?.getAttribute('role') === wanted, role);
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => !document.querySelector('[role=menu], [role=dialog]'));
    assert.equal(await focused(), 'application', key);
  }
  // Everything that can have the focus says what it is.
  for (const tab of ['2', '6']) {
    await page.keyboard.press(tab);
    await page.waitForFunction(() => !/Reading/.test(document.querySelector('.panel .content')!.textContent!));
    const nameless = await page.locator('button, input, select, [tabindex="0"]').evaluateAll((all) => all.filter((one) => !(one.getAttribute('aria-label') ?? (one.textContent || one.getAttribute('title')))?.match(/\w/)).map((one) => one.outerHTML));
    assert.deepEqual(nameless, []);
  }
});
