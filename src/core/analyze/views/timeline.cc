#include "analyze/views/timeline.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyze/decode_ahead.h"
#include "analyze/nesting.h"
#include "analyze/views/paths.h"
#include "base/text.h"
#include "convert/places.h"
#include "kymo/error.h"
#include "trace/clock.h"

namespace kymo::views {

namespace {

// One track of a timeline: sums up its ranges at one depth, by column.
class TimelineTrack {
 public:
  // All must outlive this object, except the clock.
  TimelineTrack(const convert::Place& place, trace::ClockMap clock, RangeNames& names, const convert::TraceTimes& times,
                const TimelineOptions& options);

  // Counted from the start of the timeline; negative before it.
  double time_of(uint64_t ticks) const;
  // The column of a time; outside of the timeline it is the first or last one.
  size_t column_of(double ns) const;
  // True for a range that gets a block of its own. Any thread may call it.
  bool is_wide(uint64_t end, uint64_t duration) const {
    return duration >= shortest_block_ && covers_a_block(end, duration);
  }

  // The ranges of a chunk. Values are needed only for the names of wide ranges, and for names stored with a range.
  void add(const trace::EventBatch& batch);
  // The ranges that have not ended at `alive_ns` of the monotonic clock, outermost first.
  void add_unfinished(const std::vector<trace::OpenRange>& open, int64_t alive_ns);

  // For a track with ranges that overlap: forgets the times, which follow as all ranges at the depth or below it, by
  // their begins. One that is below it may end after the one around it.
  void forget_times();
  void add_by_time(const analyze::TimedRange& range, bool at_depth);
  const std::vector<analyze::TimedRange>& unfinished_ranges() const { return open_; }
  RangeNames& names() const { return names_; }

  // For a track without ranges other than recorded waits.
  void add_states(const analyze::ThreadStates& thread);

  bool is_sampled() const { return is_sampled_; }

  TimelineRow row() const;
  const convert::Place& place() const { return place_; }

 private:
  struct Interval {
    double begin, end;
  };
  bool covers_a_block(uint64_t end, uint64_t duration) const;
  void add_busy(const Interval& interval) { add_to(busy_ns_, interval); }
  void add_to(std::vector<double>& columns, const Interval& interval) {
    for_each_column(interval, [&](size_t column, double ns) { columns[column] += ns; });
  }
  void add_name(const Interval& interval, uint32_t number);
  void add_block(const Interval& interval, const std::string& name, bool unfinished);
  template <typename Visit>
  void for_each_column(const Interval& interval, Visit&& visit) const;

  const convert::Place& place_;
  const trace::ClockMap clock_;
  RangeNames& names_;
  const convert::TraceTimes& times_;
  const TimelineOptions& options_;
  const double column_ns_;
  const uint64_t shortest_block_;                     // ticks: a range that is shorter is not wide
  std::vector<double> busy_ns_;                       // by column
  std::vector<double> ready_ns_, unknown_ns_;         // by column, of a sampled thread
  std::vector<std::map<uint32_t, double>> named_ns_;  // by column, then name
  std::map<size_t, TimelineBlock> blocks_;            // by first column
  bool is_sampled_ = false;
  std::string program_, thread_;  // of a sampled thread: after its last exec

  std::vector<TimelineUnfinished> unfinished_;
  std::vector<analyze::TimedRange> open_;                         // the same
  double counted_until_ = std::numeric_limits<double>::lowest();  // add_by_time() has counted what is before it

  // Saves most lookups of the sum of a name in a column.
  class RecentNames {
   public:
    // The sum of a name in a column. Valid until the next call.
    double& sum(size_t column, uint32_t number, std::map<uint32_t, double>& names);

