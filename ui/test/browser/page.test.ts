// The page in a real browser, with the stand-in server.

import assert from 'node:assert/strict';
import { complete, open, pixel, shape, stageTop, state } from '../support/browser';
import { pageFolder, pageTest, sameBrowser } from '../support/page_test';
import { serve } from '../support/server';
import { manyTracks, manyValues, markup, pair, training, year } from '../support/traces';

pageTest('open: all ranges are drawn, with two requests for tiles', () => training(8), async (page, _, engine) => {
  const view = await state(page);
  assert.equal(view.ranges, engine.tracks.reduce((sum, track) => sum + track.start.length, 0));
  assert.ok(view.tileRequests <= 2, `${view.tileRequests} requests`);
  assert.ok(view.from <= 0 && view.to >= engine.duration);
  assert.match(await page.title(), /train\.kymo/);
});

pageTest('the wheel zooms at the pointer, with ctrl or as chosen', () => training(8), async (page) => {
  await page.keyboard.press('Shift+W');
  const found = await shape(page, 'step 3');
  const target = { middle: { x: Math.round(found.middle.x), y: Math.round(found.middle.y) } }; // wheel events have whole pixels
  const left = await page.evaluate(() => window.kymo.left());
  const whole = await state(page);
  const time = whole.from + ((target.middle.x - left) / (1400 - left)) * (whole.to - whole.from);
  await page.mouse.move(target.middle.x, target.middle.y);
  for (let i = 0; i < 8; ++i) await page.mouse.wheel(0, -200);
  await complete(page);
  const view = await state(page);
  const x = left + ((time - view.from) / (view.to - view.from)) * (1400 - left);
  assert.ok(Math.abs(x - target.middle.x) < 2, `${x} instead of ${target.middle.x}`);
  assert.ok(view.to - view.from < 1e6);
  await page.mouse.wheel(300, 0);
  await complete(page);
  assert.ok((await state(page)).from > view.from);
});

pageTest('one pan needs one request', () => training(200), async (page, _, engine) => {
  await page.evaluate((d) => window.kymo.show(d * 0.3, d * 0.32), engine.duration);
  await complete(page);
  const before = (await state(page)).tileRequests;
  await page.keyboard.press('Shift+D');
  await complete(page);
  assert.ok((await state(page)).tileRequests - before <= 1);
});

pageTest('keys move and zoom', () => training(8), async (page) => {
  const whole = await state(page);
  await page.keyboard.press('w');
  await page.keyboard.press('w');
  const closer = await state(page);
  assert.ok(closer.to - closer.from < (whole.to - whole.from) * 0.7);
  await page.keyboard.press('d');
  await page.keyboard.press('ArrowRight');
  assert.ok((await state(page)).from > closer.from);
  await page.keyboard.press('a');
  await page.keyboard.press('s');
  await page.keyboard.press('0');
  const again = await state(page);
  assert.ok(again.from <= 0 && again.to >= whole.to - 1);
});

pageTest('click shows details, and what launched a kernel', () => training(3), async (page) => {
  await page.evaluate(() => window.kymo.show(200_000, 330_000));
  await complete(page);
  const kernel = await shape(page, 'gemm_bf16_128x256');
  await page.mouse.click(kernel.middle.x, kernel.middle.y);
  const panel = page.locator('.panel');
  await panel.getByText('Launched by').waitFor();
  assert.match(await panel.innerText(), /gemm_bf16_128x256[^]*grid[^]*128 × 8 × 1[^]*cudaLaunchKernel/);
  await page.keyboard.press('g');
  await panel.getByText('Launched', { exact: true }).waitFor();
  assert.match(await panel.innerText(), /torch::nn::Linear::forward/);
  await page.keyboard.press('u');
  await panel.locator('h2', { hasText: 'aten::linear' }).waitFor();
});

pageTest('search marks all hits and goes from one to the next', () => training(8), async (page, _, engine) => {
  await page.keyboard.press('/');
  await page.keyboard.type('optimizer');
  await page.keyboard.press('Enter');
  await page.locator('.searchbox .hits', { hasText: `1 of ${8}` }).waitFor();
  await complete(page);
  const colours = await page.evaluate(() => window.kymo.shapes().map((s) => [s.name, s.colour] as const));
  const hit = colours.find(([name]) => name === 'optimizer step')![1];
  for (const [name, colour] of colours) assert.equal(colour === hit, name === 'optimizer step', name);
  await page.keyboard.press('Escape'); // leaves the text field
  await page.keyboard.press('n');
  await page.waitForFunction(() => window.kymo.state().hit === 1);
  await page.keyboard.press('Shift+N');
  await page.waitForFunction(() => window.kymo.state().hit === 0);
  await page.keyboard.press('Escape');
  assert.equal((await state(page)).search, '');
  await page.keyboard.press('/');
  await page.keyboard.type('step 5');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => window.kymo.state().hit === 0);
  const at = engine.tracks[0].names.findIndex((name) => engine.names[name] === 'step 5');
  assert.equal((await state(page)).event?.index, at);
});

