// Part of the script of a saved page: arrows, what belongs to a range, and stacks. saved_page.cc describes the columns.

const kMaxLinks = 300, kMaxFlows = 8;

// The innermost range of lane 0 around a time: its position, or undefined.
function around(track, time) {
  let innermost;
  for (let row = 0; row + 1 < track.rows.length; ++row) {
    const begin = track.rows[row], end = track.rows[row + 1];
    if (track.lane[begin] !== 0) continue;
    const i = first(begin, end, (k) => track.end[k] >= time);
    if (i < end && track.start[i] <= time) innermost = i;
  }
  return innermost;
}

function links(data, query) {
  const from = Number(query.get('from')), to = Number(query.get('to'));
  const wanted = new Set((query.get('tracks') || '').split(',').filter(Boolean).map(Number));
  const launches = launchLinks(data, from, to, wanted), flows = flowLinks(data, from, to, wanted);
  const found = [...launches.slice(0, kMaxLinks), ...flows].slice(0, kMaxLinks);
  const file = wanted.size > 0 ? (data.info.get([...wanted][0]) || { file: 0 }).file : 0;
  return { file, links: found, complete: launches.length + flows.length <= kMaxLinks };
}

// The longest work first.
function launchLinks(data, from, to, wanted) {
  const { 'launch.number': number, 'launch.track': track, 'launch.item': item } = data.columns;
  const work = [];
  let launch = 0; // of the work that follows
  for (let i = 0; i < number.length; ++i) {
    if (i === 0 || number[i] !== number[i - 1]) launch = i;
    if (!wanted.has(track[i]) || data.info.get(track[i]).kind !== 'queue') continue;
    const { start, end } = data.tracks.get(track[i]);
    if (start[item[i]] >= from && start[item[i]] < to) work.push({ launch, i, length: end[item[i]] - start[item[i]] });
  }
  work.sort((a, b) => b.length - a.length);
  const place = (i) => {
    const of = data.tracks.get(track[i]), at = item[i];
    return { track: track[i], time_ns: of.start[at], depth: of.depth[at], lane: of.lane[at] };
  };
  return work.map((one) => ({ kind: 'launch', from: place(one.launch), to: place(one.i) }));
}

function flowLinks(data, from, to, wanted) {
  const { 'flow.number': number, 'flow.track': track, 'flow.time': time } = data.columns;
  const found = [];
  const place = (i) => {
    const of = data.tracks.get(track[i]), range = around(of, time[i]);
    return { track: track[i], time_ns: time[i], depth: range === undefined ? 0 : of.depth[range], lane: 0 };
  };
  let previous = -1;
  for (let i = 0; i < number.length; ++i) {
    if (!wanted.has(track[i]) || time[i] < from || time[i] >= to) continue;
    if (found.length > kMaxLinks) break; // enough to know that there are more
    if (previous >= 0 && number[previous] === number[i]) found.push({ kind: 'flow', from: place(previous), to: place(i) });
    previous = i;
  }
  return found;
}

// What launched a range, what it launched, and its flows.
function linksOf(data, id, item) {
  const of = (track, at) => reference(data, track, data.tracks.get(track), at);
  const { 'launch.number': number, 'launch.track': track, 'launch.item': items } = data.columns;
  const answer = {};
  const self = number.findIndex((_, i) => track[i] === id && items[i] === item);
  if (self >= 0) {
    const begin = first(0, number.length, (k) => number[k] >= number[self]);
    const end = first(begin, number.length, (k) => number[k] > number[self]);
    const isWork = (i) => data.info.get(track[i]).kind === 'queue';
    if (isWork(self)) {
      const host = data.tracks.get(track[begin]);
      answer.launched_by = of(track[begin], items[begin]);
      answer.launch_stack = parentsOf(data, track[begin], host, items[begin]);
    } else answer.launched = [...number.slice(begin, end).keys()].map((k) => begin + k).filter(isWork).map((i) => of(track[i], items[i]));
  }
  answer.flows = flowsOf(data, id, item);
  return answer;
}

// The other points of the flows whose points are in this range and in no range inside of it.
function flowsOf(data, id, item) {
  const { 'flow.number': number, 'flow.track': track, 'flow.time': time } = data.columns;
  const own = data.tracks.get(id), flows = [], seen = new Set();
  for (let i = 0; i < number.length && seen.size < kMaxFlows; ++i) {
    if (track[i] !== id || time[i] < own.start[item] || time[i] > own.end[item] || seen.has(number[i])) continue;
    if (around(own, time[i]) !== item) continue;
    seen.add(number[i]);
    for (let k = first(0, number.length, (at) => number[at] >= number[i]); k < number.length && number[k] === number[i]; ++k) {
      const of = data.tracks.get(track[k]), range = around(of, time[k]);
      if (k === i || (track[k] === id && range === item)) continue;
      const event = range === undefined
        ? { track: track[k], chunk: kUnknown, index: kUnknown, name: 'flow', start_ns: time[k], end_ns: time[k] }
        : reference(data, track[k], of, range);
      flows.push({ direction: time[k] < time[i] ? 'from' : 'to', time_ns: time[k], event });
    }
  }
  return flows;
}

// The stack of a sample, innermost function first.
const stackOf = (data, column, i) => (data.columns[column] ? framesOf(data, data.columns[column][i]) : []);
function framesOf(data, innermost) {
  const stack = [], { 'stack.caller': caller, 'stack.frame': frame } = data.columns;
  for (let node = innermost; node !== 0; node = caller[node]) {
    const [name, file, line, module] = data.answers.frames[frame[node]];
    stack.push({ function: name, file, line, module });
  }
  return stack;
}
