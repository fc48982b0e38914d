#include "capture/replay/replay.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/text.h"
#include "capture/call_timer.h"
#include "capture/replay/player.h"
#include "kymo/profiler.h"

namespace kymo::capture {
namespace {

std::string_view random_name(device::RandomFill::Kind kind) {
  switch (kind) {
    case device::RandomFill::Kind::Uniform:
      return "random uniform";
    case device::RandomFill::Kind::Normal:
      return "random normal";
    case device::RandomFill::Kind::Integers:
      return "random integers";
    case device::RandomFill::Kind::Bernoulli:
      return "random bernoulli";
  }
  return "";
}

void check_kernel(const CaptureFile& capture, const std::string& wanted) {
  if (wanted.empty()) return;
  std::set<std::string> names;
  for (const KernelRecord& kernel : capture.tables().kernels) names.insert(kernel.name);
  if (names.contains(wanted)) return;
  throw Error(names.empty() ? base::format("{} contains no kernel", capture.folder())
                            : base::format("there is no kernel \"{}\" in {}; it has: {}", wanted, capture.folder(),
                                           base::join(names, ", ")));
}

uint64_t sum_of(const std::vector<uint64_t>& times) { return std::accumulate(times.begin(), times.end(), uint64_t{0}); }

void finish_rows(std::vector<ReplayRow>& rows) {
  for (ReplayRow& row : rows) {
    std::ranges::sort(row.times);
    std::ranges::sort(row.original);
  }
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return sum_of(a.times) > sum_of(b.times); });
}

// The rows of the report, by their key.
class RowsByName {
 public:
  uint32_t find(const std::string& name, bool is_named) {
    const auto [found, is_new] = known_.try_emplace({is_named, name}, static_cast<uint32_t>(rows.size()));
    if (is_new) {
      rows.emplace_back();
      rows.back().name = name;
      rows.back().is_named = is_named;
    }
    return found->second;
  }
  std::vector<ReplayRow> rows;

 private:
  std::map<std::pair<bool, std::string>, uint32_t> known_;
};

// Adds the times of one run to the rows of their calls.
class ReplayRows {
 public:
  explicit ReplayRows(const CaptureFile& capture) : original_(capture.device_times()) {
    capture.for_each([&](const Record& record, const Tables& tables) {
      if (const auto* operation = std::get_if<OperationRecord>(&record)) {
        row_of_operation_.push_back(operations_.find(operation->name, true));
        ReplayRow& row = operations_.rows[row_of_operation_.back()];
        ++row.calls;
        row.flops += operation->flops;
      }
      if (!is_call(record)) return;
      const CallName call = name_of_call(record, tables);
      calls_.push_back({rows_.find(call.name, call.is_kernel), operation_of(record)});
      ReplayRow& row = rows_.rows[calls_.back().row];
      ++row.calls;
      row.bytes += call.bytes;
    });
    sort_in(original_, &ReplayRow::original);
  }

  void add_run(std::vector<uint64_t> times) {
    times.resize(calls_.size());
    sort_in(times, &ReplayRow::times);
    uint64_t now = 0;
    original_ns_ = 0;
    for (size_t call = 0; call < calls_.size(); ++call) {
      if (times[call] == 0 || original_[call] == 0) continue;
      now += times[call];
      original_ns_ += original_[call];
    }
    runs_.push_back(now);
  }

  void give(ReplayReport& report, const std::string& kernel) {
    report.runs = runs_.size();
    report.calls = calls_.size();
    report.original_ns = original_ns_;
    std::ranges::sort(runs_);
    report.replayed_ns = ReplayRow::quantile(runs_, 0.5);
    report.rows = std::move(rows_.rows);
    report.operations = std::move(operations_.rows);
    if (!kernel.empty()) {
      std::erase_if(report.rows, [&](const auto& row) { return !row.is_named || row.name != kernel; });
      report.operations.clear();
    }
    finish_rows(report.rows);
    finish_rows(report.operations);
  }

 private:
  struct Call {
    uint32_t row = 0, operation = 0;  // operation: its number plus 1
  };