pageTest('drag measures, with totals by name', () => training(8), async (page, _, engine) => {
  const from = await shape(page, 'step 2');
  const top = await stageTop(page);
  await page.mouse.move(from.x, top + from.y + 6);
  await page.mouse.down();
  await page.mouse.move(from.x + 200, top + from.y + 8);
  await page.mouse.move(from.x + 420, top + from.y + 10);
  await page.mouse.up();
  await page.locator('td', { hasText: 'forward' }).waitFor();
  const { selection } = await state(page);
  assert.deepEqual(selection!.tracks, [engine.tracks[0].id]);
  const pixels = 420 / (1400 - (await page.evaluate(() => window.kymo.left())));
  const view = await state(page);
  assert.ok(Math.abs(selection!.to - selection!.from - pixels * (view.to - view.from)) < (view.to - view.from) / 500);
  await page.keyboard.press('3');
  await page.locator('.flame button', { hasText: 'main' }).waitFor();
  await page.keyboard.press('f');
  assert.ok((await state(page)).to - (await state(page)).from < (view.to - view.from) / 2);
});

pageTest('a colour of the program is drawn, and a shortened text does not paint its track', () => {
  const engine = training(4);
  engine.colours.set('backward', 0xff0000);
  engine.losses = [{ file: 0, process: 0, track: engine.tracks[0].id, cause: 'text_truncated', text: 'text in part', count: 30, from_ns: 0, to_ns: engine.duration }];
  return engine;
}, async (page) => {
  const range = await shape(page, 'backward');
  assert.ok(range.colour > 40);
  const [r, g, b] = await pixel(page, range.middle.x + range.width / 2 - 6, range.middle.y + 5);
  assert.ok(r > g + 60 && r > b + 60, `${r} ${g} ${b}`);
  const lane = (await page.evaluate(() => window.kymo.lanes())).find((one) => one.name === 'main')!;
  const left = await page.evaluate(() => window.kymo.left());
  const [er, eg, eb] = await pixel(page, left + 2, (await stageTop(page)) + lane.top + lane.height - 5);
  assert.ok(Math.abs(er - eg) < 12 && Math.abs(er - eb) < 12, `${er} ${eg} ${eb} is painted`);
  assert.equal(await page.locator('.toolbar .warning').innerText(), '30 incomplete');
});

pageTest('tracks collapse, pin, move and filter', () => training(4), async (page) => {
  const lanes = () => page.evaluate(() => window.kymo.lanes());
  const main = (await lanes()).find((lane) => lane.name === 'main')!;
  const top = await stageTop(page);
  await page.mouse.click(60, top + main.top + 8);
  const isCollapsed = (wanted: boolean) => page.waitForFunction((w) => window.kymo.lanes().find((lane) => lane.name === 'main')?.collapsed === w, wanted);
  await isCollapsed(true);
  await page.mouse.move(600, top + main.top + 8);
  await page.keyboard.press('c');
  await isCollapsed(false);
  await page.keyboard.press('Alt+ArrowDown');
  await page.waitForFunction(() => window.kymo.lanes().find((lane) => /main|loader/.test(lane.name))!.name === 'data loader');
  await page.keyboard.press('p');
  await page.waitForFunction(() => window.kymo.lanes()[0].pinned);
  await page.keyboard.press('t');
  await page.keyboard.type('stream');
  await page.waitForFunction(() => window.kymo.state().tracks === 3); // two, and the pinned one
});

pageTest('a track is moved by dragging its name', () => training(4), async (page) => {
  const lane = (await page.evaluate(() => window.kymo.lanes())).find((l) => l.name === 'stream 7')!;
  const y = (await stageTop(page)) + lane.top + 10;
  await page.mouse.move(80, y);
  await page.mouse.down();
  await page.mouse.move(80, y + 15);
  await page.mouse.move(80, y + 30);
  await page.mouse.up();
  await page.waitForFunction(() => window.kymo.lanes().findIndex((l) => l.name === 'stream 7') > window.kymo.lanes().findIndex((l) => l.name.startsWith('stream 13')));
  assert.ok(!(await page.evaluate(() => window.kymo.lanes().find((l) => l.name === 'stream 7')!.collapsed))); // a drag is not a click
});

