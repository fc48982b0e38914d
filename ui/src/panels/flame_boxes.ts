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
