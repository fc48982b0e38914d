// kymo/profiler.h: how often and how long each operation ran.
#include <stdio.h>

#include <algorithm>
#include <exception>
#include <functional>

#include "device/watcher.h"
#include "kymo/profiler.h"
#include "profiler/masks.h"
#include "profiler/profiler.h"
#include "profiler/tables.h"

namespace kymo::profiler {
namespace {

constexpr uint64_t kWaitForAllNs = 60'000'000'000, kWaitAtEndNs = 5'000'000'000;

double in_ms(const std::atomic<uint64_t>& ns) { return static_cast<double>(ns.load(std::memory_order_relaxed)) / 1e6; }
uint64_t count_in(const std::atomic<uint64_t>& count) { return count.load(std::memory_order_relaxed); }

std::string kind_of(const Entry& copy) { return copy.name.substr(std::string_view("copy ").size()); }

}  // namespace

profiler::Statistics Profiler::statistics() const {
  profiler::Statistics all;
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
  std::ranges::stable_sort(all.operations, std::greater(), [](const profiler::OperationStatistics& operation) {
    return operation.total_gpu_ms / static_cast<double>(operation.runs);
  });
  std::ranges::stable_sort(all.fallbacks, std::greater(), [](const profiler::FallbackStatistics& fallback) {
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

}  // namespace kymo::profiler

namespace kymo::profiler {

using profiler::the_profiler;

Statistics statistics() {
  device::report_completed(profiler::kWaitForAllNs);
  return the_profiler().statistics();
}

std::string statistics_text() { return profiler::tables_text(statistics(), profiler::kAllStatistics); }

void print_statistics() {
  const std::string text = statistics_text();
  fwrite(text.data(), 1, text.size(), stderr);
}

void reset_statistics() {
  device::report_completed(profiler::kWaitForAllNs);
  the_profiler().reset_statistics();
}

}  // namespace kymo::profiler
