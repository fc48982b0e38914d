// The page in a real browser, with `kymo view`.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, copyFileSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { complete, shape, state } from '../support/browser';
import { binaries, ChromeTrace, json, kymo, notBuilt, view, waitUntil } from '../support/command';
import { files, skip, viewing } from '../support/command_test';

/** A trace of steps, on two threads, with known numbers. */
function steps(path: string, count = 200, slow = 1): string {
  const trace = new ChromeTrace(path);
  trace.thread(1, 'main');
  trace.thread(2, 'loader');
  let time = 0;
  for (let i = 0; i < count; ++i) {
    const begin = time;
    const work = 40_000 + ((i * 7919) % 13) * 1000;
    trace.range(1, 'forward', begin + 1000, begin + 1000 + work, { batch: 32 });
    trace.range(1, 'backward', begin + 2000 + work, begin + 2000 + work + work * 2 * slow);
    time = begin + 3000 + work + work * 2 * slow;
    trace.range(1, `ProfilerStep#${i}`, begin, time);
    trace.range(2, 'read', begin + 500, begin + 20_500);
    time += 2000;
  }
  trace.close();
  return path;
}

/** The number of ranges that are drawn, by name. */
function drawnCounts(page: Page) {
  return page.evaluate(() => {
    const counts: Record<string, number> = {};
    for (const s of window.kymo.shapes()) if (s.row >= 0) counts[s.name] = (counts[s.name] ?? 0) + s.count;
    return counts;
  });
}

/** All ranges, also those across threads, which have a track of their own. */
function allRanges(path: string): number {
  const rows: Array<{ count: number }> = json('stats', path, '--json').rows;
  return rows.reduce((sum, row) => sum + row.count, 0);
}

test('what is drawn agrees with kymo stats: all ranges of the whole trace', { skip }, async () => {
  const path = steps(files.path('steps.json'));
  await viewing([path], async (page) => {
    assert.equal((await state(page)).ranges, allRanges(path));
  });
});

test('what is drawn agrees with kymo stats: names, counts and times of single ranges', { skip }, async () => {
  const path = steps(files.path('few.json'), 12);
  const rows: any[] = json('stats', path, '--json', '--full-text').rows;
  await viewing([path], async (page) => {
    assert.deepEqual(await drawnCounts(page), Object.fromEntries(rows.map((row) => [row.name, row.count])));
    const drawn = await page.evaluate(() => window.kymo.shapes().filter((s) => s.name === 'backward').map((s) => s.end - s.start));
    const row = rows.find((r) => r.name === 'backward');
    assert.ok(Math.abs(drawn.reduce((sum, ns) => sum + ns, 0) - row.total_ns) <= 12);
    assert.ok(Math.abs(Math.max(...drawn) - row.max_ns) <= 1);
  });
});

test('the totals of a selection agree with kymo stats', { skip }, async () => {
  const path = steps(files.path('total.json'));
  const rows: any[] = json('stats', path, '--json').rows;
  for (const key of ['v', '2']) await viewing([path], async (page) => { // what is visible, selected and not
    await page.keyboard.press(key);
    await page.locator('td', { hasText: 'backward' }).waitFor();
    for (const row of rows.filter((r) => ['forward', 'backward', 'read'].includes(r.name))) {
      const cells = await page.locator('tr', { has: page.locator('td', { hasText: row.name }) }).first().locator('td').allInnerTexts();
      assert.equal(cells[1].replaceAll(',', ''), String(row.count), row.name);
    }
    await page.keyboard.press('3');
    await page.locator('.flame button[title^="backward"]').first().waitFor();
  });
});

