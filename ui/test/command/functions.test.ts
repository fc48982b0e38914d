// The functions of CPU samples in a real browser, with `kymo record` and `kymo view`.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { complete, stageTop, state } from '../support/browser';
import { binaries, notBuilt, recordSamples } from '../support/command';
import { files, skip, viewing } from '../support/command_test';

test('functions of samples are below their thread, the called one below its caller', { skip: skip || notBuilt('busy') }, async (context) => {
  const path = files.path('busy.kymo');
  if (!recordSamples(context, path, join(binaries, 'busy'), 'one', '400')) return;
  await viewing([path], async (page) => {
    await page.waitForFunction(() => window.kymo.lanes().some((lane) => lane.name.endsWith(': functions'))); // they come later
    await complete(page);
    const lanes = await page.evaluate(() => window.kymo.lanes());
    const at = lanes.findIndex((lane) => lane.name.endsWith(': functions'));
    const thread = lanes[at].name.slice(0, -': functions'.length);
    assert.deepEqual(lanes.slice(at - 2, at).map((lane) => lane.name), [thread, `${thread}: states`]);
    assert.equal(lanes[at].top, lanes[at - 1].top + lanes[at - 1].height);
    await page.mouse.click(60, (await stageTop(page)) + lanes[at].top + 8); // all rows: the outer ones are in all samples
    await page.waitForFunction((track) => !window.kymo.lanes().find((lane) => lane.track === track)!.collapsed, lanes[at].track);
    await page.waitForFunction(() => window.kymo.shapes().some((s) => s.name === 'busy_inner'));
    await complete(page);
    const shapes = await page.evaluate((track) => window.kymo.shapes().filter((s) => s.track === track), lanes[at].track);
    const longest = (name: string) => shapes.filter((s) => s.name === name && s.count === 1).sort((a, b) => b.end - b.start - (a.end - a.start))[0];
    const [outer, inner] = [longest('busy_outer'), longest('busy_inner')];
    assert.ok(outer && inner, shapes.map((s) => s.name).join(' '));
    assert.equal(inner.row, outer.row + 1);
    assert.ok(shapes.some((s) => s.name === 'busy_outer' && s.start <= inner.start && s.end >= inner.end));
    // Drag over them: the totals of the functions.
    const y = (await stageTop(page)) + lanes[at].top + 40;
    await page.mouse.move(400, y);
    await page.mouse.down();
    await page.mouse.move(700, y);
    await page.mouse.move(1300, y);
    await page.mouse.up();
    await page.locator('.panel td', { hasText: 'busy_inner' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('busy_inner');
    await page.keyboard.press('Enter');
    await page.locator('.searchbox .hits', { hasText: /^1 of [1-9]/ }).waitFor();
    await page.locator('.panel .stack', { hasText: 'busy_outer' }).waitFor(); // its details
    assert.equal((await state(page)).event?.track, lanes[at].track);
  });
});
