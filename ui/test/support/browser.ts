// Starts chromium and opens pages in it. Tests are skipped, with a reason, where it is not installed.

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Browser, chromium, Page } from 'playwright-core';

const kBrowsers = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const kPatienceMs = 180_000; // for a busy machine

export const browserPath = process.env.KYMO_CHROMIUM ?? kBrowsers.find((path) => existsSync(path));
export const skip = browserPath ? false : 'chromium is not installed (scripts/install-deps test)';

/** What src/inspect.ts offers. */
export interface View {
  complete(): boolean;
  state(): {
    from: number; to: number; scroll: number; duration: number; level: number; rectangles: number; ranges: number; labels: number; mergedBelow: number; frames: number;
    tileRequests: number; cacheBytes: number; tracks: number; pinned: number[]; selection?: { from: number; to: number; tracks: number[] }; event?: { track: number; index: number };
    search: string; hit: number; tab?: string; theme: string; offline: boolean; names: number; links: number; linksBusy: boolean; overview: number[];
  };
  shapes(): Array<{ track: number; trackName: string; row: number; name: string; start: number; end: number; count: number; x: number; y: number; width: number; height: number; colour: number }>;
  lanes(): Array<{ track?: number; name: string; label: string; top: number; height: number; pinned: boolean; collapsed: boolean }>;
  plots(): Array<{ track: number; name: string; low: number; high: number }>;
  value(): string[];
  left(): number;
  labels(): Array<{ name: string; count: number }>;
  show(from: number, to: number): void;
  clearFrameTimes(): void;
  frameTimes(): { count: number; median: number; p99: number; max: number };
}
declare global {
  interface Window {
    kymo: View;
    harmed?: number;
  }
}

export function launch(): Promise<Browser> {
  // A container has no user namespaces for the sandbox, and often a small /dev/shm. The pages are our own.
  return chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-lcd-text'] });
}

/** The folder with the built page. */
export function buildPlain(): { folder: string; remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'kymo-page-'));
  const { status, stderr } = spawnSync(process.execPath, [join(process.env.KYMO_UI_DIR!, 'build.mjs'), '--plain', folder], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the page cannot be built: ${stderr}`);
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A page that fails its test on any error in it. */
export async function open(browser: Browser, address: string, options: { errors?: string[]; width?: number; height?: number; hasTouch?: boolean; dark?: boolean } = {}): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: options.width ?? 1400, height: options.height ?? 800 }, hasTouch: options.hasTouch, colorScheme: options.dark ? 'dark' : 'light' });
  page.setDefaultTimeout(kPatienceMs);
  page.on('pageerror', (error) => options.errors?.push(String(error.stack ?? error)));
  page.on('console', (message) => {
    if (message.type() === 'error') options.errors?.push(message.text());
  });
  await page.goto(address);
  await complete(page);
  return page;
}

/** Waits until everything that is visible has been drawn. */
export async function complete(page: Page): Promise<void> {
  await page.waitForFunction(() => window.kymo?.complete(), null, { polling: 30 });
  const frames = await page.evaluate(() => window.kymo.state().frames);
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  if ((await page.evaluate(() => window.kymo.state().frames)) !== frames) await page.waitForFunction(() => window.kymo.complete(), null, { polling: 30 });
}

export function state(page: Page) {
  return page.evaluate(() => window.kymo.state());
}

/** The first drawn range with a name. */
export async function shape(page: Page, name: string) {
  const found = await page.evaluate((wanted) => window.kymo.shapes().find((s) => s.name === wanted && s.count === 1 && s.width > 4), name);
  if (!found) throw new Error(`"${name}" is not drawn`);
  const top = await stageTop(page);
  return { ...found, middle: { x: found.x + found.width / 2, y: top + found.y + found.height / 2 } };
}

export async function stageTop(page: Page): Promise<number> {
  return page.evaluate(() => document.querySelector('.stage')!.getBoundingClientRect().top);
}

/** The colour of a pixel of what the user sees. */
export async function pixel(page: Page, x: number, y: number): Promise<[number, number, number]> {
  const png = await page.screenshot({ clip: { x: Math.floor(x), y: Math.floor(y), width: 1, height: 1 } });
  return page.evaluate(async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = document.createElement('canvas');
    const context = canvas.getContext('2d')!;
    context.drawImage(image, 0, 0);
    const [r, g, b] = context.getImageData(0, 0, 1, 1).data;
    return [r, g, b] as [number, number, number];
  }, png.toString('base64'));
}