pageTest('one finger pans, two fingers zoom, a tap selects', () => training(8), async (page) => {
  const client = await page.context().newCDPSession(page);
  const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...points: Array<[number, number]>) =>
    client.send('Input.dispatchTouchEvent', { type, touchPoints: points.map(([x, y], id) => ({ x, y, id })) });
  const whole = await state(page);
  await touch('touchStart', [600, 300]);
  await touch('touchStart', [600, 300], [800, 300]);
  for (const d of [20, 60, 120, 200]) await touch('touchMove', [600 - d, 300], [800 + d, 300]);
  await touch('touchEnd');
  await complete(page);
  const closer = await state(page);
  assert.ok(Math.abs((whole.to - whole.from) / (closer.to - closer.from) - 3) < 0.2, `${closer.to - closer.from}`);
  await touch('touchStart', [700, 300]);
  for (const x of [680, 600, 500]) await touch('touchMove', [x, 300]);
  await touch('touchEnd');
  await complete(page);
  assert.ok((await state(page)).from > closer.from);
  const target = await shape(page, 'optimizer step');
  await page.touchscreen.tap(target.middle.x, target.middle.y);
  await page.locator('.panel h2', { hasText: 'optimizer step' }).waitFor();
}, { hasTouch: true });

pageTest('the URL is a bookmark', () => training(8), async (page, server) => {
  await page.evaluate(() => window.kymo.show(500_000, 900_000));
  await complete(page);
  const kernel = await shape(page, 'cudaStreamSynchronize');
  await page.mouse.click(kernel.middle.x, kernel.middle.y);
  await page.keyboard.press('p');
  await page.keyboard.press('l');
  await page.waitForFunction(() => location.hash.includes('theme=dark') && location.hash.includes('e='));
  const view = await state(page);
  const copy = await open(sameBrowser(), page.url());
  const other = await state(copy);
  assert.ok(Math.abs(other.from - view.from) < 1 && Math.abs(other.to - view.to) < 1);
  assert.deepEqual([other.event, other.pinned, other.theme, other.tab], [view.event, view.pinned, 'dark', 'details']);
  await copy.close();
  void server;
});

pageTest('names with markup are text everywhere', markup, async (page) => {
  const first = await shape(page, '<img src=x onerror=window.harmed=1>');
  await page.mouse.click(first.middle.x, first.middle.y);
  await page.locator('.panel h2', { hasText: '<img src=x' }).waitFor();
  await page.keyboard.press('o');
  await page.locator('.links.hits').waitFor();
  await page.keyboard.press('v');
  await page.locator('td', { hasText: '<img src=x' }).waitFor();
  for (const key of ['3', '4', '5', '6', '7']) {
    await page.keyboard.press(key);
    await page.waitForTimeout(50);
  }
  assert.equal(await page.evaluate(() => window.harmed), undefined);
  assert.equal(await page.evaluate(() => document.querySelectorAll('img, iframe, svg, script:not([src])').length), 0);
});

pageTest('a server that disappears: a clear message, and the page works again when it is back', () => training(8), async (page, server, engine) => {
  await server.stop();
  await page.keyboard.press('w');
  await page.keyboard.press('w');
  await page.keyboard.press('w');
  await page.getByRole('alert').getByText('No answer from kymo view').waitFor();
  assert.ok((await page.evaluate(() => window.kymo.shapes().length)) > 0); // what was read is still there
  const back = await serve(engine, pageFolder(), server.port);
  try {
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await complete(page);
  } finally {
    await back.stop();
  }
}, { mayFail: true });

pageTest('10,000 tracks', () => manyTracks(), async (page) => {
  const view = await state(page);
  assert.ok(view.tracks < 60);
  for (let i = 0; i < 30; ++i) await page.keyboard.press('PageDown');
  await complete(page);
  const lane = await page.evaluate(() => window.kymo.lanes().at(-2)!.name);
  assert.match(lane, /worker/);
  assert.ok((await page.evaluate(() => window.kymo.shapes().length)) > 50);
  await page.keyboard.press('t');
  await page.keyboard.type('worker 9999');
  await page.waitForFunction(() => window.kymo.state().tracks === 1);
  await complete(page);
  assert.deepEqual(await page.evaluate(() => window.kymo.shapes().map((s) => s.name)), ['task 0', 'task 1', 'task 2', 'task 3', 'task 4']);
});

pageTest('a million counter values, and the one that is different', () => manyValues(), async (page) => {
  const lane = (await page.evaluate(() => window.kymo.lanes())).find((l) => l.name === 'power')!;
  const left = await page.evaluate(() => window.kymo.left());
  const y = (await stageTop(page)) + lane.top + 9; // near the top: only the largest value is so high
  const x = left + (1400 - left) / 2;
  const line: number[] = [];
  for (let dx = -3; dx <= 3; ++dx) {
    const [r, g, b] = await pixel(page, x + dx, y);
    line.push(r + g + b);
  }
  assert.ok(Math.min(...line) < 600, `${line}`);
  assert.ok(Math.max(...line) > 700, `${line}`);
});

