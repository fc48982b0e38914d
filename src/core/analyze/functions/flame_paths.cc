#include "analyze/functions/flame_paths.h"

#include <map>
#include <string>
#include <vector>

#include "analyze/functions/functions.h"
#include "analyze/report/device_work.h"
#include "analyze/report/events.h"
#include "analyze/report/known_names.h"
#include "base/text.h"

namespace kymo::functions {
namespace {

using views::FrameKind;

// The work of devices below the ranges that were open when it was launched: Python functions, operators, any other.
class DevicePaths {
 public:
  DevicePaths(const trace::Reader& reader, const views::PathOptions& options)
      : options_(options), walk_(reader), work_(analyze::read_device_work(walk_)), places_(reader) {}

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
    uint32_t path = views::PathTrie::kRoot;  // kRoot: nothing was launched in it yet
  };
  struct Thread {
    analyze::RangesBackwards ranges;
    std::vector<Open> open;  // outermost first
    uint32_t path = views::PathTrie::kRoot;
  };

  // A range is visited before those inside of it. Those that begin after its end are done then.
  void visit(const analyze::TrackOfTrace& track, Thread& thread, const analyze::TrackRange& range) {
    while (!thread.open.empty() && thread.open.back().begin >= range.end) thread.open.pop_back();
    const uint32_t launch = work_.find_launch(track.writer_number, range.correlation);
    if (launch != analyze::kNone && work_.launches[launch].track == track.number &&
        work_.launches[launch].begin == range.begin) {
      const trace::EventClass* const known = track.writer->find_class(range.class_id);
      uint32_t path = path_of(track, thread, range.begin);
      // An operator may launch itself; a call of the device's interface says nothing.
      if (known == nullptr || !analyze::is_library_call(known->category))
        path = child(path, name_of(track, range.class_id), FrameKind::Range);
      launched_from_[launch] = path;
    }
    thread.open.push_back({range.begin, range.class_id});
  }

  uint32_t path_of(const analyze::TrackOfTrace& track, Thread& thread, int64_t time) {
    if (thread.path == views::PathTrie::kRoot) thread.path = path_of(track);
    uint32_t path = thread.path;
    for (Open& open : thread.open) {
      if (open.begin > time) continue;  // it overlaps, and begins later
      if (open.path == views::PathTrie::kRoot) open.path = child(path, name_of(track, open.class_id), FrameKind::Range);
      path = open.path;
    }
    return path;
  }

  void find_launches() {
    launched_from_.assign(work_.launches.size(), views::PathTrie::kRoot);
    std::map<uint32_t, Thread> threads;
    for (const analyze::Launch& launch : work_.launches) threads[launch.track];
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

  void add(const analyze::DeviceOperation& operation) {
    if (operation.kind == analyze::WorkKind::Wait) return;  // the device does nothing
    const analyze::TrackOfTrace& queue = walk_.tracks()[operation.track];
    uint32_t path = operation.launch == analyze::kNone ? views::PathTrie::kRoot : launched_from_[operation.launch];
    if (path == views::PathTrie::kRoot) path = child(path_of(queue), "(launch not recorded)", FrameKind::Range);
    const auto ns = static_cast<uint64_t>(analyze::time_between(operation.begin, operation.end));
    merged_.count(child(path, name_of(queue, operation.class_id), FrameKind::Work), 1, ns);
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
  analyze::EventWalk walk_;
  const analyze::DeviceWork work_;
  const convert::Places places_;
  std::map<trace::WriterId, views::RangeNames> names_;
  std::vector<uint32_t> launched_from_;  // by launch: a path; kRoot: not known
  views::MergedPaths merged_;
  uint64_t over_limit_ = 0;
};

What what_of(FlameBy by) {
  return by == FlameBy::Wait ? What::Waits : by == FlameBy::Fault ? What::PageFaults : What::Cpu;
}

}  // namespace

views::Paths flame_paths(FlameBy by, const trace::Reader& reader, const views::PathOptions& options) {
  if (by == FlameBy::Range) return views::collect_paths(reader, options);
  if (by == FlameBy::Device) return DevicePaths(reader, options).run();
  Samples samples = read_samples(reader, what_of(by));
  return paths_of_samples(samples, options);
}

}  // namespace kymo::functions
