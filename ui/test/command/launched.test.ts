// Kernels in a real browser: where they were launched, what was launched where, and flame graphs, against `kymo`.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { duration } from '../../src/core/units';
import { complete, stageTop } from '../support/browser';
import { binaries, json, notBuilt, recordSamples } from '../support/command';
import { files, skip, viewing } from '../support/command_test';
import { kTrainingSteps, writeTraining } from '../support/kineto';

interface Total { count: number; total: number }
const totalOf = (path: string, name: string): Total => json('query', path, `SELECT count(*) AS count, sum(duration_ns) AS total FROM ranges WHERE name LIKE '${name}'`, '--json')[0];

/** The details of the first range with a name that is drawn alone. */
async function select(page: Page, name: string): Promise<void> {
  await complete(page);
  const shape = (await page.evaluate(() => window.kymo.shapes())).find((s) => s.name === name && s.count === 1)!;
  assert.ok(shape, name);
  await page.mouse.click(shape.x + shape.width / 2, (await stageTop(page)) + shape.y + shape.height / 2);
  await page.locator('.panel h2', { hasText: name }).waitFor();
}

const panelText = (page: Page) => page.locator('.panel .content').innerText();

test('a kernel has its launch, operator and Python stack; a frame has its kernels', { skip }, async () => {
  const path = writeTraining(files.path('training.json'));
  await viewing([path], async (page) => {
    await select(page, 'mm_kernel');
    await page.locator('.panel h3', { hasText: 'Launched by main, 50 µs before its start' }).waitFor();
    const below = async (title: string) => (await page.locator(`.panel h3:text-is("${title}") + ul button`).allInnerTexts()).map((text) => text.split(/\s\s|\n/)[0].replace(/ [\d.]+ \S+$/, '').trim());
    assert.deepEqual(await below('Operator'), ['aten::mm']);
    assert.deepEqual(await below('Python stack'), ['train.py(12): step', 'train.py(1): main']);
    await page.locator('.panel .links button', { hasText: 'cudaLaunchKernel' }).click();
    await page.locator('.panel h2', { hasText: 'cudaLaunchKernel' }).waitFor();
    await page.keyboard.press('0');
    await select(page, 'mm_kernel');
    await page.locator('.panel .links button', { hasText: 'train.py(12): step' }).click();
    await page.locator('.panel h2', { hasText: 'train.py(12): step' }).waitFor();
    await page.locator('.panel p', { hasText: /^2 operations of devices/ }).waitFor();
    await page.locator('.panel button', { hasText: 'Of all with this name' }).click();
    const all = totalOf(path, '%_kernel');
    await page.locator('.panel p', { hasText: `${all.count} operations of devices, ${duration(all.total)}` }).waitFor();
    const row = page.locator('.panel table', { hasText: 'Kernel' }).first().locator('tr', { hasText: 'mm_kernel' });
    const mm = totalOf(path, 'mm_kernel');
    assert.deepEqual((await row.locator('td').allInnerTexts()).slice(1, 3), [String(mm.count), duration(mm.total)]);
    const each = page.locator('.panel table', { hasText: 'Each' }).locator('tbody tr');
    assert.equal(await each.count(), all.count);
    await each.nth(3).click();
    await page.locator('.panel h2', { hasText: 'relu_kernel' }).waitFor();
  });
});

test('the flame graph by device is that of kymo flame; it can be searched, and copied as text', { skip }, async () => {
  const path = writeTraining(files.path('training.json'));
  const frames: Array<{ name: string; depth: number; total_ns: number }> = json('flame', path, '--by', 'device', '--json').frames;
  assert.equal(frames[0].total_ns, totalOf(path, '%_kernel').total);
  await viewing([path], async (page) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.keyboard.press('3');
    await page.locator('.panel .buttons button', { hasText: 'Devices' }).click();
    await page.locator('.flame button', { hasText: 'mm_kernel' }).waitFor();
    const drawn = await page.locator('.flame button').evaluateAll((all) => all.map((one) => `${one.getAttribute('data-row')} ${one.getAttribute('title')!.split(' (')[0].replace('\n', ' ')}`));
    assert.deepEqual(drawn, frames.map((frame) => `${frame.depth} ${frame.name} ${duration(frame.total_ns)}`.split(' (')[0]));
    await page.locator('input[aria-label="search the flame graph"]').fill('RELU');
    await page.locator('.panel', { hasText: `2 frames, ${duration(totalOf(path, 'relu_kernel').total)}` }).waitFor();
    assert.equal(await page.locator('.flame .hit').count(), 2); // the operator, and the kernel in it
    await page.locator('.panel button', { hasText: 'Copy as text' }).click();
    await page.locator('.panel button', { hasText: 'Copied' }).waitFor();
    const copied = (await page.evaluate(() => navigator.clipboard.readText())).split('\n');
    assert.equal(copied.length, frames.length);
    assert.ok(copied.every((line, i) => line.startsWith('  '.repeat(frames[i].depth) + frames[i].name)), copied.join('\n'));
    // A frame of Python: its kernels.
    await page.locator('.flame button', { hasText: 'train.py(12): step' }).click();
    await page.locator('.panel p', { hasText: `${2 * kTrainingSteps} operations of devices` }).waitFor();
    // A table.
    await page.keyboard.press('2');
    await page.locator('.panel td', { hasText: 'mm_kernel' }).first().waitFor();
    await page.locator('.panel button', { hasText: 'Copy as text' }).click();
    await page.locator('.panel button', { hasText: 'Copied' }).waitFor();
    const mm = totalOf(path, 'mm_kernel');
    const table = await page.evaluate(() => navigator.clipboard.readText());
    assert.ok(table.includes(`mm_kernel (device)\t${mm.count}\t${duration(mm.total)}\t`), table);
    assert.ok((await panelText(page)).includes('mm_kernel'));
  });
});

test('the flame graph by wait is that of kymo flame', { skip: skip || notBuilt('waits') }, async (context) => {
  const path = files.path('waits.kymo');
  if (!recordSamples(context, path, join(binaries, 'waits'), 'lock')) return;
  const frames: Array<{ name: string; depth: number; total_ns: number }> = json('flame', path, '--by', 'wait', '--json').frames;
  if (frames.length <= 1) return context.skip('kymo record has no stacks of waits here');
  await viewing([path], async (page) => {
    await page.waitForFunction(() => window.kymo.lanes().some((lane) => lane.name.endsWith(': states'))); // they come later
    await page.keyboard.press('3');
    await page.locator('.panel .buttons button', { hasText: 'Waits' }).click();
    await page.locator('.flame button').first().waitFor();
    const drawn = await page.locator('.flame button').evaluateAll((all) => all.map((one) => one.getAttribute('title')!.replace(/ \([^(]*$/, '')));
    assert.equal(drawn[0], `all\n${duration(frames[0].total_ns)}`);
    // The page shortens names of C++ from their first parameter or argument on.
    const start = (text: string) => `${text.split('\n')[0].replace(/[<({].*/, '')}\n${text.split('\n')[1]}`;
    const known = new Set(frames.map((frame) => start(`${frame.name}\n${duration(frame.total_ns)}`)));
    for (const one of drawn) assert.ok(known.has(start(one)), one);
  });
});