pageTest('a range of a year beside a million of a nanosecond', () => year(), async (page) => {
  await page.keyboard.press('Shift+W'); // the wheel zooms
  await complete(page);
  const whole = await page.evaluate(() => window.kymo.shapes());
  assert.equal(whole.filter((s) => s.name === 'a year').length, 1);
  assert.equal(whole.filter((s) => s.name === 'tick').reduce((sum, s) => sum + s.count, 0), 1_000_000);
  const tick = whole.find((s) => s.name === 'tick')!;
  await page.mouse.move(tick.x + 0.5, (await stageTop(page)) + tick.y + 5);
  for (let i = 0; i < 200; ++i) await page.mouse.wheel(0, -240);
  await complete(page);
  await page.evaluate(() => window.kymo.show(1_000_000, 1_000_100));
  await complete(page);
  const close = (await page.evaluate(() => window.kymo.shapes())).filter((s) => s.name === 'tick');
  assert.equal(close.length, 50);
  assert.ok(close.every((s) => s.count === 1 && s.end - s.start === 1));
  const end = 365 * 86400e9;
  await page.evaluate((at) => window.kymo.show(at - 1e4, at), end);
  await complete(page);
  assert.equal((await page.evaluate(() => window.kymo.shapes())).filter((s) => s.name === 'a year').length, 1);
});

pageTest('two traces are compared in the colours of the difference', pair, async (page) => {
  await page.locator('#filter').fill('-memory'); // so that both fit on the screen
  await page.locator('#filter').blur();
  await page.keyboard.press('7');
  await page.locator('td', { hasText: 'flash_attention_fwd' }).waitFor();
  const of = (name: string) => page.evaluate((n) => [...new Set(window.kymo.shapes().filter((s) => s.name === n).map((s) => s.colour))], name);
  const [slower, faster, same] = [await of('flash_attention_fwd'), await of('optimizer step'), await of('forward')];
  assert.equal(new Set([slower[0], faster[0], same[0]]).size, 3);
  // How far the two ranges with this name are from each other on the screen.
  const distances = () => page.evaluate(() => [3, 4, 5, 6, 7, 8].map((step) => {
    const [a, b] = window.kymo.shapes().filter((s) => s.name === `step ${step}`);
    return Math.abs(a.x - b.x);
  }));
  // They are aligned by iteration at first.
  await page.getByRole('button', { name: 'Align by start' }).waitFor();
  await complete(page);
  assert.ok(Math.min(...(await distances())) < 1);
  await page.getByRole('button', { name: 'Align by start' }).click();
  await complete(page);
  assert.ok(Math.min(...(await distances())) > 5);
  await page.getByRole('button', { name: 'Align by iteration' }).click();
  await page.getByRole('button', { name: 'Align by start' }).waitFor();
  await complete(page);
  assert.ok(Math.min(...(await distances())) < 1);
});

pageTest('a growing trace is followed', () => {
  const engine = training(4);
  engine.live = true;
  return engine;
}, async (page, server, engine) => {
  const before = engine.duration;
  engine.range(engine.tracks[0], 'new work', before + 1000, before + 900_000);
  server.grow();
  await page.waitForFunction(() => window.kymo.shapes().some((s) => s.name === 'new work'));
  assert.ok((await state(page)).to >= before + 900_000);
});

pageTest('every action has a key, and ? lists them', () => training(2), async (page) => {
  await page.keyboard.press('?');
  const help = page.getByRole('dialog');
  await help.waitFor();
  const text = await help.innerText();
  for (const part of ['zoom in', 'next hit', 'collapse', 'pin', 'light or dark', 'copy a link', 'flame graph', 'preact']) assert.ok(text.includes(part), part);
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'detached' });
});

pageTest('all panels open', () => training(4), async (page) => {
  for (const [key, text] of [['4', 'Findings'], ['5', 'launch came late'], ['6', 'At the peak'], ['7', 'Open two traces'], ['1', 'Click a range']]) {
    await page.keyboard.press(key);
    await page.locator('.panel', { hasText: text }).waitFor();
  }
  await page.keyboard.press('`');
  assert.equal((await state(page)).tab, undefined);
});

for (const dark of [false, true]) {
  pageTest(`ranges have the colours of the theme ${dark ? 'dark' : 'light'}`, () => training(2), async (page) => {
    await complete(page);
    const range = await shape(page, 'cudaStreamSynchronize');
    const empty = await pixel(page, 700, (await stageTop(page)) + 560);
    const filled = await pixel(page, range.x + range.width - 8, (await stageTop(page)) + range.y + 3);
    assert.ok(dark ? empty[0] < 40 : empty[0] > 240, String(empty));
    assert.ok(Math.abs(filled[0] - empty[0]) + Math.abs(filled[1] - empty[1]) + Math.abs(filled[2] - empty[2]) > 60, `${filled} on ${empty}`);
    assert.equal((await state(page)).theme, dark ? 'dark' : 'light');
  }, { dark });
}
