// Compiles the tests and runs them with node's test runner.
//
//   node test/run.mjs unit       arithmetic, protocol, bookmarks: without a browser
//   node test/run.mjs browser    the page in chromium, with the stand-in server
//   node test/run.mjs command    the page in chromium, with `kymo view` (KYMO_BINARY_DIR says where it is)

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const kinds = process.argv.length > 2 ? process.argv.slice(2) : ['unit', 'browser'];
// Inside of node_modules, so that the compiled tests find playwright-core there.
const cache = join(here, '../node_modules/.cache');
mkdirSync(cache, { recursive: true });
const out = mkdtempSync(join(cache, 'kymo-'));
try {
  const files = kinds.flatMap((kind) => readdirSync(join(here, kind)).filter((name) => name.endsWith('.test.ts')).map((name) => join(here, kind, name)));
  await esbuild.build({ entryPoints: files, outdir: out, outbase: here, outExtension: { '.js': '.mjs' }, bundle: true, platform: 'node', format: 'esm', target: 'node18', packages: 'external', sourcemap: 'inline', logLevel: 'warning' });
  const tests = files.map((file) => join(out, file.slice(here.length + 1).replace(/\.ts$/, '.mjs')));
  const { status } = spawnSync(process.execPath, ['--enable-source-maps', '--test', ...tests], { stdio: 'inherit', env: { ...process.env, KYMO_UI_DIR: join(here, '..') } });
  process.exitCode = status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
