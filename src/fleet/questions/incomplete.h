// Whether the database can answer, and what does not count in an answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "questions/statements.h"

namespace kymo::fleet {

// Throws kymo::Error if the database has no tables of Kymo, or those of another version.
void refuse_other_tables(const Target& target);

// How many traces of a selection do not count. All functions throw kymo::Error.
struct CountedTraces {
  uint64_t counted = 0;
  uint64_t incomplete = 0;  // their recording or file was cut off, or is damaged
  uint64_t copies = 0;      // of a recording of which another file counts

  // A line for each kind, for people.
  std::vector<std::string> lines() const;
};
CountedTraces count_traces(const Selection& selection);

// For diff_statement() and history_statement(): if some traces have iterations, the others do not count, because the
// time of a whole trace is not that of an iteration. Then a line says how many.
std::vector<std::string> leave_out_whole_traces(Selection& selection);

// For top_statement(): the time that its shares are of, and how devices spend it.
struct TimesOfTop {
  uint64_t iterations_ns = 0;  // of all ranks together
  uint64_t compute_ns = 0, communication_ns = 0, copies_ns = 0, idle_ns = 0;
  uint64_t outside_ns = 0, traces_outside = 0;  // work that was launched outside of iterations

  uint64_t devices_ns() const { return compute_ns + communication_ns + copies_ns + idle_ns; }
  // A line if devices work outside of iterations for more than a hundredth of their time: that is not in the answer.
  std::vector<std::string> lines() const;
};
TimesOfTop times_of_top(const Selection& selection);

}  // namespace kymo::fleet
