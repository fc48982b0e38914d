#include "analyze/views/timeline.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "analyze/decode_ahead.h"
#include "analyze/views/timeline_track.h"
#include "kymo/error.h"
#include "trace/last_alive.h"

namespace kymo::views {
namespace {

constexpr unsigned kMaxTimelineHelpers = 5;

class Builder {
 public:
  Builder(const trace::Reader& reader, const convert::TraceTimes& times, const convert::TrackChoice& choice,
          const TimelineOptions& options)
      : reader_(reader), times_(times), choice_(choice), options_(options), places_(reader) {}

  Timeline run();

 private:
  using Key = std::pair<trace::WriterId, uint32_t>;
  struct Entry {
    std::unique_ptr<TimelineTrack> track;  // null: it has no row
    const trace::EventChunk* last_chunk = nullptr;
    std::vector<bool> has_names;  // by column: a chunk in it is decoded
  };

  Entry& find(const trace::EventChunk& chunk);
  void choose_chunks();
  void add_decoded();
  void add_summaries();
  void add_unfinished();
  void decode(const trace::EventChunk& chunk, trace::EventBatch& into) const;
  void report(const trace::EventChunk& chunk, const std::string& what);
  std::set<Key> tracks_with_ranges() const;
  static bool has_cpu_samples(const trace::WriterInfo& writer);

  const trace::Reader& reader_;
  const convert::TraceTimes& times_;
  const convert::TrackChoice& choice_;
  const TimelineOptions& options_;
  const convert::Places places_;
  std::map<trace::WriterId, std::unique_ptr<RangeNames>> names_;
  std::map<Key, Entry> tracks_;
  std::vector<trace::EventChunk> to_decode_;
  std::vector<const trace::EventChunk*> to_summarise_;
  Timeline result_;
};

Timeline Builder::run() {
  result_.problems = reader_.problems();
  choose_chunks();
  add_decoded();
  add_summaries();
  add_unfinished();
  std::vector<std::pair<uint32_t, const TimelineTrack*>> order;  // by process or device
  const auto has_row = [ranges = tracks_with_ranges()](const Key& key, const TimelineTrack& track) {
    return ranges.empty() || ranges.contains(key) || !has_cpu_samples(*track.place().writer);
  };
  for (const auto& [key, entry] : tracks_)
    if (entry.track != nullptr && has_row(key, *entry.track))
      order.emplace_back(entry.track->place().group->index, entry.track.get());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [group, track] : order) result_.rows.push_back(track->row());
  result_.decoded = to_decode_.size();
  result_.summarised = to_summarise_.size();
  return std::move(result_);
}

std::set<Builder::Key> Builder::tracks_with_ranges() const {
  std::set<Key> found;
  for (const trace::EventChunk& chunk : reader_.event_chunks())
    if (chunk.range_count != 0) found.insert({chunk.writer, chunk.track});
  return found;
}

// The samples of a thread are recorded by another writer than its ranges: a row for them would be empty.
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
  entry->second.has_names.resize(options_.columns);
  return entry->second;
}

// A chunk is decoded if it is in several columns, or if no other chunk gives names to its column.
void Builder::choose_chunks() {
  for (const trace::EventChunk& chunk : reader_.event_chunks()) {
    Entry& entry = find(chunk);
    if (entry.track == nullptr) continue;
    entry.last_chunk = &chunk;
    if (chunk.range_count == 0) continue;
    const size_t first = entry.track->column_of(entry.track->time_of(chunk.first));
    const size_t last = entry.track->column_of(entry.track->time_of(chunk.last));
    if (first == last && entry.has_names[first]) {
      to_summarise_.push_back(&chunk);
    } else {
      to_decode_.push_back(chunk);
      for (size_t column = first; column <= last; ++column) entry.has_names[column] = true;
    }
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
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  analyze::DecodeAhead chunks(
      to_decode_, [this](const auto& chunk, auto& into) { decode(chunk, into); },
      std::min(cores - 1, kMaxTimelineHelpers));
  while (const analyze::DecodeAhead::Item* const item = chunks.next()) {
    if (item->error.empty())
      find(*item->chunk).track->add(item->batch);
    else
      report(*item->chunk, item->error);
  }
}

void Builder::add_summaries() {
  for (const trace::EventChunk* chunk : to_summarise_) {
    try {
      TimelineTrack& track = *find(*chunk).track;
      for (const trace::DepthSummary& summary : reader_.summaries(*chunk)) track.add(summary);
    } catch (const Error& error) {
      report(*chunk, error.what());
    }
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
    if (options_.depth < batch.closing.size()) entry.track->add_unfinished(batch.closing[options_.depth], end->second);
  }
}

// A chunk may be read twice.
void Builder::report(const trace::EventChunk& chunk, const std::string& what) {
  const bool is_known = std::any_of(result_.problems.begin(), result_.problems.end(),
                                    [&](const trace::Problem& problem) { return problem.offset == chunk.offset; });
  if (!is_known) result_.problems.push_back({chunk.offset, chunk.length, what});
}

}  // namespace

Timeline make_timeline(const trace::Reader& reader, const convert::TraceTimes& times,
                       const convert::TrackChoice& choice, const TimelineOptions& options) {
  return Builder(reader, times, choice, options).run();
}

}  // namespace kymo::views
