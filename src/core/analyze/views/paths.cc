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
#include "base/clock_map.h"
#include "convert/chunk_order.h"
#include "convert/places.h"
#include "trace/clock.h"

namespace kymo::views {

uint32_t MergedPaths::child(uint32_t parent, const std::string& name, FrameKind kind) {
  auto known = numbers_.find(name);
  if (known == numbers_.end()) {
    const auto number = static_cast<uint32_t>(names_.size());
    known = numbers_.emplace(names_.emplace_back(name), number).first;
  }
  const uint32_t node = trie_.child(parent, known->second);
  if (node == sums_.size()) sums_.push_back({kind});
  return node;
}

// A tree may be too deep for recursion.
void MergedPaths::finish(Paths& into) {
  const std::vector<PathTrie::Node>& nodes = trie_.nodes();
  std::vector<uint64_t> total_ns(nodes.size());
  std::vector<std::vector<uint32_t>> children(nodes.size());
  for (size_t i = nodes.size(); i-- > 0;) {
    total_ns[i] += sums_[i].self_ns;
    if (i == 0) break;
    total_ns[nodes[i].parent] += total_ns[i];
    children[nodes[i].parent].push_back(static_cast<uint32_t>(i));
  }
  std::vector<std::pair<uint32_t, uint32_t>> waiting = {{PathTrie::kRoot, 0}};  // node, depth
  while (!waiting.empty()) {
    const auto [node, depth] = waiting.back();
    waiting.pop_back();
    const std::string_view name = node == PathTrie::kRoot ? "all" : std::string_view(names_[nodes[node].number]);
    into.frames.push_back({name, sums_[node].kind, depth, sums_[node].count, total_ns[node], sums_[node].self_ns});
    std::vector<uint32_t>& inner = children[node];
    std::sort(inner.begin(), inner.end(),
              [&](uint32_t a, uint32_t b) { return names_[nodes[a].number] > names_[nodes[b].number]; });
    for (const uint32_t child : inner) waiting.emplace_back(child, depth + 1);
  }
  into.names = std::move(names_);
}

uint32_t RangeNames::number(uint32_t class_id, const std::vector<trace::ValueCursor::Value>& row) {
  const convert::ClassInfo& info = classes_.find(class_id);
  const bool has_text = class_id == trace::kInlineName || (full_text_ && info.is_known && info.has_places);
  if (!has_text) return class_id & ~kText;
  std::string text = trace::full_name(&info.event_class, row);
  if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
  if (texts_.size() >= kMaxTexts) text = "(other names)";
  const auto [entry, is_new] = numbers_.try_emplace(text, kText | static_cast<uint32_t>(texts_.size()));
  if (is_new) texts_.push_back(text);
  return entry->second;
}

uint32_t RangeNames::number(const trace::OpenRange& range) {
  const trace::Values values{range.ints, range.doubles, range.text};
  return number(range.class_id, trace::ValueCursor(values).next(&event_class(range.class_id)));
}

std::string RangeNames::name(uint32_t number) {
  if ((number & kText) != 0) {
    const uint32_t index = number & ~kText;
    if (index >= texts_.size()) return "(unknown class)";
    return texts_[index].empty() ? "(no name)" : texts_[index];
  }
  if (number == trace::kInlineName) return "(no name)";
  const convert::ClassInfo& info = classes_.find(number);
  if (!info.is_known) return "(unknown class)";
  return info.event_class.name.empty() ? "(no name)" : trace::shown_name(info.event_class);
}

namespace {

// The paths of the ranges of one track, summed up while its chunks are read in order.
//
// A chunk has ranges sorted by their ends. In the opposite order a parent comes before its children, so one pass
// backwards knows the path of every range. Nothing is kept between chunks except the sums and the open ranges.

// What the paths of all tracks may use together.
struct PathBudget {
  uint64_t paths = 1 << 20;
  uint16_t depth = 1'024;
  uint64_t over = 0;  // ranges beyond these limits
};

// A range beyond the budget has no path of its own: its time stays in the range around it.
class TrackPaths {
 public:
  // The numbers of nodes that are not ranges: the self time of unfinished ranges, and ranges beyond the budget. Only a
  // forged class has such a number.
  static constexpr uint32_t kUnfinished = 0x7FFFFFFF, kOther = 0x7FFFFFFE;

