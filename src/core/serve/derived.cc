#include "serve/derived.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "analyze/memory/replay.h"
#include "serve/api.h"
#include "symbols/short_name.h"
#include "trace/async_pairs.h"
#include "trace/read_if_whole.h"

namespace kymo::serve {

// ---- The bytes in use of each memory over time
// -----------------------------------------------------------------------

namespace {

class InUse : public memory::BlockVisitor {
 public:
  InUse(const memory::Tables& tables, const FilePlaces& places, const ShouldStop& should_stop)
      : tables_(tables), places_(places), should_stop_(should_stop) {}

  void taken(const memory::Block& block) override { step(block.memory, block.taken_ns, block.bytes, 0); }
  void returned(const memory::Block& block, const memory::MemoryChange& by) override {
    step(block.memory, by.time_ns, 0, block.bytes);
  }
  void ended(const memory::Block& block, int64_t end_ns) override { step(block.memory, end_ns, 0, block.bytes); }

  std::vector<DerivedTrack> take() {
    std::vector<DerivedTrack> tracks;
    for (auto& [number, memory] : memories_) {
      DerivedTrack& track = tracks.emplace_back();
      track.group = memory.place->group;
      track.name = tables_.memories[number].device;
      track.values = std::move(memory.steps);
    }
    return tracks;
  }

 private:
  struct Memory {
    const FilePlaces::Place* place = nullptr;
    uint64_t bytes = 0;
    std::vector<CounterBin> steps;
  };

  void step(uint32_t number, int64_t realtime_ns, uint64_t more, uint64_t less) {
    if (++changes_ % 4096 == 0 && should_stop_()) throw Abandoned();
    const auto [entry, is_new] = memories_.try_emplace(number);
    Memory& memory = entry->second;
    if (is_new) {
      const uint64_t pid = tables_.processes[tables_.memories[number].process].pid;
      const auto place = places_.processes.find(pid);
      if (place != places_.processes.end()) memory.place = &place->second;
    }
    if (memory.place == nullptr) {
      memories_.erase(entry);
      return;
    }
    memory.bytes = more > UINT64_MAX - memory.bytes ? UINT64_MAX : memory.bytes + more;
    memory.bytes -= std::min(less, memory.bytes);
    const int64_t time = memory.place->clock.of_realtime(realtime_ns);
    const double value = static_cast<double>(memory.bytes);
    add(memory.steps, {time, time, value, value, value});
  }

  void add(std::vector<CounterBin>& steps, const CounterBin& value) {
    if (!steps.empty() && bin_of(steps.back().time, level_) == bin_of(value.time, level_))
      return steps.back().merge(value);
    steps.push_back(value);
    if (++count_ > DerivedTrack::kMaxSteps) coarsen();
  }

  // Bins that are twice as long, for all memories, until half of the room is free.
  void coarsen() {
    while (count_ > DerivedTrack::kMaxSteps / 2) {
      ++level_;
      count_ = 0;
      for (auto& [number, memory] : memories_) {
        size_t kept = 0;
        for (const CounterBin& step : memory.steps) {
          if (kept > 0 && bin_of(memory.steps[kept - 1].time, level_) == bin_of(step.time, level_))
            memory.steps[kept - 1].merge(step);
          else
            memory.steps[kept++] = step;
        }
        memory.steps.resize(kept);
        count_ += kept;
      }
    }
  }

