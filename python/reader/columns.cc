#include "reader/columns.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

#include "kymo/error.h"

namespace kymo::python {
namespace {

using trace::EventBatch;
using trace::EventChunk;

constexpr unsigned kMaxThreads = 16;
constexpr int32_t kNoName = -1;

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
  const std::vector<int32_t>& known = *place.class_names;
  const std::vector<uint32_t>& classes = batch.ranges.class_id;
  if (!has_inline_names(batch)) {
    for (size_t i = 0; i < classes.size(); ++i) names[i] = classes[i] < known.size() ? known[classes[i]] : kNoName;
    return;
  }
  reader.read(chunk, batch, parts | trace::kRangeValues);
  trace::ValueCursor cursor(batch.ranges.values);
  for (size_t i = 0; i < batch.ranges.class_id.size(); ++i) {
    const uint32_t class_id = batch.ranges.class_id[i];
    const auto event_class = writer.classes.find(class_id);
    const trace::EventClass* found = event_class == writer.classes.end() ? nullptr : &event_class->second;
    const auto& row = cursor.next(found);
    if (class_id == trace::kInlineName)
      names[i] = catalogue.names().add(trace::full_name(nullptr, row));
    else
      names[i] = class_id < known.size() ? known[class_id] : kNoName;
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

const Catalogue::Place& place_of(const Catalogue& catalogue, const EventChunk& chunk) {
  const Catalogue::Place* place = catalogue.find(chunk);
  if (place == nullptr) throw Error("a chunk of events belongs to a track that the trace does not describe");
  return *place;
}

}  // namespace

RangeColumns read_ranges(const trace::Reader& reader, const Catalogue& catalogue, unsigned columns) {
  Places places(reader.event_chunks());
  RangeColumns result;
  if ((columns & kTimes) != 0) {
    result.start_ns.resize(places.total());
    result.duration_ns.resize(places.total());
  }
  if ((columns & kNames) != 0) result.name.resize(places.total());
  if ((columns & kDepths) != 0) result.depth.resize(places.total());
  if ((columns & kTracks) != 0) result.track.resize(places.total());
  const unsigned parts = ((columns & kTimes) != 0 ? unsigned{trace::kRangeTimes} : 0) |
                         ((columns & kNames) != 0 ? unsigned{trace::kRangeClasses} : 0) |
                         ((columns & kDepths) != 0 ? unsigned{trace::kRangeDepths} : 0);

  result.problems = for_each_chunk(reader, [&](size_t index, const EventChunk& chunk, EventBatch& batch) {
    const Catalogue::Place& place = place_of(catalogue, chunk);
    const size_t at = places.of(index), count = chunk.range_count;
    const auto check_size = [&](size_t size) {
      if (size != count) throw Error("a chunk of events has another number of ranges than its header says");
    };
    if (parts != 0) reader.read(chunk, batch, parts);
    if ((columns & kNames) != 0) {
      check_size(batch.ranges.class_id.size());
      number_names(reader, reader.writers().at(chunk.writer), catalogue, place, chunk, batch, parts,
                   result.name.data() + at);
    }
    if ((columns & kTimes) != 0) {
      check_size(batch.ranges.end.size());
      int64_t* const start = result.start_ns.data() + at;
      int64_t* const duration = result.duration_ns.data() + at;
      place.clock->to_realtime_ns(batch.ranges.end, start);
      for (size_t i = 0; i < count; ++i) {
        duration[i] = static_cast<int64_t>(place.clock->duration_ns(batch.ranges.duration[i]));
        start[i] -= duration[i];
      }
    }
    if ((columns & kDepths) != 0) {
      check_size(batch.ranges.depth.size());
      std::ranges::copy(batch.ranges.depth, result.depth.begin() + static_cast<ptrdiff_t>(at));
    }
    if ((columns & kTracks) != 0) std::fill_n(result.track.begin() + static_cast<ptrdiff_t>(at), count, place.track);
    places.mark_read(index);
  });
  places.compact(result.start_ns);
  places.compact(result.duration_ns);
  places.compact(result.name);
  places.compact(result.depth);
  places.compact(result.track);
  return result;
}

NamedDurations read_durations(const trace::Reader& reader, const Catalogue& catalogue, const std::string& name) {
  const int32_t wanted = catalogue.names().add(name);
  constexpr unsigned kParts = trace::kRangeDurations | trace::kRangeClasses;
  std::vector<std::vector<int64_t>> found(reader.event_chunks().size());
  NamedDurations result;
  result.problems = for_each_chunk(reader, [&](size_t index, const EventChunk& chunk, EventBatch& batch) {
    const Catalogue::Place& place = place_of(catalogue, chunk);
    reader.read(chunk, batch, kParts);
    const std::vector<uint32_t>& classes = batch.ranges.class_id;
    const std::vector<uint64_t>& durations = batch.ranges.duration;
    std::vector<int64_t>& into = found[index];
    if (has_inline_names(batch)) {
      std::vector<int32_t> names(classes.size());
      number_names(reader, reader.writers().at(chunk.writer), catalogue, place, chunk, batch, kParts, names.data());
      for (size_t i = 0; i < names.size(); ++i)
        if (names[i] == wanted) into.push_back(static_cast<int64_t>(place.clock->duration_ns(durations[i])));
      return;
    }
    // A class either has the name or not: a table of bytes is faster than the names themselves.
    std::vector<uint8_t> has_name(place.class_names->size());
    for (size_t i = 0; i < has_name.size(); ++i) has_name[i] = (*place.class_names)[i] == wanted;
    size_t count = 0;
    thread_local std::vector<uint64_t> ticks;
    ticks.resize(classes.size());
    for (size_t i = 0; i < classes.size(); ++i) {
      ticks[count] = durations[i];
      count += classes[i] < has_name.size() ? has_name[classes[i]] : 0;
    }
    into.reserve(count);
    for (size_t i = 0; i < count; ++i) into.push_back(static_cast<int64_t>(place.clock->duration_ns(ticks[i])));
  });
  size_t total = 0;
  for (const auto& part : found) total += part.size();
  result.ns.reserve(total);
  for (auto& part : found) {
    result.ns.insert(result.ns.end(), part.begin(), part.end());
    part = {};
  }
  return result;
}

}  // namespace kymo::python
