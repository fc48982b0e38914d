// Traces as PyTorch writes them, of which the answers are known.

import { writeFileSync } from 'node:fs';

export const kRankSteps = [1.31, 0.92, 1.77, 1.05, 1.48, 1.19, 1.66, 0.97, 1.53, 1.11, 1.84, 1.26]; // ms: irregular, so that clocks can be aligned
const kLate = 0.6;
const kWire = 0.1;

/** Of PyTorch, in a folder of its own clock: `slow` computes longer, and all others wait for it. */
export function writeRank(path: string, number: number, ranks: number, slow: number): string {
  const events: object[] = [{ ph: 'M', name: 'thread_name', pid: 100 + number, tid: 100 + number, args: { name: 'main' } }];
  const range = (pid: number, tid: number, cat: string, name: string, start: number, end: number, args: object = {}) => events.push({ ph: 'X', cat, name, pid, tid, ts: start * 1000, dur: (end - start) * 1000, args });
  let time = 1000;
  kRankSteps.forEach((base, step) => {
    const own = time + base + (number === slow ? kLate : 0);
    const end = time + base + kLate + kWire;
    range(100 + number, 100 + number, 'user_annotation', `ProfilerStep#${step}`, time, end);
    range(100 + number, 100 + number, 'cuda_runtime', 'cudaLaunchKernel', time - 0.009, time - 0.008, { correlation: 2 * step + 1 });
    range(100 + number, 100 + number, 'cuda_runtime', 'cudaLaunchKernel', time - 0.007, time - 0.006, { correlation: 2 * step + 2 });
    range(number, 7, 'kernel', 'gemm', time, own, { device: number, stream: 7, correlation: 2 * step + 1 });
    range(number, 7, 'kernel', 'ncclDevKernel_AllReduce_Sum_f32', own, end, { device: number, stream: 7, correlation: 2 * step + 2 });
    time = end;
  });
  writeFileSync(path, JSON.stringify({ distributedInfo: { backend: 'nccl', rank: number, world_size: ranks }, baseTimeNanoseconds: 1_700_000_000_000_000_000, traceEvents: events }));
  return path;
}

export const kTrainingSteps = 20;

/** A training loop: train.py: step, aten::mm or aten::relu, cudaLaunchKernel, and the kernels 50 µs later. */
export function writeTraining(path: string): string {
  const events: object[] = [{ ph: 'M', name: 'thread_name', pid: 1, tid: 1, args: { name: 'main' } }];
  const range = (tid: number, cat: string, name: string, start: number, end: number, args: object = {}) => events.push({ ph: 'X', cat, name, pid: tid === 7 ? 0 : 1, tid, ts: start, dur: end - start, args });
  range(1, 'python_function', 'train.py(1): main', 0, kTrainingSteps * 1000);
  for (let i = 0; i < kTrainingSteps; ++i) {
    const at = i * 1000 + 10;
    range(1, 'python_function', 'train.py(12): step', at, at + 800);
    for (const [k, kernel] of ['mm', 'relu'].entries()) {
      const call = at + 100 + 300 * k;
      range(1, 'cpu_op', `aten::${kernel}`, call, call + 200);
      range(1, 'cuda_runtime', 'cudaLaunchKernel', call + 50, call + 60, { correlation: 2 * i + k + 1 });
      range(7, 'kernel', `${kernel}_kernel`, call + 100, call + 200 + i, { device: 0, stream: 7, correlation: 2 * i + k + 1 });
    }
  }
  writeFileSync(path, JSON.stringify({ baseTimeNanoseconds: 1_700_000_000_000_000_000, traceEvents: events }));
  return path;
}
