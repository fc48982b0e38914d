// Part of the script of a saved page: what is alive at a time. saved_page.cc describes the columns.

const kMaxHolders = 50;

function memory(data, query) {
  const file = Number(query.get('file') || 0), about = data.answers.memory[file];
  if (!about) return { error: `file ${file} has no allocations` };
  const at = Number(query.get('at') ?? about.peak_at);
  const [taken, freed, bytes, memories, ranges, stacks] =
    ['taken', 'freed', 'bytes', 'memory', 'range', 'stack'].map((name) => data.columns[`blocks.${file}.${name}`]);
  const sums = () => ({ bytes: new Map(), count: new Map() });
  const byMemory = sums(), byRange = sums(), byStack = sums();
  const add = (to, key, size) => {
    to.bytes.set(key, (to.bytes.get(key) || 0) + size);
    to.count.set(key, (to.count.get(key) || 0) + 1);
  };
  let total = 0, blocks = 0;
  for (let i = 0; i < taken.length; ++i) {
    if (taken[i] > at || freed[i] <= at) continue;
    total += bytes[i];
    ++blocks;
    add(byMemory, memories[i], bytes[i]);
    add(byRange, ranges[i], bytes[i]);
    add(byStack, stacks[i], bytes[i]);
  }
  const largest = (of, describe) =>
    [...of.bytes].map(([key, size]) => ({ ...describe(key), bytes: size, count: of.count.get(key) }))
      .sort((a, b) => b.bytes - a.bytes).slice(0, kMaxHolders);
  return {
    file, at_ns: at, bytes: total, blocks, sampled: about.sampled,
    memories: about.memories.map((name, i) => ({ name, bytes: byMemory.bytes.get(i) || 0 })),
    by_range: largest(byRange, (i) => ({ name: about.ranges[i] })),
    by_stack: largest(byStack, (i) => ({ name: about.stacks[i][0], where: about.stacks[i][1] || undefined, stack: framesOf(data, about.stacks[i][2]) })),
  };
}
