// The ranks that others wait for in collectives. stragglers_statement() says how they are found.
//
// Waits that cannot be compared are left out, and the notes say how many and why. If a few ranks lack a wait, it is
// compared for the others, and marked as partial: one that is missing may be the late one.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "push/clickhouse.h"
#include "questions/statements.h"

namespace kymo::fleet {

// Why waits do not count: those of a process group in an iteration.
enum class LeftOut : uint8_t {
  No = 0,          // the numbers are in the statement
  MissingRanks,    // at most half of the ranks of the group have them, or more than the group has
  UnknownMembers,  // the trace does not say how many ranks take part
  RunsAtOnce,      // a rank has the iteration more than once at nearly the same time
};

// Columns: its_job, left_out (LeftOut), its_rank, steps, times_last, others_waited, mean_wait, waited_itself, group_ns,
// its_group, worst_iteration, worst_trace, worst_name, partial_steps, period, worst_host.
//
// A collective ends on all ranks at the same time. So in an iteration, the rank that spends the least time in the
// collectives of a process group comes last, and what the others spend more is the time that they wait for it. That
// needs no common clock. It needs the ranks: of those that are missing, one may be the last. So more than half of the
// ranks of the group must be there, with the same calls. `ranks` are those of a group that is not named; 0: unknown.
//
// A row is a rank: with the process group in which the others wait the most for it together, what they wait there, what
// it waits itself in all of its groups, and the time of all ranks of the group. mean_wait is what each of the others
// waits on average, in the group where that is the most. Waits that do not count have the rank -1, and `steps` is how
// many iterations have some. Runs that say which run they are (push/processes.h) have rows of their own; others are
// told apart by time.
//
// With `every`, in seconds, a row is a rank in a period of this length, which begins at `period` (seconds since 1970).
std::string stragglers_statement(const Selection& selection, uint64_t ranks, int64_t every = 0);

// Columns: its_job, its_group, members, its_rank, all_calls, calls_apart: how many calls of a group each rank has, and
// how many of them too few others have at the same time.
std::string members_statement(const Selection& selection, uint64_t ranks);

struct StragglerRow {
  std::string job;
  int64_t rank = 0;
  int64_t period = 0;  // when it begins; 0: all of the time
  uint64_t times_last = 0, others_waited_ns = 0, waited_itself_ns = 0;
  uint64_t mean_wait_ns = 0;   // what each of the others waited
  uint64_t partial_steps = 0;  // iterations of a group in which it was last, and that other ranks lack
  uint64_t group_ns = 0;       // the time of all ranks of the group
  uint64_t worst_iteration = 0, worst_trace = 0;
  std::string group, worst_name, worst_host;
  double share = 0;  // others_waited_ns of the time of all ranks of the group

  // Others wait for it, and it does not wait for them: whoever waits as long is late because of another one. Half of it
  // is for chance.
  bool is_straggler() const { return mean_wait_ns > 0 && 2 * waited_itself_ns <= mean_wait_ns; }
};

struct Stragglers {
  std::set<std::string> jobs;      // those with waits that count
  std::vector<StragglerRow> rows;  // only stragglers; by period, and the largest shares first
  std::map<std::pair<std::string, LeftOut>, uint64_t> left_out;  // by job and reason: iterations with such waits
  std::set<std::string> partial;                                 // jobs with waits that count, and that ranks lack

  bool has_unknown_job() const;  // one that has waits, and none of them counts
};

// From the rows of stragglers_statement(). Rows are untrusted: throws kymo::Error if they are not what the statement
// asks for.
Stragglers read_stragglers(const push::Rows& rows);

// The same, and `notes`: which waits do not count, and why. If ranks lack some, asks which.
Stragglers ask_stragglers(const Selection& selection, const push::Rows& rows, uint64_t ranks,
                          std::vector<std::string>& notes);

// `members` are the rows of members_statement(), if ranks lack calls. They are untrusted, too.

// Which ranks of a job lack calls: "none of rank 3 of process group …". Empty if all have the same number.
std::string missing_ranks(const push::Rows& members, const std::string& job);

// A line for each job and reason.
std::vector<std::string> notes_of(const Stragglers& found, const push::Rows& members);

}  // namespace kymo::fleet
