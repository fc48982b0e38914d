#include "trace/window_view.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "kymo/error.h"
#include "trace/event_encoder.h"

namespace kymo::trace {

namespace {

void keep_only(EventBatch& batch, unsigned parts) {
  Ranges& ranges = batch.ranges;
  Points& points = batch.points;
  if (!(parts & kRangeTimes)) ranges.end.clear(), ranges.duration.clear();
  if (!(parts & kRangeClasses)) ranges.class_id.clear();
  if (!(parts & kRangeDepths)) ranges.depth.clear(), ranges.lane.clear();
  if (!(parts & kRangeValues)) ranges.values = {};
  if (!(parts & kRangeCorrelations)) ranges.correlation.clear();
  if (!(parts & kPoints)) points.time.clear(), points.kind.clear(), points.class_id.clear(), points.id.clear();
  if (!(parts & kPointValues)) points.values = {};
  if (!(parts & kOpenStacks)) batch.opening.clear(), batch.closing.clear();
}

// A chunk without events has no time.
bool has_time(const EventChunk& chunk) { return chunk.first != 0 || chunk.last != 0; }

}  // namespace

const ClockMap* TrackClocks::find(uint32_t track) {
  const auto described = writer_->tracks.find(track);
  if (described == writer_->tracks.end()) return nullptr;
  const auto domain = writer_->clocks.find(described->second.clock);
  if (domain == writer_->clocks.end()) return nullptr;
  const auto [clock, is_new] = clocks_.try_emplace(domain->first, clock_map(domain->second));
  return clock->second.usable() ? &clock->second : nullptr;
}

bool is_inside(const Loss& loss, const Window& window, TrackClocks& clocks) {
  if (loss.first == 0 && loss.last == 0) return true;
  const ClockMap* clock = clocks.find(loss.track);
  if (clock == nullptr) return true;
  if (std::cmp_less(clock->to_monotonic_ns(loss.last), window.from_ns)) return false;
  return window.to_ns == 0 || std::cmp_less(clock->to_monotonic_ns(loss.first), window.to_ns);
}

unsigned WindowView::Seen::parts(unsigned wanted) const {
  if (all_inside) return wanted;
  return cut.only_points ? kPoints | kPointValues : kEverything;
}

void WindowView::Seen::apply(EventBatch& batch, unsigned wanted) const {
  if (all_inside) return cut_open_ranges(batch, cut);
  cut_batch(batch, cut, *handles, *classes);
  keep_only(batch, wanted);
}

const WindowView::Seen* WindowView::find(const EventChunk& chunk) const {
  const auto found = std::lower_bound(seen_.begin(), seen_.end(), chunk.offset,
                                      [](const Seen& seen, uint64_t offset) { return seen.offset < offset; });
  return found != seen_.end() && found->offset == chunk.offset ? &*found : nullptr;
}

// Goes over the chunks of all writers in file order, three times: to find the ticks of each window, to see which
// handles begin or end outside, and to select what is inside.
class WindowView::Builder {
 public:
  Builder(WindowView& view, const std::map<WriterId, WriterInfo>& writers, const Read& read)
      : view_(view), read_(read) {
    for (const auto& [id, info] : writers)
      if (info.window) writers_.emplace(id, WriterState{&info, TrackClocks(info), {}, &view.handles_[id]});
  }

  void measure(const EventChunk& chunk) {
    WriterState* writer = writer_of(chunk);
    if (writer == nullptr) return;
    const ClockMap* clock = writer->clocks.find(chunk.track);
    if (clock == nullptr || !has_time(chunk)) return;
    ClockState& state = writer->spans[clock];
    state.lowest = std::min({state.lowest, chunk.first, chunk.last});
    state.highest = std::max({state.highest, chunk.first, chunk.last});
  }

  void place_windows() {
    for (auto& [id, writer] : writers_)
      for (auto& [clock, state] : writer.spans)
        state.span = ticks_of_window(*clock, *writer.info->window, state.lowest, state.highest);
  }

  void look_outside(const EventChunk& chunk) {
    WriterState* writer = writer_of(chunk);
    const TickSpan* span = span_of_chunk(writer, chunk);
    if (span == nullptr) return;
    if (chunk.first < span->end) rings_[ring_of(chunk)].last = chunk.offset;
    if (chunk.point_count == 0 || is_inside(chunk, *span)) return;
    try {
      read_(chunk, batch_, kPoints);
      note_handles(batch_.points, *span, *writer->handles);
    } catch (const Error&) {
      // see() reports the same error.
    }
  }

