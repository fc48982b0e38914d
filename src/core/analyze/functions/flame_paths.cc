#include "analyze/functions/flame_paths.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "analyze/functions/functions.h"
#include "analyze/functions/launch_stacks.h"
#include "analyze/report/device_work.h"
#include "analyze/report/events.h"
#include "analyze/report/known_names.h"
#include "base/text.h"

namespace kymo::functions {
namespace {

using views::FrameKind;

// The work of devices below what launched it: the Python functions of the thread, and the ranges that were open there,
// which are operators or any other.
class DevicePaths {
 public:
  using Part = std::map<trace::WriterId, trace::Window>;
  DevicePaths(const trace::Reader& reader, const views::PathOptions& options, const Part& part = {})
      : options_(options),
        part_(part),
        walk_(reader),
        work_(analyze::read_device_work(walk_)),
        stacks_(walk_, work_),
        places_(reader) {}

  views::Paths run() {
    find_launches();
    for (const analyze::Device& device : work_.devices)
      for (const analyze::DeviceOperation& operation : device.operations) add(operation);
    views::Paths result;
    result.of = "of devices";
    result.problems = walk_.problems();
    result.over_limit = over_limit_ + work_.left_out;
    merged_.finish(result);
    return result;
  }

 private:
  struct Open {
    int64_t begin = 0;
    uint32_t class_id = 0;
    uint32_t base = views::PathTrie::kRoot, path = views::PathTrie::kRoot;  // the path of the last launch in it
  };
  struct Thread {
    analyze::RangesBackwards ranges;
    std::vector<Open> open;  // outermost first
  };

  // A range is visited before those inside of it. Those that begin after its end are done then.
  void visit(const analyze::TrackOfTrace& track, Thread& thread, const analyze::TrackRange& range) {
    while (!thread.open.empty() && thread.open.back().begin >= range.end) thread.open.pop_back();
    const uint32_t launch = work_.find_launch(track.writer_number, range.correlation);
    if (launch != analyze::kNone && is_wanted_[launch] && work_.launches[launch].track == track.number &&
        work_.launches[launch].begin == range.begin) {
      const trace::EventClass* const known = track.writer->find_class(range.class_id);
      LaunchStack stack = stacks_.of(launch);
      if (stack.stack == 0) stack.track = track.number;
      uint32_t path = path_of(track, thread, range.begin, base_of(stack));
      // An operator may launch itself; a call of the device's interface says nothing.
      if (known == nullptr || !analyze::is_library_call(known->category))
        path = child(path, name_of(track, range.class_id), FrameKind::Range);
      launched_from_[launch] = path;
    }
    thread.open.push_back({range.begin, range.class_id});
  }

  uint32_t path_of(const analyze::TrackOfTrace& track, Thread& thread, int64_t time, uint32_t path) {
    for (Open& open : thread.open) {
      if (open.begin > time) continue;  // it overlaps, and begins later
      if (open.base != path || open.path == views::PathTrie::kRoot) {
        open.base = path;
        open.path = child(path, name_of(track, open.class_id), FrameKind::Range);
      }
      path = open.path;
    }
    return path;
  }

  // The thread, and its Python functions. Of a backward function, those of the thread that ran the forward operator.
  uint32_t base_of(LaunchStack stack) {
    const auto [entry, is_new] = bases_.try_emplace({stack.track, stack.stack, stack.of}, views::PathTrie::kRoot);
    if (!is_new) return entry->second;
    uint32_t path = path_of(walk_.tracks()[stack.track]);
    if (stack.stack != 0) {
      const std::vector<symbols::Frame>& frames = stacks_.frames(stack.stack);
      for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
        path = child(path, name_of(*frame), FrameKind::Function);
      if (stack.of == LaunchStack::Of::MainThread)
        path = child(path, "(another thread)", FrameKind::Function);
      else if (stack.of != LaunchStack::Of::Launch)
        path = child(path, "(backward)", FrameKind::Function);
    }
    return entry->second = path;
  }

  static std::string name_of(const symbols::Frame& frame) {
    if (frame.file.empty()) return frame.function;
    return base::format("{} ({}:{})", frame.function, frame.file.substr(frame.file.rfind('/') + 1), frame.line);
  }

  void find_launches() {
    launched_from_.assign(work_.launches.size(), views::PathTrie::kRoot);
    is_wanted_.assign(work_.launches.size(), false);
    std::map<uint32_t, Thread> threads;
    for (const analyze::Device& device : work_.devices)
      for (const analyze::DeviceOperation& operation : device.operations) {
        if (!time_of(operation)) continue;
        const uint32_t writer = walk_.tracks()[operation.track].writer_number;
        for (const uint32_t launch : {operation.launch, work_.find_launch(writer, operation.captured)}) {
          if (launch == analyze::kNone) continue;
          is_wanted_[launch] = true;
          threads[work_.launches[launch].track];
        }
      }
    walk_.each_backwards(
        analyze::RangesBackwards::kParts | trace::kRangeCorrelations,
        [&](const analyze::TrackOfTrace& track) { return threads.contains(track.number); },
        [&](const analyze::TrackOfTrace& track, const trace::EventBatch& batch) {
          Thread& thread = threads[track.number];
          thread.ranges.add(track, batch, [&](const analyze::TrackRange& range) { visit(track, thread, range); });
        });
    for (auto& [number, thread] : threads) {
      const analyze::TrackOfTrace& track = walk_.tracks()[number];
      thread.ranges.finish([&, &of = thread](const analyze::TrackRange& range) { visit(track, of, range); });
    }
  }

