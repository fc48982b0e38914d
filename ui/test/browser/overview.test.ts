// The strip above the axis, which sums up all tracks, and the page while it has nothing to show.

import assert from 'node:assert/strict';
import { complete, state } from '../support/browser';
import { Engine } from '../support/engine';
import { pageTest } from '../support/page_test';

const kTracks = 600;

/** One thread after the other. */
function relay(): Engine {
  const engine = new Engine('relay.kymo');
  const process = engine.process('relay', 1);
  for (let i = 0; i < kTracks; ++i) engine.range(engine.track(process, 'thread', `runner ${i}`), 'run', i * 1024, (i + 1) * 1024);
  return engine;
}

pageTest('the overview has all tracks, also of a trace with many', relay, async (page, _, engine) => {
  await complete(page);
  const shares = (await state(page)).overview;
  const width = 2 ** Math.ceil(Math.log2((engine.duration + 1) / 1024));
  const used = shares.slice(0, Math.floor(engine.duration / width));
  assert.ok(used.length > 500 && used.every((share) => Math.abs(share - 1) < 0.01), `${used.findIndex((share) => Math.abs(share - 1) >= 0.01)} of ${used.length}`);
});

pageTest('a trace without events: a sentence instead of a blank page', () => new Engine('empty.kymo'), async (page) => {
  await page.locator('.banner', { hasText: 'This trace has no events.' }).waitFor();
  assert.equal(await page.locator('.loading').count(), 0);
});