test('details, search and zoom', { skip }, async () => {
  const path = steps(files.path('search.json'));
  await viewing([path], async (page) => {
    await page.keyboard.press('/');
    await page.keyboard.type('ProfilerStep#150');
    await page.keyboard.press('Enter');
    await page.locator('.searchbox .hits', { hasText: '1 of 1' }).waitFor();
    await page.locator('.panel h2', { hasText: 'ProfilerStep#150' }).waitFor();
    await complete(page);
    const now = await state(page);
    const hit = await shape(page, 'ProfilerStep#150');
    assert.ok(hit.start >= now.from && hit.end <= now.to);
    const inner = await shape(page, 'forward');
    await page.mouse.click(inner.middle.x, inner.middle.y);
    await page.locator('.panel dl', { hasText: 'batch' }).waitFor();
    await page.keyboard.press('Escape'); // ends the search
    await page.keyboard.press('u');
    await page.locator('.panel h2', { hasText: 'ProfilerStep#' }).waitFor();
  });
});

test('a recorded program: all its ranges, and its report', { skip: skip || notBuilt('kymo_denoise') }, async (context) => {
  const path = files.path('denoise.kymo');
  // Without samples: kymo stats does not count their functions as ranges.
  const made = spawnSync(kymo, ['record', '--no-sample', '-o', path, '--', join(binaries, 'kymo_denoise')], { encoding: 'utf8' });
  if (made.status !== 0 || !existsSync(path)) return context.skip(`kymo_denoise does not run here: ${made.stderr.trim().split('\n').at(-1)}`);
  await viewing([path], async (page) => {
    await page.waitForFunction((all) => window.kymo.state().ranges === all, allRanges(path)); // those across threads come later
    await page.keyboard.press('4');
    await page.locator('.panel', { hasText: 'Findings' }).waitFor();
    await page.keyboard.press('5');
    await page.locator('.panel .legend').waitFor();
    await page.keyboard.press('6');
    await page.locator('.panel', { hasText: /Over time|No allocations/ }).waitFor();
  });
});

test('names with markup are text', { skip }, async () => {
  const path = files.path('markup.json');
  const name = '<img src=x onerror=window.harmed=1>';
  const trace = new ChromeTrace(path);
  trace.thread(1, '<b onmouseover="window.harmed=1">thread</b>');
  trace.range(1, name, 0, 1000, { '<script>window.harmed=1</script>': '"><svg onload=window.harmed=1>' });
  trace.close();
  await viewing([path], async (page) => {
    const range = await shape(page, name);
    await page.mouse.click(range.middle.x, range.middle.y);
    await page.locator('.panel h2', { hasText: '<img' }).waitFor();
    await page.keyboard.press('o');
    await page.locator('.links.hits', { hasText: '<img' }).waitFor();
    await page.keyboard.press('v');
    await page.locator('td', { hasText: '<img' }).waitFor();
    assert.equal(await page.evaluate(() => window.harmed), undefined);
    assert.equal(await page.evaluate(() => document.querySelectorAll('img, iframe, svg, script:not([src])').length), 0);
  });
});

test('memory: bytes over time, and what is alive at the pointer', { skip }, async () => {
  const path = files.path('memory.json');
  const trace = new ChromeTrace(path);
  const change = (time: number, address: number, bytes: number) =>
    trace.event({ ph: 'i', s: 't', pid: 1, tid: 1, name: '[memory]', ts: time / 1000, args: { 'Device Type': 1, 'Device Id': 0, Addr: address, Bytes: bytes } });
  trace.range(1, 'forward', 0, 100_000);
  change(10_000, 256, 3 << 20);
  change(20_000, 512, 5 << 20);
  change(60_000, 256, -(3 << 20));
  trace.close();
  await viewing([path], async (page) => {
    await page.waitForFunction(() => window.kymo.lanes().some((lane) => lane.name === 'cuda:0'));
    await page.keyboard.press('6');
    const alive = async (time: number) => {
      const { from, to } = await state(page);
      const left = await page.evaluate(() => window.kymo.left());
      await page.mouse.move(left + ((time - from) / (to - from)) * (1400 - left), 200);
      await page.keyboard.press('i');
    };
    await alive(40_000);
    await page.locator('.alive', { hasText: '8.4 MB alive' }).waitFor();
    await page.locator('.panel td', { hasText: 'forward' }).waitFor();
    await alive(80_000);
    await page.locator('.alive', { hasText: '5.2 MB alive' }).waitFor();
  });
});

