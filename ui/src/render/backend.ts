// A backend draws the rectangles of a frame on its own canvas. Two exist, because neither is always the faster one:
// without a GPU, canvas2d is faster for what fits on a screen; with one, WebGL2 is.

import type { DrawList } from '../timeline/draw_list';
import type { Theme } from '../timeline/palette';

export type BackendName = 'canvas' | 'webgl';

export interface Backend {
  readonly name: BackendName;
  readonly canvas: HTMLCanvasElement;
  resize(width: number, height: number, ratio: number): void;
  draw(list: DrawList, theme: Theme): void;
  /** Waits until the frame is drawn: only to measure. */
  finish(): void;
  /** Frees what the GPU holds. */
  dispose(): void;
}

export function resizeCanvas(canvas: HTMLCanvasElement, width: number, height: number, ratio: number): void {
  const pixels = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== pixels[0]) canvas.width = pixels[0];
  if (canvas.height !== pixels[1]) canvas.height = pixels[1];
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
}
