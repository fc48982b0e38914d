#include "capture/replay/replay.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "base/clock_map.h"
#include "base/quantile.h"
#include "base/text.h"
#include "capture/call_timer.h"
#include "capture/files.h"
#include "capture/replay/player.h"
#include "device/value_bytes.h"
#include "kymo/profiler.h"
#include "kymo/tensor.h"

namespace kymo::capture {
namespace {

constexpr size_t kPiecesAtOnce = 16;

double as_double(DType type, base::Bytes list, size_t index) {
  return device::Number::of(type, list.data(), index).as_double;
}

bool is_close(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

// Compares the buffers of a replay with those of the program: bit by bit, or within a tolerance.
class Comparison {
 public:
  Comparison(PieceCache& pieces, double tolerance, ReplayReport& report)
      : pieces_(pieces), tolerance_(tolerance), report_(report) {}

  void add(const ResultRecord& then, DType dtype, const device::Tensor& now) {
    if (then.pieces.empty()) {
      ++report_.buffers_unknown;
      return;
    }
    ++report_.buffers_compared;
    Mismatch mismatch;
    mismatch.buffer = then.buffer;
    mismatch.dtype = dtype;
    mismatch.elements = now.bytes() / device::size_of(dtype);
    for (size_t i = 0; i < then.pieces.size(); i += kPiecesAtOnce) {
      const size_t begin = i * kPieceBytes, end = std::min(now.bytes(), begin + kPiecesAtOnce * kPieceBytes);
      host_.resize(end - begin);
      now.slice(0, static_cast<int64_t>(begin), static_cast<int64_t>(end)).copy_to_bytes(host_);
      base::Bytes rest = host_;
      for (size_t j = i; j < std::min(then.pieces.size(), i + kPiecesAtOnce); ++j) {
        const base::Bytes piece = pieces_.get(then.pieces[j]);
        compare(piece, rest.first(piece.size()), j * kPieceBytes / device::size_of(dtype), mismatch);
        rest = rest.subspan(piece.size());
      }
    }
    if (mismatch.differing != 0) report_.mismatches.push_back(std::move(mismatch));
  }

 private:
  void compare(base::Bytes then, base::Bytes now, uint64_t first_element, Mismatch& mismatch) const {
    if (std::memcmp(then.data(), now.data(), then.size()) == 0) return;
    const DType type = mismatch.dtype;
    const size_t size = device::size_of(type);
    const bool tolerant = tolerance_ > 0 && device::is_floating(type);
    for (size_t i = 0; (i + 1) * size <= then.size(); ++i) {
      if (std::memcmp(then.data() + i * size, now.data() + i * size, size) == 0) continue;
      if (tolerant && is_close(as_double(type, then, i), as_double(type, now, i), tolerance_)) continue;
      if (mismatch.differing++ != 0) continue;
      mismatch.element = first_element + i;
      mismatch.then = device::Number::of(type, then.data(), i).text();
      mismatch.now = device::Number::of(type, now.data(), i).text();
    }
  }

  PieceCache& pieces_;
  const double tolerance_;
  ReplayReport& report_;
  std::vector<std::byte> host_;
};

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
    report.replayed_ns = base::round_ns(base::quantile(runs_, 0.5));
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

uint64_t ReplayRow::total_of(uint64_t runs) const { return times.size() == calls * runs ? sum_of(times) : 0; }

double ReplayRow::gigabytes_per_second(uint64_t runs) const {
  const uint64_t ns = total_of(runs);
  return ns == 0 ? 0 : static_cast<double>(bytes) * static_cast<double>(runs) / static_cast<double>(ns);
}

double ReplayRow::gigaflops(uint64_t runs) const {
  const uint64_t ns = total_of(runs);
  return ns == 0 ? 0 : flops * static_cast<double>(runs) / static_cast<double>(ns);
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
    Comparison comparison(player.pieces(), options.tolerance, report);
    player.play(
        [&](const ResultRecord& then, DType dtype, const device::Tensor& now) { comparison.add(then, dtype, now); });
    report.verified = true;
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
