// Draws rectangles with WebGL2 as indexed triangles: four vertices each, in one buffer that is filled once a frame.
// Instancing would need a quarter of the data, but it is very slow where the browser draws in software.

import type { DrawList } from '../timeline/draw_list';
import type { Theme } from '../timeline/palette';
import { Backend, resizeCanvas } from './backend';

const kMaxRectangles = 8192;
const kVertexBytes = 12; // x, y as float; red, green, blue, alpha as bytes

const kVertexShader = `#version 300 es
in vec2 place;
in vec4 colour;
uniform vec2 size;
flat out vec4 fill;
void main() {
  gl_Position = vec4(place.x * 2.0 / size.x - 1.0, 1.0 - place.y * 2.0 / size.y, 0.0, 1.0);
  fill = colour;
}`;

const kFragmentShader = `#version 300 es
precision mediump float;
flat in vec4 fill;
out vec4 pixel;
void main() { pixel = fill; }`;

export class WebGlBackend implements Backend {
  readonly name = 'webgl';
  readonly canvas = document.createElement('canvas');
  private readonly gl: WebGL2RenderingContext;
  private readonly size: WebGLUniformLocation;
  private readonly data = new ArrayBuffer(kMaxRectangles * 4 * kVertexBytes);
  private readonly places = new Float32Array(this.data);
  private readonly colours = new Uint32Array(this.data);
  private width = 1;
  private height = 1;

  constructor() {
    const gl = this.canvas.getContext('webgl2', { alpha: false, antialias: false, depth: false, stencil: false, powerPreference: 'high-performance' });
    if (!gl) throw new Error('this browser has no WebGL2');
    this.gl = gl;
    const program = gl.createProgram()!;
    for (const [kind, text] of [[gl.VERTEX_SHADER, kVertexShader], [gl.FRAGMENT_SHADER, kFragmentShader]] as const) {
      const shader = gl.createShader(kind)!;
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(`WebGL2: ${gl.getProgramInfoLog(program)}`);
    gl.useProgram(program);
    this.size = gl.getUniformLocation(program, 'size')!;
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, this.data.byteLength, gl.DYNAMIC_DRAW);
    const place = gl.getAttribLocation(program, 'place');
    const colour = gl.getAttribLocation(program, 'colour');
    gl.enableVertexAttribArray(place);
    gl.enableVertexAttribArray(colour);
    gl.vertexAttribPointer(place, 2, gl.FLOAT, false, kVertexBytes, 0);
    gl.vertexAttribPointer(colour, 4, gl.UNSIGNED_BYTE, true, kVertexBytes, 8);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, indices(), gl.STATIC_DRAW);
  }

  resize(width: number, height: number, ratio: number): void {
    this.width = width;
    this.height = height;
    resizeCanvas(this.canvas, width, height, ratio);
  }

  draw(list: DrawList, theme: Theme): void {
    const { gl, places, colours } = this;
    const table = theme.colours.map(([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0);
    const count = Math.min(list.count, kMaxRectangles);
    for (let i = 0, at = 0; i < count; ++i) {
      const x0 = list.x[i];
      const y0 = list.y[i];
      const x1 = x0 + list.width[i];
      const y1 = y0 + list.height[i];
      const colour = table[list.colour[i]];
      places[at] = x0; places[at + 1] = y0; colours[at + 2] = colour;
      places[at + 3] = x1; places[at + 4] = y0; colours[at + 5] = colour;
      places[at + 6] = x0; places[at + 7] = y1; colours[at + 8] = colour;
      places[at + 9] = x1; places[at + 10] = y1; colours[at + 11] = colour;
      at += 12;
    }
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    const background = theme.background;
    gl.clearColor(channel(background, 1), channel(background, 3), channel(background, 5), 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (count === 0) return;
    gl.uniform2f(this.size, this.width, this.height);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, places, 0, count * 12);
    gl.drawElements(gl.TRIANGLES, count * 6, gl.UNSIGNED_SHORT, 0);
  }

  finish(): void {
    this.gl.readPixels(0, 0, 1, 1, this.gl.RGBA, this.gl.UNSIGNED_BYTE, new Uint8Array(4));
  }

  dispose(): void {
    this.gl.getExtension('WEBGL_lose_context')?.loseContext();
  }
}

function channel(hex: string, at: number): number {
  return parseInt(hex.slice(at, at + 2), 16) / 255;
}

function indices(): Uint16Array {
  const result = new Uint16Array(kMaxRectangles * 6);
  for (let i = 0; i < kMaxRectangles; ++i) {
    const v = i * 4;
    result.set([v, v + 1, v + 2, v + 2, v + 1, v + 3], i * 6);
  }
  return result;
}
