// A turn of the wheel is spread over the next frames, so that the eye can follow it.

const kHalfMs = 35; // after so long, half of what is left is done

export class Glide {
  private left = 0;
  private last = 0;
  private readonly atOnce = matchMedia('(prefers-reduced-motion: reduce)');

  /** `move` does a part of a turn. Below `least` the rest is done at once. */
  constructor(readonly move: (part: number) => void, private readonly least: number) {}

  add(amount: number): void {
    if (this.atOnce.matches) return this.move(amount);
    const isIdle = this.left === 0;
    this.left += amount;
    if (!isIdle) return;
    this.last = performance.now() - 1000 / 60;
    this.step(performance.now());
  }

  stop(): void {
    this.left = 0;
  }

  private step(now: number): void {
    const done = 1 - 2 ** (-Math.max(0, now - this.last) / kHalfMs);
    const part = Math.abs(this.left) < this.least ? this.left : this.left * done;
    this.last = Math.max(this.last, now);
    this.left -= part;
    this.move(part);
    if (this.left !== 0) requestAnimationFrame((time) => this.step(time));
  }
}