  const memory::Tables& tables_;
  const FilePlaces& places_;
  const ShouldStop& should_stop_;
  std::map<uint32_t, Memory> memories_;
  unsigned level_ = 0;
  size_t count_ = 0;
  uint64_t changes_ = 0;
};

}  // namespace

std::vector<DerivedTrack> memory_tracks(const trace::Reader& reader, const FilePlaces& places,
                                        const ShouldStop& should_stop) {
  memory::Changes changes(reader);
  InUse in_use(changes.tables(), places, should_stop);
  try {
    memory::replay(changes, in_use);
  } catch (const Abandoned&) {
    return {};
  }
  return in_use.take();
}

// ---- Ranges across threads: range_start() on one thread, range_end() on this or another one
// --------------------------

namespace {

struct Begin {
  Item item;
  uint32_t track = 0, group = 0;
  std::string task;  // the name of the task that it belongs to; empty: none
};
struct End {
  int64_t ns = 0;
  uint32_t track = 0;
};

// Tasks of asyncio and their steps, as the Python package records them.
bool is_task(const std::string& category) { return category == "asyncio" || category == "asyncio step"; }

// Gives ranges, which are sorted by start, the first lane that is free.
void assign_lanes(std::vector<Item>& items) {
  std::vector<int64_t> free_at;
  for (Item& item : items) {
    size_t lane = 0;
    while (lane < free_at.size() && free_at[lane] > item.start) ++lane;
    if (lane == free_at.size() && lane < DerivedTrack::kMaxLanes) free_at.push_back(0);
    lane = std::min<size_t>(lane, DerivedTrack::kMaxLanes - 1);
    free_at[lane] = std::max(free_at[lane], item.end);
    item.lane = static_cast<uint16_t>(lane);
  }
}

class Collector {
 public:
  Collector() : pairs_([this](uint64_t, const Begin& begin, const End& end) { add(begin, end.ns, end.track); }) {}

  void begin(const trace::AsyncHandle& handle, Begin&& begin) {
    if (!pairs_.begin(handle, std::move(begin))) add(begin, begin.item.start, begin.track);
  }
  void end(const trace::AsyncHandle& handle, const End& end) { pairs_.end(handle, end); }

  std::vector<DerivedTrack> take(int64_t last_ns) {
    pairs_.finish([&](const trace::AsyncHandle&, const Begin& begin) { add(begin, last_ns, begin.track); });
    std::vector<DerivedTrack> tracks;
    for (auto& [place, found] : groups_) {
      DerivedTrack& track = tracks.emplace_back();
      track.kind = DerivedTrack::Kind::AcrossThreads;
      track.group = place.first;
      track.name = place.second.empty() ? "across threads" : "task " + place.second;
      track.left_out = found.left_out;
      std::stable_sort(found.ranges.begin(), found.ranges.end(),
                       [](const auto& a, const auto& b) { return a.first.start < b.first.start; });
      for (const auto& [item, end_track] : found.ranges) {
        track.items.push_back(item);
        track.end_tracks.push_back(end_track);
      }
      assign_lanes(track.items);
    }
    return tracks;
  }

 private:
  struct Group {
    std::vector<std::pair<Item, uint32_t>> ranges;  // with the track where it ends
    uint64_t left_out = 0;
  };

  // Each task has a track of its own, as long as there are not too many.
  Group& group_of(const Begin& begin) {
    const auto known = groups_.find({begin.group, begin.task});
    if (known != groups_.end()) return known->second;
    if (begin.task.empty() || groups_.size() >= DerivedTrack::kMaxTasks) return groups_[{begin.group, ""}];
    return groups_[{begin.group, begin.task}];
  }

  void add(const Begin& begin, int64_t end_ns, uint32_t end_track) {
    Group& group = group_of(begin);
    if (count_ >= DerivedTrack::kMaxAcross) {
      ++group.left_out;
      return;
    }
    ++count_;
    Item item = begin.item;
    item.end = std::max(item.start, end_ns);
    item.total = item.longest = item.end - item.start;
    group.ranges.emplace_back(item, end_track);
  }

