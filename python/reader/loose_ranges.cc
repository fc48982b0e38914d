#include "reader/loose_ranges.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "analyze/decode_ahead.h"
#include "analyze/range_groups.h"
#include "kymo/error.h"
#include "trace/async_pairs.h"
#include "trace/clock.h"

namespace kymo::python {
namespace {

using trace::EventBatch;
using trace::EventChunk;
using trace::PointKind;

constexpr unsigned kMaxHelpers = 5;   // one thread matches the ends, and is faster than decoding
constexpr size_t kMaxTasks = 10'000;  // the ranges of more tasks are on the tracks of their threads
constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min();

bool is_async(PointKind kind) { return kind == PointKind::AsyncBegin || kind == PointKind::AsyncEnd; }
bool is_task(std::string_view category) { return category == "asyncio" || category == "asyncio step"; }

class Collector {
 public:
  Collector(const trace::Reader& reader, const Catalogue& catalogue)
      : reader_(reader),
        catalogue_(catalogue),
        pairs_([this](uint64_t, const Begin& begin, const End& end) { add(begin, end.ns, true); }) {}

  LooseRanges run() {
    find_writers();
    read_points();
    read_open_ranges();
    pairs_.finish(
        [this](const trace::AsyncHandle& handle, const Begin& begin) { add(begin, ends_ns_[handle.writer], false); });
    std::stable_sort(result_.ranges.begin(), result_.ranges.end(), [](const LooseRange& a, const LooseRange& b) {
      return std::tie(a.start_ns, a.duration_ns, a.name) < std::tie(b.start_ns, b.duration_ns, b.name);
    });
    return std::move(result_);
  }

 private:
  struct Begin {
    int64_t ns;  // monotonic
    LooseRange range;
  };
  struct End {
    int64_t ns;
  };

  void add(const Begin& begin, int64_t end_ns, bool is_finished) {
    LooseRange& range = result_.ranges.emplace_back(begin.range);
    range.duration_ns =
        begin.ns < end_ns ? static_cast<int64_t>(static_cast<uint64_t>(end_ns) - static_cast<uint64_t>(begin.ns)) : 0;
    range.finished = is_finished;
  }

  // Numbers the writers, and finds out when each was last seen alive.
  void find_writers() {
    const std::map<trace::WriterId, int64_t> alive = trace::last_alive_ns(reader_);
    for (const EventChunk& chunk : reader_.event_chunks()) {
      const Catalogue::Place* const place = catalogue_.find(chunk);
      if (place == nullptr) continue;
      const auto [writer, is_new] = writers_.try_emplace(chunk.writer, static_cast<uint32_t>(ends_ns_.size()));
      if (is_new) {
        const auto known = alive.find(chunk.writer);
        ends_ns_.push_back(known == alive.end() ? kUnknown : known->second);
      }
      int64_t& end = ends_ns_[writer->second];
      end = std::max(end, analyze::nanoseconds(*place->clock, chunk.last));
    }
  }

  void read_points() {
    std::vector<EventChunk> chunks;
    for (const EventChunk& chunk : reader_.event_chunks())
      if (chunk.point_count != 0 && catalogue_.find(chunk) != nullptr) chunks.push_back(chunk);
    const auto decode = [this](const EventChunk& chunk, EventBatch& into) {
      reader_.read(chunk, into, trace::kPoints);
      if (std::ranges::any_of(into.points.kind, is_async))
        reader_.read(chunk, into, trace::kPoints | trace::kPointValues);
    };
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    analyze::DecodeAhead decoded(chunks, decode, std::min(cores - 1, kMaxHelpers));
    while (const auto* const item = decoded.next()) {
      if (!item->error.empty())
        result_.problems.push_back(item->error);
      else if (std::ranges::any_of(item->batch.points.kind, is_async))
        add_points(*item->chunk, item->batch.points);
    }
  }