   private:
    struct Slot {
      size_t column = SIZE_MAX;
      uint32_t number = 0;
      double* sum = nullptr;
    };
    std::array<Slot, 64> slots_;
    double beyond_ = 0;
  };
  RecentNames recent_;
};

constexpr size_t kMaxNamesInColumn = 1024;  // a forged trace may have a name for each range

double length_of(const TimelineOptions& options) {
  return static_cast<double>(std::max(options.from_ns, options.to_ns) - options.from_ns);
}

// A little less than this time.
uint64_t ticks_in(const trace::ClockMap& clock, double ns) {
  constexpr uint64_t kManyTicks = uint64_t{1} << 40;
  const double ns_per_tick = clock.to_ns(kManyTicks) / static_cast<double>(kManyTicks);
  return ns_per_tick > 0 ? static_cast<uint64_t>(std::min(0.99 * ns / ns_per_tick, 0x1p62)) : 0;
}

TimelineTrack::TimelineTrack(const convert::Place& place, trace::ClockMap clock, RangeNames& names,
                             const convert::TraceTimes& times, const TimelineOptions& options)
    : place_(place),
      clock_(std::move(clock)),
      names_(names),
      times_(times),
      options_(options),
      column_ns_(std::max(1.0, length_of(options)) / static_cast<double>(options.columns)),
      shortest_block_(ticks_in(clock_, column_ns_ * static_cast<double>(options.block_columns - 2))),
      busy_ns_(options.columns),
      named_ns_(options.columns) {}

double TimelineTrack::time_of(uint64_t ticks) const {
  const int64_t offset = times_.offset_ns(place_.writer->id, clock_.to_monotonic_ns(ticks));
  return static_cast<double>(offset) - static_cast<double>(options_.from_ns);
}

size_t TimelineTrack::column_of(double ns) const {
  const double column = std::clamp(ns / column_ns_, 0.0, static_cast<double>(options_.columns - 1));
  return static_cast<size_t>(column);
}

bool TimelineTrack::covers_a_block(uint64_t end, uint64_t duration) const {
  return column_of(time_of(end)) - column_of(time_of(end - std::min(end, duration))) + 1 >= options_.block_columns;
}

// Calls visit(column, nanoseconds of the interval in it).
template <typename Visit>
void TimelineTrack::for_each_column(const Interval& interval, Visit&& visit) const {
  const double begin = std::max(0.0, interval.begin);
  const double end = std::min(interval.end, column_ns_ * static_cast<double>(options_.columns));
  if (end < begin) return;
  for (size_t column = column_of(begin), last = column_of(end); column <= last; ++column) {
    const double from = std::max(begin, static_cast<double>(column) * column_ns_);
    const double to = std::min(end, static_cast<double>(column + 1) * column_ns_);
    if (to > from) visit(column, to - from);
  }
}

void TimelineTrack::add(const trace::EventBatch& batch) {
  const trace::Ranges& ranges = batch.ranges;
  const bool has_values = !ranges.values.ints.empty() || !ranges.values.doubles.empty();
  trace::ValueCursor cursor(ranges.values);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const uint32_t class_id = ranges.class_id[i];
    const std::vector<trace::ValueCursor::Value>* row = nullptr;
    if (has_values) row = &cursor.next(&names_.event_class(class_id));
    if (ranges.depth[i] != options_.depth) continue;
    const uint64_t end = ranges.end[i], start = end - std::min(end, ranges.duration[i]);
    const Interval interval{time_of(start), time_of(end)};
    add_busy(interval);
    add_name(interval, row == nullptr ? class_id : names_.number(class_id, *row));
    if (!is_wide(end, ranges.duration[i])) continue;
    add_block(interval, row == nullptr ? names_.text(class_id) : trace::full_name(&names_.event_class(class_id), *row),
              false);
  }
}

void TimelineTrack::add_unfinished(const std::vector<trace::OpenRange>& open, int64_t alive_ns) {
  for (size_t depth = 0; depth < open.size(); ++depth) {
    const trace::OpenRange& range = open[depth];
    const uint64_t ticks = analyze::unfinished_ticks(clock_, range.start, range.start, &alive_ns);
    const uint64_t end = range.start + std::min(ticks, std::numeric_limits<uint64_t>::max() - range.start);
    open_.push_back({range.start, end, names_.number(range), static_cast<uint16_t>(std::min<size_t>(depth, UINT16_MAX)),
                     true, true});
    const trace::Values values{range.ints, range.doubles, range.text};
    const trace::EventClass& event_class = names_.event_class(range.class_id);
    const std::string name = trace::full_name(&event_class, trace::ValueCursor(values).next(&event_class));
    unfinished_.push_back({name, times_.offset_ns(place_.writer->id, clock_.to_monotonic_ns(range.start)),
                           times_.offset_ns(place_.writer->id, alive_ns)});
    if (depth != options_.depth) continue;
    const Interval interval{time_of(range.start), time_of(end)};
    add_busy(interval);
    add_name(interval, names_.number(range));
    const size_t first = column_of(interval.begin), last = column_of(interval.end);
    if (last - std::min(last, first) + 1 >= options_.block_columns) add_block(interval, name, true);
  }
}

void TimelineTrack::forget_times() {
  std::fill(busy_ns_.begin(), busy_ns_.end(), 0);
  for (std::map<uint32_t, double>& names : named_ns_) names.clear();
  recent_ = {};
}

void TimelineTrack::add_by_time(const analyze::TimedRange& range, bool at_depth) {
  const Interval interval{time_of(range.begin), time_of(range.end)};
  add_busy({std::max(interval.begin, counted_until_), interval.end});
  counted_until_ = std::max(counted_until_, interval.end);
  if (at_depth) add_name(interval, range.number);
}

void TimelineTrack::add_states(const analyze::ThreadStates& thread) {
  is_sampled_ = true;
  if (!thread.program.empty()) program_ = base::format("{} ({})", thread.program, thread.pid);
  thread_ = thread.name;
  ready_ns_.resize(options_.columns);
  unknown_ns_.resize(options_.columns);
  std::ranges::fill(busy_ns_, 0);
  const auto time = [this](int64_t ns) {
    return static_cast<double>(times_.offset_ns(place_.writer->id, ns)) - static_cast<double>(options_.from_ns);
  };
  int64_t known = thread.begin_ns;
  for (const analyze::StateSpan& span : thread.spans) {
    add_to(unknown_ns_, {time(known), time(span.begin)});
    known = span.end;
    if (span.state == analyze::ThreadState::Waiting) continue;
    add_to(span.state == analyze::ThreadState::Running ? busy_ns_ : ready_ns_, {time(span.begin), time(span.end)});
  }
  add_to(unknown_ns_, {time(known), time(thread.end_ns)});
}

void TimelineTrack::add_name(const Interval& interval, uint32_t number) {
  for_each_column(interval, [&](size_t column, double ns) { recent_.sum(column, number, named_ns_[column]) += ns; });
}

// Elements of a map stay where they are.
double& TimelineTrack::RecentNames::sum(size_t column, uint32_t number, std::map<uint32_t, double>& names) {
  Slot& slot = slots_[number % slots_.size()];
  if (slot.column != column || slot.number != number) {
    const bool has_room = names.size() < kMaxNamesInColumn || names.contains(number);
    slot = {column, number, has_room ? &names[number] : &beyond_};
  }
  return *slot.sum;
}

// The first of two blocks that share a column keeps it. Only the larger of two overlapping blocks stays.
void TimelineTrack::add_block(const Interval& interval, const std::string& name, bool unfinished) {
  TimelineBlock block{column_of(interval.begin), column_of(interval.end), name, unfinished};
  const auto after = blocks_.lower_bound(block.first);
  if (after != blocks_.end()) {
    if (after->second.first == block.first) return;
    block.last = std::min(block.last, after->second.first - 1);
  }
  if (after != blocks_.begin()) block.first = std::max(block.first, std::prev(after)->second.last + 1);
  if (block.last + 1 < block.first + options_.block_columns) return;
  blocks_.emplace(block.first, std::move(block));
}

TimelineRow TimelineTrack::row() const {
  TimelineRow row;
  row.process = program_.empty() ? convert::group_label(*place_.group) : program_;
  row.track = thread_.empty() ? place_.name : thread_;
  row.is_sampled = is_sampled_;
  row.on_device = place_.track->kind == trace::TrackKind::DeviceQueue;
  row.unfinished = unfinished_;
  for (size_t column = 0; column < options_.columns; ++column) {
    row.busy_ns += busy_ns_[column];
    const double share = std::min(1.0, busy_ns_[column] / column_ns_);
    row.columns.push_back(share);
    row.busy += share / static_cast<double>(options_.columns);
    if (is_sampled_) row.ready.push_back(std::min(1.0, ready_ns_[column] / column_ns_));
    if (is_sampled_) row.unknown.push_back(std::min(1.0, unknown_ns_[column] / column_ns_));
    const auto& names = named_ns_[column];
    const auto most =
        std::max_element(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    row.names.push_back(most == names.end() ? "" : names_.text(most->first));
  }
  for (const auto& [first, block] : blocks_) row.blocks.push_back(block);
  return row;
}

class Builder {
 public:
  Builder(const trace::Reader& reader, const convert::TraceTimes& times, const convert::TrackChoice& choice,
          const TimelineOptions& options, const std::vector<analyze::ThreadStates>& threads)
      : reader_(reader), times_(times), choice_(choice), options_(options), threads_(threads), places_(reader) {}

  Timeline run();

 private:
  using Key = std::pair<trace::WriterId, uint32_t>;
  struct Entry {
    std::unique_ptr<TimelineTrack> track;  // null: it has no row
    const trace::EventChunk* last_chunk = nullptr;
    bool overlaps = false;
    bool has_work = false;  // ranges that are not recorded waits
  };

  Entry& find(const trace::EventChunk& chunk);
  void choose_chunks();
  void add_decoded();
  void add_unfinished();
  void add_overlapping(const Key& key, TimelineTrack& track);
  void decode(const trace::EventChunk& chunk, trace::EventBatch& into) const;
  void report(const trace::EventChunk& chunk, const std::string& what);
  void add_sampled_rows();
  static bool has_cpu_samples(const trace::WriterInfo& writer);
  static bool is_wait(const trace::EventClass& one) { return one.category == "wait"; }

  const trace::Reader& reader_;
  const convert::TraceTimes& times_;
  const convert::TrackChoice& choice_;
  const TimelineOptions& options_;
  const std::vector<analyze::ThreadStates>& threads_;
  const convert::Places places_;
  std::map<trace::WriterId, std::unique_ptr<RangeNames>> names_;
  std::map<Key, Entry> tracks_;
  std::vector<trace::EventChunk> to_decode_;
  Timeline result_;
};

Timeline Builder::run() {
  result_.problems = reader_.problems();
  choose_chunks();
  add_decoded();
  add_unfinished();
  for (auto& [key, entry] : tracks_)
    if (entry.track != nullptr && entry.overlaps) add_overlapping(key, *entry.track);
  add_sampled_rows();
  // By process or device; of a process, threads with ranges first.
  using Position = std::pair<uint32_t, bool>;
  std::vector<std::pair<Position, const TimelineTrack*>> order;
  for (const auto& [key, entry] : tracks_)
    if (const TimelineTrack* const track = entry.track.get())
      order.emplace_back(Position(track->place().group->index, track->is_sampled()), track);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [position, track] : order) result_.rows.push_back(track->row());
  return std::move(result_);
}

// The samples of a thread are recorded by another writer than its ranges, and each program that a process runs has one
// (exec). A thread has one row: that of its ranges, or the first one. If its ranges are only waits, it is busy while it
// runs, too.
void Builder::add_sampled_rows() {
  std::map<std::string, const analyze::ThreadStates*> states;
  for (const analyze::ThreadStates& thread : threads_) states[thread.key] = &thread;
  std::set<Key> with_ranges;
  for (const trace::EventChunk& chunk : reader_.event_chunks())
    if (chunk.range_count != 0) with_ranges.insert({chunk.writer, chunk.track});
  const auto key_of = [](const TimelineTrack& track) {
    return analyze::thread_key(*track.place().writer, *track.place().track);
  };
  const auto add_states = [&](TimelineTrack& track, const std::string& thread) {
    if (const auto found = states.find(thread); found != states.end()) track.add_states(*found->second);
  };
  std::set<std::string> have;
  for (const auto& [key, entry] : tracks_) {
    if (entry.track == nullptr || (!with_ranges.contains(key) && entry.track->unfinished_ranges().empty())) continue;
    const std::string thread = key_of(*entry.track);
    have.insert(thread);
    if (!entry.has_work) add_states(*entry.track, thread);
  }
  for (auto& [key, entry] : tracks_) {
    if (entry.track == nullptr || with_ranges.contains(key) || !entry.track->unfinished_ranges().empty() ||
        !has_cpu_samples(*entry.track->place().writer))
      continue;
    const std::string thread = key_of(*entry.track);
    if (have.insert(thread).second)
      add_states(*entry.track, thread);
    else
      entry.track.reset();
  }
}

bool Builder::has_cpu_samples(const trace::WriterInfo& writer) {
  return std::any_of(writer.classes.begin(), writer.classes.end(),
                     [](const auto& one) { return one.second.category == "cpu" && one.second.name == "sample"; });
}

Builder::Entry& Builder::find(const trace::EventChunk& chunk) {
  const auto [entry, is_new] = tracks_.try_emplace({chunk.writer, chunk.track});
  if (!is_new || !choice_.contains(chunk.writer, chunk.track)) return entry->second;
  const convert::Place* const place = places_.find(chunk.writer, chunk.track);
  if (place == nullptr) {
    report(chunk, "events of a process or thread the trace does not describe");
    return entry->second;
  }
  const auto domain = place->writer->clocks.find(place->track->clock);
  trace::ClockMap clock;
  if (domain != place->writer->clocks.end()) clock = trace::clock_map(domain->second);
  if (!clock.usable()) {
    ++result_.without_clock;
    return entry->second;
  }
  std::unique_ptr<RangeNames>& names = names_[chunk.writer];
  if (names == nullptr) names = std::make_unique<RangeNames>(*place->writer, false);
  entry->second.track = std::make_unique<TimelineTrack>(*place, std::move(clock), *names, times_, options_);
  return entry->second;
}

void Builder::choose_chunks() {
  for (const trace::EventChunk& chunk : reader_.event_chunks()) {
    Entry& entry = find(chunk);
    if (entry.track == nullptr) continue;
    entry.last_chunk = &chunk;
    if (chunk.range_count != 0) to_decode_.push_back(chunk);
  }
}

void Builder::decode(const trace::EventChunk& chunk, trace::EventBatch& into) const {
  constexpr unsigned kParts = trace::kRangeTimes | trace::kRangeClasses | trace::kRangeDepths;
  reader_.read(chunk, into, kParts);
  const TimelineTrack& track = *tracks_.at({chunk.writer, chunk.track}).track;
  const trace::Ranges& ranges = into.ranges;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges.depth[i] != options_.depth) continue;
    if (ranges.class_id[i] == trace::kInlineName || track.is_wide(ranges.end[i], ranges.duration[i]))
      return reader_.read(chunk, into, kParts | trace::kRangeValues);
  }
}

