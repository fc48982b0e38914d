// The pictures of the documentation: node test/run.mjs screenshots, in ui/, with KYMO_BINARY_DIR.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { complete, stageTop } from '../support/browser';
import { binaries, kymo, notBuilt, recordSamples } from '../support/command';
import { files, skip, viewing } from '../support/command_test';
import { writeRank, writeTraining } from '../support/kineto';

const images = join(process.env.KYMO_UI_DIR!, '../docs/images');

async function click(page: Page, name: string): Promise<void> {
  await complete(page);
  const shape = (await page.evaluate(() => window.kymo.shapes())).find((s) => s.name.startsWith(name))!;
  await page.mouse.click(shape.x + shape.width / 2, (await stageTop(page)) + shape.y + shape.height / 2);
  await page.locator('.panel h2', { hasText: name }).waitFor();
  await complete(page);
}

test('a program and its device', { skip: skip || notBuilt('kymo_denoise') }, async (context) => {
  const path = files.path('denoise.kymo');
  if (!recordSamples(context, path, join(binaries, 'kymo_denoise'))) return;
  await viewing([path], async (page) => {
    await page.setViewportSize({ width: 1400, height: 860 });
    await page.getByRole('button', { name: 'Report' }).click();
    await page.locator('.panel', { hasText: 'saves at most' }).waitFor();
    await page.mouse.move(700, 20);
    await complete(page);
    await page.screenshot({ path: join(images, 'view-light.png') });
  });
});

test('a slow lock', { skip: skip || notBuilt('waits') }, async (context) => {
  const path = files.path('locks.kymo');
  if (!recordSamples(context, path, join(binaries, 'waits'), 'lock')) return;
  await viewing([path], async (page) => {
    await page.setViewportSize({ width: 1400, height: 860 });
    await page.keyboard.press('l');
    await click(page, 'waits for a mutex: (anonymous namespace)::log_result');
    // Without the frames below, which have the folder of the sources.
    await page.screenshot({ path: join(images, 'view-dark.png'), clip: { x: 0, y: 0, width: 1400, height: 772 } });
  });
});

test('ranks', { skip }, async () => {
  const path = files.path('all.kymo');
  const made = spawnSync(kymo, ['merge', ...[0, 1, 2].map((number) => writeRank(files.path(`rank${number}.json`), number, 3, 1)), '-o', path], { encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  await viewing([path], async (page) => {
    await page.setViewportSize({ width: 1200, height: 560 });
    await page.waitForFunction(() => window.kymo.lanes().some((lane) => lane.label === 'rank 1: straggler'));
    await click(page, 'waiting for rank 1');
    const lane = (await page.evaluate(() => window.kymo.lanes()))[1];
    await page.mouse.click(60, (await stageTop(page)) + lane.top + 10);
    await complete(page);
    await page.screenshot({ path: join(images, 'view-ranks.png') });
  });
});

test('a kernel', { skip }, async () => {
  await viewing([writeTraining(files.path('training.json'))], async (page) => {
    await page.setViewportSize({ width: 1200, height: 560 });
    await page.evaluate(() => window.kymo.show(2_900_000, 5_100_000));
    await click(page, 'mm_kernel');
    await page.screenshot({ path: join(images, 'view-kernel.png') });
  });
});
