// Part of the script of a saved page: details of an event, search, and totals.

const trackInfo = (data, id) => data.info.get(id);
const nameOf = (data, id) => (id === kUnknown ? '?' : data.answers.names.names[id]);
const baseOf = (data, id) => nameOf(data, data.answers.names.bases[id]);
const reference = (data, id, track, i) => ({
  track: id, chunk: track.chunk[i], index: track.index[i], name: nameOf(data, track.name[i]),
  start_ns: track.start[i], end_ns: track.end[i], category: data.answers.names.categories[track.name[i]],
});
// As the server, with the row.
const hitOf = (data, id, track, i) => ({ ...reference(data, id, track, i), depth: track.depth[i], lane: track.lane[i] });

const kPointKinds = { 5: 'flow', 6: 'flow', 7: 'flow', 8: 'allocation', 9: 'free', 10: 'sample' };

function event(data, query) {
  const [id, chunk, index] = ['track', 'chunk', 'index'].map((name) => Number(query.get(name)));
  const track = data.tracks.get(id);
  const info = trackInfo(data, id);
  if (!track || !info) return { error: `there is no track ${id}` };
  const about = (name, start, end) => ({
    name: nameOf(data, name), base: baseOf(data, name), category: data.answers.names.categories[name], track: id,
    file: info.file, start_ns: start, end_ns: end, duration_ns: end - start,
  });
  for (let i = 0; i < track.m; ++i) {
    if (track.instantChunk[i] !== chunk || track.instantIndex[i] !== index) continue;
    const kind = kPointKinds[track.kind[i]] || 'instant';
    return { ...about(track.instantName[i], track.time[i], track.time[i]), kind, arguments: argumentsOf(data, `instant_arguments.${id}`, i), stack: stackOf(data, `samples.${id}`, i) };
  }
  for (let i = 0; i < track.n; ++i) {
    if (track.chunk[i] !== chunk || track.index[i] !== index) continue;
    const range = { ...about(track.name[i], track.start[i], track.end[i]), arguments: argumentsOf(data, `arguments.${id}`, i) };
    if (info.kind === 'functions')
      return { ...range, category: 'function', kind: 'function', depth: track.depth[i], stack: stackOf(data, `functions.${id}`, i) };
    if (info.kind === 'rank') return { ...range, kind: 'rank', depth: track.depth[i] };
    if (info.kind === 'states') return { ...range, kind: 'thread state', depth: 0, stack: stackOf(data, `functions.${id}`, i) };
    if (info.kind === 'across') {
      const thread = (end) => (trackInfo(data, data.columns[`across.${id}.${end}`][i]) || { name: '' }).name;
      return { ...range, kind: 'range across threads', lane: track.lane[i], begins_on: thread('begins'), ends_on: thread('ends') };
    }
    return {
      ...range, kind: 'range', depth: track.depth[i], lane: track.lane[i], unfinished: index >= 0x80000000, stack: stackOf(data, `functions.${id}`, i),
      parents: parentsOf(data, id, track, i), ...linksOf(data, id, i), ...statesOf(data, id, track.start[i], track.end[i]),
    };
  }
  return { error: `track ${id} has no event ${chunk}/${index}` };
}

// How long the thread of a track ran and waited between two times.
function statesOf(data, id, from, to) {
  const [states] = [...data.info.values()].filter((info) => info.kind === 'states' && info.thread === id && !info.left_out);
  if (!states) return {};
  const track = data.tracks.get(states.id), times = { running_ns: 0, waiting_ns: 0, ready_ns: 0, held_up_ns: 0 };
  for (let i = first(0, track.n, (k) => track.end[k] > from); i < track.n && track.start[i] < to; ++i)
    times[`${baseOf(data, track.name[i]).split(' by')[0].replace(' ', '_')}_ns`] +=
        Math.min(track.end[i], to) - Math.max(track.start[i], from);
  return times;
}

