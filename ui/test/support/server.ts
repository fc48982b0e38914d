// A small server that answers like `kymo view`, for tests of the page.
//
//   node server.mjs TRACE [PORT]    prints its address

import { createServer, Server } from 'node:http';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AddressInfo, Socket } from 'node:net';
import type { Engine } from './engine';

const kPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:";
const kTypes: Record<string, string> = { 'index.html': 'text/html; charset=utf-8', 'page.js': 'text/javascript; charset=utf-8', 'page.css': 'text/css; charset=utf-8' };

export interface Standing {
  address: string;
  port: number;
  stop: () => Promise<void>;
  grow: () => void; // tells the page that the trace has grown
}

export async function serve(engine: Engine, pageFolder: string, port = 0, token = 'token'): Promise<Standing> {
  const live = new Set<import('node:http').ServerResponse>();
  const state = () => `data: ${JSON.stringify({ duration_ns: engine.files.map(() => engine.duration), names_version: engine.names.length, tracks_version: engine.tracksVersion, live: engine.live })}\n\n`;
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    if (!url.pathname.startsWith(`/${token}/`)) return void response.writeHead(404).end();
    const path = url.pathname.slice(token.length + 2);
    const number = (name: string) => Number(url.searchParams.get(name) ?? 0);
    const ids = () => (url.searchParams.get('tracks') ?? '').split(',').filter(Boolean).map(Number);
    const json = (value: unknown) => {
      if (value === undefined) return void response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"there is no such event"}');
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    const file = path === '' ? 'index.html' : path;
    if (kTypes[file]) {
      response.writeHead(200, { 'content-type': kTypes[file], 'content-security-policy': kPolicy });
      return void response.end(readFileSync(join(pageFolder, file)));
    }
    if (path === 'api/trace') return json(engine.trace());
    if (path === 'api/names') {
      const from = number('from');
      return json({ version: engine.names.length, from, names: engine.names.slice(from), bases: engine.bases.slice(from), categories: engine.names.slice(from).map(() => ''), colours: engine.names.slice(from).map((name) => engine.colours.get(name) ?? 0) });
    }
    if (path === 'api/tiles') {
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      return void response.end(engine.tiles(number('w'), number('from'), number('to'), ids()));
    }
    if (path === 'api/event') return json(engine.event(number('track'), number('index')));
    if (path === 'api/search') return json(engine.search(url.searchParams.get('q') ?? '', number('limit') || 1000, number('at')));
    if (path === 'api/selection') return json(engine.selection(number('from'), number('to'), ids()));
    if (path === 'api/links') return json(engine.links(number('from'), number('to'), ids()));
    if (path === 'api/launched') return json({ count: 0, complete: true, names: [], work: [] });
    if (path === 'api/memory') return json(engine.memory(number('at')));
    if (path === 'api/report') return json(report(engine, number('file')));
    if (path === 'api/idle') return json({ devices: report(engine, number('file')).devices });
    if (path === 'api/diff') return json(difference());
    if (path === 'api/live' && engine.refuses) return void response.writeHead(422).end();
    if (path === 'api/live') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(state());
      live.add(response);
      return void request.on('close', () => live.delete(response));
    }
    response.writeHead(404).end();
  });
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const used = (server.address() as AddressInfo).port;
  return {
    address: `http://127.0.0.1:${used}/${token}/`,
    port: used,
    grow: () => live.forEach((response) => response.write(state())),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        sockets.forEach((socket) => socket.destroy());
      }),
  };
}

function report(engine: Engine, file: number) {
  const main = engine.tracks.find((track) => track.file === file)!;
  const steps = main.start.flatMap((start, i) => (engine.names[main.names[i]].startsWith('step') ? [{ start_ns: start, duration_ns: main.end[i] - start }] : []));
  const window = engine.duration;
  const device = {
    name: 'GPU 0', window_ns: window, compute_ns: window * 0.58, communication_ns: 0, exposed_communication_ns: 0, copies_ns: window * 0.08, exposed_copies_ns: window * 0.05,
    idle_ns: { 'launch came late': window * 0.21, 'launch latency': window * 0.09, 'queued, not started': window * 0.07 }, operations: 1000,
    longest: [{ name: 'gemm_bf16_128x256', kind: 'compute', count: 288, total_ns: window * 0.3, longest_ns: 20000 }],
    host_during_late_launches: [{ name: 'aten::linear', self_ns: window * 0.1, total_ns: window * 0.1, count: 200, longest_ns: 4000 }], host_during_late_launches_outside_ns: window * 0.03,
    longest_idle: { 'launch came late': { start_ns: window * 0.4, duration_ns: window * 0.02 } },
  };
  return {
    events: main.start.length, duration_ns: window, window_ns: window,
    iterations: { source: 'ranges', name: 'step {}', thread: 'main', count: steps.length, median_ns: steps[0]?.duration_ns ?? 0, shortest_ns: steps[0]?.duration_ns ?? 0, longest_ns: steps[0]?.duration_ns ?? 0, list: steps },
    parts: [{ name: 'device computes', ns: window * 0.58 }, { name: 'copies that nothing hides', ns: window * 0.05 }, { name: 'device idle: launch came late', ns: window * 0.21 }, { name: 'device idle: launch latency', ns: window * 0.16 }],
    devices: engine.tracks.some((t) => t.kind === 'queue') ? [device] : [],
    host: [{ name: 'aten::linear', self_ns: window * 0.2, total_ns: window * 0.2, count: 300, longest_ns: 5000 }],
    memory: { peak_bytes: 2.2e9, peak_after_ns: window / 2, end_bytes: 2e9, at_peak: [{ range: 'step {}/forward/layer {}', bytes: 1.4e9 }, { range: '', bytes: 0.8e9 }] },
    findings: [{ text: 'The device waits for launches during 21 % of the time.', saves_ns: window * 0.21, evidence: ['aten::linear    0.2 ms'], command: 'kymo stats train.kymo --thread main' }],
  };
}

function difference() {
  const row = (path: string, a: number, b: number, significant: boolean) => ({ path, device: path.includes(' > '), change: significant ? (b > a ? 'slower' : 'faster') : 'same', median_a_ns: a, median_b_ns: b, shift_ns: b - a, low_ns: 0, high_ns: 0, cliffs_delta: 1, p: 0.001, q: 0.01, significant });
  return {
    replicates: 'iterations', a: 12, b: 12, enough: true, iteration: row('', 400e3, 430e3, true), exit_code: 0,
    rows: [row('step {}/forward/layer {}/aten::scaled_dot_product_attention/cudaLaunchKernel > flash_attention_fwd', 42e3, 60e3, true), row('step {}/optimizer step', 20e3, 17e3, true), row('step {}/forward/layer {}/aten::add', 3e3, 3.1e3, false)],
  };
}