  // Both must outlive this object.
  TrackPaths(RangeNames& names, PathBudget& budget) : names_(names), budget_(budget), around_(budget.depth) {}

  // The next chunk. `last` is the time of its last event.
  void add(const trace::EventBatch& batch, uint64_t last);

  // Ends the open ranges. `length` says how long a range has lasted at least, in ticks.
  template <typename Length>
  void finish(Length&& length) {
    end_open(0, length);
  }

  uint64_t last() const { return last_; }
  uint64_t unfinished() const { return unfinished_; }
  const PathTrie& trie() const { return trie_; }
  RangeNames& names() const { return names_; }

 private:
  struct Open {
    trace::OpenRange range;
    uint64_t inside = 0;  // ticks of the ranges directly inside that have ended
  };

  void resume(std::span<const trace::OpenRange> opening);
  void begin_lane(std::span<const trace::OpenRange> closing);
  void add_range(uint32_t number, uint16_t depth, uint64_t duration);
  void keep_open(std::span<const trace::OpenRange> closing);
  uint32_t child(uint32_t parent, uint32_t number);
  uint32_t node_of(size_t open_ranges);
  std::span<const uint32_t> numbers_of(const trace::Ranges& ranges);

  // The ranges from this depth on are unfinished. The innermost ends first.
  template <typename Length>
  void end_open(size_t keep, Length&& length) {
    while (open_.size() > keep) end_innermost(length(open_.back().range));
  }
  void end_innermost(uint64_t ticks);

  RangeNames& names_;
  PathBudget& budget_;
  PathTrie trie_;
  std::vector<Open> open_;  // after the last chunk, outermost first
  uint64_t last_ = 0, unfinished_ = 0;

