// Pages that follow a trace that grows.

import assert from 'node:assert/strict';
import { state } from '../support/browser';
import { pageTest } from '../support/page_test';
import { training } from '../support/traces';

function growing() {
  const engine = training(4);
  engine.live = true;
  engine.refuses = true;
  return engine;
}

pageTest('a page that the server does not follow for says so, and goes on later', growing, async (page, _, engine) => {
  await page.getByRole('alert').getByText('too many pages follow it').waitFor();
  engine.range(engine.tracks[0], 'late', engine.duration + 1000, engine.duration * 2);
  engine.refuses = false;
  await page.waitForFunction(() => window.kymo.shapes().some((s) => s.name === 'late'));
  await page.getByRole('alert').waitFor({ state: 'detached' });
}, { mayFail: true });

pageTest('values of a counter that are read later than its first ones are shown', () => training(4), async (page, server, engine) => {
  const counter = engine.tracks.find((track) => track.kind === 'counter')!;
  const before = (await state(page)).tileRequests;
  counter.values = counter.values.map(({ time, value }) => ({ time, value: value + 1000 }));
  ++engine.tracksVersion;
  server.grow();
  await page.waitForFunction((requests) => window.kymo.state().tileRequests > requests && window.kymo.complete(), before);
});

pageTest('a page that shows all of a trace does so when the list of tracks is newer than the message about it', () => {
  const engine = training(4);
  engine.live = true;
  return engine;
}, async (page, server, engine) => {
  const before = engine.duration;
  ++engine.tracksVersion;
  server.grow(); // the page now reads the list, which has grown since:
  engine.range(engine.tracks[0], 'new work', before + 1000, before * 2);
  await page.waitForFunction((end) => window.kymo.state().to >= end, before * 2);
  engine.range(engine.tracks[0], 'newer work', before * 2 + 1000, before * 3);
  server.grow();
  await page.waitForFunction((end) => window.kymo.state().to >= end, before * 3);
  assert.equal((await state(page)).from, 0);
});
