// The functions of CPU samples over time, and the stack of one of them.

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "analyze/memory/sample_stacks.h"
#include "kymo/error.h"
#include "serve/derived.h"

namespace kymo::serve {

namespace {

using memory::SampleStacks;
using memory::StackId;

// Calls visit(chunk, point, time, taken) for the points with stacks of one writer, or of all.
template <typename Visit>
bool visit_samples(const trace::Reader& reader, memory::Stacks& stacks, const trace::WriterId* only,
                   const ShouldStop& should_stop, Visit&& visit) {
  SampleStacks samples(stacks);
  trace::EventBatch batch;
  const std::vector<trace::EventChunk>& chunks = reader.event_chunks();
  for (uint32_t chunk = 0; chunk < chunks.size(); ++chunk) {
    if (should_stop && should_stop()) return false;
    const auto writer = reader.writers().find(chunks[chunk].writer);
    if (chunks[chunk].point_count == 0 || writer == reader.writers().end() ||
        (only != nullptr && writer->first != *only) || !SampleStacks::are_in(writer->second))
      continue;
    try {
      reader.read(chunks[chunk], batch, trace::kPoints | trace::kPointValues);
    } catch (const Error&) {
      continue;  // tiles report it
    }
    const trace::Points& points = batch.points;
    trace::ValueCursor cursor(points.values);
    for (uint32_t i = 0; i < points.size(); ++i) {
      const auto known = writer->second.classes.find(points.class_id[i]);
      const trace::EventClass* const event_class = known == writer->second.classes.end() ? nullptr : &known->second;
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
      known->second.push_back(name_of_(frame->function));
    if (frames.empty()) known->second.push_back(name_of_("(unknown)"));
    return known->second;
  }

 private:
  memory::Stacks& stacks_;
  const FunctionNameOf& name_of_;
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
