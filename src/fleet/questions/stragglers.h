// The ranks that others wait for in collectives. stragglers_statement() says how they are found.
//
// A rank is never named on incomplete data: calls that cannot be compared are left out, and the notes say how many and
// why.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "push/clickhouse.h"
#include "questions/statements.h"

namespace kymo::fleet {

// Why calls of collectives do not count for stragglers.
enum class LeftOut : uint8_t {
  No,
  MissingRanks,    // not all ranks of the group have this call, or more than the group has
  UnknownMembers,  // the trace does not say how many ranks take part
  ClockError,      // the others waited less than the clock error of the traces, on average
};

// Columns: its_job, left_out (LeftOut), its_rank, its_calls, others_waited, worst_iteration, worst_call, clock_error,
// wall_sum (of the job), in_calls (what all ranks spent in these calls), older_runs (1: the job has
// some, and older_runs_statement() says which). The rows with calls that do not count have the
// rank -1, and come first. A collective ends on all ranks at the same time, so the rank that spends the least time in
// it came last, and the others waited for it. That needs no common clock. It needs all ranks: of those that are
// missing, one may be the last. So a call counts if every rank of its process group has it. `ranks` are those of a
// group that is not named; 0: unknown. Runs of a job that say which run they are (push/processes.h) are compared apart.
// If others have the same steps, only the newest run of a step counts, and none of them if they are too close to each
// other.
std::string stragglers_statement(const Selection& selection, uint64_t ranks);

// Columns: same_call, rank, its_trace (of the newest run), its_group, operation. Of these calls, which are `worst_call`
// above.
std::string worst_calls_statement(const Selection& selection, const std::vector<uint64_t>& calls);

// Columns: its_job, its_group, its_members, rank, its_calls: how many calls of a group each rank has that could count.
std::string members_statement(const Selection& selection);

// Columns: its_job, its_rank, last_rank, its_trace, trace_of_last, between. Ranks whose newest run of a step does not
// count, because it began up to `between` nanoseconds before `last_rank` began the step: it is an older run, or the
// clock of a host is wrong.
std::string other_runs_statement(const Selection& selection);

// Columns: its_job, wall_sum: as of stragglers_statement(), but only of iterations with calls that can be compared.
// Needed if there are others; it reads all calls again.
std::string walls_statement(const Selection& selection, uint64_t ranks);

// Columns: its_job, at_once, its_rank, steps, its_trace. Ranks that have steps twice: in another trace that began them
// earlier, or earlier in the same one. Those of the older run do not count. If the other trace began them shortly
// before (at_once = 1), which of them belongs to which trace of another rank is not known, and neither trace counts.
std::string older_runs_statement(const Selection& selection);

// Columns: its_job, runs: how many different runs the newest traces of a job are of.
std::string numbers_of_runs_statement(const Selection& selection);

// Columns: trace, its_host. Of these traces.
std::string hosts_statement(const Selection& selection, const std::vector<uint64_t>& traces);

// Columns: its_job, its_rank, its_host, error: the trace of each job that has the largest clock error.
std::string clock_errors_statement(const Selection& selection);

struct StragglerRow {
  std::string job;
  int64_t rank = 0;
  uint64_t times_last = 0, others_waited_ns = 0;
  uint64_t worst_iteration = 0, worst_call = 0, worst_trace = 0;
  std::string worst_group, worst_name, worst_host;
  double share = 0;  // of TimeOfJob
};

// Calls of a job that do not count.
struct CallsLeftOut {
  std::string job;
  LeftOut why = LeftOut::No;
  uint64_t calls = 0;
  uint64_t clock_error_ns = 0;  // of LeftOut::ClockError, the largest
};

// The times of all ranks of a job. A share is of the iterations, or of the calls if they took longer, as for a program
// whose devices work longer than its iterations on the host take.
struct TimeOfJob {
  uint64_t iterations_ns = 0, calls_ns = 0;
};

struct Stragglers {
  std::map<std::string, TimeOfJob> jobs;  // those with calls that count
  std::vector<StragglerRow> rows;         // the largest shares first; also ranks for which nobody waits
  std::vector<CallsLeftOut> left_out;
  bool may_have_older_runs = false;  // without calls, it is not known

  bool has_unknown_job() const;  // one that has calls, and none of them counts
};

// From the rows of stragglers_statement(), without the names and traces of the worst calls. Rows are untrusted: all of
// these throw kymo::Error if they are not what the statement asks for.
Stragglers read_stragglers(const push::Rows& rows);

// Replaces the times of iterations by those of walls_statement().
void set_iteration_times(Stragglers& stragglers, const push::Rows& rows);

// Adds what worst_calls_statement() has, and then what hosts_statement() has of their traces.
void add_worst_calls(Stragglers& stragglers, const push::Rows& rows);
void add_hosts(Stragglers& stragglers, const push::Rows& rows);

// From the rows of stragglers_statement(). Asks the database for the rest. The names of the worst calls are those of
// the first `limit` rows. `notes`: which calls do not count, and why (straggler_notes.h).
Stragglers ask_stragglers(const Selection& selection, const push::Rows& rows, uint64_t ranks, uint64_t limit,
                          std::vector<std::string>& notes);

}  // namespace kymo::fleet