void Builder::add_decoded() {
  analyze::DecodeAhead chunks(to_decode_, [this](const auto& chunk, auto& into) { decode(chunk, into); });
  while (const analyze::DecodeAhead::Item* const item = chunks.next()) {
    if (!item->error.empty()) {
      report(*item->chunk, item->error);
      continue;
    }
    Entry& entry = find(*item->chunk);
    const auto is_work = [&](uint32_t id) { return !is_wait(entry.track->names().event_class(id)); };
    entry.track->add(item->batch);
    entry.has_work = entry.has_work || std::ranges::any_of(item->batch.ranges.class_id, is_work);
    entry.overlaps |= std::ranges::any_of(item->batch.ranges.lane, [](uint16_t lane) { return lane != 0; });
  }
}

// The ranges that are open at the end last until their process was last seen alive.
void Builder::add_unfinished() {
  const std::map<trace::WriterId, int64_t> alive = trace::last_alive_ns(reader_);
  trace::EventBatch batch;
  for (auto& [key, entry] : tracks_) {
    const auto end = alive.find(key.first);
    if (entry.last_chunk == nullptr || end == alive.end()) continue;
    try {
      reader_.read(*entry.last_chunk, batch, trace::kOpenStacks);
    } catch (const Error& error) {
      report(*entry.last_chunk, error.what());
      continue;
    }
    for (const trace::OpenRange& one : batch.closing)
      entry.has_work |= !is_wait(entry.track->names().event_class(one.class_id));
    entry.track->add_unfinished(batch.closing, end->second);
  }
}

