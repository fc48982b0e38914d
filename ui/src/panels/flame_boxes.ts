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

/** What has a time of its own: not a process or a thread. */
export const kTimed = new Set(['range', 'work', 'function']);

/** The other way round: below each name that has time of its own, what it was in, or what called it. */
export function bottomUp(frames: readonly FlameFrame[]): FlameFrame[] {
  interface Node {
    kind: string;
    total_ns: number;
    inside: Map<string, Node>;
  }
  const root: Node = { kind: 'all', total_ns: 0, inside: new Map() };
  const path: FlameFrame[] = []; // by depth
  for (const frame of frames) {
    path[frame.depth] = frame;
    if (frame.self_ns <= 0 || !kTimed.has(frame.kind)) continue;
    root.total_ns += frame.self_ns;
    let node = root;
    for (let depth = frame.depth; kTimed.has(path[depth].kind); --depth) {
      const { name, kind } = path[depth];
      let next = node.inside.get(name);
      if (!next) node.inside.set(name, (next = { kind, total_ns: 0, inside: new Map() }));
      next.total_ns += frame.self_ns;
      node = next;
    }
  }
  const result: FlameFrame[] = [];
  const add = (name: string, { kind, total_ns, inside }: Node, depth: number) => {
    result.push({ name, kind, depth, count: 0, total_ns, self_ns: depth === 1 ? total_ns : 0 });
    for (const [below, node] of [...inside].sort(([, a], [, b]) => b.total_ns - a.total_ns)) add(below, node, depth + 1);
  };
  add('all', root, 0);
  return result;
}
