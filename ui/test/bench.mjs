// Measures the page with `kymo view` in chromium, without a GPU. Prints one JSON object, or rows for scripts/bench.
//
//   node test/bench.mjs [--rows] KYMO TRACE [VIEWS]
//
// first_paint_ms      from the start of the process until all visible tracks are drawn, perhaps without names; of five
//                     processes, each with a new page
// first_complete_ms   the same, until everything is final, with all names
// names_cpu_ms        processor time of the server until then
// move_ms             a pan or zoom to a place that was not visible before, until everything is drawn
// wheel_ms            wall time from one frame to the next while the wheel pans and zooms, also where nothing is cached
// frame_script_ms     processor time of the page's JavaScript for a frame with cached tiles
// server_mb           peak memory of the server after all of this
// page_mb             memory of the page's process that is its own
// page_kb             the files of the page as they are sent
// live_ms             from the end of a range of a recorded program until it is drawn; needs the program `bench_served`

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const kFrames = 200;
const kStarts = 5;
const asRows = process.argv[2] === '--rows';
const [kymo, trace, views = '60'] = process.argv.slice(asRows ? 3 : 2);
if (!trace) {
  console.error('bench.mjs: no trace given. Usage: node test/bench.mjs KYMO TRACE [VIEWS]');
  process.exit(2);
}

