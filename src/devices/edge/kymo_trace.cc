#include "edge/kymo_trace.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "base/host.h"
#include "base/text.h"
#include "base/version.h"
#include "edge/chrome_rows.h"
#include "edge/trace_batches.h"
#include "kymo/error.h"
#include "trace/random_id.h"

namespace kymo::edge {
namespace {

constexpr uint32_t kClock = 1;
constexpr uint32_t kLanesPerTrack = 4096;  // a lane's number has 16 bits; further lanes go to additional tracks

std::string whole_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> command_line() {
  std::vector<std::string> arguments;
  const std::string text = whole_file("/proc/self/cmdline");
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\0', at), text.size());
    arguments.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return arguments;
}

trace::Origin origin_of(const ResultData& result) {
  trace::Origin origin;
  origin.session = trace::random_writer_id().hex();
  origin.pid = result.pid;
  origin.start_realtime_ns = result.start_ns;
  origin.kymo_version = base::kVersion;
  origin.host = base::host_name();
  origin.boot_id = base::boot_id();
  if (result.pid == static_cast<uint64_t>(getpid())) {
    std::error_code ignored;
    origin.parent_pid = static_cast<uint64_t>(getppid());
    origin.executable = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
    origin.command_line = command_line();
  }
  origin.metadata.emplace_back("profiler", "edge");
  const auto asked_for = [&](const char* what, bool it_was) {
    if (it_was) origin.metadata.emplace_back(what, "1");
  };
  asked_for("record_shapes", result.inputs_wanted);
  asked_for("profile_memory", result.memory_wanted);
  asked_for("with_stack", result.stack_wanted);
  asked_for("with_flops", result.flops_wanted);
  asked_for("with_modules", result.modules_wanted);
  asked_for("adjust_vulkan_timestamps", result.adjusted);
  std::vector<std::string> uncounted;
  for (const EdgeUncounted& of : result.without_flops) uncounted.push_back(base::format("{} ({})", of.name, of.calls));
  if (!uncounted.empty()) origin.metadata.emplace_back("flops_not_counted", base::join(uncounted, ", "));
  return origin;
}

// Times stay as in the result, nanoseconds since 1970; the pair converts them to the host's own clock. It names no
// boot, because these ticks do not start at the boot.
trace::ClockDomain clock_of(const ResultData& result) {
  const base::RealtimeOffset offset = base::realtime_offset();
  trace::ClockDomain clock;
  clock.id = kClock;
  clock.pairs = {{result.start_ns, result.start_ns - std::min(offset.ns, result.start_ns), result.start_ns,
                  offset.error_ns, base::suspended_ns()}};
  return clock;
}

class EdgeTraceWriter {
 public:
  EdgeTraceWriter(const ResultData& result, const std::string& path)
      : result_(result),
        writer_(path, trace::Writer::Mode::Create),
        rows_(arrange_rows(result)),
        classes_(result),
        target_{writer_, trace::random_writer_id(), result, rows_, classes_, launches()} {}

  void write() {
    writer_.origin(target_.id, origin_of(result_));
    writer_.clock(target_.id, clock_of(result_));
    write_tracks();
    write_stacks();
    if (!result_.losses.empty()) write_losses();
    write_events();
    writer_.close();
  }

 private:
  std::vector<bool> launches() const {
    std::vector<bool> launches;
    for (size_t i = result_.first_device_event; i < result_.events.size(); ++i) {
      const uint32_t launch = result_.events[i].caused_by;
      if (launch >= result_.first_device_event) continue;
      launches.resize(result_.first_device_event);
      launches[launch] = true;
    }
    return launches;
  }

  // One track for the row, and another one for every kLanesPerTrack lanes.
  static uint32_t parts_of(const RowTrack& track) { return 1 + (track.lanes - 1) / kLanesPerTrack; }

  void write_tracks() {
    std::vector<trace::Track> tracks;
    for (const RowTrack& row : rows_.tracks) {
      first_ids_.push_back(next_id_);
      for (uint32_t part = 0; part < parts_of(row); ++part) {
        trace::Track& track = tracks.emplace_back();
        track.id = next_id_++;
        track.clock = kClock;
        track.name = row.name;
        track.tid = row.thread;
        if (!row.on_device) continue;
        track.kind = trace::TrackKind::DeviceQueue;
        track.device_uuid = track.device_name = device_text(row.device);
        track.queue = row.queue;
      }
    }
    writer_.tracks(target_.id, tracks);
  }

