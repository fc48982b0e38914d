#include "edge/count_overhead.h"

#include <algorithm>

#include "edge/log.h"
#include "kymo/edge_engine.h"

namespace kymo::edge {
namespace {

constexpr uint32_t kRounds = 8, kInside = 16;

// An operation with kInside empty ones. Nobody else receives them.
void record_round(Log& log) {
  const OperationFacts facts{.name = "overhead", .already_recorded = true};
  OpenOperation* const outer = begin(log, facts, nullptr);
  for (uint32_t i = 0; i < kInside; ++i) end(log, begin(log, facts, nullptr));
  end(log, outer);
}

// The least of all rounds: more than that was caused by something else.
CountOverhead least_of(const ThreadLog& log, size_t events) {
  CountOverhead overhead;
  if (log.counts.size() != kRounds * (kInside + 1)) return overhead;  // not counted
  for (size_t event = 0; event < events; ++event) {
    const auto counted = [&](uint32_t at) {
      return counters::difference(log.counts[at].begin, log.counts[at].end, event);
    };
    double own = counted(1).value, least_outer = counted(0).value;
    for (uint32_t round = 0; round < kRounds; ++round) {
      const uint32_t outer = round * (kInside + 1);
      double inside = 0;
      for (uint32_t at = outer; at <= outer + kInside; ++at) {
        const counters::Count count = counted(at);
        if (!count.known || count.scaled) return {};
        if (at == outer) continue;
        own = std::min(own, count.value);
        inside += count.value;
      }
      const double rest = counted(outer).value - inside;
      least_outer = std::min(least_outer, rest);
    }
    overhead.own[event] = own;
    overhead.around[event] = std::max(0.0, (least_outer - own) / kInside);
  }
  return overhead;
}

}  // namespace

CountOverhead measure_overhead(const LogOptions& options) {
  if (options.events.empty()) return {};
  Log* const log =
      Log::make({.wanted = {}, .stacks = options.stacks, .events = options.events, .overhead = {}}, nullptr);
  record_round(*log);  // opens the counters, and reads the code into the caches
  for (uint32_t round = 1; round < kRounds; ++round) record_round(*log);
  log->stop();
  const LogContents contents = log->contents();
  const CountOverhead overhead =
      contents.threads.empty() ? CountOverhead{} : least_of(*contents.threads[0], options.events.size());
  log->release();
  return overhead;
}

}  // namespace kymo::edge