// The depth of a range is not the one in its lane, but that of all ranges around it.
struct RangesAtDepth {
  using Owner = char;
  size_t depth;
  TimelineTrack& track;
  Owner outside() const { return 0; }
  Owner visit(Owner, const analyze::TimedRange& range, size_t at) const {
    if (at >= depth) track.add_by_time(range, at == depth);
    return 0;
  }
  void take(Owner, const analyze::TimedRange&, analyze::TickSpan) const {}
};

void Builder::add_overlapping(const Key& key, TimelineTrack& track) {
  track.forget_times();
  RangesAtDepth at_depth{options_.depth, track};
  analyze::AllRanges ranges;
  for (const analyze::TimedRange& range : track.unfinished_ranges()) ranges.add(range);
  ranges.read(
      analyze::chunks_of(reader_, key), [this](const auto& chunk, auto& into) { decode(chunk, into); },
      [&](const auto& batch) { return track.names().numbers(batch.ranges); });
  analyze::nest_by_time(ranges, at_depth);
}

// A chunk may be read twice.
void Builder::report(const trace::EventChunk& chunk, const std::string& what) {
  const bool is_known = std::any_of(result_.problems.begin(), result_.problems.end(),
                                    [&](const trace::Problem& problem) { return problem.offset == chunk.offset; });
  if (!is_known) result_.problems.push_back({chunk.offset, chunk.length, what});
}

}  // namespace