  static uint32_t operation_of(const Record& record) {
    return std::visit(
        [](const auto& one) {
          if constexpr (kIsCall<std::decay_t<decltype(one)>>) return one.operation;
          return uint32_t{0};
        },
        record);
  }

  void sort_in(const std::vector<uint64_t>& times, std::vector<uint64_t> ReplayRow::*into) {
    std::vector<uint64_t> of_operations(row_of_operation_.size());
    for (size_t call = 0; call < calls_.size(); ++call) {
      if (times[call] == 0) continue;
      (rows_.rows[calls_[call].row].*into).push_back(times[call]);
      if (calls_[call].operation != 0) of_operations[calls_[call].operation - 1] += times[call];
    }
    for (size_t i = 0; i < of_operations.size(); ++i)
      if (of_operations[i] != 0) (operations_.rows[row_of_operation_[i]].*into).push_back(of_operations[i]);
  }

  const std::vector<uint64_t>& original_;
  RowsByName rows_, operations_;
  std::vector<Call> calls_;
  std::vector<uint32_t> row_of_operation_;
  std::vector<uint64_t> runs_;
  uint64_t original_ns_ = 0;
};

}  // namespace

uint64_t ReplayRow::quantile(const std::vector<uint64_t>& sorted, double q) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
}

uint64_t ReplayRow::total_of(uint64_t runs) const { return times.size() == calls * runs ? sum_of(times) : 0; }

double ReplayRow::gigabytes_per_second(uint64_t runs) const {
  const uint64_t ns = total_of(runs);
  return ns == 0 ? 0 : static_cast<double>(bytes) * static_cast<double>(runs) / static_cast<double>(ns);
}

double ReplayRow::gigaflops(uint64_t runs) const {
  const uint64_t ns = total_of(runs);
  return ns == 0 ? 0 : flops * static_cast<double>(runs) / static_cast<double>(ns);
}

CallName name_of_call(const Record& call, const Tables& tables) {
  if (const auto* launch = std::get_if<LaunchCall>(&call)) {
    CallName name{tables.kernels[launch->kernel].name, true, 0};
    for (const ArgumentValue& argument : launch->arguments)
      for (const TensorRef& tensor : argument.tensors) name.bytes += tensor.bytes();
    return name;
  }
  if (const auto* fill = std::get_if<FillCall>(&call)) return {"fill", false, fill->to.bytes()};
  if (const auto* fill = std::get_if<RandomCall>(&call))
    return {std::string(random_name(fill->fill.kind)), false, fill->to.bytes()};
  if (const auto* copy = std::get_if<CopyCall>(&call)) return {"copy", false, copy->to.bytes()};
  if (const auto* upload = std::get_if<UploadCall>(&call)) return {"upload", false, upload->to.bytes()};
  if (const auto* download = std::get_if<DownloadCall>(&call)) return {"download", false, download->from.bytes()};
  return {};
}

ReplayReport replay(const CaptureFile& capture, const ReplayOptions& options) {
  if (profiler::is_capturing()) throw Error("a capture is running: stop it before you replay one");
  check_kernel(capture, options.kernel);
  Player player(capture, options.device);
  ReplayReport report;
  for (const device::DeviceState* device : player.devices()) {
    if (std::ranges::find(report.devices, device->name()) == report.devices.end())
      report.devices.push_back(device->name());
  }
  if (options.verify) {
    Comparison comparison(player.pieces(), options.tolerance);
    player.play(
        [&](const ResultRecord& then, DType dtype, const device::Tensor& now) { comparison.add(then, dtype, now); });
    report.verified = true;
    report.buffers_compared = comparison.compared();
    report.buffers_unknown = comparison.unknown();
    report.mismatches = comparison.mismatches();
  }
  ReplayRows rows(capture);
  for (uint64_t run = 0; run < options.repeat; ++run) {
    CallTimer::instance().start();
    try {
      player.play({});
    } catch (...) {
      CallTimer::instance().stop();
      throw;
    }
    rows.add_run(CallTimer::instance().stop());
  }
  rows.give(report, options.kernel);
  return report;
}

}  // namespace kymo::capture
