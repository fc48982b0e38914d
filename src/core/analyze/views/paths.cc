#include "analyze/views/paths.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyze/decode_ahead.h"
#include "analyze/nesting.h"
#include "base/clock_map.h"
#include "base/iteration_name.h"
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
  std::vector<uint64_t> total_ns(nodes.size()), before_ns(nodes.size());
  std::vector<std::vector<uint32_t>> children(nodes.size());
  for (size_t i = nodes.size(); i-- > 0;) {
    total_ns[i] += sums_[i].self_ns;
    before_ns[i] += sums_[i].before_self_ns;
    if (i == 0) break;
    total_ns[nodes[i].parent] += total_ns[i];
    before_ns[nodes[i].parent] += before_ns[i];
    children[nodes[i].parent].push_back(static_cast<uint32_t>(i));
  }
  std::vector<std::pair<uint32_t, uint32_t>> waiting = {{PathTrie::kRoot, 0}};  // node, depth
  while (!waiting.empty()) {
    const auto [node, depth] = waiting.back();
    waiting.pop_back();
    const std::string_view name = node == PathTrie::kRoot ? "all" : std::string_view(names_[nodes[node].number]);
    const Sums& sums = sums_[node];
    into.frames.push_back(
        {name, sums.kind, depth, sums.count, total_ns[node], sums.self_ns, before_ns[node], sums.before_self_ns});
    std::vector<uint32_t>& inner = children[node];
    std::sort(inner.begin(), inner.end(),
              [&](uint32_t a, uint32_t b) { return names_[nodes[a].number] > names_[nodes[b].number]; });
    for (const uint32_t child : inner) waiting.emplace_back(child, depth + 1);
  }
  into.names = std::move(names_);
}

Paths compare_paths(const Paths& before, const Paths& after) {
  MergedPaths merged;
  for (const Paths* const paths : {&before, &after}) {
    std::vector<uint32_t> open;  // by depth
    for (const PathFrame& frame : paths->frames) {
      open.resize(frame.depth);
      open.push_back(frame.depth == 0 ? PathTrie::kRoot
                                      : merged.child(open.back(), std::string(frame.name), frame.kind));
      if (paths == &before)
        merged.count_before(open.back(), frame.self_ns);
      else
        merged.count(open.back(), frame.count, frame.self_ns);
    }
  }
  Paths result;
  result.is_compared = true;
  result.of = after.of;
  result.unfinished = after.unfinished;
  result.over_limit = before.over_limit + after.over_limit;
  result.problems = after.problems;
  merged.finish(result);
  return result;
}

