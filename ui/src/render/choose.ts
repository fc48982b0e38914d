// Chooses the backend by measuring a frame of each, because there is no other way to know whether WebGL is drawn by a
// GPU or in software.

import { DrawList } from '../timeline/draw_list';
import { kLight } from '../timeline/palette';
import { Backend, BackendName } from './backend';
import { Canvas2dBackend } from './canvas2d';
import { WebGlBackend } from './webgl';

const kFrames = 5;
const kFarSlower = 3; // than the other one: one frame is enough to know
const kClearlyFaster = 0.7; // a small difference may be noise, and canvas has fewer ways to fail
const kRectangles = 4000;

export function makeBackend(name: BackendName): Backend {
  return name === 'webgl' ? new WebGlBackend() : new Canvas2dBackend();
}

export interface Measurement {
  canvas_ms: number;
  webgl_ms: number; // Infinity: not available
}

/** Draws the same frames with both backends. Takes about a tenth of a second, more where WebGL is drawn in software. */
export function measureBackends(width: number, height: number, ratio: number): Measurement {
  const list = new DrawList();
  let random = 1;
  const next = () => (random = (Math.imul(random, 1103515245) + 12345) >>> 0) / 2 ** 32;
  for (let i = 0; i < kRectangles; ++i) list.add(next() * width, next() * height, 1 + next() * 20, 16, i % 16);
  const measure = (name: BackendName, other: number) => {
    try {
      const backend = makeBackend(name);
      backend.resize(width, height, ratio);
      let best = Infinity;
      for (let i = 0; i < kFrames && (i <= 1 || best < kFarSlower * other); ++i) {
        const begin = performance.now();
        backend.draw(list, kLight);
        backend.finish();
        if (i > 0) best = Math.min(best, performance.now() - begin); // the first frame compiles
      }
      backend.dispose();
      return best;
    } catch {
      return Infinity;
    }
  };
  const canvas = measure('canvas', Infinity);
  return { canvas_ms: canvas, webgl_ms: measure('webgl', canvas) };
}

export function fasterBackend(measured: Measurement): BackendName {
  return measured.webgl_ms < measured.canvas_ms * kClearlyFaster ? 'webgl' : 'canvas';
}
