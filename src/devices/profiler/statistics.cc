#include "profiler/statistics.h"

#include <stdio.h>

#include <algorithm>
#include <exception>
#include <functional>

#include "base/text.h"
#include "base/text_table.h"
#include "device/watcher.h"
#include "profiler/masks.h"
#include "profiler/profiler.h"
#include "profiler/report.h"

namespace kymo::profiler {
namespace {

using base::TextTable;
using Align = TextTable::Align;

double mean(double total, uint64_t runs) { return runs == 0 ? 0 : total / static_cast<double>(runs); }

std::string counted(uint64_t count, std::string_view one, std::string_view many) {
  return base::format("{} {}", count, count == 1 ? one : many);
}

// All columns contain numbers, except the last one.
TextTable table_of(std::initializer_list<const char*> numbers, const char* last = nullptr) {
  TextTable table;
  for (const char* heading : numbers) table.add_column({heading, Align::Right});
  if (last != nullptr) table.add_column({last});
  return table;
}

std::string milliseconds(double value) { return base::format("{:.3f}", value); }

void append_operations(std::string& text, const std::vector<OperationStatistics>& rows) {
  if (rows.empty()) {
    text += "Kymo profiler: no operations were logged\n";
    return;
  }
  const auto named =
      static_cast<uint64_t>(std::ranges::count_if(rows, [](const auto& row) { return row.id.starts_with('G'); }));
  const bool rates = std::ranges::any_of(rows, [](const auto& row) { return row.flops > 0; });
  TextTable table = table_of({"ID", "#Runs", "Mean KRNL(ms)", "Mean GPU(ms)", "Total GPU(ms)"});
  if (rates) table.add_column({"GFLOP/s", Align::Right});
  table.add_column({"Operation Name"});
  for (const OperationStatistics& row : rows) {
    std::vector<std::string> cells = {row.id, std::to_string(row.runs), milliseconds(mean(row.total_call_ms, row.runs)),
                                      milliseconds(mean(row.total_gpu_ms, row.runs)), milliseconds(row.total_gpu_ms)};
    const bool has_rate = row.flops > 0 && row.total_gpu_ms > 0;
    if (rates) cells.push_back(has_rate ? base::format("{:.3f}", row.flops / row.total_gpu_ms / 1e6) : "");
    cells.push_back(row.name);
    table.add(std::move(cells));
  }
  text += table.text({.rules = true,
                      .title = base::format("Operations: {}, {}", counted(named, "named operation", "named operations"),
                                            counted(rows.size() - named, "kernel", "kernels"))});
}

void append_copies(std::string& text, const std::vector<CopyStatistics>& rows) {
  uint64_t count = 0, bytes = 0, scalars = 0;
  for (const CopyStatistics& row : rows) {
    count += row.count;
    bytes += row.bytes;
    scalars += row.scalars;
  }
  if (count == 0) {
    text += "Kymo profiler: no copies were logged\n";
    return;
  }
  TextTable table = table_of({"Kind", "Total#", "Total Size", "Total KRNL(ms)", "Total GPU(ms)", "Scalars",
                              "Scalars GPU", "Blocking", "memcpy"});
  for (const CopyStatistics& row : rows) {
    if (row.count == 0) continue;
    const double share = row.gpu_ms > 0 ? 100 * row.scalar_gpu_ms / row.gpu_ms : 0;
    table.add({std::string(row.kind), std::to_string(row.count), size_text(row.bytes), milliseconds(row.call_ms),
               milliseconds(row.gpu_ms), std::to_string(row.scalars), base::format("{:.2f} %", share),
               std::to_string(row.blocking), std::to_string(row.host_copies)});
  }
  text += table.text({.rules = true,
                      .title = base::format("Copies: {} ({}), {}", counted(count, "copy", "copies"), size_text(bytes),
                                            counted(scalars, "of a scalar", "of scalars"))});
}

void append_fallbacks(std::string& text, const std::vector<FallbackStatistics>& rows) {
  if (rows.empty()) {
    text += "Kymo profiler: no host fallbacks were logged\n";
    return;
  }
  uint64_t runs = 0, bytes = 0;
  double total_ms = 0;
  for (const FallbackStatistics& row : rows) {
    runs += row.runs;
    bytes += row.copy_bytes;
    total_ms += row.total_cpu_ms;
  }
  TextTable table = table_of({"ID", "#Runs", "Mean CPU(ms)", "Total CPU(ms)", "Copy Overhead"}, "Operation Name");
  for (const FallbackStatistics& row : rows) {
    table.add({row.id, std::to_string(row.runs), milliseconds(mean(row.total_cpu_ms, row.runs)),
               milliseconds(row.total_cpu_ms), size_text(row.copy_bytes), row.name});
  }
  text += table.text({.rules = true,
                      .title = base::format("Host fallbacks: {}, {:.3f} ms, {} copied", counted(runs, "run", "runs"),
                                            total_ms, size_text(bytes))});
}

}  // namespace

std::string tables_text(const Statistics& statistics, uint32_t which) {
  std::string text;
  if ((which & kOperationStatistics) != 0) append_operations(text, statistics.operations);
  if ((which & kCopyStatistics) != 0) append_copies(text, statistics.copies);
  if ((which & kFallbackStatistics) != 0) append_fallbacks(text, statistics.fallbacks);
  if (statistics.lost != 0) {
    base::format_to(text, "Not in these tables: {} whose times are not known\n",
                    counted(statistics.lost, "execution", "executions"));
  }
  return text;
}

// ---- Statistics -----------------------------------------------------------------------------------------------------

namespace {

constexpr uint64_t kWaitForAllNs = 60'000'000'000, kWaitAtEndNs = 5'000'000'000;

double in_ms(const std::atomic<uint64_t>& ns) { return static_cast<double>(ns.load(std::memory_order_relaxed)) / 1e6; }
uint64_t count_in(const std::atomic<uint64_t>& count) { return count.load(std::memory_order_relaxed); }

std::string kind_of(const Entry& copy) { return copy.name.substr(std::string_view("copy ").size()); }

}  // namespace

Statistics Profiler::statistics() const {
  Statistics all;
  for (const Entry* entry : entries_.all()) {
    const uint64_t runs = count_in(entry->runs);
    if (runs == 0) continue;
    switch (entry->kind) {
      case EntryKind::Copy:
        all.copies.push_back({kind_of(*entry), runs, count_in(entry->bytes), count_in(entry->scalars),
                              count_in(entry->blocking), 0, in_ms(entry->gpu_ns), in_ms(entry->call_ns),
                              in_ms(entry->scalar_gpu_ns)});
        break;
      case EntryKind::Fallback:
        all.fallbacks.push_back(
            {entry->id(), entries_.key_of(*entry), runs, count_in(entry->bytes), in_ms(entry->call_ns)});
        break;
      default:
        all.operations.push_back({entry->id(), entries_.key_of(*entry), runs, in_ms(entry->gpu_ns),
                                  in_ms(entry->call_ns), entry->flops.load(std::memory_order_relaxed)});
    }
  }
  all.lost = lost_.load(std::memory_order_relaxed);
  std::ranges::stable_sort(all.operations, std::greater(), [](const OperationStatistics& operation) {
    return operation.total_gpu_ms / static_cast<double>(operation.runs);
  });
  std::ranges::stable_sort(all.fallbacks, std::greater(), [](const FallbackStatistics& fallback) {
    return fallback.total_cpu_ms / static_cast<double>(fallback.runs);
  });
  return all;
}

void Profiler::reset_statistics() noexcept {
  entries_.reset_counts();
  lost_.store(0, std::memory_order_relaxed);
}

void Profiler::print_at_end() noexcept {
  try {
    device::report_completed(kWaitAtEndNs);
    std::call_once(printed_, [this] {
      const uint32_t which = log() & kAllStatistics;
      if (which == 0) return;
      const std::string text = tables_text(statistics(), which);
      fwrite(text.data(), 1, text.size(), stderr);
    });
  } catch (const std::exception&) {
    // No memory for the tables at the end of the process: there is no way to report it.
  }
}

Statistics statistics() {
  device::report_completed(kWaitForAllNs);
  return the_profiler().statistics();
}

std::string statistics_text() { return tables_text(statistics(), kAllStatistics); }

void print_statistics() {
  const std::string text = statistics_text();
  fwrite(text.data(), 1, text.size(), stderr);
}

void reset_statistics() {
  device::report_completed(kWaitForAllNs);
  the_profiler().reset_statistics();
}

}  // namespace kymo::profiler
