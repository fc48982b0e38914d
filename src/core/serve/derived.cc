#include "serve/derived.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>

#include "analyze/functions/causes.h"
#include "analyze/functions/functions.h"
#include "analyze/memory/replay.h"
#include "analyze/report/ranks.h"
#include "analyze/thread_states.h"
#include "base/printable.h"
#include "base/text.h"
#include "symbols/short_name.h"
#include "trace/async_pairs.h"
#include "trace/read_if_whole.h"

namespace kymo::serve {

// ---- The bytes in use of each memory over time
// -----------------------------------------------------------------------

namespace {

class InUse : public memory::BlockVisitor {
 public:
  InUse(const memory::Tables& tables, const FilePlaces& places) : tables_(tables), places_(places) {}

  void taken(const memory::Block& block) override { step(block.memory, block.taken_ns, block.bytes, 0); }
  void returned(const memory::Block& block, const memory::MemoryChange& by) override {
    step(block.memory, by.time_ns, 0, block.bytes);
  }
  void ended(const memory::Block& block, int64_t end_ns) override { step(block.memory, end_ns, 0, block.bytes); }

  std::vector<DerivedTrack> take() {
    std::vector<DerivedTrack> tracks;
    for (auto& [number, memory] : memories_) {
      DerivedTrack& track = tracks.emplace_back();
      track.kind = DerivedTrack::Kind::Memory;
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
        merge_neighbours(memory.steps, [&](const CounterBin& a, const CounterBin& b) {
          return bin_of(a.time, level_) == bin_of(b.time, level_);
        });
        count_ += memory.steps.size();
      }
    }
  }

  const memory::Tables& tables_;
  const FilePlaces& places_;
  std::map<uint32_t, Memory> memories_;
  unsigned level_ = 0;
  size_t count_ = 0;
};

}  // namespace

int64_t peak_of(const memory::Profile& profile, const FilePlaces& places) {
  const memory::Tables& tables = profile.tables;
  const auto place = places.processes.find(tables.processes[tables.memories[profile.peak_memory].process].pid);
  return place == places.processes.end() ? 0 : place->second.clock.of_realtime(profile.peak_ns);
}

std::vector<DerivedTrack> memory_tracks(const DerivedInput& input) {
  memory::Changes changes(input.reader);
  InUse in_use(changes.tables(), input.places);
  memory::replay(changes, in_use);
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
    const Item& item = begin.item;
    group.ranges.emplace_back(Item::single(item.start, end_ns, item.name, item.chunk, item.index), end_track);
  }

  trace::AsyncPairs<Begin, End> pairs_;
  std::map<std::pair<uint32_t, std::string>, Group> groups_;  // by group and task
  size_t count_ = 0;
};

}  // namespace

