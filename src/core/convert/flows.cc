#include "convert/flows.h"

#include <algorithm>
#include <deque>
#include <tuple>
#include <utility>

#include "convert/chunk_order.h"
#include "kymo/error.h"
#include "trace/clock.h"

namespace kymo::convert {

namespace {

bool read_passes(const trace::Reader& reader, const trace::EventChunk& chunk, trace::EventBatch& into, unsigned parts) {
  try {
    reader.read(chunk, into, parts);
    return true;
  } catch (const Error&) {
    return false;  // the walk that follows reports it
  }
}

}  // namespace

// A point inside a range.
struct Flows::Found {
  const trace::WriterInfo* writer = nullptr;
  uint64_t flow = 0;
  int64_t time_ns = 0;
  uint64_t number = 0;  // Event::number
  uint32_t class_id = 0;
  trace::PointKind kind = trace::PointKind::FlowStep;
};

Flows::Flows(const trace::Reader& reader) {
  std::vector<Found> found;
  collect(reader, found);
  const auto flow_of = [](const Found& point) { return std::tuple(point.writer, point.flow); };
  std::sort(found.begin(), found.end(), [&](const Found& a, const Found& b) {
    return std::tuple(flow_of(a), a.time_ns, a.number) < std::tuple(flow_of(b), b.time_ns, b.number);
  });
  for (auto at = found.begin(); at != found.end();) {
    const auto end = std::find_if(at, found.end(), [&](const Found& point) { return flow_of(point) != flow_of(*at); });
    connect({at, end});
    at = end;
  }
  std::sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) { return a.number < b.number; });
}

void Flows::collect(const trace::Reader& reader, std::vector<Found>& found) {
  std::map<trace::WriterId, trace::TrackClocks> clocks;
  for (const auto& [id, writer] : reader.writers()) clocks.emplace(id, trace::TrackClocks(writer));
  trace::EventBatch batch;
  ChunkOrder order;
  uint64_t points_before = 0;
  for (const trace::EventChunk& chunk : reader.event_chunks()) {
    const uint64_t first_number = points_before + 1;
    points_before += chunk.point_count;
    const trace::ClockMap* const clock = clocks.at(chunk.writer).find(chunk.track);
    if (clock == nullptr || chunk.point_count == 0 || !read_passes(reader, chunk, batch, trace::kPoints)) continue;
    if (std::none_of(batch.points.kind.begin(), batch.points.kind.end(), trace::is_of_flow)) continue;
    constexpr unsigned kTree = trace::kRangeTimes | trace::kRangeClasses | trace::kRangeDepths | trace::kOpenStacks;
    if (!read_passes(reader, chunk, batch, trace::kPoints | kTree)) continue;
    order.arrange(batch, batch.opening);
    size_t depth = batch.opening.size();
    for (const Step& step : order.steps()) {
      if (step.kind == Step::Kind::Begin) ++depth;
      if (step.kind == Step::Kind::End && depth > 0) --depth;
      if (step.kind != Step::Kind::Point || !trace::is_of_flow(batch.points.kind[step.index])) continue;
      const trace::PointKind kind = batch.points.kind[step.index];
      if (depth == 0) {
        incomplete_ += kind != trace::PointKind::FlowStep;
      } else {
        found.push_back({&reader.writers().at(chunk.writer), batch.points.id[step.index],
                         clock->to_monotonic_ns(batch.points.time[step.index]), first_number + step.index,
                         batch.points.class_id[step.index], kind});
      }
    }
  }
}

// The points of one flow, in the order of time.
void Flows::connect(std::span<const Found> of_one_flow) {
  struct Open {
    const Found* begin = nullptr;
    std::vector<const Found*> ends, steps;
  };
  std::deque<Open> waiting;  // for their first end
  Open last;                 // the beginning that got the last end; more ends may come
  const auto write = [&](const Open& one) {
    if (one.begin == nullptr) return;
    if (one.ends.empty()) {
      ++incomplete_;
      return;
    }
    const uint32_t first = arrows_ + 1, name = name_of(*one.begin->writer, one.begin->class_id);
    points_.push_back({one.begin->number, first, static_cast<uint32_t>(one.ends.size()), name});
    for (const Found* const step : one.steps) points_.push_back({step->number, first, 1, name});
    for (const Found* const end : one.ends) points_.push_back({end->number, ++arrows_, 1, name});
  };
  const auto take = [&](const Found& point) {
    if (point.kind == trace::PointKind::FlowBegin) {
      waiting.push_back({&point, {}, {}});
    } else if (point.kind == trace::PointKind::FlowStep) {
      if (Open* const to = !waiting.empty() ? &waiting.front() : last.begin != nullptr ? &last : nullptr)
        to->steps.push_back(&point);
    } else if (!waiting.empty()) {
      write(std::exchange(last, std::move(waiting.front())));
      waiting.pop_front();
      last.ends.push_back(&point);
    } else if (last.begin != nullptr) {
      last.ends.push_back(&point);
    } else {
      ++incomplete_;
    }
  };
  for (auto at = of_one_flow.begin(); at != of_one_flow.end();) {
    const auto next =
        std::find_if(at, of_one_flow.end(), [&](const Found& point) { return point.time_ns != at->time_ns; });
    // At one moment, an end belongs to an earlier beginning. Only if there is none, it belongs to one of this moment.
    const bool begins_first = waiting.empty();
    for (const bool begins : {begins_first, !begins_first})
      for (auto point = at; point != next; ++point)
        if ((point->kind == trace::PointKind::FlowBegin) == begins) take(*point);
    at = next;
  }
  write(last);
  for (const Open& one : waiting) write(one);
}

// A name that differs from event to event is not known here.
uint32_t Flows::name_of(const trace::WriterInfo& writer, uint32_t class_id) {
  const trace::EventClass* const known = writer.find_class(class_id);
  const bool is_plain = known != nullptr && known->name.find("{}") == std::string::npos;
  const std::string name = is_plain && !known->name.empty() ? trace::shown_name(*known) : "flow";
  const auto [there, is_new] = name_numbers_.try_emplace(name, static_cast<uint32_t>(names_.size()));
  if (is_new) names_.push_back(name);
  return there->second;
}

Flows::Part Flows::part(uint64_t number) const {
  const auto found = std::lower_bound(points_.begin(), points_.end(), number,
                                      [](const Point& point, uint64_t wanted) { return point.number < wanted; });
  if (found == points_.end() || found->number != number) return {};
  return {found->first, found->count, &names_[found->name]};
}

}  // namespace kymo::convert
