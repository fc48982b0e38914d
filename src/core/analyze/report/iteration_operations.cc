#include "analyze/report/iteration_operations.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <deque>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analyze/durations.h"
#include "analyze/innermost.h"
#include "analyze/operation_name.h"
#include "analyze/report/events.h"
#include "base/clock_map.h"
#include "base/iteration_name.h"

namespace kymo::analyze {
namespace {

constexpr uint32_t kNoRow = UINT32_MAX;
constexpr uint64_t kExactPerRow = 1 << 16, kExactInTotal = 4 << 20;

class Operations {
 public:
  Operations(EventWalk& walk, const DeviceWork& work, const Iterations& iterations)
      : walk_(walk), work_(work), iterations_(iterations), budget_(kExactPerRow, kExactInTotal) {}

  IterationOperations compute() {
    if (iterations_.track && *iterations_.track < walk_.tracks().size()) add_host(*iterations_.track);
    for (const Device& device : work_.devices) {
      result_.outside_ns.push_back(0);
      for (const DeviceOperation& operation : device.operations) add_device(operation);
    }
    finish();
    return std::move(result_);
  }

 private:
  void add_host(uint32_t number) {
    RangesBackwards ranges;
    Innermost<uint32_t> innermost;
    const TrackOfTrace& main = walk_.tracks()[number];
    const auto take = [this](uint32_t row, int64_t begin, int64_t end) {
      if (row != kNoRow) result_.rows[row].self_ns += static_cast<uint64_t>(end - begin);
    };
    const auto visit = [&](const TrackRange& range) {
      const uint64_t length = static_cast<uint64_t>(std::max<int64_t>(range.end - range.begin, 0));
      innermost.add(range.begin, range.end, add(main, range.class_id, false, range.begin, length), take);
    };
    walk_.each_backwards(
        RangesBackwards::kParts, [&](const TrackOfTrace& track) { return track.number == number; },
        [&](TrackOfTrace& track, const trace::EventBatch& batch) { ranges.add(track, batch, visit); });
    ranges.finish(visit);
    innermost.finish(take);
  }

  void add_device(const DeviceOperation& operation) {
    if (operation.kind == WorkKind::Wait) return;
    const Launch* const launch = work_.launch_of(operation);
    const uint64_t length = static_cast<uint64_t>(std::max<int64_t>(operation.end - operation.begin, 0));
    const uint32_t row = add(walk_.tracks()[operation.track], operation.class_id, true,
                             launch != nullptr ? launch->begin : operation.begin, length);
    (row != kNoRow ? result_.rows[row].self_ns : result_.outside_ns.back()) += length;
  }

  // The row that the operation was added to; kNoRow if it begins in no iteration.
  uint32_t add(const TrackOfTrace& track, uint32_t class_id, bool on_device, int64_t begin, uint64_t length) {
    if (!iterations_.at(begin)) return kNoRow;
    const uint32_t number = row_of(track, class_id, on_device);
    IterationOperation& row = result_.rows[number];
    row.count += 1;
    row.total_ns += length;
    row.min_ns = std::min(row.min_ns, length);
    row.max_ns = std::max(row.max_ns, length);
    durations_[number].add(length);
    return number;
  }

  uint32_t row_of(const TrackOfTrace& track, uint32_t class_id, bool on_device) {
    const auto [entry, is_new] = classes_.try_emplace({track.writer_number, class_id, on_device}, 0);
    if (!is_new) return entry->second;
    IterationOperation row;
    row.on_device = on_device;
    const trace::EventClass* const known = track.writer->find_class(class_id);
    if (known == nullptr) {
      row.name = "(no name)";
    } else {
      row.name = operation_name(*known);
      row.kind = work_kind(known->category, known->name).value_or(WorkKind::Compute);
      if (!on_device && row.kind != WorkKind::Communication) row.kind = WorkKind::Compute;
    }
    const auto [number, is_new_name] =
        names_.try_emplace({row.name, on_device}, static_cast<uint32_t>(result_.rows.size()));
    if (is_new_name) {
      result_.rows.push_back(std::move(row));
      durations_.emplace_back(budget_);
    }
    return entry->second = number->second;
  }