std::string process_label(const convert::Group& group, const PathOptions& options) {
  return options.without_pids ? group.name : convert::group_label(group);
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

std::span<const uint32_t> RangeNames::numbers(const trace::Ranges& ranges) {
  const trace::Values& values = ranges.values;
  if (values.ints.empty() && values.doubles.empty()) return ranges.class_id;
  of_chunk_.clear();
  trace::ValueCursor cursor(values);
  for (const uint32_t class_id : ranges.class_id)
    of_chunk_.push_back(number(class_id, cursor.next(&event_class(class_id))));
  return of_chunk_;
}

std::string RangeNames::text(uint32_t number) {
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

std::string RangeNames::name(uint32_t number) {
  return full_text_ ? text(number) : base::without_iteration_number(text(number));
}

namespace {

// What the paths of all tracks may use together.
struct PathBudget {
  uint64_t paths = 1 << 20;
  uint16_t depth = 1'024;
};

// The paths of the ranges of one track, for analyze::Nesting. The ticks of a node are its self time; they wrap until
// all ranges are added. A range beyond the budget has no path of its own: its time stays in the range around it.
class TrackPaths {
 public:
  using Owner = uint32_t;  // a node

  // The numbers of nodes that are not ranges: the self time of unfinished ranges, and ranges beyond the budget. Only a
  // forged class has such a number.
  static constexpr uint32_t kUnfinished = 0x7FFFFFFF, kOther = 0x7FFFFFFE;

  // Both must outlive this object.
  TrackPaths(RangeNames& names, PathBudget& budget) : names_(names), budget_(budget) {}

  Owner outside() const { return PathTrie::kRoot; }

  // Without a path left, the range around it stands for the range.
  Owner find(Owner around, uint32_t number, size_t depth) {
    if (depth >= budget_.depth) [[unlikely]]
      return around;
    if (const uint32_t found = trie_.find(around, number); found != PathTrie::kRoot) [[likely]]
      return found;
    if (budget_.paths == 0) return around == PathTrie::kRoot ? trie_.child(around, kOther) : around;
    --budget_.paths;
    return trie_.child(around, number);
  }

  // The hot path.
  Owner add(Owner around, uint32_t number, size_t depth, uint64_t ticks) {
    const Owner node = count(around, number, depth);
    if (node == around) [[unlikely]]
      return node;
    trie_[node].ticks += ticks;
    trie_[around].ticks -= ticks;
    return node;
  }
  bool counts(Owner around, Owner owner) const { return owner != around; }

  void add_unfinished(Owner around, Owner owner, uint32_t, uint64_t ticks, uint64_t inside) {
    ++unfinished_;
    if (owner == around) {
      ++over_;
      return;
    }
    ++trie_[owner].count;
    trie_[owner].ticks += inside;
    trie_[around].ticks -= ticks;
    PathTrie::Node& mark = trie_[trie_.child(owner, kUnfinished)];
    ++mark.count;
    mark.ticks += ticks - std::min(ticks, inside);
  }

  Owner visit(Owner around, const analyze::TimedRange& range, size_t depth) {
    const Owner node = count(around, range.number, depth);
    if (range.unfinished && node != around) ++trie_[trie_.child(node, kUnfinished)].count;
    return node;
  }
  void take(Owner owner, const analyze::TimedRange& range, analyze::TickSpan part) {
    trie_[range.unfinished ? trie_.child(owner, kUnfinished) : owner].ticks += part.ticks();
  }

  void forget() {
    budget_.paths += trie_.nodes().size() - 1;
    trie_ = PathTrie();
    over_ = 0;
  }

  uint64_t unfinished() const { return unfinished_; }
  uint64_t over() const { return over_; }  // ranges beyond the budget
  const PathTrie& trie() const { return trie_; }
  RangeNames& names() const { return names_; }

 private:
  Owner count(Owner around, uint32_t number, size_t depth) {
    const Owner node = find(around, number, depth);
    if (node == around) [[unlikely]]
      ++over_;
    else
      ++trie_[node].count;
    return node;
  }

  RangeNames& names_;
  PathBudget& budget_;
  PathTrie trie_;
  uint64_t unfinished_ = 0, over_ = 0;
};

// Adds the paths of a track to those of all.
void add_track(MergedPaths& all, const PathOptions& options, const convert::Place& place, const TrackPaths& paths,
               double ns_per_tick) {
  const std::vector<PathTrie::Node>& nodes = paths.trie().nodes();
  if (nodes.size() == 1) return;
  std::vector<uint32_t> merged(nodes.size());
  merged[0] = all.child(all.child(PathTrie::kRoot, process_label(*place.group, options), FrameKind::Process),
                        place.name, FrameKind::Track);
  const bool on_device = place.track->kind == trace::TrackKind::DeviceQueue;
  for (size_t i = 1; i < nodes.size(); ++i) {
    const uint32_t number = nodes[i].number;
    const bool is_unfinished = number == TrackPaths::kUnfinished;
    const std::string name = is_unfinished                  ? "(unfinished)"
                             : number == TrackPaths::kOther ? "(other paths)"
                                                            : paths.names().name(number);
    const FrameKind kind = is_unfinished ? FrameKind::Unfinished : on_device ? FrameKind::Work : FrameKind::Range;
    merged[i] = all.child(merged[nodes[i].parent], name, kind);
    // Only a forged file has more time inside of ranges than the ranges have.
    const auto self = static_cast<double>(std::max<int64_t>(static_cast<int64_t>(nodes[i].ticks), 0));
    all.count(merged[i], nodes[i].count, base::round_ns(self * ns_per_tick));
  }
}

class Collection {
 public:
  Collection(const trace::Reader& reader, const PathOptions& options)
      : reader_(reader), options_(options), budget_{options.max_paths, options.max_depth}, places_(reader) {}

  Paths run();

 private:
  struct Track {
    const convert::Place* place = nullptr;  // null: the trace does not describe the track
    trace::ClockMap clock;
    std::unique_ptr<TrackPaths> paths;
    analyze::Nesting<TrackPaths> nesting;
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
  const auto decode_one = [this](const auto& chunk, auto& into) { decode(chunk, into); };
  analyze::DecodeAhead chunks(reader_.event_chunks(), decode_one);
  while (const analyze::DecodeAhead::Item* const item = chunks.next()) {
    const trace::EventChunk& chunk = *item->chunk;
    Track& track = find_track(chunk);
    if (track.place == nullptr) {
      result_.problems.push_back(
          {chunk.offset, chunk.length, "events of a process or thread the trace does not describe"});
    } else if (!item->error.empty()) {
      result_.problems.push_back({chunk.offset, chunk.length, item->error});
    } else {
      RangeNames& names = track.paths->names();
      track.nesting.add(
          item->batch, names.numbers(item->batch.ranges), chunk.last,
          [&](const trace::OpenRange& open) { return names.number(open); }, *track.paths);
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
    const int64_t* const alive_ns = end == alive.end() ? nullptr : &end->second;
    track.nesting.finish([&, &clock = track.clock, last = track.nesting.last()](
                             uint64_t start) { return analyze::unfinished_ticks(clock, start, last, alive_ns); },
                         *track.paths);
    if (track.nesting.overlaps()) {
      track.paths->forget();
      analyze::AllRanges ranges;
      for (const analyze::TimedRange& range : track.nesting.unfinished()) ranges.add(range);
      ranges.read(
          analyze::chunks_of(reader_, key), [this](const auto& chunk, auto& into) { decode(chunk, into); },
          [&names = track.paths->names()](const auto& batch) { return names.numbers(batch.ranges); });
      analyze::nest_by_time(ranges, *track.paths);
    }
    result_.unfinished += track.paths->unfinished();
    result_.over_limit += track.paths->over();
    add_track(merged, options_, *track.place, *track.paths, ns_per_tick);
  }
  merged.finish(result_);
}

}  // namespace

Paths collect_paths(const trace::Reader& reader, const PathOptions& options) {
  return Collection(reader, options).run();
}

}  // namespace kymo::views
