// Why waits in collectives do not count for stragglers, as lines for people.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "push/clickhouse.h"
#include "questions/stragglers.h"

namespace kymo::fleet {

// `members` are the rows of members_statement(), if ranks lack calls. They are untrusted: the functions below throw
// kymo::Error if rows are not what the statement asks for. `ranks` are those of a group that is not named.

// Which ranks of a job lack calls: "none of rank 3 of process group …". Empty if all have the same number.
std::string missing_ranks(const push::Rows& members, const std::string& job, uint64_t ranks);

// A line for each job and reason.
std::vector<std::string> notes_of(const std::vector<WaitsLeftOut>& left_out, const push::Rows& members, uint64_t ranks);

// A line for each job with waits that some ranks lack.
std::vector<std::string> notes_of_partial(const std::map<std::string, uint64_t>& partial, const push::Rows& members,
                                          uint64_t ranks);

std::vector<std::string> notes_of_older_runs(const std::set<std::string>& jobs);

// A line for each job about calls of which the traces do not say which collective they are. And one for each job that
// is not in `jobs_with_others`, which has calls that can show who is late: it has only sends, receives and calls with a
// root. The rows: its_job, waiting, operation, its_calls.
std::vector<std::string> notes_of_calls_without_wait(const push::Rows& rows,
                                                     const std::set<std::string>& jobs_with_others);

}  // namespace kymo::fleet