std::vector<DerivedTrack> across_threads_tracks(const DerivedInput& input) {
  const auto& [reader, places, names, check] = input;
  Collector collector;
  std::map<trace::WriterId, uint32_t> writers;
  trace::EventBatch batch;
  const std::vector<trace::EventChunk>& chunks = reader.event_chunks();
  for (uint32_t chunk = 0; chunk < chunks.size(); ++chunk) {
    if (chunks[chunk].point_count == 0) continue;
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
      begin.item = Item::single(time, time, names.of_event(event_class, points.class_id[i] == trace::kInlineName, name),
                                chunk, kPointIndex + i);
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

// Calls visit(chunk, index, time, taken) for the points with stacks of one writer, or of all, and for recorded waits
// (analyze/functions/locks.h). The index is that of Item::index.
template <typename Visit>
void visit_samples(const trace::Reader& reader, memory::Stacks& stacks, const trace::WriterId* only, Visit&& visit) {
  SampleStacks samples(stacks, reader);
  trace::EventBatch batch;
  const std::vector<trace::EventChunk>& chunks = reader.event_chunks();
  for (uint32_t chunk = 0; chunk < chunks.size(); ++chunk) {
    const auto writer = reader.writers().find(chunks[chunk].writer);
    if (writer == reader.writers().end() || (only != nullptr && writer->first != *only)) continue;
    const bool has_waits = std::ranges::any_of(
        writer->second.classes, [](const auto& one) { return SampleStacks::is_recorded_wait(one.second); });
    if (!has_waits && (chunks[chunk].point_count == 0 || !SampleStacks::are_in(writer->second))) continue;
    constexpr unsigned kOfRanges = trace::kRangeTimes | trace::kRangeClasses | trace::kRangeValues;
    if (!trace::read_if_whole(reader, chunks[chunk], batch,
                              trace::kPoints | trace::kPointValues | (has_waits ? kOfRanges : 0u)))
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
      if (taken.kind == SampleStacks::Kind::Sample || taken.has_stack)
        visit(chunk, kPointIndex + i, points.time[i], taken);
    }
    trace::ValueCursor waits(batch.ranges.values);
    for (uint32_t i = 0; has_waits && i < batch.ranges.size(); ++i) {
      const trace::EventClass* const event_class = writer->second.find_class(batch.ranges.class_id[i]);
      if (event_class == nullptr && batch.ranges.class_id[i] != trace::kInlineName) break;
      const SampleStacks::Row& row = waits.next(event_class);
      if (event_class == nullptr || !SampleStacks::is_recorded_wait(*event_class)) continue;
      visit(chunk, i, batch.ranges.end[i], samples.take(writer->second, chunks[chunk].track, *event_class, 0, row));
    }
  }
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
    for (size_t depth = same; depth < names.size(); ++depth)
      open_.push_back(
          Item::single(sample.time, end, names[depth], sample.chunk, sample.point, static_cast<uint16_t>(depth)));
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
  StackNames(memory::Stacks& stacks, const DerivedInput& input) : stacks_(stacks), input_(input) {}

  const std::vector<uint32_t>& of(StackId stack) {
    const auto [known, is_new] = known_.try_emplace(stack);
    if (!is_new) return known->second;
    input_.check();
    const std::vector<symbols::Frame> frames = stacks_.frames(stack);
    for (auto frame = frames.rbegin(); frame != frames.rend() && known->second.size() < DerivedTrack::kMaxDepth;
         ++frame)
      known->second.push_back(input_.names.of_inline(short_.of(frame->function)));
    if (frames.empty()) known->second.push_back(input_.names.of_inline("(unknown)"));
    return known->second;
  }

 private:
  memory::Stacks& stacks_;
  const DerivedInput& input_;
  symbols::ShortNames short_;
  std::unordered_map<StackId, std::vector<uint32_t>> known_;
};

}  // namespace