  // Data of the current chunk.
  std::vector<uint32_t> numbers_;
  std::vector<uint32_t> around_;  // by depth: the node of the range that is open there
  size_t depth_ = 0;              // so many are open
  std::vector<uint64_t> inside_;  // by depth: ticks directly inside the ranges that stay open
  size_t untouched_ = 0;          // around_ has ranges that stay open up to this depth
};

void TrackPaths::add(const trace::EventBatch& batch, uint64_t last) {
  const trace::Ranges& ranges = batch.ranges;
  resume(batch.opening);
  begin_lane(batch.closing);
  const std::span<const uint32_t> numbers = numbers_of(ranges);
  if (ranges.lane.empty()) {
    for (size_t i = ranges.size(); i-- > 0;) add_range(numbers[i], ranges.depth[i], ranges.duration[i]);
  } else {
    for (size_t i = ranges.size(); i-- > 0;)
      if (ranges.lane[i] == 0) add_range(numbers[i], ranges.depth[i], ranges.duration[i]);
  }
  keep_open(batch.closing);
  for (const auto& [lane, indexes] : convert::ChunkOrder::lanes(ranges)) {
    begin_lane({});
    for (size_t i = indexes.size(); i-- > 0;)
      add_range(numbers[indexes[i]], ranges.depth[indexes[i]], ranges.duration[indexes[i]]);
  }
  last_ = std::max(last_, last);
}

std::span<const uint32_t> TrackPaths::numbers_of(const trace::Ranges& ranges) {
  const trace::Values& values = ranges.values;
  if (values.ints.empty() && values.doubles.empty()) return ranges.class_id;
  numbers_.clear();
  trace::ValueCursor cursor(values);
  for (const uint32_t class_id : ranges.class_id)
    numbers_.push_back(names_.number(class_id, cursor.next(&names_.event_class(class_id))));
  return numbers_;
}

// Ranges that were open after the previous chunk and are not open now ended in a part of the track that is missing.
// They lasted at least until the last event before it.
void TrackPaths::resume(std::span<const trace::OpenRange> opening) {
  size_t same = 0;
  while (same < std::min(open_.size(), opening.size()) && convert::same_range(open_[same].range, opening[same])) ++same;
  end_open(same, [this](const trace::OpenRange& range) { return last_ - std::min(last_, range.start); });
  for (; same < opening.size(); ++same) open_.push_back({opening[same], 0});
}

void TrackPaths::begin_lane(std::span<const trace::OpenRange> closing) {
  depth_ = untouched_ = std::min<size_t>(closing.size(), budget_.depth);
  inside_.assign(depth_ + 1, 0);
  uint32_t node = PathTrie::kRoot;
  for (size_t i = 0; i < depth_; ++i) around_[i] = node = child(node, names_.number(closing[i]));
}

// The hot path.
void TrackPaths::add_range(uint32_t number, uint16_t depth, uint64_t duration) {
  if (depth >= budget_.depth) [[unlikely]] {
    ++budget_.over;
    return;
  }
  if (depth > depth_) [[unlikely]] {  // parents are not in the chunk
    const uint32_t nearest = depth_ == 0 ? PathTrie::kRoot : around_[depth_ - 1];
    std::fill(around_.begin() + static_cast<ptrdiff_t>(depth_), around_.begin() + depth, nearest);
  }
  const uint32_t parent = depth == 0 ? PathTrie::kRoot : around_[depth - 1u];
  const uint32_t node = child(parent, number);
  around_[depth] = node;
  depth_ = depth + size_t{1};
  untouched_ = std::min<size_t>(untouched_, depth);
  if (untouched_ == depth) inside_[depth] += duration;
  if (node == parent) [[unlikely]] {
    ++budget_.over;
    return;
  }
  PathTrie::Node& sums = trie_[node];
  ++sums.count;
  sums.ticks += duration;
}

// Without a path left, the range around it stands for the range.
uint32_t TrackPaths::child(uint32_t parent, uint32_t number) {
  if (const uint32_t found = trie_.find(parent, number); found != PathTrie::kRoot) [[likely]]
    return found;
  if (budget_.paths == 0) return parent == PathTrie::kRoot ? trie_.child(parent, kOther) : parent;
  --budget_.paths;
  return trie_.child(parent, number);
}

// inside_[d] has the ticks of ranges at depth d, which are inside the open range at depth d - 1.
void TrackPaths::keep_open(std::span<const trace::OpenRange> closing) {
  size_t same = 0;
  while (same < std::min(open_.size(), closing.size()) && convert::same_range(open_[same].range, closing[same])) ++same;
  open_.resize(same);
  for (size_t i = same; i < closing.size(); ++i) open_.push_back({closing[i], 0});
  for (size_t i = 0; i < open_.size() && i + 1 < inside_.size(); ++i) open_[i].inside += inside_[i + 1];
}

void TrackPaths::end_innermost(uint64_t ticks) {
  const size_t depth = open_.size() - 1;
  const uint32_t parent = node_of(std::min<size_t>(depth, budget_.depth));
  const uint32_t node = depth < budget_.depth ? child(parent, names_.number(open_.back().range)) : parent;
  const uint64_t inside = open_.back().inside;
  open_.pop_back();
  ++unfinished_;
  if (!open_.empty()) open_.back().inside += ticks;
  if (node == parent) {
    ++budget_.over;
    return;
  }
  ++trie_[node].count;
  trie_[node].ticks += ticks;
  PathTrie::Node& mark = trie_[trie_.child(node, kUnfinished)];
  ++mark.count;
  mark.ticks += ticks - std::min(ticks, inside);
}

// The node of the innermost of so many open ranges.
uint32_t TrackPaths::node_of(size_t open_ranges) {
  uint32_t node = PathTrie::kRoot;
  for (size_t i = 0; i < open_ranges; ++i) node = child(node, names_.number(open_[i].range));
  return node;
}

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