uint64_t length_with_unfinished(const trace::Reader& reader, const convert::TraceTimes& times) {
  std::map<std::pair<trace::WriterId, uint32_t>, const trace::EventChunk*> last_chunks;
  for (const trace::EventChunk& chunk : reader.event_chunks()) last_chunks[{chunk.writer, chunk.track}] = &chunk;
  const std::map<trace::WriterId, int64_t> alive = trace::last_alive_ns(reader);
  uint64_t length = times.length_ns();
  trace::EventBatch batch;
  for (const auto& [key, chunk] : last_chunks) {
    const auto end = alive.find(key.first);
    if (end == alive.end()) continue;
    try {
      reader.read(*chunk, batch, trace::kOpenStacks);
    } catch (const Error&) {
      continue;  // make_timeline() reports it
    }
    const int64_t last = times.offset_ns(key.first, end->second);
    if (!batch.closing.empty() && last > 0) length = std::max(length, static_cast<uint64_t>(last));
  }
  return length;
}

Timeline make_timeline(const trace::Reader& reader, const convert::TraceTimes& times,
                       const convert::TrackChoice& choice, const TimelineOptions& options,
                       const std::vector<analyze::ThreadStates>& threads) {
  return Builder(reader, times, choice, options, threads).run();
}

}  // namespace kymo::views