  void finish() {
    for (size_t i = 0; i < result_.rows.size(); ++i) {
      const ScaledDurations set{&durations_[i], 1};
      const Quantiles both = quantiles({&set, 1});
      result_.rows[i].median_ns = base::round_ns(both.median_ns);
      result_.rows[i].p99_ns = base::round_ns(both.p99_ns);
    }
  }

  EventWalk& walk_;
  const DeviceWork& work_;
  const Iterations& iterations_;
  ExactBudget budget_;
  IterationOperations result_;
  std::deque<Durations> durations_;  // by row
  std::map<std::tuple<uint32_t, uint32_t, bool>, uint32_t> classes_;
  std::map<std::pair<std::string, bool>, uint32_t> names_;
};

// The digits at the end of a name. "ProfilerStep#-5" has no number of an iteration; "step-5" has one.
std::optional<uint64_t> number_at_end(const std::string& name) {
  const size_t at = name.find_last_not_of("0123456789") + 1;
  if (at >= 2 && name[at - 1] == '-' && !std::isalpha(static_cast<unsigned char>(name[at - 2]))) return std::nullopt;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data() + at, name.data() + name.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace

IterationOperations iteration_operations(EventWalk& walk, const DeviceWork& work, const Iterations& iterations) {
  return Operations(walk, work, iterations).compute();
}

IterationNumbers iteration_numbers(EventWalk& walk, const Iterations& iterations) {
  const bool by_mark = iterations.source == Iterations::Source::StepMarks;
  if ((!by_mark && iterations.source != Iterations::Source::NamedRanges) || !iterations.track) return {};
  std::map<int64_t, uint64_t> found;  // by the begin of the iteration
  const auto add = [&](int64_t begin, const trace::EventClass* event_class, auto& values) {
    const auto& row = values.next(event_class);
    if (event_class == nullptr) return;
    const bool is_one = by_mark ? event_class->category == "kymo" && event_class->name == "step {}"
                                : base::names_iteration(event_class->name);
    if (!is_one) return;
    if (const auto number = number_at_end(trace::full_name(event_class, row))) found.emplace(begin, *number);
  };
  walk.each(
      by_mark ? trace::kPoints | trace::kPointValues : trace::kRangeTimes | trace::kRangeClasses | trace::kRangeValues,
      [&](const TrackOfTrace& track) { return track.number == *iterations.track; },
      [&](TrackOfTrace& track, const trace::EventBatch& batch) {
        const auto class_of = [&](uint32_t id) { return track.writer->find_class(id); };
        if (by_mark) {
          trace::ValueCursor values(batch.points.values);
          for (size_t i = 0; i < batch.points.size(); ++i)
            add(track.ns(batch.points.time[i]), class_of(batch.points.class_id[i]), values);
        } else {
          trace::ValueCursor values(batch.ranges.values);
          for (size_t i = 0; i < batch.ranges.size(); ++i)
            add(track.ns(batch.ranges.end[i] - batch.ranges.duration[i]), class_of(batch.ranges.class_id[i]), values);
        }
      });
  if (found.empty()) return {};
  IterationNumbers numbers;
  for (const Interval& one : iterations.list) {
    const auto known = found.find(one.begin);
    numbers.push_back(known == found.end() ? std::nullopt : std::optional(known->second));
  }
  return numbers;
}

std::vector<uint32_t> iteration_runs(const IterationNumbers& numbers) {
  std::vector<uint32_t> runs;
  uint64_t last = 0;
  for (const auto& number : numbers) {
    const uint32_t run = runs.empty() ? 0 : runs.back();
    runs.push_back(run + (number && *number < last ? 1 : 0));
    last = number.value_or(last);
  }
  return runs;
}

std::vector<bool> repeated_later(const IterationNumbers& numbers, const std::vector<uint32_t>& runs) {
  std::unordered_map<uint64_t, uint32_t> last;  // the last run with a number
  for (size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i]) last[*numbers[i]] = runs[i];
  std::vector<bool> repeated(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) repeated[i] = numbers[i] && runs[i] < last[*numbers[i]];
  return repeated;
}

}  // namespace kymo::analyze
