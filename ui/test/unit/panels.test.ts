import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matcher, namePart, Names } from '../../src/core/names';
import { plotColumns, rangeText, valueText } from '../../src/timeline/plots';
import { coverage } from '../../src/timeline/minimap';
import { TextFitter } from '../../src/timeline/text';
import { dimmed, kDark, kLight, nameColour, ownColour, Rgb } from '../../src/timeline/palette';
import { evidenceOf, stateIn } from '../../src/panels/evidence';
import { changesByName, iterationShift, lastName } from '../../src/panels/changes';
import { bottomUp, flameBoxes, flameHits } from '../../src/panels/flame_boxes';
import { decodeTiles } from '../../src/core/protocol';
import { splitUnit } from '../../src/core/units';
import { Engine } from '../support/engine';
import { manyValues } from '../support/traces';

const frame = (name: string, depth: number, total_ns: number) => ({ name, kind: 'range', depth, count: 1, total_ns, self_ns: 0 });

test('the search follows the rule of the server', () => {
  assert.ok(matcher('FWD')('gemm_fwd_1'));
  assert.ok(!matcher('gemm')('gem'));
  assert.ok(matcher('gemm*')('gemm_fwd'));
  assert.ok(!matcher('gemm*')('a gemm'));
  assert.ok(matcher('a?c')('abc') && !matcher('a?c')('ac'));
  assert.ok(matcher('(.+)[')('x(.+)[y'));
  assert.ok(!matcher('')('anything'));
  assert.ok(matcher('*a*b?')('xaayb!') && !matcher('*a*b?')('xaayb') && matcher('**')(''));
});

test('conditions of a search are no part of a name', () => {
  for (const [query, name] of [
    ['forward dur>1ms', 'forward'], ['dur>1ms thread:loader', ''], ['"a dur>1ms" dur<2s', '"a dur>1ms"'], ['arg.bytes>1MB aten::add', 'aten::add'],
    ['category:io read file', 'read file'], ['std::vector', 'std::vector'], ['duration>1', 'duration>1'], ['arg:', 'arg:'],
  ]) assert.equal(namePart(query), name);
  assert.ok(matcher('forward thread:main')('forward'));
  assert.ok(!matcher('dur>1ms')('forward')); // it says nothing about names
});

test('a pattern with many stars takes no longer than others', () => {
  const test = matcher(`${'*'.repeat(500)}${'a*'.repeat(500)}c`);
  for (let i = 0; i < 100; ++i) assert.ok(!test('ab'.repeat(150)));
});

test('names arrive in parts, and a missing part is not skipped', () => {
  const names = new Names();
  names.add({ version: 4, from: 2, names: ['c'], bases: [2], categories: [''] });
  assert.equal(names.count, 0);
  names.add({ version: 4, from: 0, names: ['step {}', 'step 1', ''], bases: [0, 0, 2], categories: ['', 'x', ''] });
  assert.equal(names.of(2), '(no name)');
  assert.equal(names.of(1), 'step 1');
  assert.equal(names.baseOf(1), 'step {}');
  assert.equal(names.colourOf(0), names.colourOf(1));
  assert.equal(names.of(0xffffffff), '');
});

test('names with other numbers have the same colour', () => {
  assert.equal(nameColour('step 1'), nameColour('step 234'));
  assert.equal(kLight.colours.length, kDark.colours.length);
});

test('a colour of the program keeps its hue, and text on it is readable in both themes', () => {
  const light = ([r, g, b]: Rgb) => [r, g, b].reduce((sum, value, i) => {
    const share = value / 255;
    return sum + [0.2126, 0.7152, 0.0722][i] * (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4);
  }, 0);
  const parse = (hex: string) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)) as unknown as Rgb;
  for (const rgb of [0xff0000, 0x00ff00, 0x0000ff, 0xffff00, 0x00ffff, 0xff00ff, 0x010101, 0xffffff, 0x76b900, 0x102030]) {
    const at = ownColour(rgb)!;
    assert.equal(ownColour(rgb), at);
    for (const theme of [kLight, kDark]) {
      const [a, b] = [light(theme.colours[at]), light(parse(theme.rangeText))].sort((x, y) => y - x);
      assert.ok((a + 0.05) / (b + 0.05) >= 4.5, `${rgb.toString(16)} in ${theme.name}: ${(a + 0.05) / (b + 0.05)}`);
      assert.ok(theme.colours[dimmed(at)]);
    }
  }
  const [r, g, b] = kLight.colours[ownColour(0xff0000)!];
  assert.ok(r > g + 60 && r > b + 60);
  const names = new Names();
  names.add({ version: 2, from: 0, names: ['step {}', 'step 7'], bases: [0, 0], categories: ['', ''], colours: [0x00ff00, 0] });
  assert.equal(names.colourOf(1), ownColour(0x00ff00));
  assert.equal(names.colourOfText('step 7'), names.colourOf(0));
});

