#include "profiler/tables.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "profiler/masks.h"
#include "profiler/text.h"

namespace kymo::profiler {
namespace {

using profiler::CopyStatistics;
using profiler::FallbackStatistics;
using profiler::OperationStatistics;
using profiler::Statistics;

constexpr int kOperationsWidth = 200, kFallbacksWidth = 150, kCopiesWidth = 160;

double mean(double total, uint64_t runs) { return runs == 0 ? 0 : total / static_cast<double>(runs); }

std::string counted(uint64_t count, std::string_view one, std::string_view many) {
  return base::format("{} {}", count, count == 1 ? one : many);
}

// Title and column heads between lines of dashes.
std::string head(int width, std::string_view title, std::string_view columns) {
  return base::format("{0:-<{1}}\n{2}\n{0:-<{1}}\n{3}\n{0:-<{1}}\n", "", width, title, columns);
}

std::string foot(int width) { return base::format("{0:-<{1}}\n", "", width); }

void append_operations(std::string& text, const std::vector<OperationStatistics>& rows) {
  if (rows.empty()) {
    text += "Kymo profiler: no operations were logged\n";
    return;
  }
  const auto named =
      static_cast<uint64_t>(std::ranges::count_if(rows, [](const auto& row) { return row.id.starts_with('G'); }));
  const bool rates = std::ranges::any_of(rows, [](const auto& row) { return row.flops > 0; });
  text += head(kOperationsWidth,
               base::format("Operations: {}, {}", counted(named, "named operation", "named operations"),
                            counted(rows.size() - named, "kernel", "kernels")),
               base::format("{:>8} {:>9} {:>15} {:>14} {:>15}{}   Operation Name", "ID", "#Runs", "Mean KRNL(ms)",
                            "Mean GPU(ms)", "Total GPU(ms)", rates ? "      GFLOP/s" : ""));
  for (const OperationStatistics& row : rows) {
    std::string rate;
    if (rates) {
      rate = row.flops > 0 && row.total_gpu_ms > 0 ? base::format(" {:>12.3f}", row.flops / row.total_gpu_ms / 1e6)
                                                   : base::format(" {:>12}", "");
    }
    base::format_to(text, "{:>8} {:>9} {:>15.3f} {:>14.3f} {:>15.3f}{}   {}\n", row.id, row.runs,
                    mean(row.total_call_ms, row.runs), mean(row.total_gpu_ms, row.runs), row.total_gpu_ms, rate,
                    row.name);
  }
  text += foot(kOperationsWidth);
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
  text +=
      head(kCopiesWidth,
           base::format("Copies: {} ({}), {}", counted(count, "copy", "copies"), size_text(bytes),
                        counted(scalars, "of a scalar", "of scalars")),
           base::format("{:>18} {:>9} {:>14} {:>16} {:>15} {:>9} {:>13} {:>10} {:>9}", "Kind", "Total#", "Total Size",
                        "Total KRNL(ms)", "Total GPU(ms)", "Scalars", "Scalars GPU", "Blocking", "memcpy"));
  for (const CopyStatistics& row : rows) {
    if (row.count == 0) continue;
    const double share = row.gpu_ms > 0 ? 100 * row.scalar_gpu_ms / row.gpu_ms : 0;
    base::format_to(text, "{:>18} {:>9} {:>14} {:>16.3f} {:>15.3f} {:>9} {:>11.2f} % {:>10} {:>9}\n", row.kind,
                    row.count, size_text(row.bytes), row.call_ms, row.gpu_ms, row.scalars, share, row.blocking,
                    row.host_copies);
  }
  text += foot(kCopiesWidth);
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
  text += head(kFallbacksWidth,
               base::format("Host fallbacks: {}, {:.3f} ms, {} copied", counted(runs, "run", "runs"), total_ms,
                            size_text(bytes)),
               base::format("{:>8} {:>9} {:>14} {:>15} {:>15}   Operation Name", "ID", "#Runs", "Mean CPU(ms)",
                            "Total CPU(ms)", "Copy Overhead"));
  for (const FallbackStatistics& row : rows) {
    base::format_to(text, "{:>8} {:>9} {:>14.3f} {:>15.3f} {:>15}   {}\n", row.id, row.runs,
                    mean(row.total_cpu_ms, row.runs), row.total_cpu_ms, size_text(row.copy_bytes), row.name);
  }
  text += foot(kFallbacksWidth);
}

}  // namespace

std::string tables_text(const Statistics& statistics, uint32_t which) {
  std::string text;
  if ((which & kOperationStatistics) != 0) append_operations(text, statistics.operations);
  if ((which & kCopyStatistics) != 0) append_copies(text, statistics.copies);
  if ((which & kFallbackStatistics) != 0) append_fallbacks(text, statistics.fallbacks);
  if (statistics.lost != 0) {
    base::format_to(text, "Not in these tables: {} whose times could not be had\n",
                    counted(statistics.lost, "execution", "executions"));
  }
  return text;
}

}  // namespace kymo::profiler
