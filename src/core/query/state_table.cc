#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string_view>
#include <vector>

#include "analyze/thread_states.h"
#include "base/text.h"
#include "kymo/error.h"
#include "query/event_texts.h"
#include "query/range_facts.h"
#include "query/table.h"

namespace kymo::query {
namespace {

using analyze::StateSpan;
using analyze::ThreadState;
using analyze::ThreadStates;

enum StateColumn : size_t {
  kStateName,
  kStateFunction,
  kStateStart,
  kStateEnd,
  kStateDuration,
  kStateTrack,  // the first of kTrackColumns
};

std::string_view name_of_state(ThreadState state) {
  return state == ThreadState::Running ? "running" : state == ThreadState::Waiting ? "waiting" : "ready";
}

class StateScan : public Scan {
 public:
  explicit StateScan(const LoadedTraces& traces) : traces_(traces) {}
  std::unique_ptr<Cursor> cursor() override;

 private:
  friend class StateCursor;
  const LoadedTraces& traces_;
};

class StateCursor : public Cursor {
 public:
  explicit StateCursor(const LoadedTraces& traces) : traces_(traces) {}

  size_t next(Output& output) override {
    for (; trace_ < traces_.all().size(); ++trace_, thread_ = 0) {
      const LoadedTrace& trace = traces_.all()[trace_];
      const analyze::StatesOfThreads& states = trace.states().all;
      if (!states.are_placed)
        throw Error(base::format("{} has too many states of threads for a table: kymo stats --by thread has their sums",
                                 trace.path));
      for (; thread_ < states.threads.size(); ++thread_, span_ = 0, is_begun_ = false)
        if (const size_t rows = next(output, trace, states.threads[thread_]); rows != 0) return rows;
    }
    return 0;
  }

 private:
  // The next rows of a thread; 0: there are no more. What is between two spans is not known.
  size_t next(Output& output, const LoadedTrace& trace, const ThreadStates& thread) {
    const auto found = trace.tracks.find({thread.writer, thread.track});
    if (found == trace.tracks.end() || found->second.clock == nullptr) return 0;
    if (!is_begun_) at_ = thread.begin_ns, is_begun_ = true;
    // Wraps for a forged clock.
    const trace::ClockMap& clock = *found->second.clock;
    const auto to_realtime_ns = [offset = static_cast<uint64_t>(clock.to_realtime_ns(0)) -
                                          static_cast<uint64_t>(clock.to_monotonic_ns(0))](int64_t ns) {
      return static_cast<int64_t>(static_cast<uint64_t>(ns) + offset);
    };
    size_t row = 0;
    while (row < output.capacity() && at_ < thread.end_ns) {
      const StateSpan* const span = span_ < thread.spans.size() ? &thread.spans[span_] : nullptr;
      const bool is_known = span != nullptr && span->begin <= at_;
      const int64_t end = is_known ? span->end : span != nullptr ? span->begin : thread.end_ns;
      if (is_known) ++span_;
      if (end <= at_) continue;
      if (output.wants(kStateName)) output.set_text(kStateName, row, is_known ? name_of_state(span->state) : "unknown");
      if (output.wants(kStateFunction)) {
        const SampleFunctions::Names* const names =
            is_known ? trace.sample_functions().find(span->chunk, span->point) : nullptr;
        if (names == nullptr || names->wait.empty())
          output.set_null(kStateFunction, row);
        else
          output.set_text(kStateFunction, row, names->wait);
      }
      const auto set_number = [&](size_t column, int64_t number) {
        if (auto* const to = output.values<int64_t>(column)) to[row] = number;
      };
      set_number(kStateStart, to_realtime_ns(at_));
      set_number(kStateEnd, to_realtime_ns(end));
      set_number(kStateDuration, end - at_);
      at_ = end;
      ++row;
    }
    fill_track(output, kStateTrack, 0, row, found->second);
    return row;
  }

  const LoadedTraces& traces_;
  size_t trace_ = 0, thread_ = 0, span_ = 0;
  bool is_begun_ = false;
  int64_t at_ = 0;  // of the thread
};

std::unique_ptr<Cursor> StateScan::cursor() { return std::make_unique<StateCursor>(traces_); }

std::unique_ptr<Scan> scan_states(const Table&, LoadedTraces& traces, const std::vector<bool>&) {
  return std::make_unique<StateScan>(traces);
}

uint64_t count_states(const LoadedTraces& traces) {
  uint64_t count = 0;
  for (const LoadedTrace& trace : traces.all())
    for (const trace::EventChunk& chunk : trace.reader.event_chunks()) count += chunk.point_count;
  return count;
}

}  // namespace

Table state_table() {
  using enum ColumnType;
  Table table{.name = "states",
              .help = "what each sampled thread did over its life: it has one state at each moment",
              .columns = {{"state", Text, "running, waiting, ready (it could have run, but others ran) or unknown"},
                          {"function", Text, "of a wait with a stack: as in kymo stats --by wait; NULL if none"},
                          {"start_ns", Int64, "nanoseconds since 1970"},
                          {"end_ns", Int64, ""},
                          {"duration_ns", Int64, ""}},
              .scan = scan_states,
              .estimate = count_states,
              .max_threads = 1};
  table.columns.insert(table.columns.end(), std::begin(kTrackColumns), std::end(kTrackColumns));
  return table;
}

}  // namespace kymo::query