test('the command of a finding says where its evidence is', () => {
  const of = evidenceOf;
  assert.deepEqual(of('kymo timeline run.kymo --from 10us --to 25us'), { span: { from: 10_000, to: 25_000 } });
  assert.deepEqual(of('kymo hist run.kymo step*'), { search: 'step*' });
  assert.deepEqual(of("kymo hist 'my run.kymo' 'it'\\''s slow'"), { search: '"it\'s slow"' });
  assert.deepEqual(of('kymo stats run.kymo --by function'), 'functions');
  assert.deepEqual(of('kymo stats run.kymo --callees decode_batch'), { search: '"decode_batch"' });
  assert.equal(of('kymo stats run.kymo --by wait'), 'waiting');
  assert.equal(of('kymo stats run.kymo --by thread'), 'ready');
  assert.equal(of('kymo memory run.kymo --leaks'), 'memory');
  assert.equal(of('kymo stats run.kymo'), 'totals');
  assert.equal(stateIn('5.95 s waiting for a mutex, in lookup, which main held', ['ready', 'sleeps: lookup', 'waits for a mutex: lookup']), 2);
  assert.equal(stateIn('mostly in read, where it sleeps', ['ready', 'waiting: lookup', 'waiting: read']), 2);
  assert.equal(stateIn('nothing of this', ['ready', 'waiting: read']), -1);
});

test('frames of a flame graph are inside of their parents', () => {
  const frames = [frame('all', 0, 100), frame('a', 1, 60), frame('a1', 2, 20), frame('a2', 2, 40), frame('b', 1, 40), frame('b1', 2, 10)];
  const boxes = flameBoxes(frames);
  assert.deepEqual(boxes.map((box) => [box.frame.name, box.row, Math.round(box.left * 100), Math.round(box.width * 100)]), [
    ['all', 0, 0, 100], ['a', 1, 0, 60], ['a1', 2, 0, 20], ['a2', 2, 20, 40], ['b', 1, 60, 40], ['b1', 2, 60, 10],
  ]);
  assert.deepEqual(flameBoxes(frames, 4).map((box) => [box.frame.name, box.row, box.left, box.width]), [['b', 0, 0, 1], ['b1', 1, 0, 0.25]]);
  assert.deepEqual(flameBoxes([frame('all', 0, 0)]), []);
});

test('a comparison colours names by what changed for sure', () => {
  const row = (path: string, shift_ns: number, significant: boolean) => ({ path, device: false, change: '', median_a_ns: 1, median_b_ns: 1, shift_ns, significant });
  const changes = changesByName({ enough: true, iteration: row('', 0, false), rows: [row('step {}/a > gemm', 5, true), row('step {}/b > gemm', -2, true), row('step {}/b', -2, true), row('step {}/c', 9, false)] }, new Set<string>());
  assert.deepEqual([...changes], [['gemm', 1], ['b', -1]]);
  const names = new Set(['a.py', 'torch/b.py', 'c/d']);
  assert.equal(lastName('a.py/torch/b.py', names), 'torch/b.py');
  assert.equal(lastName('a.py/torch/b.py > c/d', names), 'c/d');
  assert.equal(lastName('alone', names), 'alone');
});

test('traces are aligned by the iteration in the middle of the screen', () => {
  const a = [0, 100, 200, 300].map((start_ns) => ({ start_ns }));
  const b = [10, 150, 290].map((start_ns) => ({ start_ns }));
  assert.equal(iterationShift(a, b, 120), -50);
  assert.equal(iterationShift(a, b, -5), -10);
  assert.equal(iterationShift(a, b, 1e9), -90);
  assert.equal(iterationShift(a, [], 0), undefined);
});

