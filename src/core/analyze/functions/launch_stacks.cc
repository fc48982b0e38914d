#include "analyze/functions/launch_stacks.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace kymo::functions {
namespace {

using analyze::EventWalk, analyze::TrackOfTrace;
using memory::SampleStacks, memory::StackId;

constexpr unsigned kMostForwardSteps = 4;  // an operator that is computed again in a backward function

bool is_backward_arrow(const trace::EventClass* known) {
  return known != nullptr && known->name == "fwdbwd" && known->category == "torch";
}

bool is_graph_node(const trace::EventClass& known, const SampleStacks::Row& row) {
  return trace::is_definition(known) && known.name == "graph node" && row.size() == 2 &&
         std::ranges::all_of(known.fields, [](const auto& field) { return field.type == trace::FieldType::UInt; });
}

// Where a thread was at a moment: what it stated last.
template <class Stated>
auto latest(const std::vector<Stated>& all, int64_t time) {
  return std::ranges::upper_bound(all, time, {}, &Stated::time);
}

}  // namespace

LaunchStacks::LaunchStacks(EventWalk& walk, const analyze::DeviceWork& work) : walk_(walk), work_(work) {
  const auto has_stacks = [](const auto& writer) { return SampleStacks::has_python_stacks(writer.second); };
  if (std::ranges::none_of(walk.reader().writers(), has_stacks)) return;
  is_empty_ = false;
  read(walk);
  std::map<StackId, bool> calls;
  for (const auto& [number, thread] : threads_)
    for (const Stated& one : thread.stated) {
      if (one.stack == 0 || one.is_of_main) continue;
      const auto [entry, is_new] = calls.try_emplace(one.stack, false);
      if (is_new) entry->second = calls_backward(one.stack);
      if (entry->second) backward_calls_[walk.tracks()[number].writer_number].push_back({one.time, {number, one.time}});
    }
  for (auto& [writer, all] : backward_calls_) std::ranges::sort(all, {}, [](const auto& one) { return one.first; });
  found_.resize(work.launches.size());
  for (size_t i = 0; i < work.launches.size(); ++i) found_[i] = find(work.launches[i].track, work.launches[i].end, 0);
  for (const auto& [graph, calls] : graphs_) {
    bool is_first = true;
    LaunchStack& whole = whole_graphs_[graph];
    for (const uint64_t call : calls) {
      const LaunchStack one = of(work.find_launch(graph.first, call));
      if (one.stack == 0) continue;
      if (std::exchange(is_first, false))
        whole = one;
      else
        whole.stack = stacks_.common(whole.stack, one.stack);
    }
  }
}

LaunchStack LaunchStacks::of(const analyze::DeviceOperation& operation) const {
  if (operation.captured == 0) return of(operation.launch);
  const uint32_t writer = walk_.tracks()[operation.track].writer_number;
  const auto whole = whole_graphs_.find({writer, operation.captured});
  const LaunchStack captured =
      whole != whole_graphs_.end() ? whole->second : of(work_.find_launch(writer, operation.captured));
  return captured.stack != 0 ? captured : of(operation.launch);
}

void LaunchStacks::read(EventWalk& walk) {
  SampleStacks stacks(stacks_, walk.reader());
  const auto is_wanted = [](const TrackOfTrace& track) {
    return !track.on_device && SampleStacks::has_python_stacks(*track.writer);
  };
  walk.each(trace::kPoints | trace::kPointValues, is_wanted,
            [&](const TrackOfTrace& track, const trace::EventBatch& batch) {
              Thread& thread = threads_[track.number];
              const trace::Points& points = batch.points;
              trace::ValueCursor values(points.values);
              for (size_t i = 0; i < points.size(); ++i) {
                const trace::EventClass* const known = track.writer->find_class(points.class_id[i]);
                const SampleStacks::Row& row = values.next(known);
                if (known == nullptr) continue;
                const int64_t time = track.ns(points.time[i]);
                if (points.kind[i] == trace::PointKind::FlowEnd && is_backward_arrow(known)) {
                  thread.ends.push_back({time, points.id[i]});
                } else if (points.kind[i] == trace::PointKind::FlowBegin && is_backward_arrow(known)) {
                  begins_[{track.writer_number, points.id[i]}] = {track.number, time};
                } else if (is_graph_node(*known, row)) {
                  graphs_[{track.writer_number, row[0].bits}].push_back(row[1].bits);
                } else {
                  const auto taken = stacks.take(*track.writer, track.track->id, *known, 0, row);
                  const bool is_of_main = taken.kind == SampleStacks::Kind::MainPythonStack;
                  if (is_of_main || taken.kind == SampleStacks::Kind::PythonStack)
                    thread.stated.push_back({time, taken.stack, is_of_main});
                }
              }
            });
  for (auto& [number, thread] : threads_) {  // a thread may have had several rings
    std::ranges::stable_sort(thread.stated, {}, &Stated::time);
    std::ranges::stable_sort(thread.ends, {}, &Arrow::time);
  }
}

LaunchStack LaunchStacks::find(uint32_t track, int64_t time, unsigned depth) const {
  const auto found = threads_.find(track);
  if (found == threads_.end()) return {};
  const Thread& thread = found->second;
  const auto next = latest(thread.stated, time);
  if (next == thread.stated.begin()) return {};
  const Stated& stated = *std::prev(next);
  const uint32_t writer = walk_.tracks()[track].writer_number;
  // The arrow of the backward function in this outermost operator: the one before, or else the first one.
  const auto first = std::ranges::lower_bound(thread.ends, stated.time, {}, &Arrow::time);
  const auto end = next == thread.stated.end() ? thread.ends.end()
                                               : std::ranges::lower_bound(thread.ends, next->time, {}, &Arrow::time);
  if (first != end && depth < kMostForwardSteps) {
    const auto after = std::upper_bound(first, end, time, [](int64_t t, const Arrow& one) { return t < one.time; });
    const Arrow& arrow = after == first ? *first : *std::prev(after);
    if (const auto begin = begins_.find({writer, arrow.flow}); begin != begins_.end()) {
      LaunchStack forward = find(begin->second.track, begin->second.time, depth + 1);
      if (forward.stack != 0 && forward.of == LaunchStack::Of::Launch) forward.of = LaunchStack::Of::ForwardOperator;
      if (forward.stack != 0) return forward;
    }
  }
  if (stated.stack != 0)
    return {stated.stack, track, stated.is_of_main ? LaunchStack::Of::MainThread : LaunchStack::Of::Launch};
  // A thread without Python that works for backward().
  const auto calls = backward_calls_.find(writer);
  if (calls == backward_calls_.end()) return {};
  const auto later = std::ranges::upper_bound(calls->second, time, {}, [](const auto& one) { return one.first; });
  if (later == calls->second.begin()) return {};
  const Place& place = std::prev(later)->second;
  LaunchStack call = find(place.track, place.time, kMostForwardSteps);
  call.of = LaunchStack::Of::BackwardCall;
  return call;
}

bool LaunchStacks::calls_backward(StackId stack) {
  return std::ranges::any_of(frames(stack), [](const symbols::Frame& frame) {
    const bool is_engine =
        frame.file.ends_with("torch/_tensor.py") || frame.file.ends_with("torch/autograd/__init__.py");
    return is_engine && (frame.function.ends_with("backward") || frame.function == "grad");
  });
}

const std::vector<symbols::Frame>& LaunchStacks::frames(StackId stack) {
  const auto [entry, is_new] = known_.try_emplace(stack);
  if (is_new) entry->second = stacks_.frames(stack);
  return entry->second;
}

}  // namespace kymo::functions
