#include "analyze/functions/launch_lines.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "analyze/innermost.h"
#include "analyze/report/device_work.h"
#include "base/text.h"

namespace kymo::functions {
namespace {

using analyze::DeviceWork, analyze::EventWalk, analyze::RangesBackwards, analyze::TrackOfTrace, analyze::TrackRange;

constexpr uint32_t kNoRow = UINT32_MAX;

bool set_line(std::string_view text, uint32_t& line) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), line);
  return error == std::errc() && end == text.data() + text.size() && line != 0;
}

bool is_of_torch(std::string_view file) {
  return file.starts_with("torch/") || file.find("-packages/torch/") != file.npos;
}

// The device time of each launch, and then of the functions in which they were.
class LaunchLines {
 public:
  LaunchLines(EventWalk& walk, const DeviceWork& work) : walk_(walk), work_(work) {}

  FunctionTable compute() {
    std::vector<uint64_t> ns(work_.launches.size());
    for (const analyze::Device& device : work_.devices)
      for (const analyze::DeviceOperation& one : device.operations) {
        if (one.kind == analyze::WorkKind::Wait) continue;
        const auto length = static_cast<uint64_t>(std::max<int64_t>(one.end - one.begin, 0));
        table_.device_ns += length;
        if (one.launch != analyze::kNone) ns[one.launch] += length;
      }
    for (uint32_t i = 0; i < ns.size(); ++i)
      if (ns[i] != 0) threads_[work_.launches[i].track].launches.push_back({work_.launches[i].begin, ns[i]});
    for (auto& [track, thread] : threads_) std::ranges::sort(thread.launches, {}, &Launch::begin);
    walk_.each_backwards(
        RangesBackwards::kParts, [&](const TrackOfTrace& track) { return threads_.contains(track.number); },
        [&](TrackOfTrace& track, const trace::EventBatch& batch) {
          Thread& thread = threads_[track.number];
          thread.ranges.add(track, batch, [&](const TrackRange& range) { visit(track, thread, range); });
        });
    for (auto& [number, last] : threads_) {
      const TrackOfTrace& track = walk_.tracks()[number];
      Thread& thread = last;
      thread.ranges.finish([&](const TrackRange& range) { visit(track, thread, range); });
      place_launches(thread, std::numeric_limits<int64_t>::min());
    }
    std::erase_if(table_.rows, [](const FunctionRow& row) { return row.device_ns == 0; });
    return std::move(table_);
  }

 private:
  struct Launch {
    int64_t begin;
    uint64_t ns;
  };
  struct Thread {
    std::vector<Launch> launches;  // not yet placed; by begin
    RangesBackwards ranges;
    analyze::Innermost<uint32_t> all, own;  // rows; own: without those of PyTorch
  };

  void visit(const TrackOfTrace& track, Thread& thread, const TrackRange& range) {
    const uint32_t row = row_of(track, range.class_id);
    if (row == kNoRow) return;
    place_launches(thread, range.end);
    const auto ignore = [](uint32_t, int64_t, int64_t) {};
    thread.all.add(range.begin, range.end, row, ignore);
    if (!is_of_torch(table_.rows[row].file)) thread.own.add(range.begin, range.end, row, ignore);
  }

  // Those from `time` on: all functions around them are known.
  void place_launches(Thread& thread, int64_t time) {
    for (; !thread.launches.empty() && thread.launches.back().begin >= time; thread.launches.pop_back()) {
      const Launch& launch = thread.launches.back();
      const uint32_t* row = thread.own.around(launch.begin);
      if (row == nullptr) row = thread.all.around(launch.begin);
      if (row == nullptr) continue;
      table_.rows[*row].device_ns += launch.ns;
      table_.device_with_line_ns += launch.ns;
    }
  }

  uint32_t row_of(const TrackOfTrace& track, uint32_t class_id) {
    const auto [entry, is_new] = classes_.try_emplace({track.writer_number, class_id}, kNoRow);
    const trace::EventClass* const known = is_new ? track.writer->find_class(class_id) : nullptr;
    if (known == nullptr) return entry->second;
    std::optional<PythonFunction> named = python_function(known->category, known->name);
    if (!named) return entry->second;
    const auto [row, is_new_row] = numbers_.try_emplace(std::tuple(named->function, named->file, named->line),
                                                        static_cast<uint32_t>(table_.rows.size()));
    if (is_new_row) {
      FunctionRow& added = table_.rows.emplace_back();
      added.function = std::move(named->function);
      added.file = std::move(named->file);
      added.line = named->line;
    }
    return entry->second = row->second;
  }

  EventWalk& walk_;
  const DeviceWork& work_;
  FunctionTable table_;
  std::map<uint32_t, Thread> threads_;                         // by number of the track
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> classes_;  // rows, by writer and class
  std::map<std::tuple<std::string, std::string, uint32_t>, uint32_t> numbers_;
};

// The line of each operation, each looked up once.
class OwnLines {
 public:
  OwnLines(LaunchStacks& stacks, const memory::OwnCode& own) : stacks_(stacks), own_(own) {}

  // Null: it has none.
  const OwnLine* of(const analyze::DeviceOperation& operation) {
    const LaunchStack launch = stacks_.of(operation);
    const auto [entry, is_new] = known_.try_emplace({launch.stack, launch.of});
    if (is_new) entry->second = own_line(stacks_, launch, own_);
    return entry->second ? &*entry->second : nullptr;
  }

 private:
  LaunchStacks& stacks_;
  const memory::OwnCode& own_;
  std::map<std::pair<memory::StackId, LaunchStack::Of>, std::optional<OwnLine>> known_;
};