  void add_points(const EventChunk& chunk, const trace::Points& points) {
    const Catalogue::Place& place = *catalogue_.find(chunk);
    const trace::WriterInfo& writer = reader_.writers().at(chunk.writer);
    const uint32_t number = writers_.at(chunk.writer);
    trace::ValueCursor cursor(points.values);
    for (size_t i = 0; i < points.size(); ++i) {
      const trace::EventClass* const event_class = find_class(writer, points.class_id[i]);
      const auto& row = cursor.next(event_class);
      const trace::AsyncHandle handle{number, points.id[i]};
      const int64_t ns = analyze::nanoseconds(*place.clock, points.time[i]);
      if (points.kind[i] == PointKind::AsyncEnd) pairs_.end(handle, {ns});
      if (points.kind[i] != PointKind::AsyncBegin) continue;
      Begin begin{ns, {}};
      begin.range.across_threads = true;
      begin.range.start_ns = place.clock->to_realtime_ns(points.time[i]);
      begin.range.name = name_of(place, points.class_id[i], row);
      begin.range.track = event_class != nullptr && is_task(event_class->category)
                              ? task_track(number, place.track, trace::full_name(event_class, row))
                              : place.track;
      pairs_.begin(handle, std::move(begin));
    }
  }

  // What is open after the last chunk of a track that can be read.
  void read_open_ranges() {
    std::set<std::pair<trace::WriterId, uint32_t>> known;
    EventBatch batch;
    const std::vector<EventChunk>& chunks = reader_.event_chunks();
    for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk) {
      const Catalogue::Place* const place = catalogue_.find(*chunk);
      if (place == nullptr || known.contains({chunk->writer, chunk->track})) continue;
      try {
        reader_.read(*chunk, batch, trace::kOpenStacks | trace::kPoints);  // with points, the whole chunk is checked
      } catch (const Error& error) {
        result_.problems.emplace_back(error.what());
        continue;
      }
      known.emplace(chunk->writer, chunk->track);
      const trace::WriterInfo& writer = reader_.writers().at(chunk->writer);
      for (size_t depth = 0; depth < batch.closing.size(); ++depth)
        add_open(*place, writer, batch.closing[depth], depth);
    }
  }

  void add_open(const Catalogue::Place& place, const trace::WriterInfo& writer, const trace::OpenRange& open,
                size_t depth) {
    const trace::Values values{open.ints, open.doubles, open.text};
    trace::ValueCursor cursor(values);
    Begin begin{analyze::nanoseconds(*place.clock, open.start), {}};
    begin.range.start_ns = place.clock->to_realtime_ns(open.start);
    begin.range.name = name_of(place, open.class_id, cursor.next(find_class(writer, open.class_id)));
    begin.range.track = place.track;
    begin.range.depth = static_cast<uint16_t>(std::min<size_t>(depth, UINT16_MAX));
    add(begin, ends_ns_[writers_.at(writer.id)], false);
  }

  static const trace::EventClass* find_class(const trace::WriterInfo& writer, uint32_t class_id) {
    return writer.find_class(class_id);
  }

  int32_t name_of(const Catalogue::Place& place, uint32_t class_id,
                  const std::vector<trace::ValueCursor::Value>& row) const {
    if (class_id == trace::kInlineName)
      return catalogue_.names().add(base::without_iteration_number(trace::full_name(nullptr, row)));
    return catalogue_.name_of(place, class_id);
  }

  int32_t task_track(uint32_t writer, int32_t thread, std::string name) {
    const auto known = tasks_.find({writer, name});
    if (known != tasks_.end()) return known->second;
    if (tasks_.size() == kMaxTasks) return thread;
    const TrackEntry& runs_on = catalogue_.tracks()[static_cast<size_t>(thread)];
    const auto track = static_cast<int32_t>(catalogue_.tracks().size() + result_.tasks.size());
    result_.tasks.push_back({runs_on.pid, runs_on.tid, "task", name, ""});
    return tasks_[{writer, std::move(name)}] = track;
  }

  const trace::Reader& reader_;
  const Catalogue& catalogue_;
  trace::AsyncPairs<Begin, End> pairs_;
  std::map<trace::WriterId, uint32_t> writers_;
  std::vector<int64_t> ends_ns_;  // by the number of the writer; monotonic
  std::map<std::pair<uint32_t, std::string>, int32_t> tasks_;
  LooseRanges result_;
};

}  // namespace

LooseRanges read_loose_ranges(const trace::Reader& reader, const Catalogue& catalogue) {
  return Collector(reader, catalogue).run();
}

}  // namespace kymo::python
