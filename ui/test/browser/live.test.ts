// Pages that follow a trace that grows.

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
