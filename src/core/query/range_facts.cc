#include "query/range_facts.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "analyze/functions/functions.h"
#include "analyze/innermost.h"
#include "analyze/memory/stacks.h"
#include "analyze/nesting.h"
#include "base/printable.h"
#include "trace/read_if_whole.h"

namespace kymo::query {

RangeIds::RangeIds(const LoadedTrace& trace) : file_(trace.number * kFile) {
  first_.reserve(trace.reader.event_chunks().size());
  for (const trace::EventChunk& chunk : trace.reader.event_chunks()) {
    first_.push_back(count_);
    count_ += chunk.range_count;
  }
}

// The ranges of one track, the last one first. If some overlap, they are read again and sorted: analyze/nesting.h.
class Nesting::TrackPass {
 public:
  TrackPass(Nesting& nesting, const analyze::TrackOfTrace& track, const TrackInfo& info)
      : nesting_(nesting), track_(track), info_(info) {}

  void read(const std::vector<size_t>& chunks) {
    bool overlaps = false;
    for (size_t i = chunks.size(); i-- > 0 && !overlaps;) {
      if (!read(chunks[i])) continue;
      const trace::Ranges& ranges = batch_.ranges;
      for (size_t k = 0; k < ranges.size() && !overlaps; ++k)
        overlaps = !analyze::nests_by_depth(ranges.lane.empty() ? uint16_t{0} : ranges.lane[k], ranges.depth[k]);
      if (overlaps) break;
      keep_open(batch_);
      ranges_.add(track_, batch_, visit_, nesting_.ids_.of_chunk(chunks[i]));
    }
    if (overlaps) {
      nest_by_time(chunks);
    } else {
      ranges_.finish(visit_);
      innermost_.finish(take_);
    }
    if (innermost_open_ != kNone) open_[innermost_open_].is_innermost = true;
  }

  const std::unordered_map<uint64_t, Open>& open() const { return open_; }

  // For analyze::nest_by_time(): an owner is an id.
  using Owner = uint64_t;
  Owner outside() const { return kNone; }
  Owner visit(Owner around, const analyze::TimedRange& range, size_t) {
    const uint64_t id = numbered_[range.number];
    if (range.unfinished)
      note_open(id, track_.ns(range.begin), track_.ns(range.end));
    else
      nesting_.ranges_[nesting_.ids_.index(id)] = {around, 0};
    return id;
  }
  void take(Owner id, const analyze::TimedRange&, analyze::TickSpan part) {
    take(id, track_.ns(part.begin), track_.ns(part.end));
  }

 private:
  struct Around {
    uint64_t id;
    int64_t begin;
  };

  // False: the chunk is damaged, which is reported when the rows are read.
  bool read(size_t number) {
    const trace::EventChunk& chunk = nesting_.trace_.reader.event_chunks()[number];
    return trace::read_if_whole(nesting_.trace_.reader, chunk, batch_, analyze::RangesBackwards::kParts) &&
           batch_.ranges.size() <= chunk.range_count;
  }

  void nest_by_time(const std::vector<size_t>& chunks) {
    open_.clear();
    analyze::AllRanges all;
    std::vector<trace::OpenRange> open;
    for (const size_t number : chunks) {
      if (!read(number)) continue;
      const uint64_t first = nesting_.ids_.of_chunk(number);
      all.add(batch_.ranges, [&](size_t i) { return number_of(first + i); });
      if (analyze::RangesBackwards::says_what_is_open(batch_)) open = batch_.closing;
    }
    for (size_t depth = 0; depth < open.size(); ++depth)
      all.add_open(open[depth], depth, track_.clock, track_.end_ns, number_of(nesting_.ids_.of_open(info_, depth)));
    analyze::nest_by_time(all, *this);
  }
  uint32_t number_of(uint64_t id) {
    numbered_.push_back(id);
    return static_cast<uint32_t>(numbered_.size() - 1);
  }

  // After a missing chunk, the ranges that were visited last are not those around the next ones.
  void keep_open(const trace::EventBatch& batch) {
    size_t same = 0;
    while (same < std::min(around_.size(), batch.closing.size()) &&
           around_[same].begin == track_.ns(batch.closing[same].start))
      ++same;
    around_.resize(same);
    around_.resize(batch.closing.size(), {kNone, 0});
  }

  void visit(const analyze::TrackRange& range) {
    const uint64_t id = range.is_open ? nesting_.ids_.of_open(info_, range.number) : range.number;
    around_.resize(range.depth, {kNone, 0});
    const uint64_t parent = range.depth > 0 ? around_.back().id : kNone;
    around_.push_back({id, range.begin});
    if (range.is_open)
      note_open(id, range.begin, range.end);
    else
      nesting_.ranges_[nesting_.ids_.index(id)] = {parent, 0};
    innermost_.add(range.begin, range.end, id, take_);
  }

  // The outermost one comes first.
  void note_open(uint64_t id, int64_t begin, int64_t end) {
    open_[id].length_ns = static_cast<uint64_t>(end) - static_cast<uint64_t>(std::min(begin, end));
    innermost_open_ = id;
  }

  void take(uint64_t id, int64_t begin, int64_t end) {
    const uint64_t index = nesting_.ids_.index(id), ns = static_cast<uint64_t>(end) - static_cast<uint64_t>(begin);
    if (index < nesting_.ranges_.size())
      nesting_.ranges_[index].self_ns += ns;
    else
      open_[id].self_ns += ns;
  }

