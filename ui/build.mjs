// Builds the page: dist/index.html.gz, dist/page.js.gz and dist/page.css.gz. The bytes depend only on the sources and on
// the versions in package-lock.json: the gzip header has no time and no name.
//
//   node build.mjs            writes dist/
//   node build.mjs --check    builds in memory, compares the uncompressed bytes with dist/, and writes nothing
//   node build.mjs --plain F  writes the uncompressed files into the folder F, for tests and development

import { readFileSync, writeFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import * as esbuild from 'esbuild';

const kMaxCompressed = 80_000;
const here = dirname(fileURLToPath(import.meta.url));

export async function buildPage() {
  const licence = readFileSync(join(here, 'node_modules/preact/LICENSE'), 'utf8').trim();
  const shared = { absWorkingDir: here, bundle: true, minify: true, write: false, charset: 'utf8', legalComments: 'inline', logLevel: 'warning', target: ['chrome105', 'firefox115', 'safari16'] };
  const script = await esbuild.build({
    ...shared,
    entryPoints: ['src/main.tsx'],
    format: 'iife',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    banner: { js: `/*! Kymo, Apache License 2.0. Contains preact:\n${licence}\n*/` },
  });
  const style = await esbuild.build({ ...shared, entryPoints: ['src/page.css'] });
  return {
    'index.html': readFileSync(join(here, 'src/index.html')),
    'page.js': Buffer.from(script.outputFiles[0].contents),
    'page.css': Buffer.from(style.outputFiles[0].contents),
  };
}

function compress(bytes) {
  const packed = gzipSync(bytes, { level: 9 });
  packed.fill(0, 4, 8); // the time
  packed[9] = 255; // the system: unknown
  return packed;
}

async function main() {
  const [option, folder] = process.argv.slice(2);
  const files = await buildPage();
  const dist = join(here, 'dist');
  if (option === '--plain') {
    mkdirSync(folder, { recursive: true });
    for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes);
    return 0;
  }
  if (option === '--check') {
    const different = Object.entries(files).filter(([name, bytes]) => {
      try {
        return !gunzipSync(readFileSync(join(dist, `${name}.gz`))).equals(bytes);
      } catch {
        return true;
      }
    });
    for (const [name] of different) console.error(`ui/dist/${name}.gz is not what the sources build: run scripts/build-ui`);
    return different.length > 0 ? 1 : 0;
  }
  if (option !== undefined) throw new Error(`unknown option "${option}"; options: --check, --plain FOLDER`);
  mkdirSync(dist, { recursive: true });
  let total = 0;
  for (const [name, bytes] of Object.entries(files)) {
    const packed = compress(bytes);
    total += packed.length;
    writeFileSync(join(dist, `${name}.gz`), packed);
    console.log(`ui/dist/${name}.gz: ${packed.length} bytes (${bytes.length} uncompressed)`);
  }
  if (total > kMaxCompressed) throw new Error(`the page has ${total} bytes compressed, more than ${kMaxCompressed}`);
  return 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await main();