function argumentsOf(data, column, i) {
  const row = data.answers.arguments.rows[data.columns[column] ? data.columns[column][i] : 0], found = [];
  for (let k = 0; k < row.length; k += 2) found.push({ name: row[k], value: row[k + 1] });
  return found;
}

// The ranges around one, outermost first.
function parentsOf(data, id, track, i) {
  const parents = [];
  for (let row = 0; row + 1 < track.rows.length; ++row) {
    const begin = track.rows[row];
    if (track.lane[begin] !== track.lane[i] || track.depth[begin] >= track.depth[i]) continue;
    const k = first(begin, track.rows[row + 1], (at) => track.end[at] >= track.end[i]);
    if (k < track.rows[row + 1] && track.start[k] <= track.start[i]) parents.push(reference(data, id, track, k));
  }
  return parents;
}

// As base::matches: a regular expression takes very long for some patterns.
function matchesPattern(pattern, name) {
  let at = 0, from = 0, star = -1, tried = 0;
  while (from < name.length) {
    if (pattern[at] === '*') {
      star = at++;
      tried = from;
    } else if (at < pattern.length && (pattern[at] === '?' || pattern[at] === name[from])) {
      ++at;
      ++from;
    } else if (star >= 0) {
      at = star + 1;
      from = ++tried;
    } else {
      return false;
    }
  }
  while (pattern[at] === '*') ++at;
  return at === pattern.length;
}

// Four steps for each power of two: from, and to.
function stepOf(ns) {
  if (ns < 4) return [ns, ns + 1];
  const width = 2 ** (Math.floor(Math.log2(ns)) - 2), from = Math.floor(ns / width) * width;
  return [from, from + width];
}

// The rule of api/search.
function matcherOf(text) {
  if (text.length > 2 && text.startsWith('"') && text.endsWith('"')) return (name) => name === text.slice(1, -1);
  const lower = text.toLowerCase();
  if (/[*?]/.test(lower)) return (name) => matchesPattern(lower, name.toLowerCase());
  return (name) => name.toLowerCase().includes(lower);
}

// Those that begin nearest to a time, and how many are before them.
function nearestHits(hits, limit, at) {
  hits.sort((a, b) => a.start_ns - b.start_ns);
  const next = hits.findIndex((hit) => hit.start_ns >= at);
  let from = next < 0 ? hits.length : next, to = from;
  while (to - from < limit && (from > 0 || to < hits.length)) {
    if (to === hits.length || (from > 0 && at - hits[from - 1].start_ns < hits[to].start_ns - at)) --from;
    else ++to;
  }
  return { before: from, hits: hits.slice(from, to) };
}

