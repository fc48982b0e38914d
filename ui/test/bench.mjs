// Measures the page with `kymo view` in chromium, without a GPU. Prints one JSON object.
//
//   node test/bench.mjs KYMO TRACE [VIEWS]
//
// first_paint_ms      from the start of the process until all visible tracks are drawn, perhaps without names
// first_complete_ms   the same, until everything is final
// move_ms             a pan or zoom to a place that was not visible before, until everything is drawn
// frame_script_ms     processor time of the page's JavaScript for a frame with cached tiles
// frame_thread_ms     the same with painting by the page's thread
// frame_wall_ms       wall time from one frame to the next while panning
// page_mb             memory of the page's process that is its own

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chromium } from 'playwright-core';

const kFrames = 200;
const [kymo, trace, views = '60'] = process.argv.slice(2);
if (!trace) {
  console.error('bench.mjs: no trace given. Usage: node test/bench.mjs KYMO TRACE [VIEWS]');
  process.exit(2);
}

const browser = await chromium.launch({ executablePath: process.env.KYMO_CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage'] });
const page = await browser.newPage({ viewport: { width: 1920, height: 1080 } });
const began = performance.now();
const server = spawn(kymo, ['view', trace, '--no-browser'], { stdio: ['ignore', 'pipe', 'inherit'] });
try {
  const address = await new Promise((resolve, reject) => {
    let text = '';
    server.stdout.on('data', (data) => {
      text += data;
      const found = text.match(/http:\/\/\S+/);
      if (found) resolve(found[0]);
    });
    server.once('exit', (status) => reject(new Error(`kymo view ended with ${status}`)));
  });
  await page.goto(address, { waitUntil: 'commit' });
  const until = async (condition) => {
    await page.waitForFunction(condition, null, { polling: 'raf', timeout: 120_000 });
    return Math.round(performance.now() - began);
  };
  const firstPaint = await until(() => window.kymo?.painted());
  const firstComplete = await until(() => window.kymo.complete());
  await page.waitForTimeout(1500); // the page has measured its backends
  const moves = await page.evaluate(measureMoves, Number(views));
  const frames = await measureFrames();
  console.log(JSON.stringify({ first_paint_ms: firstPaint, first_complete_ms: firstComplete, move_ms: summary(moves), ...frames, page_mb: await pageMegabytes(), backend: await page.evaluate(() => window.kymo.state().backend) }, null, 1));
} finally {
  await browser.close();
  server.kill('SIGINT');
}

/** Runs in the page: random places at random zoom levels, each until it is complete. */
async function measureMoves(count) {
  const whole = window.kymo.state();
  const length = whole.to - whole.from;
  let random = 12345;
  const next = () => (random = (Math.imul(random, 1103515245) + 12345) >>> 0) / 2 ** 32;
  const times = [];
  for (let i = 0; i < count; ++i) {
    const span = length * 10 ** (-5 * next());
    const from = whole.from + next() * (length - span);
    const start = performance.now();
    window.kymo.show(from, from + span);
    do await new Promise(requestAnimationFrame);
    while (!window.kymo.complete() && performance.now() - start < 10_000);
    times.push(performance.now() - start);
  }
  window.kymo.show(whole.from, whole.to);
  return times;
}

async function measureFrames() {
  await page.waitForFunction(() => window.kymo.complete());
  const client = await page.context().newCDPSession(page);
  await client.send('Performance.enable', { timeDomain: 'threadTicks' });
  const metrics = async () => Object.fromEntries((await client.send('Performance.getMetrics')).metrics.map(({ name, value }) => [name, value * 1000]));
  const script = [];
  const thread = [];
  const wall = [];
  const base = await page.evaluate(() => window.kymo.state());
  for (let i = 0; i < kFrames; ++i) {
    const before = await metrics();
    wall.push(await page.evaluate(async ([from, to, i]) => {
      const length = to - from;
      const shift = length * (0.01 + Math.sin(i / 8) * 0.002);
      await new Promise(requestAnimationFrame);
      const start = performance.now();
      window.kymo.show(from + shift, to - length * 0.02 + shift);
      await new Promise(requestAnimationFrame);
      await new Promise(requestAnimationFrame);
      return (performance.now() - start) / 2;
    }, [base.from, base.to, i]));
    const after = await metrics();
    script.push(after.ScriptDuration - before.ScriptDuration);
    thread.push(after.TaskDuration - before.TaskDuration);
  }
  return { frame_script_ms: summary(script), frame_thread_ms: summary(thread), frame_wall_ms: summary(wall), rectangles: await page.evaluate(() => window.kymo.state().rectangles) };
}

/** The private memory of the largest renderer process. */
async function pageMegabytes() {
  const client = await browser.newBrowserCDPSession();
  const { processInfo } = await client.send('SystemInfo.getProcessInfo');
  const sizes = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => Number(readFileSync(`/proc/${id}/status`, 'utf8').match(/RssAnon:\s+(\d+)/)?.[1] ?? 0) / 1024);
  return Math.round(Math.max(0, ...sizes));
}

function summary(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share) => Number(sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)].toFixed(1));
  return { median: at(0.5), p99: at(0.99) };
}