  // Ids are indices plus one, because 0 means none.
  void write_stacks() {
    using FrameKey = std::tuple<std::string_view, std::string_view, std::string_view, uint32_t>;
    std::map<std::string_view, uint32_t> modules;
    std::map<FrameKey, uint32_t> frames;
    std::vector<trace::Module> new_modules;
    std::vector<trace::Frame> new_frames;
    std::vector<trace::Stack> stacks;
    constexpr size_t kPerChunk = 4096;
    const auto flush = [&] {
      if (!stacks.empty()) writer_.stacks(target_.id, new_modules, new_frames, stacks);
      new_modules.clear();
      new_frames.clear();
      stacks.clear();
    };
    for (const std::vector<EdgeFrame>& stack : result_.stacks) {
      trace::Stack& one = stacks.emplace_back();
      one.id = static_cast<uint32_t>(&stack - result_.stacks.data()) + 1;
      for (const EdgeFrame& frame : stack) {
        const auto module = modules.try_emplace(frame.module, static_cast<uint32_t>(modules.size() + 1));
        if (module.second) new_modules.push_back({module.first->second, frame.module, {}, 0, 0});
        const FrameKey key{frame.function, frame.file, frame.module, frame.line};
        const auto known = frames.try_emplace(key, static_cast<uint32_t>(frames.size() + 1));
        if (known.second) {
          new_frames.push_back({known.first->second, module.first->second, 0, frame.function, frame.file, frame.line});
        }
        one.frames.push_back(known.first->second);
      }
      if (stacks.size() + new_frames.size() >= kPerChunk) flush();
    }
    flush();
  }

  void write_losses() {
    std::vector<trace::Loss> losses;
    for (const std::string& words : result_.losses) losses.push_back({trace::LossCause::Reported, 0, 1, 0, 0, words});
    writer_.losses(target_.id, losses);
  }

  void write_events() {
    std::vector<std::vector<uint32_t>> rows(rows_.tracks.size()), lanes(rows_.tracks.size()),
        allocations(rows_.tracks.size());
    for (uint32_t i = 0; i < result_.events.size(); ++i) {
      const RowPlace& place = rows_.places[i];
      (place.lane == 0 ? rows : lanes)[place.track].push_back(i);
    }
    for (uint32_t i = 0; i < result_.allocations.size(); ++i)
      allocations[rows_.of_threads.at(result_.allocations[i].thread)].push_back(i);
    for (uint32_t track = 0; track < rows_.tracks.size(); ++track)
      write_track(track, rows[track], lanes[track], allocations[track]);
  }

  void write_track(uint32_t track, const std::vector<uint32_t>& events, std::vector<uint32_t>& lanes,
                   const std::vector<uint32_t>& allocations) {
    TrackWriter row(target_, first_ids_[track]);
    auto allocation = allocations.begin();
    const auto allocations_before = [&](uint64_t time) {
      for (; allocation != allocations.end() && result_.allocations[*allocation].time_ns < time; ++allocation)
        row.allocation(*allocation);
    };
    for (const uint32_t event : events) {
      const EdgeEvent& one = result_.events[event];
      allocations_before(one.start_ns);
      row.begin(event);
      if (one.stack < result_.stacks.size()) row.stack_of(event);
    }
    for (; allocation != allocations.end(); ++allocation) row.allocation(*allocation);
    if (track == 0) row.window_end();
    row.finish();

    // Lanes 1 to 4095 belong to the first track, the next 4096 to the next.
    const auto part_of = [&](uint32_t event) { return rows_.places[event].lane / kLanesPerTrack; };
    std::stable_sort(lanes.begin(), lanes.end(), [&](uint32_t a, uint32_t b) { return part_of(a) < part_of(b); });
    for (auto at = lanes.begin(); at != lanes.end();) {
      const uint32_t part = part_of(*at);
      const auto end = std::find_if(at, lanes.end(), [&](uint32_t event) { return part_of(event) != part; });
      if (part == 0) {
        row.lanes({at, end}, 1);
      } else {
        TrackWriter(target_, first_ids_[track] + part).lanes({at, end}, part * kLanesPerTrack);
      }
      at = end;
    }
  }

  const ResultData& result_;
  trace::Writer writer_;
  const Rows rows_;
  TraceClasses classes_;
  TraceTarget target_;
  std::vector<uint32_t> first_ids_;  // the first track id of each RowTrack
  uint32_t next_id_ = 1;
};

}  // namespace

void write_kymo_trace(const ResultData& result, const std::string& path) { EdgeTraceWriter(result, path).write(); }

}  // namespace kymo::edge
