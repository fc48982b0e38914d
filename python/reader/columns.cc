#include "reader/columns.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/iteration_name.h"
#include "kymo/error.h"
#include "trace/values.h"

namespace kymo::python {
namespace {

using trace::EventBatch;
using trace::EventChunk;

constexpr unsigned kMaxThreads = 16;

using UseChunk = std::function<void(size_t index, const EventChunk&, EventBatch&)>;

// Calls `use` for every chunk that has ranges, on all cores. A chunk for which it throws kymo::Error is a problem.
std::vector<std::string> for_each_chunk(const trace::Reader& reader, const UseChunk& use) {
  const std::vector<EventChunk>& chunks = reader.event_chunks();
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::vector<std::string> problems;
  std::exception_ptr failure;
  const auto work = [&] {
    EventBatch batch;
    for (size_t i = next++; i < chunks.size(); i = next++) {
      if (chunks[i].range_count == 0) continue;
      try {
        use(i, chunks[i], batch);
      } catch (const Error& error) {
        const std::lock_guard lock(mutex);
        problems.emplace_back(error.what());
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
        next = chunks.size();
      }
    }
  };
  std::vector<std::thread> threads;
  const unsigned cores = std::clamp(std::thread::hardware_concurrency(), 1u, kMaxThreads);
  try {
    for (unsigned i = 1; i < cores && i < chunks.size(); ++i) threads.emplace_back(work);
  } catch (const std::system_error&) {
    // The system gives no more threads: this one does their work.
  }
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  return problems;
}

bool has_inline_names(const EventBatch& batch) {
  return std::ranges::find(batch.ranges.class_id, trace::kInlineName) != batch.ranges.class_id.end();
}

// The number of the name of each range. Names that are in the events need the values of the whole chunk.
void number_names(const trace::Reader& reader, const trace::WriterInfo& writer, const Catalogue& catalogue,
                  const Catalogue::Place& place, const EventChunk& chunk, EventBatch& batch, unsigned parts,
                  int32_t* names) {
  const std::vector<uint32_t>& classes = batch.ranges.class_id;
  if (!has_inline_names(batch)) {
    for (size_t i = 0; i < classes.size(); ++i) names[i] = catalogue.name_of(place, classes[i]);
    return;
  }
  reader.read(chunk, batch, parts | trace::kRangeValues);
  trace::ValueCursor cursor(batch.ranges.values);
  for (size_t i = 0; i < batch.ranges.class_id.size(); ++i) {
    const uint32_t class_id = batch.ranges.class_id[i];
    const trace::EventClass* const found = writer.find_class(class_id);
    const auto& row = cursor.next(found);
    names[i] = class_id == trace::kInlineName
                   ? catalogue.names().add(base::without_iteration_number(trace::full_name(nullptr, row)))
                   : catalogue.name_of(place, class_id);
  }
}

// Where the ranges of each chunk go. The chunks that failed are taken out at the end.
class Places {
 public:
  explicit Places(const std::vector<EventChunk>& chunks) : counts_(chunks.size()), starts_(chunks.size() + 1) {
    for (size_t i = 0; i < chunks.size(); ++i) {
      counts_[i] = chunks[i].range_count;
      starts_[i + 1] = starts_[i] + counts_[i];
    }
  }
  size_t total() const { return starts_.back(); }
  size_t of(size_t chunk) const { return starts_[chunk]; }
  void mark_read(size_t chunk) { counts_[chunk] |= kRead; }

  template <class T>
  void compact(std::vector<T>& column) const {
    if (column.empty()) return;
    size_t to = 0;
    for (size_t i = 0; i < counts_.size(); ++i) {
      if ((counts_[i] & kRead) == 0) continue;
      const size_t count = counts_[i] & ~kRead;
      if (to != starts_[i]) std::memmove(column.data() + to, column.data() + starts_[i], count * sizeof(T));
      to += count;
    }
    column.resize(to);
  }

