// Why calls of collectives do not count for stragglers, as lines for people.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "push/clickhouse.h"
#include "questions/stragglers.h"

namespace kymo::fleet {

// The rows of further statements. They are untrusted: the functions below throw kymo::Error if they are not what the
// statement asks for.
struct LeftOutDetails {
  // If calls are left out for missing ranks.
  push::Rows members;          // members_statement()
  push::Rows other_runs;       // other_runs_statement()
  push::Rows hosts;            // hosts_statement(), of the traces of other_runs
  push::Rows numbers_of_runs;  // numbers_of_runs_statement()
  // If calls are left out for the clock error.
  push::Rows clock_errors;  // clock_errors_statement()
};

// Which ranks of a job lack calls: "no trace of rank 3 of process group …". Empty if all have the same number. `ranks`
// are those of a group that is not named.
std::string missing_ranks(const LeftOutDetails& details, const std::string& job, uint64_t ranks);

// A line for each job and reason.
std::vector<std::string> notes_of(const std::vector<CallsLeftOut>& left_out, const LeftOutDetails& details,
                                  uint64_t ranks);

// A line for each job and kind of older_runs_statement().
std::vector<std::string> notes_of_older_runs(const push::Rows& rows);

// A line for each job about calls of which the traces do not say which collective they are. And one for each job that
// is not in `jobs_with_others`, which has calls that can show who is late: it has only sends, receives and calls with a
// root. The rows: its_job, waiting, operation, its_calls.
std::vector<std::string> notes_of_calls_without_wait(const push::Rows& rows,
                                                     const std::set<std::string>& jobs_with_others);

}  // namespace kymo::fleet