  trace::AsyncPairs<Begin, End> pairs_;
  std::map<std::pair<uint32_t, std::string>, Group> groups_;  // by group and task
  size_t count_ = 0;
};

}  // namespace

std::vector<DerivedTrack> across_threads_tracks(const trace::Reader& reader, const FilePlaces& places,
                                                const std::function<bool(uint32_t chunk)>& is_wanted,
                                                const NameOf& name_of, const ShouldStop& should_stop) {
  Collector collector;
  std::map<trace::WriterId, uint32_t> writers;
  trace::EventBatch batch;
  const std::vector<trace::EventChunk>& chunks = reader.event_chunks();
  for (uint32_t chunk = 0; chunk < chunks.size(); ++chunk) {
    if (should_stop()) return {};
    if (chunks[chunk].point_count == 0 || !is_wanted(chunk)) continue;
    const auto place = places.tracks.find({chunks[chunk].writer, chunks[chunk].track});
    const auto writer = reader.writers().find(chunks[chunk].writer);
    if (place == places.tracks.end() || writer == reader.writers().end()) continue;
    if (!trace::read_if_whole(reader, chunks[chunk], batch, trace::kPoints | trace::kPointValues))
      continue;  // tiles report it
    const uint32_t number = writers.try_emplace(writer->first, static_cast<uint32_t>(writers.size())).first->second;
    const trace::Points& points = batch.points;
    trace::ValueCursor cursor(points.values);
    bool is_lost = false;  // after a class that is not known, values cannot be read
    for (uint32_t i = 0; i < points.size(); ++i) {
      const trace::EventClass* const event_class = writer->second.find_class(points.class_id[i]);
      is_lost = is_lost || (event_class == nullptr && points.class_id[i] != trace::kInlineName);
      const auto* const row = is_lost ? nullptr : &cursor.next(event_class);
      const trace::AsyncHandle handle{number, points.id[i]};
      const int64_t time = place->second.clock.ns(points.time[i]);
      if (points.kind[i] == trace::PointKind::AsyncEnd) collector.end(handle, {time, place->second.track});
      if (points.kind[i] != trace::PointKind::AsyncBegin) continue;
      const std::string name = row != nullptr ? trace::full_name(event_class, *row) : std::string();
      Begin begin;
      if (event_class != nullptr && is_task(event_class->category)) begin.task = name;
      begin.track = place->second.track;
      begin.group = place->second.group;
      begin.item.start = time;
      begin.item.name = name_of(writer->first, points.class_id[i], name);
      begin.item.chunk = chunk;
      begin.item.index = kPointIndex + i;
      collector.begin(handle, std::move(begin));
    }
  }
  return collector.take(places.duration_ns);
}

FilePlaces FilePlaces::of(const Source& source) {
  FilePlaces places;
  places.duration_ns = source.duration_ns();
  for (uint32_t i = 0; i < source.tracks().size(); ++i) {
    const SourceTrack& track = source.tracks()[i];
    const Place place{i, track.group, track.clock};
    places.tracks.emplace(std::pair(track.writer, track.track), place);
    if (!track.is_queue) places.processes.emplace(source.groups()[track.group].pid, place);
  }
  return places;
}

// ---- The functions of CPU samples over time, and the stack of one of them
// --------------------------------------------

namespace {

using memory::SampleStacks;
using memory::StackId;

// Calls visit(chunk, point, time, taken) for the points with stacks of one writer, or of all.
template <typename Visit>
bool visit_samples(const trace::Reader& reader, memory::Stacks& stacks, const trace::WriterId* only,
                   const ShouldStop& should_stop, Visit&& visit) {
  SampleStacks samples(stacks, reader);
  trace::EventBatch batch;
  const std::vector<trace::EventChunk>& chunks = reader.event_chunks();
  for (uint32_t chunk = 0; chunk < chunks.size(); ++chunk) {
    if (should_stop && should_stop()) return false;
    const auto writer = reader.writers().find(chunks[chunk].writer);
    if (chunks[chunk].point_count == 0 || writer == reader.writers().end() ||
        (only != nullptr && writer->first != *only) || !SampleStacks::are_in(writer->second))
      continue;
    if (!trace::read_if_whole(reader, chunks[chunk], batch, trace::kPoints | trace::kPointValues))
      continue;  // tiles report it
    const trace::Points& points = batch.points;
    trace::ValueCursor cursor(points.values);
    for (uint32_t i = 0; i < points.size(); ++i) {
      const trace::EventClass* const event_class = writer->second.find_class(points.class_id[i]);
      if (event_class == nullptr && points.class_id[i] != trace::kInlineName) break;  // its values cannot be skipped
      const SampleStacks::Row& row = cursor.next(event_class);
      if (event_class == nullptr) continue;
      const SampleStacks::Taken taken =
          samples.take(writer->second, chunks[chunk].track, *event_class, points.id[i], row);
      if (taken.kind == SampleStacks::Kind::Sample || taken.kind == SampleStacks::Kind::PageFault || taken.has_stack)
        visit(chunk, i, points.time[i], taken);
    }
  }
  return true;
}

struct Sample {
  int64_t time = 0;
  StackId stack = 0;
  uint32_t chunk = 0, point = 0;
};

struct Thread {
  const FilePlaces::Place* place = nullptr;
  int64_t period = 0;
  std::vector<Sample> samples;
};

// Turns the samples of a thread into ranges.
class Ranges {
 public:
  Ranges(DerivedTrack& track, size_t& left) : track_(track), left_(left) {}

