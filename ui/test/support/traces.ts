// Traces for tests of the page, by name.

import { Engine } from './engine';

/** A training program: nested ranges, launches, two queues of a device, counters, instants, losses. */
export function training(steps = 24, engine = new Engine('train.kymo'), file = 0, slow = 1): Engine {
  let random = 7;
  const next = () => (random = (Math.imul(random, 1103515245) + 12345) >>> 0) / 2 ** 32;
  const process = engine.process('train', 4711, file);
  const main = engine.track(process, 'thread', 'main');
  const loader = engine.track(process, 'thread', 'data loader');
  const compute = engine.track(process, 'queue', 'stream 7', { device: 'GPU 0' });
  const copies = engine.track(process, 'queue', 'stream 13 (copies)', { device: 'GPU 0' });
  const memory = engine.track(process, 'memory', 'device memory', { unit: 'bytes' });
  const queued = engine.track(process, 'counter', 'queued kernels');
  let time = 2e5;
  let device = 0;
  let link = 1;
  let held = 2e9;
  const kernels = ['gemm_bf16_128x256', 'layer_norm', 'softmax_warp', 'elementwise_add', 'flash_attention_fwd'];
  for (let step = 0; step < steps; ++step) {
    const begin = time;
    const launch = (name: string, depth: number, kernel: string, length: number) => {
      const from = time;
      time += 1800 + next() * 2500;
      const launched = engine.range(main, 'cudaLaunchKernel', from + 600, time - 300, depth + 1, link);
      engine.range(main, name, from, time, depth);
      device = Math.max(device, time + 2500) + 300;
      const at = engine.range(compute, kernel, device, device + length, 0, link++);
      engine.args.set(`${compute.id}/${at}`, [{ name: 'grid', value: '128 × 8 × 1' }, { name: 'block', value: '256 × 1 × 1' }, { name: 'registers', value: '168' }]);
      engine.stacks.set(`${main.id}/${launched}`, ['cudaLaunchKernel', 'at::native::gemm', 'torch::nn::Linear::forward', 'main']);
      device += length;
      queued.values.push({ time, value: Math.round(3 + next() * 20) });
    };
    const phase = (name: string, layers: number, scale: number) => {
      const from = time;
      time += 900;
      for (let layer = 0; layer < layers; ++layer) {
        const layerBegin = time;
        launch('aten::linear', 3, kernels[0], (9000 + next() * 1500) * scale);
        launch('aten::layer_norm', 3, kernels[1], (1600 + next() * 300) * scale);
        if (layer % 2) launch('aten::scaled_dot_product_attention', 3, kernels[4], (7000 + next() * 900) * scale * slow);
        else launch('aten::softmax', 3, kernels[2], (1900 + next() * 300) * scale);
        launch('aten::add', 3, kernels[3], (1100 + next() * 200) * scale);
        engine.range(main, `layer ${layer}`, layerBegin, time, 2);
        held += 24e6 * (name === 'forward' ? 1 : -1);
        memory.values.push({ time, value: held });
      }
      time += 700;
      engine.range(main, name, from, time, 1);
    };
    const copyBegin = time + 2000;
    engine.range(copies, 'copy host to device', copyBegin, copyBegin + 26e3 + next() * 4000);
    const loadBegin = Math.max(time - 30e3, loader.end.at(-1) ?? 0);
    engine.range(loader, 'read batch', loadBegin, loadBegin + 52e3 + next() * 9000);
    engine.range(loader, 'decode', loadBegin + 9e3, loadBegin + 40e3, 1);
    phase('forward', 6, 1);
    phase('backward', 6, 1.9);
    const wait = time;
    time = Math.max(time, device) + 3000;
    engine.range(main, 'cudaStreamSynchronize', wait + 200, time - 200, 2);
    engine.range(main, 'optimizer step', wait, time + 14e3, 1);
    time += 14e3;
    engine.range(main, `step ${step}`, begin, time + 1000, 0);
    main.instants.push({ time: time + 1500, name: engine.name('checkpoint') });
    time += 9000 + next() * 4000;
  }
  engine.duration = Math.max(engine.duration, time);
  engine.clockError = 180;
  engine.losses.push({ file, process, track: loader.id, cause: 'ring_full', text: 'the ring was full', count: 128, from_ns: engine.duration * 0.62, to_ns: engine.duration * 0.66 });
  return engine;
}

