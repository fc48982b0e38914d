import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bookmark, readHash, writeHash } from '../../src/core/hash';

test('a bookmark has everything of the view', () => {
  const view: Bookmark = {
    time: { from: -10.5, to: 123456789.25 },
    scroll: 77,
    selection: { from: 5, to: 9, tracks: [3, 1] },
    event: { track: 3, chunk: 4294967295, index: 2147483650 },
    toggled: ['p1', 't7'],
    hidden: ['t3', 'p2'],
    arrangement: 'name',
    pinned: [4, 2],
    order: [2, 1],
    filter: 'a&b=c #,%',
    search: '<b>*?"\u00e9\ud83d\ude00',
    tab: 'flame',
    theme: 'dark',
    shifts: [0, -1500.5],
  };
  assert.deepEqual(readHash(`#${writeHash(view)}`), view);
});

test('an empty view has an empty hash', () => {
  assert.equal(writeHash({}), '');
  assert.deepEqual(readHash(''), {});
});

test('parts that make no sense are ignored', () => {
  assert.deepEqual(readHash('#s=0,1e300,0'), {}); // no trace is so long
  assert.deepEqual(readHash('#t=5,1&s=a,b&e=1.2&c=x1,q&p=-1,1.5,99999999999&theme=pink&draw=svg&tab=<b>&y=NaN&q=%E0%A4%A&=&x'), { toggled: [], pinned: [], search: '' });
});
