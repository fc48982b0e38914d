// Part of the script of a saved page: the events of all tracks, and tiles of them. The data is in the layout of
// docs/view.md: one tile for each track, with every range, instant and counter value.

const kBins = 1024, kMost = 20000, kUnknown = 0xffffffff;
const padded = (bytes) => Math.ceil(bytes / 8) * 8;

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