const browser = await chromium.launch({ executablePath: process.env.KYMO_CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage'] });
const firstPaint = [];
for (let i = 1; i < kStarts; ++i) {
  const opened = await openPage();
  firstPaint.push(opened.paintedAfter);
  await opened.page.close();
  await opened.close();
}
const { page, began, paintedAfter, close, server } = await openPage();
firstPaint.push(paintedAfter);
try {
  await page.waitForFunction(() => window.kymo.complete(), null, { polling: 'raf', timeout: 120_000 });
  const firstComplete = Math.round(performance.now() - began);
  const namesCpu = cpuOf(server);
  const moves = await page.evaluate(measureMoves, Number(views));
  const wheel = await measureWheel();
  const frames = await measureFrames();
  const megabytes = await pageMegabytes();
  const live = await measureLive().catch((error) => console.error(`bench.mjs: live was not measured: ${error}`));
  const result = { first_paint_ms: summary(firstPaint), first_complete_ms: firstComplete, names_cpu_ms: namesCpu, move_ms: summary(moves), wheel_ms: summary(wheel), wheel_frames: wheel.length, ...frames, server_mb: memoryOf(server), page_mb: megabytes, page_kb: pageKilobytes(), live_ms: live && summary(live) };
  if (asRows) printRows(result);
  else console.log(JSON.stringify(result, null, 1));
} finally {
  await browser.close();
  await close();
}

/** A new process of `kymo view` and a new page that shows its first picture. */
async function openPage() {
  const page = await browser.newPage({ viewport: { width: 1920, height: 1080 } });
  const began = performance.now();
  const server = startView(trace);
  const ended = new Promise((resolve) => server.process.once('exit', resolve));
  await page.goto(await server.address, { waitUntil: 'commit' });
  await page.waitForFunction(() => window.kymo?.painted(), null, { polling: 'raf', timeout: 120_000 });
  const paintedAfter = performance.now() - began;
  const close = async () => {
    server.process.kill('SIGINT');
    await ended;
  };
  return { page, began, paintedAfter, close, server: server.process.pid };
}

function startView(path) {
  const process = spawn(kymo, ['view', path, '--no-browser'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const address = new Promise((resolve, reject) => {
    let text = '';
    process.stdout.on('data', (data) => {
      text += data;
      const found = text.match(/http:\/\/\S+/);
      if (found) resolve(found[0]);
    });
    process.once('exit', (status) => reject(new Error(`kymo view ended with ${status}`)));
  });
  address.catch(() => {}); // whoever waits for it gets the error
  return { process, address };
}

/** The table of scripts/bench (bench/report.h). */
function printRows(r) {
  const row = (id, what, measured, target, met, kept = 1) => console.log(['row', id, `kymo view in chromium, ${what}`, measured, target, met ? 'met' : 'missed', kept, 0].join('\t'));
  const both = ({ median, p99 }) => `${median} ms, p99 ${p99} ms`;
  row('page_first', '100 M ranges: first paint of a new process', `${r.first_paint_ms.median} ms, at most ${r.first_paint_ms.p99} ms`, '< 1 s', r.first_paint_ms.median < 1000, kStarts);
  row('page_names', `100 M ranges: names of everything, ${r.first_complete_ms} ms after the start`, `${r.names_cpu_ms} ms of the server's processor time`, '< 3 s', r.names_cpu_ms < 3000);
  row('page_move', '100 M ranges: pan or zoom until complete', both(r.move_ms), '< 50 ms, p99 < 150 ms', r.move_ms.median < 50 && r.move_ms.p99 < 150, Number(views));
  row('page_script', `a frame with ${r.rectangles} rectangles: JavaScript`, both(r.frame_script_ms), 'p99 < 16 ms', r.frame_script_ms.p99 < 16, kFrames);
  row('page_wheel', 'from frame to frame while the wheel pans and zooms', both(r.wheel_ms), 'p99 < 40 ms', r.wheel_ms.p99 < 40, r.wheel_frames);
  row('page_server', '100 M ranges: peak memory of the server', `${r.server_mb} MB`, '< 200 MB', r.server_mb < 200);
  row('page_size', 'the page, compressed', `${r.page_kb} kB`, '<= 80 kB', r.page_kb <= 80);
  row('page_memory', 'memory of the page', `${r.page_mb} MB`, '< 300 MB', r.page_mb < 300);
  if (r.live_ms) row('page_live', 'live: from the end of a range until it is drawn', both(r.live_ms), '< 1 s', r.live_ms.p99 < 1000);
}

/** How old the newest range is when it appears, while a program is recorded. Undefined without that program. */
async function measureLive() {
  const program = join(dirname(kymo), 'bench_served');
  if (!existsSync(program)) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'kymo-live-'));
  const path = join(folder, 'live.kymo');
  const recorder = spawn(kymo, ['record', '-o', path, '--', program, '1', '100000'], { stdio: 'ignore', detached: true });
  const ended = new Promise((resolve) => recorder.once('exit', resolve));
  let viewer;
  try {
    for (const end = Date.now() + 180_000; !existsSync(path) || statSync(path).size === 0; ) {
      if (Date.now() > end) throw new Error(`waited 180 s for the first bytes of ${path}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    viewer = startView(path);
    const live = await browser.newPage({ viewport: { width: 1920, height: 1080 } });
    await live.goto(await viewer.address);
    await live.waitForFunction(() => window.kymo?.painted(), null, { timeout: 120_000 }); // it is never complete for long
    return await live.evaluate(async () => {
      const { files } = await (await fetch('api/trace')).json();
      const zero = Number(BigInt(files[0].wall_clock_ns) / 1000n) / 1000;
      const ages = [];
      let newest = 0;
      for (const end = performance.now() + 10_000; performance.now() < end; ) {
        await new Promise(requestAnimationFrame);
        const last = window.kymo.shapes().reduce((most, s) => (s.row >= 0 ? Math.max(most, s.end) : most), 0);
        if (last > newest && newest > 0) ages.push(performance.timeOrigin + performance.now() - (zero + last / 1e6));
        newest = Math.max(newest, last);
      }
      return ages.length > 0 ? ages : undefined;
    });
  } finally {
    viewer?.process.kill('SIGINT');
    process.kill(-recorder.pid, 'SIGINT');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
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

/** The wheel at the middle of the timeline: in and out, left and right, as fast as a hand. */
async function measureWheel() {
  await page.waitForFunction(() => window.kymo.complete());
  await page.evaluate(() => {
    window.intervals = [];
    let last = performance.now();
    const next = (now) => {
      window.intervals.push(now - last);
      last = now;
      window.counting = requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
  await page.mouse.move(1100, 400);
  const turn = async (x, y, times) => {
    for (let i = 0; i < times; ++i) {
      await page.mouse.wheel(x, y);
      await page.waitForTimeout(8);
    }
  };
  for (let round = 0; round < 3; ++round) {
    await page.keyboard.down('Control');
    await turn(0, -120, 45);
    await page.keyboard.up('Control');
    await turn(120, 0, 60);
    await turn(-120, 0, 30);
    await page.keyboard.down('Control');
    await turn(0, 120, 45);
    await page.keyboard.up('Control');
  }
  return page.evaluate(() => {
    cancelAnimationFrame(window.counting);
    return window.intervals.slice(2); // the first ones began before the wheel
  });
}

async function measureFrames() {
  await page.waitForFunction(() => window.kymo.complete());
  const client = await page.context().newCDPSession(page);
  await client.send('Performance.enable', { timeDomain: 'threadTicks' });
  const scripting = async () => (await client.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'ScriptDuration').value * 1000;
  const script = [];
  const base = await page.evaluate(() => window.kymo.state());
  for (let i = 0; i < kFrames; ++i) {
    const before = await scripting();
    await page.evaluate(async ([from, to, i]) => {
      const length = to - from;
      const shift = length * (0.01 + Math.sin(i / 8) * 0.002);
      window.kymo.show(from + shift, to - length * 0.02 + shift);
      await new Promise(requestAnimationFrame);
      await new Promise(requestAnimationFrame);
    }, [base.from, base.to, i]);
    script.push((await scripting()) - before);
  }
  return { frame_script_ms: summary(script), rectangles: await page.evaluate(() => window.kymo.state().rectangles) };
}

/** The processor time of a process so far, in milliseconds. */
function cpuOf(pid) {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ').slice(11, 13);
  return (Number(user) + Number(system)) * 10; // 100 ticks in a second on Linux
}

function memoryOf(pid) {
  return Math.round((Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmHWM:\s+(\d+)/)[1]) * 1024) / 1e6);
}

function pageKilobytes() {
  const dist = fileURLToPath(new URL('../dist/', import.meta.url));
  return readdirSync(dist).reduce((sum, name) => sum + statSync(join(dist, name)).size, 0) / 1000;
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