test('one large value among a million is seen at every zoom', () => {
  const engine = manyValues(100_000);
  for (const [level, width] of [[17, 763], [15, 3000]]) {
    const bytes = new Uint8Array(engine.tiles(level, 0, Math.floor(engine.duration / (1024 * 2 ** level)), [1])).buffer;
    const columns = plotColumns(decodeTiles(bytes, level).tiles, 0, engine.duration / width, width, engine.duration);
    assert.equal(columns.high, 2000);
    assert.ok(columns.max.every((value) => value >= 200));
  }
});

test('a counter keeps its value until the next one', () => {
  const engine = new Engine('x');
  const track = engine.track(engine.process('p', 1), 'counter', 'c');
  track.values.push({ time: 100, value: 5 }, { time: 600, value: 2 });
  engine.duration = 1000;
  const bytes = new Uint8Array(engine.tiles(0, 0, 0, [1])).buffer;
  const columns = plotColumns(decodeTiles(bytes, 0).tiles, 0, 100, 10, 1000);
  assert.ok(Number.isNaN(columns.last[0]));
  assert.deepEqual([...columns.last.slice(1)], [5, 5, 5, 5, 5, 2, 2, 2, 2]);
  assert.deepEqual(valueText(columns, 3, 'c', 'W'), ['c: 5 W']);
  assert.deepEqual(valueText(columns, 6, 'c', 'W'), ['c: 2 W', '2 W to 5 W here']);
  assert.deepEqual(valueText(columns, 0, 'c', 'W'), []);
  assert.deepEqual(valueText(columns, 99, 'c', 'W'), []);
});

test('the minimap adds up what is busy', () => {
  const engine = new Engine('x');
  const track = engine.track(engine.process('p', 1), 'thread', 't');
  engine.range(track, 'a', 0, 512);
  engine.range(track, 'inside', 0, 100, 1);
  const bins = coverage(decodeTiles(new Uint8Array(engine.tiles(0, 0, 0, [1])).buffer, 0).tiles);
  assert.equal(bins.reduce((sum, value) => sum + value, 0), 512);
});

test('text is cut to its room', () => {
  const fitter = new TextFitter((text) => text.length * 6);
  assert.equal(fitter.fit('forward', 42), 'forward');
  assert.equal(fitter.fit('a long name', 50), 'a long …');
  assert.equal(fitter.fit('a long name', 20), '');
});

test('a counter has its smallest and its largest value, with the unit of its name', () => {
  assert.equal(rangeText({ low: -5, high: 3 }, ''), 'min -5, max 3');
  const { name, unit } = splitUnit('power [W]');
  assert.equal(`${name}: ${rangeText({ low: 90.25, high: 612 }, unit)}`, 'power: min 90.3 W, max 612 W');
  assert.deepEqual(splitUnit('a[3]'), { name: 'a[3]', unit: '' });
  assert.deepEqual(splitUnit('[W]'), { name: '[W]', unit: '' });
});

test('a frame inside of a hit is a hit too, and its time counts once', () => {
  const frames = [frame('all', 0, 100), frame('load', 1, 60), frame('reload', 2, 20), frame('parse', 2, 30), frame('Load', 1, 30), frame('other', 1, 10)];
  assert.deepEqual([flameHits(frames, 0, 'load')].map(({ found, total }) => ({ found, total })), [{ found: 3, total: 90 }]);
  assert.equal(flameHits(frames, 1, 'load').total, 60); // of the part that is shown
  assert.equal(flameHits(frames, 0, '').found, 0);
});

test('bottom up: the time of each name, and below it what it was in', () => {
  const at = (name: string, depth: number, total_ns: number, self_ns: number, kind = 'function') => ({ name, kind, depth, count: 1, total_ns, self_ns });
  const frames = bottomUp([
    at('all', 0, 100, 0, 'all'), at('worker', 1, 100, 0, 'track'), at('main', 2, 100, 10), at('copy', 3, 60, 60), at('parse', 3, 30, 5), at('copy', 4, 25, 25),
  ]);
  assert.deepEqual(frames.map(({ name, depth, total_ns, self_ns }) => [name, depth, total_ns, self_ns]), [
    ['all', 0, 100, 0], ['copy', 1, 85, 85], ['main', 2, 60, 0], ['parse', 2, 25, 0], ['main', 3, 25, 0], ['main', 1, 10, 10], ['parse', 1, 5, 5], ['main', 2, 5, 0],
  ]);
});
