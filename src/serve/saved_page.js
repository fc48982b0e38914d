// Answers the requests of the page from data inside the file, for a page that was saved with `kymo view -o`. The data is
// in the layout of docs/view.md: one tile for each track, with every range, instant and counter value.
(() => {
  'use strict';
  const kBins = 1024, kMost = 20000, kUnknown = 0xffffffff;
  const padded = (bytes) => Math.ceil(bytes / 8) * 8;

  async function load() {
    const text = document.getElementById('kymo-data').textContent;
    const packed = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    const buffer = await new Response(stream).arrayBuffer();
    const length = new DataView(buffer).getUint32(0, true);
    const answers = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
    return { answers, tracks: readTracks(buffer.slice(padded(8 + length))) };
  }

  function readTracks(buffer) {
    const view = new DataView(buffer), tracks = new Map();
    let at = 16;
    for (let left = view.getUint32(4, true); left > 0; --left) {
      const [id, n, m, c] = [0, 4, 8, 12].map((offset) => view.getUint32(at + offset, true));
      at += 32;
      const take = (Type, count) => {
        const column = new Type(buffer, at, count);
        at += count * Type.BYTES_PER_ELEMENT;
        return column;
      };
      const track = { n, m, c };
      track.start = take(Float64Array, n);
      track.end = take(Float64Array, n);
      track.name = take(Uint32Array, n);
      take(Uint32Array, n);
      take(Float32Array, n);
      track.chunk = take(Uint32Array, n);
      track.index = take(Uint32Array, n);
      track.depth = take(Uint16Array, n);
      track.lane = take(Uint16Array, n);
      at = padded(at);
      track.time = take(Float64Array, m);
      track.instantName = take(Uint32Array, m);
      take(Uint32Array, m);
      track.kind = take(Uint32Array, m);
      track.instantChunk = take(Uint32Array, m);
      track.instantIndex = take(Uint32Array, m);
      at = padded(at);
      track.values = [0, 1, 2, 3].map(() => take(Float64Array, c));
      track.rows = [];  // where each row of ranges begins: they are sorted by lane, depth and start
      for (let i = 0; i < n; ++i)
        if (i === 0 || track.depth[i] !== track.depth[i - 1] || track.lane[i] !== track.lane[i - 1]) track.rows.push(i);
      track.rows.push(n);
      tracks.set(id, track);
    }
    return tracks;
  }

  // The first position from `low` to `high` for which `is` holds; it holds for all that follow.
  function first(low, high, is) {
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (is(middle)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  function rectangles(track, bin, from, to) {
    const found = [];
    for (let row = 0; row + 1 < track.rows.length; ++row) {
      const end = track.rows[row + 1];
      let run;
      for (let i = first(track.rows[row], end, (k) => track.end[k] > from || track.start[k] >= from);
           i < end && track.start[i] < to; ++i) {
        const length = track.end[i] - track.start[i];
        if (length >= bin) {
          found.push({ i, start: track.start[i], end: track.end[i], count: 1, total: length, longest: length });
        } else if (track.start[i] >= from) {
          const number = Math.floor(track.start[i] / bin);
          if (run === undefined || run.number !== number) {
            run = { i, number, start: track.start[i], end: track.end[i], count: 0, total: 0, longest: -1 };
            found.push(run);
          }
          run.end = Math.max(run.end, track.end[i]);
          ++run.count;
          run.total += length;
          if (length > run.longest) [run.longest, run.i] = [length, i];
        }
        if (found.length > kMost) return { found: found.slice(0, kMost), truncated: true };
      }
    }
    return { found, truncated: false };
  }

  function instants(track, bin, from, to) {
    const found = new Map();
    for (let i = 0; i < track.m; ++i) {
      if (track.time[i] < from || track.time[i] >= to) continue;
      const key = `${Math.floor(track.time[i] / bin)} ${track.kind[i]}`;
      const known = found.get(key);
      if (known) ++known.count;
      else found.set(key, { i, count: 1 });
    }
    return [...found.values()].slice(0, kMost);
  }

  function counterValues(track, bin, from, to) {
    const [time, min, max, last] = track.values, found = [];
    const begin = first(0, track.c, (k) => time[k] >= from);
    if (begin > 0) found.push({ time: time[begin - 1], min: last[begin - 1], max: last[begin - 1], last: last[begin - 1] });
    let number;
    for (let i = begin; i < track.c && time[i] < to; ++i) {
      const of = Math.floor(time[i] / bin);
      if (of !== number) found.push({ time: time[i], min: min[i], max: max[i], last: last[i] });
      number = of;
      const value = found[found.length - 1];
      value.min = Math.min(value.min, min[i]);
      value.max = Math.max(value.max, max[i]);
      value.last = last[i];
    }
    return found;
  }

  function tiles(data, query) {
    const number = (name) => Number(query.get(name));
    const bin = 2 ** number('w'), made = [];
    let bytes = 16;
    for (const id of (query.get('tracks') || '').split(',').filter(Boolean).map(Number)) {
      for (let tile = number('from'); tile <= number('to'); ++tile) {
        const track = data.tracks.get(id), from = tile * kBins * bin, to = from + kBins * bin;
        const one = track ? rectangles(track, bin, from, to) : { found: [], truncated: false };
        const marks = track ? instants(track, bin, from, to) : [];
        const values = track ? counterValues(track, bin, from, to) : [];
        made.push({ id, tile, track, ...one, marks, values });
        bytes += 32 + padded(one.found.length * 40) + padded(marks.length * 28) + values.length * 32;
      }
    }
    const out = new DataView(new ArrayBuffer(bytes));
    let at = 0;
    const u32 = (value) => { out.setUint32(at, value, true); at += 4; };
    const f64 = (value) => { out.setFloat64(at, value, true); at += 8; };
    u32(0x3154594b);
    u32(made.length);
    u32(data.answers.names.version);
    u32(0);
    for (const { id, tile, track, found, truncated, marks, values } of made) {
      [id, found.length, marks.length, values.length].forEach(u32);
      f64(tile);
      u32(truncated ? 1 : 0);
      u32(0);
      for (const one of found) f64(one.start);
      for (const one of found) f64(one.end);
      for (const one of found) u32(track.name[one.i]);
      for (const one of found) u32(one.count);
      for (const one of found) {
        out.setFloat32(at, one.end > one.start ? Math.min(1, one.total / (one.end - one.start)) : 1, true);
        at += 4;
      }
      for (const one of found) u32(track.chunk[one.i]);
      for (const one of found) u32(track.index[one.i]);
      for (const column of ['depth', 'lane'])
        for (const one of found) { out.setUint16(at, track[column][one.i], true); at += 2; }
      at = padded(at);
      for (const one of marks) f64(track.time[one.i]);
      for (const one of marks) u32(track.instantName[one.i]);
      for (const one of marks) u32(one.count);
      for (const column of ['kind', 'instantChunk', 'instantIndex']) for (const one of marks) u32(track[column][one.i]);
      at = padded(at);
      for (const column of ['time', 'min', 'max', 'last']) for (const one of values) f64(one[column]);
    }
    return out.buffer;
  }

  const nameOf = (data, id) => (id === kUnknown ? '?' : data.answers.names.names[id]);
  const baseOf = (data, id) => nameOf(data, data.answers.names.bases[id]);
  const reference = (data, id, track, i) => ({
    track: id, chunk: track.chunk[i], index: track.index[i], name: nameOf(data, track.name[i]),
    start_ns: track.start[i], end_ns: track.end[i],
  });

  function event(data, query) {
    const [id, chunk, index] = ['track', 'chunk', 'index'].map((name) => Number(query.get(name)));
    const track = data.tracks.get(id);
    const info = data.answers.trace.tracks.find((one) => one.id === id);
    if (!track || !info) return { error: `there is no track ${id}` };
    const about = (name, start, end) => ({
      name: nameOf(data, name), base: baseOf(data, name), category: data.answers.names.categories[name], track: id,
      file: info.file, start_ns: start, end_ns: end, duration_ns: end - start, arguments: [],
    });
    for (let i = 0; i < track.m; ++i)
      if (track.instantChunk[i] === chunk && track.instantIndex[i] === index)
        return { ...about(track.instantName[i], track.time[i], track.time[i]), kind: 'instant' };
    for (let i = 0; i < track.n; ++i) {
      if (track.chunk[i] !== chunk || track.index[i] !== index) continue;
      const parents = [];
      for (let row = 0; row + 1 < track.rows.length; ++row) {
        const begin = track.rows[row];
        if (track.lane[begin] !== track.lane[i] || track.depth[begin] >= track.depth[i]) continue;
        const k = first(begin, track.rows[row + 1], (at) => track.end[at] >= track.end[i]);
        if (k < track.rows[row + 1] && track.start[k] <= track.start[i]) parents.push(reference(data, id, track, k));
      }
      return {
        ...about(track.name[i], track.start[i], track.end[i]), kind: 'range', depth: track.depth[i], lane: track.lane[i],
        unfinished: index >= 0x80000000, parents,
      };
    }
    return { error: `track ${id} has no event ${chunk}/${index}` };
  }

  function search(data, query) {
    const text = query.get('q').toLowerCase(), limit = Number(query.get('limit') || 1000);
    const pattern = /[*?]/.test(text)
      ? new RegExp('^' + text.replace(/[.+^${}()|[\]\\]/g, '\\$&').replace(/\*/g, '.*').replace(/\?/g, '.') + '$', 's')
      : undefined;
    const is = data.answers.names.names.map((name) => {
      const lower = name.toLowerCase();
      return pattern ? pattern.test(lower) : lower.includes(text);
    });
    const counts = new Map(), hits = [], tracks = [];
    for (const [id, track] of data.tracks) {
      const info = data.answers.trace.tracks.find((one) => one.id === id);
      const bin = Math.floor(data.answers.trace.files[info.file].duration_ns / kBins) + 1, bins = new Map();
      let total = 0;
      const hit = (name, found) => {
        ++total;
        const base = data.answers.names.bases[name], at = Math.min(kBins - 1, Math.floor(found.start_ns / bin));
        counts.set(base, (counts.get(base) || 0) + 1);
        bins.set(at, (bins.get(at) || 0) + 1);
        hits.push(found);
      };
      for (let i = 0; i < track.n; ++i) if (is[track.name[i]]) hit(track.name[i], reference(data, id, track, i));
      for (let i = 0; i < track.m; ++i) {
        const name = track.instantName[i];
        if (track.kind[i] === 1 && is[name])
          hit(name, { track: id, chunk: track.instantChunk[i], index: track.instantIndex[i], name: nameOf(data, name),
                      start_ns: track.time[i], end_ns: track.time[i] });
      }
      if (total > 0) tracks.push({ track: id, total, bin_ns: bin, bins: [...bins].sort((a, b) => a[0] - b[0]) });
    }
    hits.sort((a, b) => a.start_ns - b.start_ns);
    const names = [...counts].map(([id, count]) => ({ id, name: nameOf(data, id), count }));
    names.sort((a, b) => b.count - a.count);
    return { total: hits.length, complete: true, names, hits: hits.slice(0, limit), tracks };
  }

  function selection(data, query) {
    const from = Number(query.get('from')), to = Number(query.get('to'));
    const chosen = (query.get('tracks') || '').split(',').filter(Boolean).map(Number);
    const totals = new Map(), root = { name: 'all', kind: 'all', count: 0, total: 0, self: 0, inside: new Map() };
    const child = (of, kind, name) => {
      const key = `${kind} ${name}`;
      if (!of.inside.has(key)) of.inside.set(key, { name, kind, count: 0, total: 0, self: 0, inside: new Map() });
      return of.inside.get(key);
    };
    for (const [id, track] of data.tracks) {
      if (chosen.length > 0 && !chosen.includes(id)) continue;
      const info = data.answers.trace.tracks.find((one) => one.id === id);
      if (info.file !== 0 && chosen.length === 0) continue;
      const process = data.answers.trace.processes.find((one) => one.id === info.process);
      const top = () => child(child(root, 'process', process ? process.label : '?'), 'track', info.name);
      const order = [];
      for (let i = 0; i < track.n; ++i) if (track.start[i] < to && track.end[i] > from) order.push(i);
      order.sort((a, b) => track.lane[a] - track.lane[b] || track.start[a] - track.start[b] || track.depth[a] - track.depth[b]);
      let open = [];
      for (const i of order) {
        const length = Math.min(track.end[i], to) - Math.max(track.start[i], from);
        open = open.filter((one) => one.lane === track.lane[i] && one.depth < track.depth[i] && one.end > track.start[i]);
        const parent = open[open.length - 1], name = baseOf(data, track.name[i]);
        const frame = child(parent ? parent.frame : top(), info.kind === 'queue' ? 'work' : 'range', name);
        const key = `${info.kind === 'queue'} ${name}`;
        if (!totals.has(key))
          totals.set(key, { name, category: data.answers.names.categories[track.name[i]], on_device: info.kind === 'queue',
                            across_threads: false, unfinished: false, count: 0, total_ns: 0, self_ns: 0, all: [] });
        const sum = totals.get(key);
        ++sum.count;
        ++frame.count;
        sum.total_ns += length;
        sum.self_ns += length;
        frame.self += length;
        sum.all.push(length);
        if (parent) {
          parent.sum.self_ns -= length;
          parent.frame.self -= length;
        }
        open.push({ lane: track.lane[i], depth: track.depth[i], end: track.end[i], frame, sum });
      }
    }
    const flame = [];
    const add = (frame, depth) => {
      const line = { name: frame.name, kind: frame.kind, depth, count: frame.count, total_ns: 0, self_ns: frame.self };
      flame.push(line);
      line.total_ns = [...frame.inside.values()].reduce((sum, one) => sum + add(one, depth + 1), frame.self);
      return line.total_ns;
    };
    add(root, 0);
    const ranges = [...totals.values()].map(({ all, ...row }) => {
      all.sort((a, b) => a - b);
      const rank = (share) => all[Math.max(0, Math.ceil(share * all.length) - 1)];
      return { ...row, min_ns: all[0], median_ns: rank(0.5), p99_ns: rank(0.99), max_ns: all[all.length - 1] };
    });
    ranges.sort((a, b) => b.total_ns - a.total_ns);
    return { from_ns: from, to_ns: to, file: 0, ranges, instants: [], counters: [], flame };
  }

  const loaded = load();
  window.fetch = async (address) => {
    const [path, text] = String(address).split('?');
    const data = await loaded, query = new URLSearchParams(text || '');
    const json = (value) => new Response(JSON.stringify(value), { status: value.error ? 404 : 200 });
    switch (path) {
      case 'api/tiles':
        return new Response(tiles(data, query));
      case 'api/event':
        return json(event(data, query));
      case 'api/search':
        return json(search(data, query));
      case 'api/selection':
        return json(selection(data, query));
      case 'api/names': {
        const all = data.answers.names, from = Number(query.get('from') || 0);
        const part = (list) => list.slice(from);
        return json({ version: all.version, from, names: part(all.names), bases: part(all.bases),
                      categories: part(all.categories) });
      }
      default:
        return json(data.answers[path.replace('api/', '')] || { error: 'a saved page does not have this' });
    }
  };
  // A saved page does not change.
  window.EventSource = class {
    close() {}
    addEventListener() {}
  };
})();
