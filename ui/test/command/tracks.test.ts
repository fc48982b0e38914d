// Tracks in a real browser: hidden, sorted and filtered ones; what is drawn is what `kymo query` has of the others.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { complete, stageTop, state } from '../support/browser';
import { ChromeTrace, json, kymo } from '../support/command';
import { files, opened, skip, viewing } from '../support/command_test';

interface Thread { process: string; thread: string; ranges: number; busy_ns: number }

/** Two processes with the same threads, all of them busy for another time. */
function ranks(path: string): string {
  const trace = new ChromeTrace(path);
  ['main', 'loader', 'worker 10', 'worker 9'].forEach((name, at) => {
    for (const pid of [1, 2]) {
      trace.event({ ph: 'M', pid, tid: at, name: 'thread_name', args: { name } });
      trace.event({ ph: 'M', pid, tid: at, name: 'process_name', args: { name: `rank ${pid}` } });
      for (let i = 0; i < 3 + at; ++i) trace.event({ ph: 'X', pid, tid: at, name: `${name} ${pid}`, cat: 'test', ts: i * 100, dur: 10 + ((at * 7 + pid * 3) % 13) });
    }
  });
  trace.close();
  return path;
}

const labels = (page: Page) => page.evaluate(() => window.kymo.lanes().filter((lane) => lane.track !== undefined).map((lane) => lane.label));

async function openMenu(page: Page, label: string): Promise<void> {
  const lane = (await page.evaluate(() => window.kymo.lanes())).find((one) => one.label === label)!;
  await page.mouse.click(60, (await stageTop(page)) + lane.top + 8, { button: 'right' });
  await page.getByRole('menu').waitFor();
}

test('tracks are sorted and hidden; the choices are in the link and in a saved page', { skip }, async () => {
  const path = ranks(files.path('ranks.json'));
  const threads: Thread[] = json('query', path, 'SELECT process, thread, count(*) AS ranges, sum(duration_ns) AS busy_ns FROM ranges GROUP BY ALL', '--json');
  const label = ({ process, thread }: Thread) => `${thread} · ${process}`;
  const ranges = (kept: Thread[]) => kept.reduce((sum, { ranges: count }) => sum + count, 0);
  const saved = files.path('ranks.html');
  assert.equal(spawnSync(kymo, ['view', path, '-o', saved]).status, 0);
  const check = async (page: Page) => {
    assert.equal((await state(page)).ranges, ranges(threads));
    await page.keyboard.press('Shift+O');
    await complete(page);
    assert.deepEqual(await labels(page), [...threads].sort((a, b) => b.busy_ns - a.busy_ns).map(label));
    await page.keyboard.press('Shift+O');
    await complete(page);
    const names = ['loader', 'main', 'worker 9', 'worker 10'];
    const sorted = [...threads].sort((a, b) => names.indexOf(a.thread) - names.indexOf(b.thread) || a.process.localeCompare(b.process));
    assert.deepEqual(await labels(page), sorted.map(label));
    await openMenu(page, 'main · rank 1');
    await page.getByRole('menuitem', { name: 'hide the track' }).click();
    await openMenu(page, 'worker 10 · rank 2');
    await page.keyboard.press('Shift+H'); // its process
    await page.keyboard.press('t');
    await page.keyboard.type('-loader');
    await page.keyboard.press('Escape');
    await complete(page);
    const kept = sorted.filter(({ process, thread }) => process === 'rank 1' && thread !== 'main' && thread !== 'loader');
    assert.deepEqual(await labels(page), kept.map(label));
    assert.equal((await state(page)).ranges, ranges(kept));
    assert.equal(await page.locator('#tracks').innerText(), `${threads.length - kept.length} hidden ▾`);
    await page.waitForFunction(() => /h=t/.test(location.hash) && /by=name/.test(location.hash) && /f=-loader/.test(location.hash));
    await opened(page.url(), async (copy) => {
      assert.deepEqual(await labels(copy), kept.map(label));
      await copy.locator('#tracks').click();
      assert.equal(await copy.getByRole('menuitemradio', { checked: true }).innerText(), '● by name');
      await copy.getByRole('menuitem', { name: 'show rank 2' }).click();
      await complete(copy);
      assert.ok((await labels(copy)).includes('main · rank 2'));
      await copy.keyboard.press('Shift+U');
      await complete(copy);
      assert.deepEqual(await labels(copy), sorted.filter(({ thread }) => thread !== 'loader').map(label));
    });
  };
  await viewing([path], check);
  await opened(`file://${saved}`, check);
});

test('the menus work with the keyboard alone; going to a hit shows its track', { skip }, async () => {
  await viewing([ranks(files.path('keys.json'))], async (page) => {
    await page.keyboard.press('j');
    const [first] = await labels(page);
    const process = (await page.evaluate(() => window.kymo.lanes()[0].label)).match(/rank (\d)/)![1];
    await page.keyboard.press('Shift+M');
    await page.getByRole('menu', { name: 'track' }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    assert.match(await page.evaluate(() => document.activeElement!.textContent!), /^hide the track/);
    await page.keyboard.press('Enter');
    await complete(page);
    assert.equal((await labels(page)).length, 7);
    assert.equal(await page.getByRole('menu').count(), 0);
    await page.keyboard.press('/');
    await page.keyboard.type(`"${first} ${process}"`);
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => window.kymo.state().hit >= 0);
    await complete(page);
    assert.equal((await labels(page)).length, 8);
    await page.keyboard.press('Escape'); // out of the search
    await page.keyboard.press('Shift+T');
    await page.getByRole('menu', { name: 'all tracks' }).waitFor();
    await page.keyboard.press('Escape');
    assert.equal(await page.getByRole('menu').count(), 0);
  });
});