DeviceLines lines_of(EventWalk& walk, const DeviceWork& work, LaunchStacks& stacks, const memory::OwnCode& own,
                     bool with_idle_time) {
  DeviceLines all;
  OwnLines lines(stacks, own);
  std::map<OwnLine, DeviceLine> sums;
  const analyze::ProfilerTimes profiler(walk);
  for (const analyze::Device& device : work.devices) {
    int64_t last = device.operations.front().begin;
    for (const analyze::DeviceOperation& one : device.operations) {
      if (one.kind == analyze::WorkKind::Wait) continue;
      const uint64_t length = analyze::time_between(one.begin, one.end);
      last = std::max(last, one.end);
      all.device_ns += length;
      const OwnLine* const line = lines.of(one);
      if (line == nullptr) continue;
      DeviceLine& sum = sums[*line];
      sum.device_ns += length;
      ++sum.operations;
      all.with_line_ns += length;
    }
    if (!with_idle_time) continue;
    const analyze::Intervals window({{device.operations.front().begin, last}});
    for (const analyze::IdleGap& gap : device_time(work, device, window, profiler).gaps) {
      const bool is_of_host =
          gap.cause == analyze::IdleCause::LateLaunch || gap.cause == analyze::IdleCause::LaunchLatency;
      if (!is_of_host || gap.next == analyze::kNone) continue;
      all.idle_ns += gap.ns;
      if (const OwnLine* const line = lines.of(device.operations[gap.next])) sums[*line].idle_ns += gap.ns;
    }
  }
  for (auto& [line, sum] : sums) {
    sum.line = line;
    all.lines.push_back(std::move(sum));
  }
  std::ranges::stable_sort(all.lines, std::ranges::greater(),
                           [](const DeviceLine& one) { return one.device_ns + one.idle_ns; });
  return all;
}

FunctionTable table_of(const DeviceLines& lines) {
  FunctionTable table;
  table.device_ns = lines.device_ns;
  table.device_with_line_ns = lines.with_line_ns;
  for (const DeviceLine& one : lines.lines) {
    FunctionRow& row = table.rows.emplace_back();
    row.function = one.line.function;
    row.module = row.file = one.line.file;
    row.line = one.line.line;
    row.device_ns = one.device_ns;
  }
  return table;
}

}  // namespace

std::optional<OwnLine> own_line(LaunchStacks& stacks, const LaunchStack& launch, const memory::OwnCode& own) {
  if (launch.stack == 0) return std::nullopt;
  const std::vector<symbols::Frame>& frames = stacks.frames(launch.stack);
  const auto frame = own.innermost(frames);
  if (frame == frames.end()) return std::nullopt;
  const std::string_view mark = launch.of == LaunchStack::Of::BackwardCall ? " (backward)"
                                : launch.of == LaunchStack::Of::MainThread ? " (by another thread)"
                                                                           : "";
  return OwnLine{frame->function + std::string(mark), frame->file, frame->line};
}

std::string text_of(const OwnLine& line) {
  return base::format("{}:{} in {}", line.file.substr(line.file.rfind('/') + 1), line.line, line.function);
}

std::optional<PythonFunction> python_function(std::string_view category, std::string_view name) {
  PythonFunction named;
  if (category == "python_function") {
    const size_t end = name.find("): ");
    const size_t begin = name.substr(0, end).rfind('(');
    if (end == name.npos || begin == name.npos) return std::nullopt;
    named.file = name.substr(0, begin);
    named.function = name.substr(end + 3);
    if (set_line(name.substr(begin + 1, end - begin - 1), named.line)) return named;
  } else if (category == "python" && name.ends_with(')')) {
    const size_t colon = name.rfind(':'), begin = name.find(" (");
    if (colon == name.npos || begin == name.npos || colon < begin + 2) return std::nullopt;
    named.function = name.substr(0, begin);
    named.file = name.substr(begin + 2, colon - begin - 2);
    if (set_line(name.substr(colon + 1, name.size() - colon - 2), named.line)) return named;
  }
  return std::nullopt;
}

std::optional<DeviceLines> device_lines(const trace::Reader& reader, const memory::OwnCode& own) {
  EventWalk walk(reader);
  if (std::ranges::none_of(walk.tracks(), &TrackOfTrace::on_device)) return std::nullopt;
  const DeviceWork work = analyze::read_device_work(walk);
  LaunchStacks stacks(walk, work);
  if (stacks.empty()) return std::nullopt;
  return lines_of(walk, work, stacks, own, true);
}

void add_device_time(FunctionTable& lines, const trace::Reader& reader, const memory::OwnCode& own,
                     std::vector<trace::Problem>& problems) {
  EventWalk walk(reader);
  if (std::ranges::none_of(walk.tracks(), &TrackOfTrace::on_device)) return;
  const DeviceWork work = analyze::read_device_work(walk);
  LaunchStacks stacks(walk, work);
  FunctionTable device =
      stacks.empty() ? LaunchLines(walk, work).compute() : table_of(lines_of(walk, work, stacks, own, false));
  lines.device_ns = device.device_ns;
  lines.device_with_line_ns = device.device_with_line_ns;
  add_times(lines, device, &FunctionRow::device_ns, &FunctionRow::device_ns);
  for (trace::Problem& one : walk.problems())
    if (std::ranges::find(problems, one.offset, &trace::Problem::offset) == problems.end())
      problems.push_back(std::move(one));
}

}  // namespace kymo::functions
