// Tests of the page with `kymo view`: one browser and one folder for all tests of a file.

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { launch, open, skip as noBrowser } from './browser';
import { folder, missingCommand, view, Viewing } from './command';

export const skip = noBrowser || missingCommand();
export const files = folder();
let browser: Browser;

before(async () => {
  if (!skip) browser = await launch();
});
after(async () => {
  await browser?.close();
  files.remove();
});

/** Shows traces with `kymo view`; fails if the page had an error. */
export async function viewing(
  traces: string[],
  run: (page: Page, server: Viewing) => Promise<void>,
  options: { mayFail?: boolean; arguments?: string[]; environment?: NodeJS.ProcessEnv } = {},
): Promise<void> {
  const server = await view(traces, options.arguments, options.environment);
  try {
    await opened(server.address, (page) => run(page, server), options.mayFail);
  } finally {
    await server.kill();
  }
}

/** Opens an address in a page of its own; fails if the page had an error. */
export async function opened(address: string, run: (page: Page) => Promise<void>, mayFail = false): Promise<void> {
  const errors: string[] = [];
  const page = await open(browser, address, { errors });
  try {
    await run(page);
    if (!mayFail) assert.deepEqual(errors, []);
  } finally {
    await page.close();
  }
}
