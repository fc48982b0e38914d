import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytes, counted, duration, percent, quantity, shortCount, tickStep, timeLabel } from '../../src/core/units';
import { percentile } from '../../src/core/percentile';

test('durations have three digits and a unit', () => {
  assert.equal(duration(0), '0 ns');
  assert.equal(duration(1), '1 ns');
  assert.equal(duration(999), '999 ns');
  assert.equal(duration(1234), '1.23 µs');
  assert.equal(duration(56_780_000), '56.8 ms');
  assert.equal(duration(59.94e9), '59.9 s');
  assert.equal(duration(61e9), '1 min 01 s');
  assert.equal(duration(3599.6e9), '1 h 00 min');
  assert.equal(duration(365 * 86400e9), '8760 h 00 min');
  assert.equal(duration(-1500), '-1.5 µs');
  assert.equal(duration(0.5), '0.5 ns');
});

test('ticks are far enough apart, at round times', () => {
  for (let least = 1; least < 1e17; least *= 1.7) {
    const step = tickStep(least);
    assert.ok(step >= least && step <= least * 24, `${least}: ${step}`);
  }
  assert.equal(tickStep(110), 200);
  assert.equal(tickStep(3e9), 5e9);
  assert.equal(tickStep(61e9), 120e9);
});

test('neighbouring ticks have different labels', () => {
  for (const step of [1, 5, 200, 1e3, 5e5, 2e8, 1e9, 60e9, 86400e9]) {
    for (const at of [0, 1e6, 1e9, 123e9, 365 * 86400e9]) {
      const first = Math.ceil(at / step) * step;
      if (first + step - first !== step) continue; // a double cannot tell them apart, and the page does not zoom in so far
      assert.notEqual(timeLabel(first, step), timeLabel(first + step, step), `${step} at ${at}`);
    }
  }
});

test('sizes, counts and values are short', () => {
  assert.equal(bytes(999), '999 B');
  assert.equal(bytes(999_970), '1 MB');
  assert.equal(bytes(1536), '1.5 kB');
  assert.equal(bytes(-(2 ** 31)), '-2.1 GB');
  assert.equal(shortCount(999), '999');
  assert.equal(shortCount(1234), '1.23k');
  assert.equal(shortCount(999_700), '1M');
  assert.equal(shortCount(2_500_000_000), '2.5G');
  assert.equal(quantity(3, 'W'), '3 W');
  assert.equal(quantity(2048, 'bytes'), '2 kB');
  assert.equal(percent(1, 0), '-');
});

test('a percentile is one of the values', () => {
  const values = Array.from({ length: 100 }, (_, i) => 100 - i);
  assert.equal(percentile(values, 0.5), 50);
  assert.equal(percentile(values, 0.99), 99);
  assert.equal(percentile([], 0.5), 0);
});

test('a value that is not a number is a dash, and counts have their plural', () => {
  assert.equal(quantity(null as unknown as number), '-');
  assert.equal(quantity(Infinity, 'bytes'), '-');
  assert.deepEqual([counted(0, 'range'), counted(1, 'range'), counted(1234, 'range')], ['0 ranges', '1 range', '1,234 ranges']);
});