export function pair(): Engine {
  const engine = training(12, new Engine('before.kymo', 'after.kymo'));
  return training(12, engine, 1, 1.4);
}

/** Names that would do harm if they became markup. */
export function markup(): Engine {
  const engine = new Engine('<img src=x onerror=window.harmed=1>.kymo');
  const process = engine.process('<script>window.harmed=1</script>', 1);
  const track = engine.track(process, 'thread', '<b onmouseover="window.harmed=1">track</b>');
  const at = engine.range(track, '<img src=x onerror=window.harmed=1>', 0, 1000);
  engine.args.set(`${track.id}/${at}`, [{ name: '<script>window.harmed=1</script>', value: '"><svg onload=window.harmed=1>' }]);
  engine.stacks.set(`${track.id}/${at}`, ['<iframe src="javascript:window.harmed=1">']);
  engine.range(track, '&lt;already&gt; \u202e reversed \u0000 zero', 1000, 2000);
  return engine;
}

export function manyTracks(count = 10_000): Engine {
  const engine = new Engine('tracks.kymo');
  for (let p = 0; p < 10; ++p) engine.process(`rank ${p}`, 100 + p);
  for (let i = 0; i < count; ++i) {
    const track = engine.track(i % 10, 'thread', `worker ${i}`);
    for (let k = 0; k < 5; ++k) engine.range(track, `task ${k}`, k * 1000 + i, k * 1000 + i + 800);
  }
  return engine;
}

export function manyValues(count = 1_000_000): Engine {
  const engine = new Engine('counter.kymo');
  const process = engine.process('sensor', 1);
  const track = engine.track(process, 'counter', 'power', { unit: 'W' });
  for (let i = 0; i < count; ++i) track.values.push({ time: i * 1000, value: 300 + 100 * Math.sin(i / 40_000) + (i % 7) });
  track.values[count >> 1].value = 2000; // one value that must not disappear
  engine.duration = count * 1000;
  return engine;
}

/** One range of a year beside a million of a nanosecond. */
export function year(count = 1_000_000): Engine {
  const engine = new Engine('year.kymo');
  const process = engine.process('patient', 1);
  const long = engine.track(process, 'thread', 'long');
  const short = engine.track(process, 'thread', 'short');
  engine.range(long, 'a year', 0, 365 * 86400e9);
  for (let i = 0; i < count; ++i) engine.range(short, 'tick', i * 2, i * 2 + 1);
  return engine;
}

/** Many ranges of many lengths, to measure frames. */
export function dense(tracks = 40, perTrack = 60_000): Engine {
  const engine = new Engine('dense.kymo');
  const process = engine.process('busy', 1);
  let random = 1;
  const next = () => (random = (Math.imul(random, 1103515245) + 12345) >>> 0) / 2 ** 32;
  for (let t = 0; t < tracks; ++t) {
    const track = engine.track(process, 'thread', `thread ${t}`);
    let time = 0;
    for (let i = 0; i < perTrack; ++i) {
      const length = 10 ** (1 + next() * 4);
      engine.range(track, `work ${'abcdefghijklmnop'[Math.floor(next() * 16)]}`, time, time + length);
      if (i % 3 === 0) engine.range(track, 'inner', time + length * 0.1, time + length * 0.7, 1);
      time += length * (1 + next() * 0.3);
    }
  }
  return engine;
}

export const kTraces: Record<string, () => Engine> = { training, pair, markup, tracks: manyTracks, values: manyValues, year, dense };
