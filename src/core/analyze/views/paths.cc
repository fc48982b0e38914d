#include "analyze/views/paths.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>

#include "analyze/decode_ahead.h"
#include "analyze/views/merged_paths.h"
#include "analyze/views/track_paths.h"
#include "base/clock_map.h"
#include "convert/places.h"
#include "trace/clock.h"
#include "trace/last_alive.h"

namespace kymo::views {
namespace {

constexpr unsigned kMaxHelpers = 5;  // one consumer cannot use more

// Adds the paths of a track to those of all.
void add_track(MergedPaths& all, const convert::Place& place, const TrackPaths& paths, double ns_per_tick) {
  const std::vector<PathTrie::Node>& nodes = paths.trie().nodes();
  if (nodes.size() == 1) return;
  std::vector<uint64_t> inside(nodes.size());
  for (size_t i = 1; i < nodes.size(); ++i) inside[nodes[i].parent] += nodes[i].ticks;

  std::vector<uint32_t> merged(nodes.size());
  merged[0] = all.child(all.child(PathTrie::kRoot, convert::group_label(*place.group), FrameKind::Process), place.name,
                        FrameKind::Track);
  const bool on_device = place.track->kind == trace::TrackKind::DeviceQueue;
  for (size_t i = 1; i < nodes.size(); ++i) {
    const uint32_t number = nodes[i].number;
    const bool is_unfinished = number == TrackPaths::kUnfinished;
    const std::string name = is_unfinished                  ? "(unfinished)"
                             : number == TrackPaths::kOther ? "(other paths)"
                                                            : paths.names().name(number);
    const FrameKind kind = is_unfinished ? FrameKind::Unfinished : on_device ? FrameKind::Work : FrameKind::Range;
    merged[i] = all.child(merged[nodes[i].parent], name, kind);
    const double self = static_cast<double>(nodes[i].ticks - std::min(nodes[i].ticks, inside[i])) * ns_per_tick;
    all.count(merged[i], nodes[i].count, base::round_ns(self));
  }
}

class Collection {
 public:
  Collection(const trace::Reader& reader, const PathOptions& options)
      : reader_(reader), options_(options), budget_{options.max_paths, options.max_depth, 0}, places_(reader) {}

  Paths run();

 private:
  struct Track {
    const convert::Place* place = nullptr;  // null: the trace does not describe the track
    trace::ClockMap clock;
    std::unique_ptr<TrackPaths> paths;
  };

  void decode(const trace::EventChunk& chunk, trace::EventBatch& into) const;
  Track& find_track(const trace::EventChunk& chunk);
  void finish();

  const trace::Reader& reader_;
  const PathOptions options_;
  PathBudget budget_;
  const convert::Places places_;
  std::map<trace::WriterId, std::unique_ptr<RangeNames>> names_;
  std::map<std::pair<trace::WriterId, uint32_t>, Track> tracks_;
  Paths result_;
};

Paths Collection::run() {
  result_.problems = reader_.problems();
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  analyze::DecodeAhead chunks(
      reader_.event_chunks(), [this](const auto& chunk, auto& into) { decode(chunk, into); },
      std::min(cores - 1, kMaxHelpers));
  while (const analyze::DecodeAhead::Item* const item = chunks.next()) {
    const trace::EventChunk& chunk = *item->chunk;
    Track& track = find_track(chunk);
    if (track.place == nullptr) {
      result_.problems.push_back(
          {chunk.offset, chunk.length, "events of a process or thread the trace does not describe"});
    } else if (!item->error.empty()) {
      result_.problems.push_back({chunk.offset, chunk.length, item->error});
    } else {
      track.paths->add(item->batch, chunk.last);
    }
  }
  finish();
  return std::move(result_);
}

void Collection::decode(const trace::EventChunk& chunk, trace::EventBatch& into) const {
  constexpr unsigned kParts = trace::kRangeTimes | trace::kRangeClasses | trace::kRangeDepths | trace::kOpenStacks;
  reader_.read(chunk, into, options_.full_text ? kParts | trace::kRangeValues : kParts);
  // Names that are stored with the range are rare. Only chunks that have such names need to read values.
  if (options_.full_text) return;
  uint32_t inline_names = 0;
  for (const uint32_t class_id : into.ranges.class_id) inline_names += class_id == trace::kInlineName;
  if (inline_names != 0) reader_.read(chunk, into, kParts | trace::kRangeValues);
}

Collection::Track& Collection::find_track(const trace::EventChunk& chunk) {
  const auto [entry, is_new] = tracks_.try_emplace({chunk.writer, chunk.track});
  Track& track = entry->second;
  if (!is_new) return track;
  track.place = places_.find(chunk.writer, chunk.track);
  if (track.place == nullptr) return track;
  const trace::WriterInfo& writer = *track.place->writer;
  if (const auto clock = writer.clocks.find(track.place->track->clock); clock != writer.clocks.end())
    track.clock = trace::clock_map(clock->second);
  std::unique_ptr<RangeNames>& names = names_[chunk.writer];
  if (names == nullptr) names = std::make_unique<RangeNames>(writer, options_.full_text);
  track.paths = std::make_unique<TrackPaths>(*names, budget_);
  return track;
}

void Collection::finish() {
  const std::map<trace::WriterId, int64_t> alive = trace::last_alive_ns(reader_);
  MergedPaths merged;
  for (auto& [key, track] : tracks_) {
    if (track.place == nullptr) continue;
    constexpr uint64_t kManyTicks = uint64_t{1} << 40;  // a single tick would lose the fraction
    const double ns_per_tick = track.clock.to_ns(kManyTicks) / static_cast<double>(kManyTicks);
    const auto end = alive.find(key.first);
    const uint64_t last = track.paths->last();
    track.paths->finish([&, &clock = track.clock](const trace::OpenRange& range) -> uint64_t {
      if (!clock.usable() || end == alive.end()) return last - std::min(last, range.start);
      const double ns = static_cast<double>(end->second) - static_cast<double>(clock.to_monotonic_ns(range.start));
      const double ticks = ns / ns_per_tick;  // of a forged clock it may be anything
      return ticks > 0 ? static_cast<uint64_t>(std::min(ticks, 0x1p63)) : 0;
    });
    result_.unfinished += track.paths->unfinished();
    add_track(merged, *track.place, *track.paths, ns_per_tick);
  }
  result_.over_limit = budget_.over;
  merged.finish(result_);
}

}  // namespace

Paths collect_paths(const trace::Reader& reader, const PathOptions& options) {
  return Collection(reader, options).run();
}

}  // namespace kymo::views
