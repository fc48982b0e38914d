import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, visible } from '../../src/core/client';

test('a name that turns text around is found by the text that is shown for it', async (t) => {
  const name = 'a\u202eb \u200f \u2069';
  const shown = JSON.parse(visible(JSON.stringify(name))) as string;
  assert.equal(shown, 'a\\u202eb \\u200f \\u2069');
  const requested: string[] = [];
  t.mock.method(globalThis, 'fetch', (address: string) => {
    requested.push(address);
    return Promise.resolve(new Response('{}'));
  });
  for (const text of [shown, 'plain \\u0041']) await new Client('').search(text, 5, 0);
  assert.deepEqual(requested.map((address) => new URLSearchParams(address.slice(address.indexOf('?'))).get('q')), [name, 'plain \\u0041']);
});
