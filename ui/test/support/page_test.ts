// Tests of the page with the stand-in server: one browser for all tests of a file.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { buildPlain, launch, open, skip } from './browser';
import type { Engine } from './engine';
import { serve, Standing } from './server';

let browser: Browser;
let plain: ReturnType<typeof buildPlain>;

before(async () => {
  if (skip) return;
  plain = buildPlain();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  plain?.remove();
});

/** Serves a trace and opens the page; fails if the page had an error. */
export function pageTest(name: string, make: () => Engine, run: (page: Page, server: Standing, engine: Engine) => Promise<void>, options: { hash?: string; hasTouch?: boolean; dark?: boolean; mayFail?: boolean } = {}): void {
  test(name, { skip }, async () => {
    const engine = make();
    const server = await serve(engine, plain.folder);
    const errors: string[] = [];
    try {
      const page = await open(browser, server.address + (options.hash ?? ''), { errors, hasTouch: options.hasTouch, dark: options.dark });
      try {
        await run(page, server, engine);
        if (!options.mayFail) assert.deepEqual(errors, []);
      } finally {
        await page.close();
      }
    } finally {
      await server.stop(); // or the test runner never ends
    }
  });
}

/** The folder with the built page, during a test. */
export const pageFolder = () => plain.folder;
export const sameBrowser = () => browser;