  void see(const EventChunk& chunk) {
    WriterState* writer = writer_of(chunk);
    if (writer == nullptr) return view_.chunks_.push_back(chunk);
    const TickSpan* span = span_of_chunk(writer, chunk);
    if (span == nullptr) return;
    RingState& ring = rings_[ring_of(chunk)];
    const bool is_last = chunk.offset == ring.last;
    const bool is_outside = chunk.first >= span->end || (chunk.last < span->begin && !is_last);
    if (is_outside && chunk.point_count == 0) return;
    const bool has_end = writer->info->window->to_ns != 0;
    const Seen seen{.offset = chunk.offset,
                    .cut = {*span, ring.is_first, is_last && has_end, is_outside},
                    .all_inside = is_inside(chunk, *span) && !(is_last && has_end),
                    .handles = writer->handles,
                    .classes = &writer->info->classes};
    if (!add(chunk, seen)) return;
    if (!is_outside) ring.is_first = false;
  }

 private:
  struct ClockState {
    uint64_t lowest = ~uint64_t{0}, highest = 0;  // min and max ticks of all events
    TickSpan span;
  };
  struct WriterState {
    const WriterInfo* info;
    TrackClocks clocks;
    std::map<const ClockMap*, ClockState> spans;
    HandlesOutside* handles;
  };
  struct RingState {
    uint64_t last = ~uint64_t{0};  // the offset of the last chunk that may hold ranges of the window
    bool is_first = true;
  };
  using RingKey = std::tuple<WriterId, uint32_t, uint32_t>;

  static RingKey ring_of(const EventChunk& chunk) { return {chunk.writer, chunk.track, chunk.ring}; }
  static bool is_inside(const EventChunk& chunk, const TickSpan& span) {
    return chunk.first >= span.begin && chunk.last < span.end;
  }

  WriterState* writer_of(const EventChunk& chunk) {
    const auto found = writers_.find(chunk.writer);
    return found != writers_.end() ? &found->second : nullptr;
  }

  // Null if the chunk has no clock, or if its clock has no tick inside the window. Nothing of such a chunk is kept.
  static const TickSpan* span_of_chunk(WriterState* writer, const EventChunk& chunk) {
    const ClockMap* clock = writer != nullptr ? writer->clocks.find(chunk.track) : nullptr;
    if (clock == nullptr) return nullptr;
    const auto found = writer->spans.find(clock);
    return found != writer->spans.end() && !found->second.span.empty() ? &found->second.span : nullptr;
  }

  // Returns false if nothing of the chunk is left.
  bool add(EventChunk chunk, const Seen& seen) {
    if (!seen.all_inside) {
      try {
        read_(chunk, batch_, seen.parts(kEverything));
      } catch (const Error& error) {
        if (seen.cut.only_points) {
          view_.problems_.push_back({chunk.offset, chunk.length, error.what()});
          return false;
        }
        view_.chunks_.push_back(chunk);
        view_.seen_.push_back(seen);
        return true;
      }
      seen.apply(batch_, kEverything);
      if (batch_.ranges.size() == 0 && batch_.points.size() == 0 && batch_.closing.empty()) return false;
      const BatchSpan span = span_of(batch_);
      chunk.first = span.first;
      chunk.last = span.last;
      chunk.range_count = static_cast<uint32_t>(batch_.ranges.size());
      chunk.point_count = static_cast<uint32_t>(batch_.points.size());
    }
    view_.chunks_.push_back(chunk);
    view_.seen_.push_back(seen);
    return true;
  }

  WindowView& view_;
  const Read& read_;
  std::map<WriterId, WriterState> writers_;  // only writers with a window
  std::map<RingKey, RingState> rings_;
  EventBatch batch_;
};

WindowView::WindowView(const std::map<WriterId, WriterInfo>& writers, const std::vector<EventChunk>& recorded,
                       const Read& read) {
  Builder builder(*this, writers, read);
  for (const EventChunk& chunk : recorded) builder.measure(chunk);
  builder.place_windows();
  for (const EventChunk& chunk : recorded) builder.look_outside(chunk);
  for (const EventChunk& chunk : recorded) builder.see(chunk);
}

}  // namespace kymo::trace
