#include "analyze/functions/functions.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "analyze/views/paths.h"
#include "base/wildcard.h"

namespace kymo::functions {

namespace {

class Rows {
 public:
  FunctionRow& of(const symbols::Frame& frame) {
    const std::string key = frame.function + '\n' + frame.module;
    const auto [known, is_new] = numbers_.try_emplace(key, rows_.size());
    if (is_new) rows_.push_back({frame.function, frame.module});
    return rows_[known->second];
  }
  std::vector<FunctionRow> take() { return std::move(rows_); }

 private:
  std::unordered_map<std::string, size_t> numbers_;
  std::vector<FunctionRow> rows_;
};

}  // namespace

FunctionTable count_functions(Samples& samples, const std::string& range_pattern) {
  FunctionTable table;
  table.what = samples.what;
  std::vector<bool> is_wanted(samples.ranges.size(), true);
  if (!range_pattern.empty()) {
    for (size_t i = 0; i < is_wanted.size(); ++i)
      is_wanted[i] = i != 0 && base::matches(range_pattern, samples.ranges[i]);
  }
  // The same stack on several threads is looked up once.
  struct Sum {
    uint64_t count = 0, ns = 0;
  };
  std::unordered_map<memory::StackId, Sum> stacks;
  bool is_cpu_known = range_pattern.empty();
  for (const SampledThread& thread : samples.threads) {
    bool is_counted = range_pattern.empty();
    for (const SampledStack& one : thread.stacks) {
      if (!is_wanted[one.range]) continue;
      is_counted = true;
      Sum& sum = stacks[one.stack];
      sum.count += one.count;
      sum.ns += one.weight;
    }
    if (!is_counted) continue;
    ++table.threads;
    table.period_ns = std::max(table.period_ns, thread.period_ns);
    table.cpu_ns += thread.on_ns;
    is_cpu_known = is_cpu_known && (thread.on_ns != 0 || thread.samples == 0);
    table.off_ns += thread.off_ns;
    table.preempted_ns += thread.preempted_ns;
  }
  if (!is_cpu_known) table.cpu_ns = 0;
  Rows rows;
  for (const auto& [stack, sum] : stacks) {
    table.samples += sum.count;
    table.time_ns += sum.ns;
    std::vector<symbols::Frame> frames = samples.stacks->frames(stack);
    if (frames.empty()) frames.emplace_back().function = "(unknown)";
    if (memory::Stacks::is_cut(frames.back())) table.incomplete += sum.count;
    std::unordered_set<FunctionRow*> seen;
    // The rows may move while rows are added, so all are created first.
    for (const symbols::Frame& frame : frames) rows.of(frame);
    for (size_t i = 0; i < frames.size(); ++i) {
      if (i != 0 && memory::Stacks::is_cut(frames[i])) continue;
      FunctionRow& row = rows.of(frames[i]);
      if (i == 0) {
        row.self_samples += sum.count;
        row.self_ns += sum.ns;
      }
      if (!seen.insert(&row).second) continue;  // it called itself
      row.total_samples += sum.count;
      row.total_ns += sum.ns;
    }
  }
  table.missing_files.assign(samples.stacks->missing_files().begin(), samples.stacks->missing_files().end());
  table.rows = rows.take();
  std::erase_if(table.rows, [](const FunctionRow& row) { return row.total_samples == 0; });
  std::ranges::sort(table.rows, [](const FunctionRow& a, const FunctionRow& b) {
    return std::tie(b.self_ns, b.total_ns, a.function, a.module) <
           std::tie(a.self_ns, a.total_ns, b.function, b.module);
  });
  return table;
}

std::optional<FunctionTable> functions_on_cpu(const trace::Reader& reader) {
  if (!has_samples(reader)) return std::nullopt;
  Samples samples = read_samples(reader);
  if (samples.samples == 0) return std::nullopt;
  return count_functions(samples);
}

views::Paths paths_of_samples(Samples& samples, const views::PathOptions& options) {
  using views::FrameKind;
  views::Paths result;
  result.problems = samples.problems;
  views::MergedPaths merged;
  for (const SampledThread& thread : samples.threads) {
    if (thread.stacks.empty()) continue;
    const uint32_t process =
        merged.child(views::PathTrie::kRoot, convert::group_label(*thread.place->group), FrameKind::Process);
    const uint32_t track = merged.child(process, thread.place->name, FrameKind::Track);
    for (const SampledStack& one : thread.stacks) {
      uint32_t node = track;
      if (one.range != 0) node = merged.child(node, samples.ranges[one.range], FrameKind::Range);
      const std::vector<symbols::Frame> frames = samples.stacks->frames(one.stack);
      size_t depth = 0;
      bool is_cut = false;
      for (size_t i = frames.size(); i-- > 0 && !is_cut;) {
        is_cut = ++depth > options.max_depth || merged.size() > options.max_paths;
        if (!is_cut) node = merged.child(node, frames[i].function, FrameKind::Function);
      }
      if (frames.empty()) node = merged.child(node, "(unknown)", FrameKind::Function);
      if (is_cut) result.over_limit += one.count;
      merged.count(node, one.count, one.weight);
    }
  }
  merged.finish(result);
  return result;
}

}  // namespace kymo::functions