 private:
  static constexpr uint64_t kRead = uint64_t{1} << 63;
  std::vector<uint64_t> counts_;
  std::vector<size_t> starts_;
};

// The times of ranges in nanoseconds. `ticks` is reused from call to call.
void to_starts(const trace::ClockMap& clock, const trace::Ranges& ranges, std::vector<uint64_t>& ticks,
               int64_t* start) {
  const size_t count = ranges.end.size();
  ticks.resize(count);
  for (size_t i = 0; i < count; ++i) ticks[i] = ranges.end[i] - ranges.duration[i];
  clock.to_realtime_ns(ticks, start);
}

void to_durations(const trace::ClockMap& clock, const trace::Ranges& ranges, int64_t* duration) {
  for (size_t i = 0; i < ranges.duration.size(); ++i)
    duration[i] = static_cast<int64_t>(clock.duration_ns(ranges.duration[i]));
}

// Appends one member of the loose ranges to a column.
template <class T, class Member>
void append(std::vector<T>& column, const LooseRanges& loose, Member LooseRange::*member) {
  for (const LooseRange& range : loose.ranges) column.push_back(static_cast<T>(range.*member));
}

}  // namespace

RangeColumns read_ranges(const trace::Reader& reader, const Catalogue& catalogue, const LooseRanges& loose,
                         unsigned columns) {
  Places places(reader.event_chunks());
  RangeColumns result;
  const auto make = [&](auto& column, ColumnSet set) {
    if ((columns & set) == 0) return;
    column.reserve(places.total() + loose.ranges.size());
    column.resize(places.total());
  };
  make(result.start_ns, kTimes);
  make(result.duration_ns, kTimes);
  make(result.name, kNames);
  make(result.depth, kDepths);
  make(result.track, kTracks);
  make(result.across_threads, kKinds);
  make(result.finished, kKinds);
  const unsigned parts = ((columns & kTimes) != 0 ? unsigned{trace::kRangeTimes} : 0) |
                         ((columns & kNames) != 0 ? unsigned{trace::kRangeClasses} : 0) |
                         ((columns & kDepths) != 0 ? unsigned{trace::kRangeDepths} : 0);

  result.problems = for_each_chunk(reader, [&](size_t index, const EventChunk& chunk, EventBatch& batch) {
    const Catalogue::Place* const found = catalogue.find(chunk);
    if (found == nullptr) return;
    const Catalogue::Place& place = *found;
    const size_t at = places.of(index), count = chunk.range_count;
    const auto check_size = [&](size_t size) {
      if (size != count) throw Error("a chunk of events has another number of ranges than its header says");
    };
    reader.read(chunk, batch, parts);  // also without parts: columns do not contain a damaged chunk
    if ((columns & kNames) != 0) {
      check_size(batch.ranges.class_id.size());
      number_names(reader, reader.writers().at(chunk.writer), catalogue, place, chunk, batch, parts,
                   result.name.data() + at);
    }
    if ((columns & kTimes) != 0) {
      check_size(batch.ranges.end.size());
      thread_local std::vector<uint64_t> ticks;
      to_starts(*place.clock, batch.ranges, ticks, result.start_ns.data() + at);
      to_durations(*place.clock, batch.ranges, result.duration_ns.data() + at);
    }
    if ((columns & kDepths) != 0) {
      check_size(batch.ranges.depth.size());
      std::ranges::copy(batch.ranges.depth, result.depth.begin() + static_cast<ptrdiff_t>(at));
    }
    if ((columns & kTracks) != 0) std::fill_n(result.track.begin() + static_cast<ptrdiff_t>(at), count, place.track);
    if ((columns & kKinds) != 0) std::fill_n(result.finished.begin() + static_cast<ptrdiff_t>(at), count, uint8_t{1});
    places.mark_read(index);
  });
  const auto finish = [&](auto& column, ColumnSet set, auto member) {
    if ((columns & set) == 0) return;
    places.compact(column);
    append(column, loose, member);
  };
  finish(result.start_ns, kTimes, &LooseRange::start_ns);
  finish(result.duration_ns, kTimes, &LooseRange::duration_ns);
  finish(result.name, kNames, &LooseRange::name);
  finish(result.depth, kDepths, &LooseRange::depth);
  finish(result.track, kTracks, &LooseRange::track);
  finish(result.across_threads, kKinds, &LooseRange::across_threads);
  finish(result.finished, kKinds, &LooseRange::finished);
  return result;
}

NamedDurations read_durations(const trace::Reader& reader, const Catalogue& catalogue, const LooseRanges& loose,
                              const std::string& name) {
  const int32_t known = catalogue.names().find(name);
  const bool wants_unknown = name == Catalogue::kUnknownClass;
  constexpr unsigned kParts = trace::kRangeTimes | trace::kRangeClasses;
  std::vector<std::vector<int64_t>> found(reader.event_chunks().size());
  NamedDurations result;
  result.problems = for_each_chunk(reader, [&](size_t index, const EventChunk& chunk, EventBatch& batch) {
    const Catalogue::Place* const place = catalogue.find(chunk);
    if (place == nullptr) return;
    reader.read(chunk, batch, kParts);
    trace::Ranges& ranges = batch.ranges;
    std::vector<int32_t> names;
    if (has_inline_names(batch)) {
      names.resize(ranges.class_id.size());
      number_names(reader, reader.writers().at(chunk.writer), catalogue, *place, chunk, batch, kParts, names.data());
    }
    // Keeps the ranges that have the name, at the front. A class either has the name or not: a table of bytes is faster
    // than the names themselves.
    size_t count = 0;
    const auto keep = [&](size_t i, bool has_name) {
      ranges.duration[count] = ranges.duration[i];
      count += has_name ? 1 : 0;
    };
    if (!names.empty()) {
      const int32_t wanted = catalogue.names().find(name);  // it may be new
      for (size_t i = 0; i < names.size(); ++i) keep(i, wanted >= 0 && names[i] == wanted);
    } else {
      std::vector<uint8_t> has_name(place->class_names->size());
      for (size_t i = 0; i < has_name.size(); ++i) {
        const int32_t number = (*place->class_names)[i];
        has_name[i] = number >= 0 ? number == known : wants_unknown;
      }
      const std::vector<uint32_t>& classes = ranges.class_id;
      for (size_t i = 0; i < classes.size(); ++i)
        keep(i, classes[i] < has_name.size() ? has_name[classes[i]] != 0 : wants_unknown);
    }
    ranges.duration.resize(count);
    found[index].resize(count);
    to_durations(*place->clock, ranges, found[index].data());
  });
  size_t total = 0;
  for (const auto& part : found) total += part.size();
  result.ns.reserve(total);
  for (auto& part : found) {
    result.ns.insert(result.ns.end(), part.begin(), part.end());
    part = {};
  }
  const int32_t wanted = catalogue.names().find(name);
  for (const LooseRange& range : loose.ranges)
    if (wanted >= 0 && range.name == wanted && range.finished) result.ns.push_back(range.duration_ns);
  return result;
}

}  // namespace kymo::python
