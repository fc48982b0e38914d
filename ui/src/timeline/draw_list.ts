// The rectangles of one frame, as columns that are kept from frame to frame.

export const kMaxRectangles = 5000;
const kCapacity = 8192;

export class DrawList {
  count = 0;
  readonly x = new Float32Array(kCapacity);
  readonly y = new Float32Array(kCapacity);
  readonly width = new Float32Array(kCapacity);
  readonly height = new Float32Array(kCapacity);
  readonly colour = new Uint8Array(kCapacity);

  clear(): void {
    this.count = 0;
  }

  /** Adds a rectangle and returns its index, or -1 if the list is full. */
  add(x: number, y: number, width: number, height: number, colour: number): number {
    if (this.count >= kCapacity) return -1;
    const at = this.count++;
    this.x[at] = x;
    this.y[at] = y;
    this.width[at] = width;
    this.height[at] = height;
    this.colour[at] = colour;
    return at;
  }
}