test('a range across threads is one range from its begin to its end', { skip }, async () => {
  const path = files.path('across.json');
  const trace = new ChromeTrace(path);
  trace.range(1, 'loop', 0, 100_000);
  trace.range(2, 'loop', 0, 100_000);
  for (let i = 0; i < 4; ++i) {
    trace.event({ ph: 'b', cat: 'test', pid: 1, tid: 1, id: String(i), name: 'request', ts: i * 10 });
    trace.event({ ph: 'e', cat: 'test', pid: 1, tid: 2, id: String(i), name: 'request', ts: i * 10 + 25 });
  }
  trace.close();
  await viewing([path], async (page) => {
    await page.waitForFunction(() => window.kymo.lanes().some((lane) => lane.name === 'across threads'));
    await complete(page);
    const shapes = await page.evaluate(() => window.kymo.shapes().filter((s) => s.name === 'request' && s.row >= 0));
    assert.equal(shapes.length, 4);
    for (const one of shapes) assert.ok(Math.abs(one.end - one.start - 25_000) <= 1);
    assert.equal(new Set(shapes.map((s) => s.row)).size, 3); // at most three overlap
    const range = await shape(page, 'request');
    await page.mouse.click(range.middle.x, range.middle.y);
    await page.locator('.panel dl', { hasText: 'Ends on' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('request');
    await page.keyboard.press('Enter');
    await page.locator('.searchbox .hits', { hasText: '1 of 4' }).waitFor();
  });
});

test('10,000 tracks', { skip }, async () => {
  const path = files.path('tracks.json');
  const trace = new ChromeTrace(path);
  for (let tid = 1; tid <= 10_000; ++tid) {
    trace.thread(tid, `worker ${tid}`);
    trace.range(tid, 'task', tid * 10, tid * 10 + 100_000);
  }
  trace.close();
  await viewing([path], async (page) => {
    for (let i = 0; i < 20; ++i) await page.keyboard.press('PageDown');
    await complete(page);
    assert.ok((await page.evaluate(() => window.kymo.shapes().length)) >= 10);
    await page.keyboard.press('t');
    await page.keyboard.type('worker 9876');
    await page.waitForFunction(() => window.kymo.state().tracks === 1);
    await complete(page);
    assert.deepEqual(await drawnCounts(page), { task: 1 });
  });
});

test('a million counter values', { skip }, async () => {
  const path = files.path('values.json');
  const trace = new ChromeTrace(path);
  for (let i = 0; i < 1_000_000; ++i) trace.counter('power', i * 1000, i === 500_000 ? 9000 : 300 + (i % 50));
  trace.close();
  await viewing([path], async (page) => {
    await page.waitForFunction(() => window.kymo.lanes().some((lane) => lane.name.includes('power')));
    await complete(page);
    await page.keyboard.press('v');
    await page.locator('td', { hasText: '9000' }).first().waitFor(); // the largest value
  });
});

test('a range of a year beside a million of a nanosecond', { skip }, async () => {
  const path = files.path('year.json');
  const trace = new ChromeTrace(path);
  const year = 365 * 86400e9;
  trace.range(1, 'a year', 0, year);
  for (let i = 0; i < 1_000_000; ++i) trace.range(2, 'tick', i * 2, i * 2 + 1);
  trace.close();
  await viewing([path], async (page) => {
    assert.deepEqual(await drawnCounts(page), { 'a year': 1, tick: 1_000_000 });
    await page.evaluate(() => window.kymo.show(1_000_000, 1_000_100));
    await complete(page);
    const ticks = (await page.evaluate(() => window.kymo.shapes())).filter((s) => s.name === 'tick');
    assert.equal(ticks.length, 50);
    assert.ok(ticks.every((tick) => tick.end - tick.start === 1));
    await page.evaluate((at) => window.kymo.show(at - 1e4, at), year);
    await complete(page);
    assert.deepEqual(await drawnCounts(page), { 'a year': 1 });
  });
});

test('two traces are compared', { skip }, async () => {
  const first = steps(files.path('before.json'), 40);
  const second = steps(files.path('after.json'), 40, 1.5);
  await viewing([first, second], async (page) => {
    await page.keyboard.press('7');
    await page.locator('.panel td', { hasText: 'backward' }).first().waitFor();
    assert.match(await page.locator('.panel .summary', { hasText: 'An iteration takes' }).innerText(), /slower/);
    const colour = (name: string) => page.evaluate((n) => window.kymo.shapes().find((s) => s.name === n)?.colour, name);
    await complete(page);
    assert.notEqual(await colour('backward'), await colour('forward'));
    await page.getByRole('button', { name: 'Align by start' }).waitFor(); // they are aligned by iteration
  });
});

test('a damaged file is shown as far as it can be read, with a warning', { skip }, async () => {
  const path = files.path('whole.kymo');
  const made = spawnSync(kymo, ['import', steps(files.path('import.json'), 3000), '-o', path], { encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  const bytes = readFileSync(path);
  bytes.fill(0x5a, Math.floor(bytes.length / 2), Math.floor(bytes.length / 2) + 200);
  const damaged = files.path('damaged.kymo');
  writeFileSync(damaged, bytes);
  await viewing([damaged], async (page) => {
    await page.locator('.toolbar .warning').waitFor();
  });
});

test('a file that is cut or deleted while it is shown: a clear message', { skip }, async () => {
  const path = files.path('cut.kymo');
  const made = spawnSync(kymo, ['import', steps(files.path('cut.json'), 3000), '-o', path], { encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  await viewing([path], async (page) => {
    truncateSync(path, 1000);
    await page.getByRole('alert').getByText('became shorter').waitFor();
    rmSync(path);
    await page.getByRole('alert').getByText('cannot be read any more').waitFor();
    assert.ok((await state(page)).ranges > 0); // what was read is still shown
  }, { mayFail: true });
});

test('a file that is replaced or overwritten while it is shown', { skip }, async () => {
  const made = (name: string, count: number) => {
    const path = files.path(`${name}.kymo`);
    assert.equal(spawnSync(kymo, ['import', steps(files.path(`${name}.json`), count), '-o', path]).status, 0);
    return path;
  };
  const path = made('shown', 30);
  const other = made('other', 70);
  const ask = (page: Page, request: string) => page.evaluate(async (what) => {
    const response = await fetch(`api/${what}`);
    return { status: response.status, answer: await response.json() };
  }, request);
  await viewing([path], async (page) => {
    const selection = `selection?from=0&to=${Number.MAX_SAFE_INTEGER}`;
    const before = [await ask(page, 'report?file=0'), await ask(page, selection)];
    assert.equal(before[1].status, 200);
    copyFileSync(other, files.path('moved.kymo'));
    renameSync(files.path('moved.kymo'), path);
    await page.getByRole('alert').getByText('was replaced by another file: what was in it before is still shown').waitFor();
    assert.deepEqual([await ask(page, 'report?file=0'), await ask(page, selection)], before);
  }, { mayFail: true });
  writeFileSync(path, readFileSync(made('again', 30)));
  await viewing([path], async (page) => {
    writeFileSync(path, readFileSync(other)); // the same file, with longer content
    await page.getByRole('alert').getByText('was overwritten with other content').waitFor();
    for (const request of ['report?file=0', 'idle?file=0', 'selection?from=0&to=1000']) {
      const { status, answer } = await ask(page, request);
      assert.equal(status, 500);
      assert.match(answer.error, /was overwritten with other content: run kymo view again/);
    }
  }, { mayFail: true });
});

test('a folder with traces of other tools: all of them are shown', { skip }, async () => {
  mkdirSync(files.path('tools'));
  steps(files.path('tools/chrome.json'), 20);
  writeFileSync(files.path('tools/notes.txt'), 'these are my notes');
  assert.equal(spawnSync(kymo, ['import', files.path('tools/chrome.json'), '-o', files.path('tools/own.kymo')]).status, 0);
  await viewing([files.path('tools')], async (page) => {
    await page.locator('.toolbar .file', { hasText: 'chrome.json, own.kymo' }).waitFor();
  });
});

test('a folder with a file that is no trace: the others are shown, and it is named', { skip }, async () => {
  mkdirSync(files.path('mixed'));
  const made = spawnSync(kymo, ['import', steps(files.path('mixed.json'), 20), '-o', files.path('mixed/good.kymo')], { encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  writeFileSync(files.path('mixed/bad.kymo'), 'this is text');
  await viewing([files.path('mixed')], async (page) => {
    assert.match((await page.locator('.toolbar .warning').getAttribute('title')) ?? '', /left out: .*bad\.kymo is not a Kymo trace/);
    assert.ok((await state(page)).ranges > 0);
  });
});

test('a server that disappears: a clear message, until the same one is back', { skip }, async () => {
  const path = steps(files.path('gone.json'));
  const cache = { KYMO_CACHE_DIR: files.path('cache') };
  await viewing([path], async (page, server) => {
    const alert = page.getByRole('alert');
    const gone = async () => {
      for (let i = 0; i < 6; ++i) await page.keyboard.press('w');
      await alert.getByText('No answer from kymo view').waitFor();
    };
    const port = ['--port', String(server.port)];
    await server.kill('SIGKILL');
    await gone();
    const again = await view([path], port, cache);
    try {
      assert.equal(again.address, server.address);
      await alert.waitFor({ state: 'detached' });
    } finally {
      await again.kill('SIGKILL');
    }
    await gone();
    const other = await view([path], port, { KYMO_CACHE_DIR: files.path('cache of another user') });
    try {
      await alert.getByText('Run kymo view again').waitFor();
    } finally {
      await other.kill();
    }
  }, { mayFail: true, environment: cache });
});

test('a trace is followed while it is recorded', { skip: skip || notBuilt('annotates') }, async (context) => {
  const path = files.path('live.kymo');
  const more = files.path('more');
  spawnSync('mkfifo', [more]);
  const go = openSync(more, 'r+'); // does not wait for a reader
  const annotates = `${join(binaries, 'annotates')} >/dev/null`;
  const program = `${annotates}; read -r < ${more}; for i in $(seq 20); do ${annotates}; done; read -r < ${more}`;
  const recorder = spawn(kymo, ['record', '-o', path, '--', 'bash', '-c', program], { stdio: 'ignore', detached: true });
  const ended = new Promise((resolve) => recorder.once('exit', resolve));
  try {
    await waitUntil('the first bytes of the trace', () => recorder.exitCode !== null || (existsSync(path) && statSync(path).size > 0));
    if (recorder.exitCode !== null) return context.skip('kymo record does not run here');
    await viewing([path], async (page) => {
      const { to } = await state(page);
      writeSync(go, '\n');
      await page.waitForFunction((old) => window.kymo.state().to > old && window.kymo.state().ranges > 0, to);
      assert.equal((await state(page)).from, 0);
    }, { arguments: ['--live'] });
  } finally {
    // The recorder and its program. SIGINT would not end a bash that waits for a program which just ended.
    if (recorder.exitCode === null) process.kill(-recorder.pid!, 'SIGTERM');
    await ended;
    closeSync(go);
  }
});
