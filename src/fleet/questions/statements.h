// The SQL of `kymo fleet`: one statement for each question, for ClickHouse 18.16 and later, or for DuckDB and a folder
// of Parquet files.
//
// A statement reads only complete attempts (push/tables.h). All texts of the user are quoted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "questions/target.h"
#include "questions/text_name.h"
#include "push/tables.h"

namespace kymo::fleet {

struct Selection {
  Target target;
  std::optional<std::string> job;   // without one: all jobs; a trace that names none has the job ""
  int64_t from = 0, to = 0;         // seconds since 1970; `to` is not included
  uint64_t limit = 20;              // rows
  std::vector<uint64_t> without{};  // traces that do not count
  bool only_iterations = false;     // diff and history: neither do traces without iterations
};

// Columns: name, on_device, calls, self_sum, total_sum, longest, traces, ranks, slowest_trace, slowest_rank.
std::string top_statement(const Selection& selection);

// Columns: side (1: from the minute of `middle` on), name, on_device (2: the iterations), samples, sums, counts. The
// three lists have an entry for each sample: a minute in which traces began, because all ranks of a job that are
// recorded together are one. Every sample has the same ranks, with the same weight; if ranks were recorded at different
// times, or in more minutes than the statistics use, it is several minutes. The counts of iterations are those weights.
std::string diff_statement(const Selection& selection, int64_t middle);

// Columns: with_iterations, without. How many traces of the selection have iterations, and how many have none, so that
// the whole trace counts as one.
std::string iterations_statement(const Selection& selection);

// Columns: rank, earlier, later. The ranks of the selection, and in how many minutes of each side they were recorded.
std::string diff_ranks_statement(const Selection& selection, int64_t middle);

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
// group that is not named; 0: unknown. Runs of a job that say which run they are (push/run_name.h) are compared apart.
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

// Columns: counted, sample (minutes since 1970), sum_ns, iterations, usual_ns, shown_by (a trace), ranks. No operation
// means the iterations. Only traces that have the operation count, and of these only ranks that were recorded
// throughout: in at least kFewestAround samples of both halves, or fewer if there are few. The others are the `ranks`
// of a row that is not counted. usual_ns is what these iterations of these ranks usually take.
std::string history_statement(const Selection& selection, const std::optional<Operation>& operation);

// Columns: trace, file. Traces of a server whose rows of iterations or, if `uses_operations`, of operations are all
// missing.
std::string lost_rows_statement(const Selection& selection, bool uses_operations);

// Columns: trace, file. Traces that have another number of rows in one of these tables than they were pushed with. For
// a server with counts (kRowCounts): in a folder, the files tell it.
enum class WrongCounts : uint8_t { Any, TooMany };
std::string wrong_counts_statement(const Selection& selection, const std::vector<const push::TableSpec*>& tables,
                                   WrongCounts wanted);

// Columns: trace, file, complete, its_host, its_program, its_job, rank, began_ns, duration_ns, events, bytes. The
// traces whose recording or file was cut off, or that are damaged (complete = 0), and those that began in the same
// nanosecond. And traces that began and ended in the same nanosecond, with as many events.
std::string same_recordings_statement(const Selection& selection);

// Columns: trace, its_calls, its_ns: of all operations of these traces.
std::string totals_statement(const Selection& selection, const std::vector<uint64_t>& traces);

// Columns: traces, outside_ns, inside_ns. How many traces have work of devices outside of iterations, how long it
// takes, and how long the work in iterations does.
std::string outside_statement(const Selection& selection);

// Columns: trace, file. A trace that was pushed without a number of calls of collectives, if there is one.
std::string uncounted_calls_statement(const Selection& selection);

// Columns: trace, file. Traces that have collectives in `operations`, and not the calls that stragglers needs.
std::string without_calls_statement(const Selection& selection);

// Columns: its_job, last (seconds since 1970). The jobs of all times, the chosen one first, then the latest: for a
// selection that has no traces.
std::string jobs_statement(const Selection& selection);

// Columns: its_job. The jobs of the selected time by name, at most kMostJobs.
inline constexpr int kMostJobs = 20;
std::string jobs_in_time_statement(const Selection& selection);

// Columns: trace, its_file, its_host, began (seconds since 1970). Traces of the selected job that begin after the
// selected time, and those that do not say when they were recorded and are before it.
std::string outside_time_statement(const Selection& selection);

// Column: version, of the tables.
std::string version_statement(const Target& target);

}  // namespace kymo::fleet
