// The ranks of a merged trace: the iterations of each, and when it waits for the others in collectives.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyze/report/arrivals.h"
#include "analyze/report/iteration_operations.h"
#include "analyze/report/iterations.h"
#include "trace/reader.h"

namespace kymo::analyze {

struct RankTimes {
  std::string name;  // rank_name()
  std::set<trace::WriterId> writers;
  Iterations iterations;
  IterationNumbers numbers;  // of the iterations
  // In a collective, until the last rank arrived, which is `for_rank`, an index in the list of ranks; nothing: several.
  struct Wait {
    Interval time;
    std::optional<size_t> for_rank;
  };
  std::vector<Wait> waits;
  Intervals awaited;                               // all others wait for this one
  uint64_t calls = 0, last_at = 0, waited_ns = 0;  // as in RankArrivals, of all devices of the rank
  bool is_straggler = false;                       // straggler_of() is one of its devices
};

// By number. Empty if the trace has fewer than two ranks: processes that say which one they are, or that communicate.
// All of it is what make_report() says, which looks at the iterations of one rank only.
std::vector<RankTimes> find_ranks(const trace::Reader& reader);

}  // namespace kymo::analyze
