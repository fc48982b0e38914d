// A merge of ranks in a real browser: one row for each, as `kymo report` and `kymo query` have it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { complete, stageTop } from '../support/browser';
import { json, kymo } from '../support/command';
import { files, skip, viewing } from '../support/command_test';
import { kRankSteps, writeRank } from '../support/kineto';

test('a row for each rank with its iterations and waits, the straggler marked; opening it shows its tracks', { skip }, async () => {
  const path = files.path('all.kymo');
  const made = spawnSync(kymo, ['merge', ...[0, 1, 2].map((number) => writeRank(files.path(`rank${number}.json`), number, 3, 1)), '-o', path], { encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  const finding = json('report', path, '--json').findings.find((one: { kind: string }) => one.kind === 'straggler');
  assert.match(finding.text, /rank 1 arrives last at 12 of 12/);
  await viewing([path], async (page) => {
    await page.waitForFunction(() => window.kymo.lanes().some((lane) => lane.label === 'rank 1: straggler')); // they come later
    await complete(page);
    const lanes = await page.evaluate(() => window.kymo.lanes());
    assert.deepEqual(lanes.map((lane) => lane.label), ['rank 0', 'rank 1: straggler', 'rank 2']);
    const shapes = await page.evaluate(() => window.kymo.shapes());
    const shown = (number: number, row: number) => shapes.filter((s) => s.trackName === `rank ${number}` && s.row === row);
    const steps: Array<{ full_name: string; pid: number; start: number; duration_ns: number }> = json('query', path, "SELECT full_name, pid, start_ns - (SELECT min(start_ns) FROM ranges) AS start, duration_ns FROM ranges WHERE full_name LIKE 'ProfilerStep#%' ORDER BY start_ns", '--json');
    for (const number of [0, 1, 2]) {
      const own = steps.filter((step) => step.pid === 100 + number);
      assert.equal(own.length, kRankSteps.length);
      assert.deepEqual(shown(number, 0).map((s) => s.name), own.map((step) => step.full_name));
      for (const [i, s] of shown(number, 0).entries()) assert.ok(Math.abs(s.start - own[i].start) <= 2 && Math.abs(s.end - s.start - own[i].duration_ns) <= 2, `${s.start} ${JSON.stringify(own[i])}`);
    }
    // Others wait until it arrives, which is what the report says that they could save.
    const sum = (of: typeof shapes) => of.reduce((all, s) => all + s.end - s.start, 0);
    assert.deepEqual([...new Set(shown(1, 1).map((s) => s.name))], ['all others wait']);
    assert.ok(Math.abs(sum(shown(1, 1)) - finding.saves_ns) < 100, `${sum(shown(1, 1))} ${finding.saves_ns}`);
    for (const number of [0, 2]) {
      assert.deepEqual([...new Set(shown(number, 1).map((s) => s.name))], ['waiting for rank 1']);
      const waits = finding.evidence.find((line: string) => line.includes(`GPU ${number}`) || line.includes(`rank ${number}`));
      assert.ok(Math.abs(Number(waits.match(/waits for ([\d.]+) ms itself/)[1]) - sum(shown(number, 1)) / 1e6) < 0.01, `${waits} ${sum(shown(number, 1))}`);
    }
    const top = await stageTop(page);
    const [wait] = shown(0, 1);
    await page.mouse.click(wait.x + wait.width / 2, top + wait.y + wait.height / 2);
    await page.locator('.panel h2', { hasText: 'waiting for rank 1' }).waitFor();
    await page.locator('.panel dd', { hasText: 'last at 0 of 12 collectives' }).waitFor();
    // Open and close.
    await page.mouse.click(60, top + lanes[1].top + 10);
    await page.waitForFunction(() => window.kymo.lanes().length > 3);
    await complete(page);
    const opened = await page.evaluate(() => window.kymo.lanes());
    const at = opened.findIndex((lane) => lane.label.startsWith('rank 1'));
    const inside = opened.slice(at + 1, opened.findIndex((lane) => lane.label === 'rank 2'));
    assert.ok(inside.some((lane) => lane.label === 'main') && inside.length >= 4, inside.map((lane) => lane.label).join());
    const kernels = (await page.evaluate(() => window.kymo.shapes())).filter((s) => s.name === 'gemm').reduce((all, s) => all + s.count, 0);
    assert.equal(kernels, kRankSteps.length); // of this rank only
    await page.mouse.click(60, top + opened[at].top + 10);
    await page.waitForFunction(() => window.kymo.lanes().length === 3);
    // Going to a hit opens its rank.
    await page.keyboard.press('/');
    await page.keyboard.type('gemm');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => window.kymo.lanes().length > 3);
  });
});