  // How long an operation is in the part; nothing: it is outside of it, or the device does nothing.
  std::optional<uint64_t> time_of(const analyze::DeviceOperation& operation) const {
    if (operation.kind == analyze::WorkKind::Wait) return {};
    int64_t begin = operation.begin, end = operation.end;
    if (const auto window = part_.find(walk_.tracks()[operation.track].writer->id); window != part_.end()) {
      begin = std::max(begin, static_cast<int64_t>(window->second.from_ns));
      if (window->second.to_ns != 0) end = std::min(end, static_cast<int64_t>(window->second.to_ns));
      if (begin > end || (begin == end && operation.begin != operation.end)) return {};
    }
    return static_cast<uint64_t>(analyze::time_between(begin, end));
  }

  void add(const analyze::DeviceOperation& operation) {
    const std::optional<uint64_t> ns = time_of(operation);
    if (!ns) return;
    const analyze::TrackOfTrace& queue = walk_.tracks()[operation.track];
    uint32_t path = views::PathTrie::kRoot;
    if (operation.captured != 0) path = captured_in(queue, operation);
    if (path == views::PathTrie::kRoot && operation.launch != analyze::kNone) path = launched_from_[operation.launch];
    if (path == views::PathTrie::kRoot) path = child(path_of(queue), "(launch not recorded)", FrameKind::Range);
    merged_.count(child(path, name_of(queue, operation.class_id), FrameKind::Work), 1, *ns);
  }

  // A kernel of a graph has the operators of its capture. A graph as a whole has only the functions.
  uint32_t captured_in(const analyze::TrackOfTrace& queue, const analyze::DeviceOperation& operation) {
    const uint32_t call = work_.find_launch(queue.writer_number, operation.captured);
    if (call != analyze::kNone) return launched_from_[call];
    const LaunchStack stack = stacks_.of(operation);
    return stack.stack == 0 ? views::PathTrie::kRoot : base_of(stack);
  }

  // The process or device, and the thread or queue.
  uint32_t path_of(const analyze::TrackOfTrace& track) {
    const convert::Place* const place = places_.find(track.writer->id, track.track->id);
    if (place == nullptr) return merged_.child(views::PathTrie::kRoot, track.name(), FrameKind::Track);
    const uint32_t process =
        merged_.child(views::PathTrie::kRoot, views::process_label(*place->group, options_), FrameKind::Process);
    return merged_.child(process, place->name, FrameKind::Track);
  }

  uint32_t child(uint32_t path, const std::string& name, FrameKind kind) {
    if (merged_.size() <= options_.max_paths) return merged_.child(path, name, kind);
    ++over_limit_;
    return path;
  }

  std::string name_of(const analyze::TrackOfTrace& track, uint32_t class_id) {
    auto known = names_.find(track.writer->id);
    if (known == names_.end()) known = names_.try_emplace(track.writer->id, *track.writer, options_.full_text).first;
    return known->second.name(class_id);
  }

  const views::PathOptions options_;
  const Part part_;  // a writer without a window counts with all of its work
  analyze::EventWalk walk_;
  const analyze::DeviceWork work_;
  LaunchStacks stacks_;
  std::map<std::tuple<uint32_t, memory::StackId, LaunchStack::Of>, uint32_t> bases_;
  const convert::Places places_;
  std::map<trace::WriterId, views::RangeNames> names_;
  std::vector<bool> is_wanted_;          // by launch: its work is in the part
  std::vector<uint32_t> launched_from_;  // by launch: a path; kRoot: not known
  views::MergedPaths merged_;
  uint64_t over_limit_ = 0;
};

What what_of(FlameBy by) { return by == FlameBy::Wait ? What::Waits : What::Cpu; }

}  // namespace

views::Paths flame_paths(FlameBy by, const trace::Reader& reader, const views::PathOptions& options) {
  if (by == FlameBy::Range) return views::collect_paths(reader, options);
  if (by == FlameBy::Device) return DevicePaths(reader, options).run();
  Samples samples = read_samples(reader, what_of(by));
  return paths_of_samples(samples, options);
}

views::Paths device_paths_in(const std::map<trace::WriterId, trace::Window>& part, const trace::Reader& reader) {
  return DevicePaths(reader, {}, part).run();
}

}  // namespace kymo::functions