  // Outermost first. The functions are valid from `sample` until `end`.
  void add(const Sample& sample, const std::vector<uint32_t>& names, bool continues, int64_t end) {
    size_t same = 0;
    if (continues)
      while (same < open_.size() && same < names.size() && open_[same].name == names[same]) ++same;
    close(same);
    for (Item& item : open_) item.end = end;
    for (size_t depth = same; depth < names.size(); ++depth) {
      Item& item = open_.emplace_back();
      item.start = sample.time;
      item.end = end;
      item.name = names[depth];
      item.depth = static_cast<uint16_t>(depth);
      item.chunk = sample.chunk;
      item.index = sample.point;
    }
  }

  void close(size_t depth) {
    for (; open_.size() > depth; open_.pop_back()) {
      if (left_ == 0) {
        ++track_.left_out;
        continue;
      }
      --left_;
      Item& item = open_.back();
      item.total = item.longest = item.end - item.start;
      track_.items.push_back(item);
    }
  }

 private:
  DerivedTrack& track_;
  size_t& left_;
  std::vector<Item> open_;
};

// How many of the outermost functions are in nearly all samples: they say nothing about where the time goes.
uint32_t shared_functions(const std::vector<Item>& items) {
  constexpr double kNearlyAll = 0.95;
  std::vector<std::unordered_map<uint32_t, int64_t>> totals;  // by depth and name
  int64_t all = 0;
  for (const Item& item : items) {
    if (item.depth >= totals.size()) totals.resize(item.depth + 1u);
    totals[item.depth][item.name] += item.total;
    if (item.depth == 0) all += item.total;
  }
  uint32_t depth = 0;
  const auto is_shared = [&](const auto& total) {
    return static_cast<double>(total.second) >= kNearlyAll * static_cast<double>(all);
  };
  while (depth < totals.size() && std::ranges::any_of(totals[depth], is_shared)) ++depth;
  return depth;
}

// The names of the functions of stacks, outermost first. Each stack is looked up once.
class StackNames {
 public:
  StackNames(memory::Stacks& stacks, const FunctionNameOf& name_of) : stacks_(stacks), name_of_(name_of) {}

  const std::vector<uint32_t>& of(StackId stack) {
    const auto [known, is_new] = known_.try_emplace(stack);
    if (!is_new) return known->second;
    const std::vector<symbols::Frame> frames = stacks_.frames(stack);
    for (auto frame = frames.rbegin(); frame != frames.rend() && known->second.size() < DerivedTrack::kMaxDepth;
         ++frame)
      known->second.push_back(name_of_(short_.of(frame->function)));
    if (frames.empty()) known->second.push_back(name_of_("(unknown)"));
    return known->second;
  }

