import assert from 'node:assert/strict';
import { test } from 'node:test';
import { around, clampSpan, levelFor, minSpan, panBy, zoomAt, wholeSpan } from '../../src/core/viewport';

const kYear = 365 * 86400e9;

test('zooming keeps the time at the pointer where it is', () => {
  let span = { from: 1000, to: 9000 };
  for (const factor of [0.5, 0.9, 1.3, 0.01]) {
    const share = (3000 - span.from) / (span.to - span.from);
    span = zoomAt(span, 3000, factor, 100_000);
    assert.ok(Math.abs((3000 - span.from) / (span.to - span.from) - share) < 1e-9);
  }
});

test('zooming in stops before times cannot be told apart', () => {
  for (const anchor of [0, 5e8, kYear / 2]) {
    let span = { from: 0, to: kYear };
    for (let i = 0; i < 300; ++i) span = zoomAt(span, anchor, 0.5, kYear);
    const length = span.to - span.from;
    assert.ok(length >= minSpan(anchor) * 0.99, `${length} at ${anchor}`);
    assert.ok(span.from + length / 256 > span.from);
  }
});

test('zooming out stops at the whole trace with a margin', () => {
  let span = { from: 400, to: 500 };
  for (let i = 0; i < 100; ++i) span = zoomAt(span, 450, 2, 1000);
  assert.ok(span.to - span.from <= 1200 + 1e-9);
  assert.ok(span.from <= 0 && span.to >= 1000);
});

test('panning stops at both ends', () => {
  assert.deepEqual(panBy({ from: 0, to: 100 }, -1e9, 1000), { from: -10, to: 90 });
  assert.deepEqual(panBy({ from: 0, to: 100 }, 1e9, 1000), { from: 910, to: 1010 });
});

test('a span that makes no sense becomes the whole trace', () => {
  for (const span of [{ from: NaN, to: 1 }, { from: 5, to: 5 }, { from: 9, to: 1 }, { from: 0, to: Infinity }]) {
    assert.deepEqual(clampSpan(span, 1000), { from: 0, to: 1000 });
  }
});

test('a range of no duration can be shown', () => {
  const span = around(500, 500, 1000);
  assert.ok(span.from < 500 && span.to > 500);
});

test('bins are at most a pixel wide and more than half of one', () => {
  for (const length of [1, 17, 1000, 123_456, 1e9, kYear]) {
    const width = 1680;
    const pixel = length / width;
    const bin = 2 ** levelFor({ from: 0, to: length }, width);
    assert.ok(bin <= Math.max(1, pixel));
    assert.ok(bin > pixel / 2);
  }
});

test('an event at the very end of the trace is visible in the whole trace', () => {
  const { from, to } = wholeSpan(1e9);
  assert.equal(from, 0);
  assert.ok(((to - 1e9) / to) * 1000 >= 3); // pixels of a window that is 1000 wide
  assert.ok(wholeSpan(0).to > 0);
});