const kTimes = { ns: 1, us: 1e3, 'µs': 1e3, ms: 1e6, s: 1e9, m: 60e9, min: 60e9, h: 3600e9 };
const kSizes = { '': 1, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
function numberOf(text, units) {
  const [, number, unit] = text.match(/^(\d*\.?\d+(?:e\d+)?)(.*)$/) || [];
  if (number === undefined || !(unit in units)) throw new Error(`'${text}' is not a number: write it like dur>1ms or arg.bytes>1MB`);
  return Number(number) * units[unit];
}

// As the server: the pattern for names, and conditions on a track, a name, a length and arguments.
function wanted(data, text) {
  const quoted = (text.match(/^".+"(?= |$)/s) || [''])[0], words = [], tests = [];
  for (const word of text.slice(quoted.length).split(' ')) {
    const [, key, how, value] = word.match(/^([^:<>=]+)([:<>=])(.+)$/s) || [], part = value && value.toLowerCase();
    const has = (of) => (of || '').toLowerCase().includes(part);
    if (key === 'dur' && how !== ':' && how !== '=') {
      const ns = numberOf(value, kTimes);
      tests.push((id, name, length) => (how === '<' ? length < ns : length > ns));
    } else if (key === 'thread' && how === ':') {
      tests.push((id) => has(trackInfo(data, (trackInfo(data, id).thread ?? id)).name));
    } else if (key === 'category' && how === ':') {
      tests.push((id, name) => has(data.answers.names.categories[name]));
    } else if (key === 'arg' || (key && key.startsWith('arg.'))) {
      const number = how === '<' || how === '>' ? numberOf(value, kSizes) : 0;
      const fits = (one) => (how === ':' ? has(one) : how === '=' ? one.toLowerCase() === part : how === '<' ? Number(one) < number : Number(one) > number);
      tests.push((id, name, length, column, i) => argumentsOf(data, `${column}.${id}`, i).some((one) => (key === 'arg' || one.name === key.slice(4)) && fits(one.value)));
    } else {
      words.push(word);
    }
  }
  const name = quoted + words.join(' ').trimEnd();
  return { matches: name === '' ? () => true : matcherOf(name), is: (...hit) => tests.every((test) => test(...hit)) };
}

function search(data, query) {
  const limit = Number(query.get('limit') || 1000);
  let conditions;
  try {
    conditions = wanted(data, query.get('q'));
  } catch (error) {
    return { error: error.message };
  }
  const matches = data.answers.names.names.map(conditions.matches);
  const is = matches.map((found, name) => found || matches[data.answers.names.bases[name]]);
  const counts = new Map(), hits = [], tracks = [];
  for (const [id, track] of data.tracks) {
    const info = trackInfo(data, id);
    const bin = Math.floor(data.answers.trace.files[info.file].duration_ns / kBins) + 1, bins = new Map();
    let total = 0;
    const hit = (name, found) => {
      ++total;
      const base = data.answers.names.bases[name], at = Math.min(kBins - 1, Math.floor(found.start_ns / bin));
      counts.set(base, (counts.get(base) || 0) + 1);
      bins.set(at, (bins.get(at) || 0) + 1);
      hits.push(found);
    };
    for (let i = 0; i < track.n; ++i)
      if (is[track.name[i]] && conditions.is(id, track.name[i], track.end[i] - track.start[i], 'arguments', i))
        hit(track.name[i], hitOf(data, id, track, i));
    for (let i = 0; i < track.m; ++i) {
      const name = track.instantName[i];
      if (track.kind[i] === 1 && is[name] && conditions.is(id, name, 0, 'instant_arguments', i))
        hit(name, { track: id, chunk: track.instantChunk[i], index: track.instantIndex[i], name: nameOf(data, name),
                    start_ns: track.time[i], end_ns: track.time[i] });
    }
    if (total > 0) tracks.push({ track: id, total, bin_ns: bin, bins: [...bins].sort((a, b) => a[0] - b[0]) });
  }
  const lengthOf = (hit) => hit.end_ns - hit.start_ns, steps = new Map();
  for (const hit of hits) {
    const step = stepOf(lengthOf(hit)), known = steps.get(step[0]);
    if (known) ++known[2];
    else steps.set(step[0], [...step, 1]);
  }
  const slowest = hits.filter(lengthOf).sort((a, b) => lengthOf(b) - lengthOf(a) || a.start_ns - b.start_ns).slice(0, 20);
  const lengths = [...steps.values()].sort((a, b) => a[0] - b[0]);
  const nearest = nearestHits(hits, limit, Number(query.get('at') || 0));
  const names = [...counts].map(([id, count]) => ({ id, name: nameOf(data, id), count }));
  names.sort((a, b) => b.count - a.count);
  return { total: hits.length, complete: true, names, ...nearest, slowest, lengths, tracks };
}

// The totals of all of a file, as the server computes them: what "selection", "wait" or "device" asks for.
function totals(data, query, what) {
  const ids = (query.get('tracks') || '').split(',').filter(Boolean).map(Number);
  const file = ids.length > 0 ? trackInfo(data, ids[0]).file : 0;
  const isAll = ids.length === 0 || ids.length === data.answers.trace.tracks.filter((track) => track.file === file).length;
  if (!isAll || Number(query.get('from')) > 0 || Number(query.get('to')) < data.answers.trace.files[file].duration_ns)
    return { error: 'A saved page has the totals of the whole trace only. kymo view shows those of a part.' };
  return data.answers.totals[file][what] || missing;
}