  Nesting& nesting_;
  const analyze::TrackOfTrace& track_;
  const TrackInfo& info_;
  trace::EventBatch batch_;
  analyze::RangesBackwards ranges_;
  analyze::Innermost<uint64_t> innermost_;
  std::vector<Around> around_;  // by depth
  std::unordered_map<uint64_t, Open> open_;
  uint64_t innermost_open_ = kNone;
  std::vector<uint64_t> numbered_;  // the id of each range, by its number for nest_by_time()
  const std::function<void(const analyze::TrackRange&)> visit_ = [this](const auto& range) { visit(range); };
  const std::function<void(uint64_t, int64_t, int64_t)> take_ = [this](uint64_t id, int64_t begin, int64_t end) {
    take(id, begin, end);
  };
};

Nesting::Nesting(const LoadedTrace& trace) : trace_(trace), ids_(trace), ranges_(ids_.count()) {
  const analyze::EventWalk walk(trace.reader);
  struct Track {
    const TrackInfo* info = nullptr;
    std::vector<size_t> chunks;
  };
  std::map<std::pair<trace::WriterId, uint32_t>, Track> by_id;
  const std::vector<trace::EventChunk>& chunks = trace.reader.event_chunks();
  for (size_t i = 0; i < chunks.size(); ++i) {
    const TrackInfo* const info = trace.find(chunks[i]);
    if (info == nullptr) continue;
    Track& track = by_id[{chunks[i].writer, chunks[i].track}];
    track.info = info;
    track.chunks.push_back(i);
  }
  std::vector<std::pair<const analyze::TrackOfTrace*, const Track*>> tracks;
  for (const analyze::TrackOfTrace& track : walk.tracks())
    if (const auto found = by_id.find({track.writer->id, track.track->id}); found != by_id.end())
      tracks.emplace_back(&track, &found->second);
  std::atomic<size_t> next{0};
  std::mutex mutex;
  const auto work = [&] {
    for (size_t i = next++; i < tracks.size(); i = next++) {
      TrackPass pass(*this, *tracks[i].first, *tracks[i].second->info);
      pass.read(tracks[i].second->chunks);
      const std::lock_guard lock(mutex);
      open_.insert(pass.open().begin(), pass.open().end());
    }
  };
  std::vector<std::thread> helpers;
  const size_t threads = std::min<size_t>(std::thread::hardware_concurrency(), tracks.size());
  for (size_t i = 1; i < threads; ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
}

uint64_t Nesting::open_self_ns(const TrackInfo& track, size_t depth, uint64_t duration_ns) const {
  const auto found = open_.find(ids_.of_open(track, depth));
  if (found == open_.end()) return duration_ns;
  const Open& open = found->second;
  const uint64_t inside = open.length_ns - std::min(open.self_ns, open.length_ns);
  const uint64_t self_ns = open.is_innermost ? duration_ns - std::min(inside, duration_ns) : open.self_ns;
  return std::min(self_ns, duration_ns);
}

IterationOfRange::IterationOfRange(const LoadedTrace& trace) : walk_(trace.reader) {
  work_ = analyze::read_device_work(walk_);
  work_.devices = {};
  iterations_ = analyze::find_iterations(walk_, analyze::launching_track(work_));
  for (const analyze::TrackOfTrace& track : walk_.tracks()) tracks_[{track.writer->id, track.track->id}] = track.number;
}

std::optional<uint32_t> IterationOfRange::find(const TrackInfo& track, int64_t begin, uint64_t correlation) const {
  if (iterations_.source == analyze::Iterations::Source::WholeTrace) return {};
  if (track.on_device() && correlation != 0) {
    const uint32_t number = tracks_.at({track.place->writer->id, track.place->track->id});
    const uint32_t launch = work_.find_launch(walk_.tracks()[number].writer_number, correlation);
    if (launch != analyze::kNone) begin = work_.launches[launch].begin;
  }
  return iterations_.at(begin);
}

SampleFunctions::SampleFunctions(const LoadedTrace& trace) {
  memory::Stacks stacks;
  memory::SampleStacks samples(stacks, trace.reader);
  trace::EventBatch batch;
  const std::vector<trace::EventChunk>& chunks = trace.reader.event_chunks();
  for (size_t i = 0; i < chunks.size(); ++i) {
    const auto writer = trace.reader.writers().find(chunks[i].writer);
    if (chunks[i].point_count == 0 || writer == trace.reader.writers().end() ||
        !memory::SampleStacks::are_in(writer->second))
      continue;
    if (!trace::read_if_whole(trace.reader, chunks[i], batch, trace::kPoints | trace::kPointValues))
      continue;  // reported when the rows are read
    std::vector<uint32_t>& found = stacks_[i];
    found.resize(batch.points.size());
    trace::ValueCursor cursor(batch.points.values);
    for (size_t point = 0; point < batch.points.size(); ++point) {
      const trace::EventClass* const known = writer->second.find_class(batch.points.class_id[point]);
      const auto& row = cursor.next(known);
      if (known == nullptr) continue;
      found[point] = samples.take(writer->second, chunks[i].track, *known, batch.points.id[point], row).stack;
      if (found[point] != 0) names_[found[point]];
    }
  }
  for (auto& [stack, names] : names_) {
    const std::vector<symbols::Frame> frames = stacks.frames(stack);
    if (!frames.empty()) names.function = base::readable_text(frames.front().function);
    names.wait = base::readable_text(functions::own_function(frames));
    for (size_t i = frames.size(); i-- > 0;)
      (names.stack += names.stack.empty() ? "" : ";") += base::readable_text(frames[i].function);
  }
}

const SampleFunctions::Names* SampleFunctions::find(size_t chunk, size_t point) const {
  const auto found = stacks_.find(chunk);
  if (found == stacks_.end() || point >= found->second.size() || found->second[point] == 0) return nullptr;
  return &names_.at(found->second[point]);
}

}  // namespace kymo::query