std::vector<DerivedTrack> function_tracks(const DerivedInput& input) {
  const trace::Reader& reader = input.reader;
  memory::Stacks stacks;
  std::map<std::string, Thread> threads;  // by thread_key(): one thread before and after exec
  visit_samples(
      reader, stacks, nullptr, [&](uint32_t chunk, uint32_t index, uint64_t time, const SampleStacks::Taken& taken) {
        if (taken.kind != SampleStacks::Kind::Sample) return;
        const trace::EventChunk& of = reader.event_chunks()[chunk];
        const auto place = input.places.tracks.find({of.writer, of.track});
        if (place == input.places.tracks.end()) return;
        const trace::WriterInfo& writer = reader.writers().at(of.writer);
        const auto described = writer.tracks.find(of.track);
        if (described == writer.tracks.end()) return;
        Thread& thread = threads[analyze::thread_key(writer, described->second)];
        if (thread.place == nullptr) {
          thread.place = &place->second;
          thread.period = static_cast<int64_t>(memory::sample_period_ns(reader, reader.writers().at(of.writer)));
        }
        thread.samples.push_back({place->second.clock.ns(time), taken.stack, chunk, index - kPointIndex});
      });
  StackNames names(stacks, input);
  std::vector<DerivedTrack> tracks;
  size_t left = DerivedTrack::kMaxFunctions;
  for (auto& [key, thread] : threads) {
    std::ranges::stable_sort(thread.samples, {}, &Sample::time);
    DerivedTrack& track = tracks.emplace_back();
    track.kind = DerivedTrack::Kind::Functions;
    track.group = thread.place->group;
    track.of_track = thread.place->track;
    Ranges ranges(track, left);
    bool continues = false;
    for (size_t i = 0; i < thread.samples.size(); ++i) {
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

// ---- What threads did: analyze/thread_states.h, and when the collector held them up
// --------------------------------------------

namespace {

struct Piece {
  int64_t start = 0, end = 0;
  Activity activity = Activity::Running;
  uint32_t chunk = kNoChunk, point = kNoIndex;
};

struct ThreadPieces {
  const FilePlaces::Place* place = nullptr;
  uint32_t chunk = kNoChunk;          // any of the thread
  std::vector<Piece> known, held_up;  // by start
};

// By thread_key(), of the threads that have a place.
using PiecesOfThreads = std::map<std::string, ThreadPieces>;

// As the collector names it.
bool is_held_up(const trace::EventClass& event_class) {
  return event_class.category == "kymo" && event_class.name == "waiting for the collector";
}

Activity activity_of(analyze::ThreadState state) {
  return state == analyze::ThreadState::Running   ? Activity::Running
         : state == analyze::ThreadState::Waiting ? Activity::Waiting
                                                  : Activity::Ready;
}

// What analyses have, as a time of the file. Wraps for a forged clock.
int64_t of_monotonic(const FileClock& clock, int64_t ns) {
  const uint64_t offset =
      static_cast<uint64_t>(clock.map().to_realtime_ns(0)) - static_cast<uint64_t>(clock.map().to_monotonic_ns(0));
  return clock.of_realtime(static_cast<int64_t>(static_cast<uint64_t>(ns) + offset));
}

void add_states(const trace::Reader& reader, const FilePlaces& places, PiecesOfThreads& threads) {
  for (const analyze::ThreadStates& states : analyze::read_thread_states(reader).threads) {
    const auto place = places.tracks.find({states.writer, states.track});
    if (place == places.tracks.end()) continue;
    ThreadPieces& thread = threads[states.key];
    thread.place = &place->second;
    const auto shown = [&](int64_t ns) { return of_monotonic(place->second.clock, ns); };
    for (const analyze::StateSpan& span : states.spans)
      thread.known.push_back({shown(span.begin), shown(span.end), activity_of(span.state), span.chunk, span.point});
  }
}

// The ranges in which threads waited for the collector. Reads only tracks that did.
void add_held_up(const trace::Reader& reader, const FilePlaces& places, PiecesOfThreads& threads) {
  trace::EventBatch batch;
  const std::vector<trace::EventChunk>& chunks = reader.event_chunks();
  for (uint32_t number = 0; number < chunks.size(); ++number) {
    const trace::EventChunk& chunk = chunks[number];
    const auto writer = reader.writers().find(chunk.writer);
    const auto place = places.tracks.find({chunk.writer, chunk.track});
    if (writer == reader.writers().end() || place == places.tracks.end()) continue;
    const auto described = writer->second.tracks.find(chunk.track);
    if (described == writer->second.tracks.end() || described->second.kind != trace::TrackKind::Thread) continue;
    const std::string key = analyze::thread_key(writer->second, described->second);
    if (const auto known = threads.find(key); known != threads.end() && known->second.chunk == kNoChunk)
      known->second.chunk = number;
    const auto cost = writer->second.costs.find(chunk.track);
    if (cost == writer->second.costs.end() || cost->second.blocked_ns == 0 || chunk.range_count == 0) continue;
    if (!trace::read_if_whole(reader, chunk, batch, trace::kRangeTimes | trace::kRangeClasses))
      continue;  // tiles report it
    for (size_t i = 0; i < batch.ranges.size(); ++i) {
      const trace::EventClass* const event_class = writer->second.find_class(batch.ranges.class_id[i]);
      if (event_class == nullptr || !is_held_up(*event_class)) continue;
      ThreadPieces& thread = threads[key];
      if (thread.place == nullptr) thread.place = &place->second;
      thread.chunk = number;
      const FileClock& clock = place->second.clock;
      thread.held_up.push_back(
          {clock.ns(batch.ranges.end[i] - batch.ranges.duration[i]), clock.ns(batch.ranges.end[i]), Activity::HeldUp});
    }
  }
}

// Whatever the thread did while it was held up, Kymo is the reason.
std::vector<Piece> overlay(const std::vector<Piece>& known, const std::vector<Piece>& held_up) {
  if (held_up.empty()) return known;
  std::vector<Piece> all = held_up;
  auto next = held_up.begin();
  for (Piece piece : known) {
    while (next != held_up.end() && next->end <= piece.start) ++next;
    for (auto cut = next; cut != held_up.end() && cut->start < piece.end; ++cut) {
      if (cut->start > piece.start) all.emplace_back(piece).end = cut->start;
      piece.start = std::max(piece.start, cut->end);
    }
    if (piece.start < piece.end) all.push_back(piece);
  }
  std::ranges::stable_sort(all, {}, &Piece::start);
  return all;
}

// If there are too many, the shortest ones.
void leave_out_shortest(std::vector<DerivedTrack>& tracks) {
  std::vector<int64_t> lengths;
  for (const DerivedTrack& track : tracks)
    for (const Item& item : track.items) lengths.push_back(item.total);
  if (lengths.size() <= DerivedTrack::kMaxStates) return;
  std::ranges::nth_element(lengths, lengths.begin() + DerivedTrack::kMaxStates, std::ranges::greater());
  const int64_t longest_left_out = lengths[DerivedTrack::kMaxStates];
  for (DerivedTrack& track : tracks) {
    size_t kept = 0;
    for (size_t i = 0; i < track.items.size(); ++i) {
      if (track.items[i].total <= longest_left_out) continue;
      track.items[kept] = track.items[i];
      track.items[kept].index = static_cast<uint32_t>(kept);
      track.points[kept] = track.points[i];
      if (!track.activities.empty()) track.activities[kept] = track.activities[i];
      ++kept;
    }
    track.left_out = track.items.size() - kept;
    track.items.resize(kept);
    track.points.resize(kept);
    if (!track.activities.empty()) track.activities.resize(kept);
  }
}

// Names each wait by how it waits, and the function of the program that does: "sleeps: read_batch".
void name_waits(const DerivedInput& input, uint32_t base, std::vector<DerivedTrack>& tracks) {
  std::unordered_map<uint64_t, Item*> waits;
  for (DerivedTrack& track : tracks)
    for (size_t i = 0; i < track.items.size(); ++i)
      if (track.activities[i] == Activity::Waiting && track.points[i] != kNoIndex)
        waits[event_key(track.items[i].chunk, track.points[i])] = &track.items[i];
  if (waits.empty()) return;
  memory::Stacks stacks;
  std::vector<std::pair<Item*, StackId>> found;
  visit_samples(input.reader, stacks, nullptr,
                [&](uint32_t chunk, uint32_t index, uint64_t, const SampleStacks::Taken& taken) {
                  if (!taken.has_stack) return;
                  const auto wait = waits.find(event_key(chunk, index - kPointIndex));
                  if (wait != waits.end()) found.emplace_back(wait->second, taken.stack);
                });
  std::unordered_map<StackId, uint32_t> names;
  for (const auto& [item, stack] : found) {
    const auto [known, is_new] = names.try_emplace(stack, base);
    if (is_new) {
      input.check();
      const std::vector<symbols::Frame> frames = stacks.frames(stack);
      const std::string_view action = functions::action_of(frames);
      const std::string function = functions::own_function(frames);
      if (!function.empty())
        known->second = input.names.of_text(base::format("{}: {}", action.empty() ? "waiting" : action,
                                                         base::readable_text(symbols::short_name(function))),
                                            base);
    }
    item->name = known->second;
  }
}

}  // namespace

std::vector<DerivedTrack> state_tracks(const DerivedInput& input) {
  constexpr std::pair<const char*, uint32_t> kNames[kActivities] = {
      {"running", 0xff4ca66b}, {"waiting", 0xffb4bcc6}, {"ready", 0xffe3a83b}, {"held up by Kymo", 0xffd14b6a}};
  std::array<uint32_t, kActivities> names{};
  for (size_t i = 0; i < kActivities; ++i)
    names[i] = input.names.of_class(kNames[i].first, "thread state", kNames[i].second);
  PiecesOfThreads threads;
  add_states(input.reader, input.places, threads);
  add_held_up(input.reader, input.places, threads);
  std::vector<DerivedTrack> tracks;
  for (auto& [key, thread] : threads) {
    if (thread.chunk == kNoChunk || thread.known.size() + thread.held_up.size() == 0) continue;
    std::ranges::stable_sort(thread.held_up, {}, &Piece::start);
    DerivedTrack& track = tracks.emplace_back();
    track.kind = DerivedTrack::Kind::States;
    track.group = thread.place->group;
    track.of_track = thread.place->track;
    for (const Piece& piece : overlay(thread.known, thread.held_up)) {
      if (piece.start >= piece.end) continue;  // before the first event, where the timeline begins
      track.items.push_back(Item::single(piece.start, piece.end, names[static_cast<size_t>(piece.activity)],
                                         piece.chunk == kNoChunk ? thread.chunk : piece.chunk,
                                         static_cast<uint32_t>(track.points.size())));
      track.points.push_back(piece.point);
      track.activities.push_back(piece.activity);
    }
    thread = {};
  }
  leave_out_shortest(tracks);
  name_waits(input, names[static_cast<size_t>(Activity::Waiting)], tracks);
  return tracks;
}

std::optional<std::array<int64_t, kActivities>> DerivedTrack::times_between(int64_t from_ns, int64_t to_ns) const {
  if (left_out != 0) return {};
  std::array<int64_t, kActivities> times{};
  auto item = std::ranges::partition_point(items, [&](const Item& one) { return one.end <= from_ns; });
  for (; item != items.end() && item->start < to_ns; ++item)
    times[static_cast<size_t>(activities[static_cast<size_t>(item - items.begin())])] +=
        std::min(item->end, to_ns) - std::max(item->start, from_ns);
  return times;
}

// ---- Ranks: analyze/report/ranks.h
// -------------------------------------------------------------------------------------

std::vector<DerivedTrack> rank_tracks(const DerivedInput& input) {
  const auto& [reader, places, names, check] = input;
  constexpr uint32_t kWaitingColour = 0xffb4bcc6, kAwaitedColour = 0xffd14b6a;
  const uint32_t waiting = names.of_class("waiting for a rank", "rank", kWaitingColour);
  const uint32_t awaited = names.of_class("all others wait", "rank", kAwaitedColour);
  const std::vector<analyze::RankTimes> ranks = analyze::find_ranks(reader);
  std::vector<DerivedTrack> tracks;
  for (const analyze::RankTimes& rank : ranks) {
    // Any chunk of the rank, for details; a thread of its main process before others.
    uint32_t chunk = kNoChunk;
    const FilePlaces::Place* place = nullptr;
    for (uint32_t i = 0; i < reader.event_chunks().size() && place == nullptr; ++i) {
      const trace::EventChunk& one = reader.event_chunks()[i];
      const auto known = places.tracks.find({one.writer, one.track});
      if (known == places.tracks.end() || !rank.writers.contains(one.writer)) continue;
      chunk = i;
      place = &known->second;
    }
    if (place == nullptr) continue;
    DerivedTrack& track = tracks.emplace_back();
    track.kind = DerivedTrack::Kind::Rank;
    track.group = place->group;
    track.of_track = place->track;
    track.name = rank.name;
    track.writers = rank.writers;
    track.calls = rank.calls;
    track.last_at = rank.last_at;
    track.waited_ns = rank.waited_ns;
    track.awaited_ns = rank.awaited.length();
    track.is_straggler = rank.is_straggler;
    const auto add = [&](const analyze::Interval& time, uint16_t depth, uint32_t name) {
      track.items.push_back(Item::single(of_monotonic(place->clock, time.begin), of_monotonic(place->clock, time.end),
                                         name, chunk, kNoIndex, depth));
    };
    if (rank.iterations.source != analyze::Iterations::Source::WholeTrace) {
      const std::string base = rank.iterations.name.empty() ? "iteration {}" : rank.iterations.name;
      const uint32_t of_all = names.of_class(base, "rank");
      const size_t number_at = base.find("{}");
      for (size_t i = 0; i < rank.iterations.list.size(); ++i) {
        std::string text = base;
        const std::optional<uint64_t> number = i < rank.numbers.size() ? rank.numbers[i] : std::nullopt;
        if (number && number_at != std::string::npos) text.replace(number_at, 2, base::format("{}", *number));
        add(rank.iterations.list[i], 0, text == base ? of_all : names.of_text(text, of_all));
      }
    }
    for (const analyze::RankTimes::Wait& wait : rank.waits)
      add(wait.time, 1,
          names.of_text(base::format("waiting for {}", wait.for_rank ? ranks[*wait.for_rank].name : "other ranks"),
                        waiting));
    for (const analyze::Interval& time : rank.awaited.all()) add(time, 1, awaited);
    std::ranges::stable_sort(track.items, [](const Item& a, const Item& b) {
      return a.start != b.start ? a.start < b.start : a.depth < b.depth;
    });
    track.points.assign(track.items.size(), kNoIndex);
    for (uint32_t i = 0; i < track.items.size(); ++i) track.items[i].index = i;
  }
  leave_out_shortest(tracks);
  return tracks;
}

void each_sample_stack(const trace::Reader& reader,
                       const std::function<void(uint32_t chunk, uint32_t index, StackId)>& sample,
                       const std::function<void(StackId, const std::vector<symbols::Frame>&)>& stack) {
  memory::Stacks stacks;
  std::set<StackId> used;
  visit_samples(reader, stacks, nullptr,
                [&](uint32_t chunk, uint32_t index, uint64_t, const SampleStacks::Taken& taken) {
                  sample(chunk, index, taken.stack);
                  used.insert(taken.stack);
                });
  for (const StackId id : used) stack(id, stacks.frames(id));
}

std::vector<symbols::Frame> sample_frames(const trace::Reader& reader, uint32_t chunk, uint32_t index) {
  memory::Stacks stacks;
  StackId found = 0;
  const trace::WriterId& writer = reader.event_chunks()[chunk].writer;
  visit_samples(reader, stacks, &writer, [&](uint32_t at, uint32_t i, uint64_t, const SampleStacks::Taken& taken) {
    if (at == chunk && i == index) found = taken.stack;
  });
  return stacks.frames(found);
}

}  // namespace kymo::serve
