// A merge of ranks in a real browser: one row for each, as `kymo report` and `kymo query` have it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { complete, stageTop } from '../support/browser';
import { json, kymo } from '../support/command';
import { files, skip, viewing } from '../support/command_test';

const kSteps = [1.31, 0.92, 1.77, 1.05, 1.48, 1.19, 1.66, 0.97, 1.53, 1.11, 1.84, 1.26]; // ms: irregular, so that clocks can be aligned
const kLate = 0.6;
const kWire = 0.1;

/** Of PyTorch, in a folder of its own clock: `slow` computes longer, and all others wait for it. */
function rank(number: number, ranks: number, slow: number): string {
  const events: object[] = [{ ph: 'M', name: 'thread_name', pid: 100 + number, tid: 100 + number, args: { name: 'main' } }];
  const range = (pid: number, tid: number, cat: string, name: string, start: number, end: number, args: object = {}) => events.push({ ph: 'X', cat, name, pid, tid, ts: start * 1000, dur: (end - start) * 1000, args });
  let time = 1000;
  kSteps.forEach((base, step) => {
    const own = time + base + (number === slow ? kLate : 0);
    const end = time + base + kLate + kWire;
    range(100 + number, 100 + number, 'user_annotation', `ProfilerStep#${step}`, time, end);
    range(100 + number, 100 + number, 'cuda_runtime', 'cudaLaunchKernel', time - 0.009, time - 0.008, { correlation: 2 * step + 1 });
    range(100 + number, 100 + number, 'cuda_runtime', 'cudaLaunchKernel', time - 0.007, time - 0.006, { correlation: 2 * step + 2 });
    range(number, 7, 'kernel', 'gemm', time, own, { device: number, stream: 7, correlation: 2 * step + 1 });
    range(number, 7, 'kernel', 'ncclDevKernel_AllReduce_Sum_f32', own, end, { device: number, stream: 7, correlation: 2 * step + 2 });
    time = end;
  });
  const path = files.path(`rank${number}.json`);
  writeFileSync(path, JSON.stringify({ distributedInfo: { backend: 'nccl', rank: number, world_size: ranks }, baseTimeNanoseconds: 1_700_000_000_000_000_000, traceEvents: events }));
  return path;
}

test('a row for each rank with its iterations and waits, the straggler marked; opening it shows its tracks', { skip }, async () => {
  const path = files.path('all.kymo');
  const made = spawnSync(kymo, ['merge', ...[0, 1, 2].map((number) => rank(number, 3, 1)), '-o', path], { encoding: 'utf8' });
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
      assert.equal(own.length, kSteps.length);
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
    assert.equal(kernels, kSteps.length); // of this rank only
    await page.mouse.click(60, top + opened[at].top + 10);
    await page.waitForFunction(() => window.kymo.lanes().length === 3);
    // Going to a hit opens its rank.
    await page.keyboard.press('/');
    await page.keyboard.type('gemm');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => window.kymo.lanes().length > 3);
  });
});
