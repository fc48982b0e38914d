// Draws the rectangles of a frame, one colour after the other: changing the colour is what costs.

import type { DrawList } from './draw_list';
import { Colour, css, Theme } from './palette';

const kColours = 257; // one more than a rectangle can have
const kBackgrounds: number[] = [Colour.Header, Colour.Lane, Colour.Grid];

export function resizeCanvas(canvas: HTMLCanvasElement, width: number, height: number, ratio: number): void {
  const pixels = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== pixels[0]) canvas.width = pixels[0];
  if (canvas.height !== pixels[1]) canvas.height = pixels[1];
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
}

export class Rectangles {
  readonly canvas = document.createElement('canvas');
  private readonly context: CanvasRenderingContext2D;
  private ratio = 1;
  private order = new Uint16Array(8192);
  private readonly first = new Uint32Array(kColours);

  constructor() {
    const context = this.canvas.getContext('2d', { alpha: false });
    if (!context) throw new Error('this browser has no canvas');
    this.context = context;
  }

  resize(width: number, height: number, ratio: number): void {
    this.ratio = ratio;
    resizeCanvas(this.canvas, width, height, ratio);
  }

  draw(list: DrawList, theme: Theme): void {
    const { context } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = theme.background;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.sortByColour(list);
    const paint = (colour: number) => {
      const begin = this.first[colour];
      const end = this.first[colour + 1];
      if (begin === end) return;
      context.fillStyle = css(theme.colours[colour]);
      for (let k = begin; k < end; ++k) {
        const i = this.order[k];
        context.fillRect(list.x[i], list.y[i], list.width[i], list.height[i]);
      }
    };
    for (const colour of kBackgrounds) paint(colour);
    for (let colour = 0; colour < theme.colours.length; ++colour) {
      if (!kBackgrounds.includes(colour)) paint(colour);
    }
  }

  private sortByColour(list: DrawList): void {
    const next = new Uint32Array(kColours + 1);
    for (let i = 0; i < list.count; ++i) ++next[list.colour[i] + 1];
    for (let c = 0; c < kColours; ++c) next[c + 1] += next[c];
    this.first.set(next.subarray(0, kColours));
    for (let i = 0; i < list.count; ++i) this.order[next[list.colour[i]]++] = i;
  }
}
