// Starts `kymo view`, and makes trace files for it.

import assert from 'node:assert/strict';
import { spawn, spawnSync, ChildProcess } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

const kStartMs = 180_000;

export const binaries = join(process.env.KYMO_BINARY_DIR ?? '.', 'bin');
export const kymo = join(binaries, 'kymo');

/** Why the tests cannot run, or false. */
export function missingCommand(): string | false {
  if (!existsSync(kymo)) return `${kymo} is not built`;
  return spawnSync(kymo, ['view', '--help']).status === 0 ? false : 'this kymo has no view command';
}

export function notBuilt(program: string): string | false {
  return existsSync(join(binaries, program)) ? false : `${program} is not built`;
}

/** Checks every 50 ms until it holds. Throws after the limit, which only a hang reaches. */
export async function waitUntil(what: string, holds: () => boolean): Promise<void> {
  const end = Date.now() + kStartMs;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`waited ${kStartMs / 1000} s for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export interface Viewing {
  address: string;
  port: number;
  pid: number;
  kill: (signal?: NodeJS.Signals) => Promise<void>;
}

export async function view(files: string[], options: string[] = [], environment: NodeJS.ProcessEnv = {}): Promise<Viewing> {
  const child: ChildProcess = spawn(kymo, ['view', ...files, '--no-browser', ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  });
  let text = '';
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const address = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`kymo view printed no address: ${text}`));
    }, kStartMs);
    const read = (data: Buffer) => {
      text += data;
      const found = text.match(/http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]+\//);
      if (!found) return;
      clearTimeout(timer);
      resolve(found[0]);
    };
    child.stdout!.on('data', read);
    child.stderr!.on('data', read);
    child.once('exit', (status) => reject(new Error(`kymo view ended with ${status}: ${text}`)));
  });
  return {
    address,
    port: Number(new URL(address).port),
    pid: child.pid!,
    kill: async (signal = 'SIGINT') => {
      child.kill(signal);
      await ended;
    },
  };
}

export function json(...args: string[]): any {
  const { status, stdout, stderr } = spawnSync(kymo, args, { encoding: 'utf8', maxBuffer: 1 << 28 });
  if (status !== 0) throw new Error(`kymo ${args.join(' ')}: ${stderr}`);
  return JSON.parse(stdout);
}

/** Records a program with samples. False: the test is skipped, because the kernel refuses to sample. */
export function recordSamples(context: TestContext, path: string, ...program: string[]): boolean {
  const made = spawnSync(kymo, ['record', '-o', path, '--', ...program], { encoding: 'utf8' });
  if (made.stderr.includes('no CPU samples')) {
    context.skip(made.stderr.trim());
    return false;
  }
  assert.equal(made.status, 0, made.stderr);
  return true;
}

/** A folder for the files of a test. */
export function folder(): { path: (name: string) => string; remove: () => void } {
  const at = mkdtempSync(join(tmpdir(), 'kymo-view-'));
  return { path: (name) => join(at, name), remove: () => rmSync(at, { recursive: true, force: true }) };
}

/** Writes Chrome JSON, which kymo imports. Times are in nanoseconds here. */
export class ChromeTrace {
  private readonly file: number;
  private lines: string[] = [];
  private first = true;

  constructor(path: string) {
    this.file = openSync(path, 'w');
    writeSync(this.file, '{"traceEvents":[\n');
  }
  event(event: object): void {
    this.lines.push((this.first ? '' : ',\n') + JSON.stringify(event));
    this.first = false;
    if (this.lines.length >= 10_000) this.flush();
  }
  range(tid: number, name: string, start: number, end: number, args?: object): void {
    this.event({ ph: 'X', pid: 1, tid, name, cat: 'test', ts: start / 1000, dur: (end - start) / 1000, args });
  }
  counter(name: string, time: number, value: number): void {
    this.event({ ph: 'C', pid: 1, tid: 1, name, ts: time / 1000, args: { value } });
  }
  thread(tid: number, name: string): void {
    this.event({ ph: 'M', pid: 1, tid, name: 'thread_name', args: { name } });
  }
  close(): void {
    this.flush();
    writeSync(this.file, '\n]}\n');
    closeSync(this.file);
  }
  private flush(): void {
    writeSync(this.file, this.lines.join(''));
    this.lines = [];
  }
}
