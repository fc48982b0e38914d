// From the depth-first list of frames to boxes: each child is inside of its parent, from left to right.

import type { FlameFrame } from '../core/protocol';

export interface FlameBox {
  frame: FlameFrame;
  index: number;
  row: number;
  left: number; // 0 to 1
  width: number;
}

const kMinWidth = 0.0008;
const kMaxBoxes = 3000;

export function flameBoxes(frames: readonly FlameFrame[], root = 0): FlameBox[] {
  const boxes: FlameBox[] = [];
  const whole = frames[root]?.total_ns ?? 0;
  if (whole <= 0) return boxes;
  const next: number[] = []; // by depth: where the next child begins
  const base = frames[root].depth;
  next[base] = 0;
  for (let i = root; i < frames.length && boxes.length < kMaxBoxes; ++i) {
    const frame = frames[i];
    if (i > root && frame.depth <= base) break;
    const left = next[frame.depth] ?? 0;
    const width = frame.total_ns / whole;
    next[frame.depth] = left + width;
    next[frame.depth + 1] = left;
    if (width >= kMinWidth) boxes.push({ frame, index: i, row: frame.depth - base, left, width: Math.min(width, 1 - left) });
  }
  return boxes;
}

/** The frames below `root` with a text in their name, and their time: a frame inside of another one counts once. */
export function flameHits(frames: readonly FlameFrame[], root: number, search: string): { has: (frame: FlameFrame) => boolean; found: number; total: number } {
  const text = search.toLowerCase();
  const has = (frame: FlameFrame) => text !== '' && frame.name.toLowerCase().includes(text);
  let [found, total, inside] = [0, 0, Infinity]; // `inside`: the depth of the hit that it is in
  for (let i = root; i < frames.length && (i === root || frames[i].depth > frames[root].depth); ++i) {
    const frame = frames[i];
    if (frame.depth <= inside) inside = Infinity;
    if (!has(frame)) continue;
    ++found;
    if (inside === Infinity) total += frame.total_ns;
    inside = Math.min(inside, frame.depth);
  }
  return { has, found, total };
}