 private:
  memory::Stacks& stacks_;
  const FunctionNameOf& name_of_;
  symbols::ShortNames short_;
  std::unordered_map<StackId, std::vector<uint32_t>> known_;
};

}  // namespace

std::vector<DerivedTrack> function_tracks(const trace::Reader& reader, const FilePlaces& places,
                                          const FunctionNameOf& name_of, const ShouldStop& should_stop) {
  memory::Stacks stacks;
  std::map<uint32_t, Thread> threads;  // by track
  const bool is_read = visit_samples(
      reader, stacks, nullptr, should_stop,
      [&](uint32_t chunk, uint32_t point, uint64_t time, const SampleStacks::Taken& taken) {
        if (taken.kind != SampleStacks::Kind::Sample) return;
        const trace::EventChunk& of = reader.event_chunks()[chunk];
        const auto place = places.tracks.find({of.writer, of.track});
        if (place == places.tracks.end()) return;
        Thread& thread = threads[place->second.track];
        if (thread.place == nullptr) {
          thread.place = &place->second;
          thread.period = static_cast<int64_t>(memory::sample_period_ns(reader, reader.writers().at(of.writer)));
        }
        thread.samples.push_back({place->second.clock.ns(time), taken.stack, chunk, point});
      });
  if (!is_read) return {};
  StackNames names(stacks, name_of);
  std::vector<DerivedTrack> tracks;
  size_t left = DerivedTrack::kMaxFunctions;
  for (auto& [number, thread] : threads) {
    std::ranges::stable_sort(thread.samples, {}, &Sample::time);
    DerivedTrack& track = tracks.emplace_back();
    track.kind = DerivedTrack::Kind::Functions;
    track.group = thread.place->group;
    track.of_track = number;
    Ranges ranges(track, left);
    bool continues = false;
    for (size_t i = 0; i < thread.samples.size(); ++i) {
      if (i % 1024 == 0 && should_stop()) return {};
      const Sample& sample = thread.samples[i];
      // A sample stands for one period. If the next one is not much later, the thread used the CPU until then.
      const int64_t next = i + 1 < thread.samples.size() ? thread.samples[i + 1].time : INT64_MAX;
      const bool is_followed = next - sample.time <= thread.period + thread.period / 2;
      ranges.add(sample, names.of(sample.stack), continues, is_followed ? next : sample.time + thread.period);
      continues = is_followed;
    }
    ranges.close(0);
    std::ranges::sort(track.items, [](const Item& a, const Item& b) {
      return a.start != b.start ? a.start < b.start : a.depth < b.depth;
    });
    track.shared = shared_functions(track.items);
    for (uint32_t i = 0; i < track.items.size(); ++i) {
      track.points.push_back(track.items[i].index);
      track.items[i].index = i;
    }
  }
  return tracks;
}

void each_sample_stack(const trace::Reader& reader,
                       const std::function<void(uint32_t chunk, uint32_t point, StackId)>& sample,
                       const std::function<void(StackId, const std::vector<symbols::Frame>&)>& stack) {
  memory::Stacks stacks;
  std::set<StackId> used;
  visit_samples(reader, stacks, nullptr, {},
                [&](uint32_t chunk, uint32_t point, uint64_t, const SampleStacks::Taken& taken) {
                  sample(chunk, point, taken.stack);
                  used.insert(taken.stack);
                });
  for (const StackId id : used) stack(id, stacks.frames(id));
}

std::vector<symbols::Frame> sample_frames(const trace::Reader& reader, uint32_t chunk, uint32_t point) {
  memory::Stacks stacks;
  StackId found = 0;
  const trace::WriterId& writer = reader.event_chunks()[chunk].writer;
  visit_samples(reader, stacks, &writer, {}, [&](uint32_t at, uint32_t i, uint64_t, const SampleStacks::Taken& taken) {
    if (at == chunk && i == point) found = taken.stack;
  });
  return stacks.frames(found);
}

}  // namespace kymo::serve
