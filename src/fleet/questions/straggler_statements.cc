// The statements of `kymo fleet stragglers`.
#include "base/text.h"
#include "questions/dialect.h"
#include "questions/statements.h"
#include "push/tables.h"

namespace kymo::fleet {
namespace {

// Which iterations of ranks can be compared. A rank and the time of a call are one number, which is compared faster
// than two: the time is in the higher bits.
constexpr int64_t kMostRanks = 1 << 20;
constexpr std::string_view kHasRank = "rank BETWEEN 0 AND 1048575", kIsNumber = "numbered = 1";
constexpr std::string_view kCallNs = "least(ns, 8796093022207)";  // 43 bits: 2.4 hours

// The job of a row. A text for each of millions of rows costs a server much, so the chosen job is a constant.
std::string its_job(const Selection& selection, const Dialect& dialect) {
  return selection.job ? dialect.text(*selection.job) : "CAST(job AS String)";
}

constexpr int64_t kClocksDiffer = 10'000'000'000;  // by at most this many nanoseconds between hosts
// Two traces of a rank with the same step have different runs of it if they began it at different times. Runs that are
// less than kRunsApart apart cannot be told apart by the clocks of their hosts.
constexpr int64_t kSameTime = 1'000'000, kRunsApart = 2 * kClocksDiffer;

// For each job, run, step and rank the newest trace: columns its_job, its_run, step, its_rank, newest_trace,
// newest_attempt, newest_ns, newest_began, newest_ended, and when an older run began the step: other_began of another
// trace, repeated_began of the same trace; 0: there is none. A run is a hash of its name: a text costs a server more.
std::string newest_of_ranks(const Selection& selection, const Dialect& dialect) {
  return base::format(
      "SELECT its_job, its_run, step, its_rank, argMax(its_trace, {0}) AS newest_trace,\n"
      "    argMax(its_attempt, {0}) AS newest_attempt, argMax(ns, {0}) AS newest_ns,\n"
      "    max(began) AS newest_began, argMax(ended, {0}) AS newest_ended,\n"
      "    {1} AS other_began, argMax(repeated, {0}) AS repeated_began\n"
      "  FROM (\n"
      "    SELECT {2} AS its_job, {11} AS its_run, iteration AS step, rank AS its_rank,\n"
      "      trace AS its_trace, attempt AS its_attempt, max(begin_ns) AS began, max(begin_ns + wall_ns) AS ended,\n"
      "      sum(CASE WHEN numbered = {3} THEN wall_ns ELSE 0 END) AS ns,\n"
      "      max(CASE WHEN numbered = {3} THEN 0 ELSE begin_ns END) AS repeated\n"
      "    FROM {4}\n"
      "    {5} (SELECT trace, attempt, CAST(run AS String) AS run FROM {6} WHERE {7}) AS runs\n"
      "    USING (trace, attempt)\n"
      "    WHERE {8}\n      AND numbered IN ({3}, {9}) AND {10}\n"
      "    GROUP BY its_job, its_run, step, its_rank, its_trace, its_attempt)\n"
      "  GROUP BY its_job, its_run, step, its_rank",
      "began", dialect.second_largest("began"), its_job(selection, dialect), static_cast<int>(push::kNumber),
      dialect.table(push::kIterations), dialect.left_join_everywhere(), dialect.table(push::kRuns),
      job_and_times(selection, dialect), chosen(selection, dialect), static_cast<int>(push::kRepeatedLater), kHasRank,
      dialect.hash("run"));
}

// A row of newest_of_ranks() whose rank has the step in another trace, which began it earlier; and one that has it
// earlier in any trace.
std::string has_older_trace() { return base::format("other_began > 0 AND other_began + {} < newest_began", kSameTime); }
std::string has_older_run() { return base::format("(repeated_began > 0 OR ({}))", has_older_trace()); }

// The same, with the columns run_began, when the last rank began the step, has_older_run, older_until and apart. A rank
// whose newest run of the step began before older_until is nearer to an older run of another rank than to its newest
// one. `apart`: how long before the newest run of a rank another trace of this rank began the step; the least of all
// ranks.
std::string runs_of_ranks(const Selection& selection, const Dialect& dialect, std::string_view more_of_run) {
  return base::format(
      "(\n"
      "  SELECT *, {0} AS its_rank, {7} AS newest_trace, {8} AS newest_attempt, {9} AS newest_ns,\n"
      "    {10} AS newest_began, {11} AS newest_ended\n"
      "  FROM (\n"
      "  SELECT its_job, its_run, step, max(newest_began) AS run_began,\n"
      "    max(CASE WHEN older_began > 0 THEN {1} ELSE 0 END) AS older_until,\n"
      "    min(CASE WHEN {2} THEN newest_began - other_began\n"
      "      ELSE CAST({3} AS Int64) END) AS apart, max(CASE WHEN {12} THEN 1 ELSE 0 END) AS has_older_run{4},\n"
      "    {5} AS one\n"
      "  FROM (\n  SELECT *, greatest(other_began, repeated_began) AS older_began FROM (\n  {6}))\n"
      "  GROUP BY its_job, its_run, step))",
      dialect.field(1), dialect.divided("(older_began + newest_began)", "2"), has_older_trace(), kRunsApart,
      more_of_run,
      dialect.each_of(dialect.list(
          dialect.tuple({"its_rank", "newest_trace", "newest_attempt", "newest_ns", "newest_began", "newest_ended"}))),
      newest_of_ranks(selection, dialect), dialect.field(2), dialect.field(3), dialect.field(4), dialect.field(5),
      dialect.field(6), has_older_run());
}

// Which rows of runs_of_ranks() count. A job may have run several times with the same steps, and the times of different
// runs must not be compared. All ranks of a run are in a step at the same time, because they wait for each other. So a
// rank counts only if its newest step of this number had not ended when the last rank began it.
std::string is_newest_run() {
  return base::format("newest_ended + {} >= run_began AND newest_began >= older_until AND apart >= {}", kClocksDiffer,
                      kRunsApart);
}

// For each job, run and step the newest trace of each rank that counts: columns its_job, its_run, step, its_rank,
// newest_trace, newest_attempt and newest_ns.
std::string newest_run(const Selection& selection, const Dialect& dialect) {
  return base::format(
      "SELECT its_job, its_run, step, its_rank, newest_trace, newest_attempt, newest_ns\nFROM {}\n"
      "WHERE {}",
      runs_of_ranks(selection, dialect, ""), is_newest_run());
}

// The calls that stragglers are found in: those of the newest runs.
std::string calls_of_runs(const Selection& selection, const Dialect& dialect) {
  return base::format("{} AND {} AND {} AND point_to_point = 0\n      AND {} {} (SELECT {} FROM ({}))",
                      job_and_times(selection, dialect), kIsNumber, kHasRank,
                      dialect.key("trace", "attempt", "iteration"), dialect.in(),
                      dialect.key("newest_trace", "newest_attempt", "step"), newest_run(selection, dialect));
}

// The calls, and why they do not count: columns its_job, step, same_call, present (ranks), waited, error, shortest,
// ns_sum, left_out and `more_of_call`. The innermost statement has few and small columns: it makes a row of each call
// of millions of rows, which servers send to each other.
std::string calls_by_reason(const Selection& selection, const Dialect& dialect, uint64_t ranks,
                            const std::string& more_of_call) {
  const bool has_job = selection.job.has_value();
  const std::string calls = base::format(
      "SELECT {0}{1}(iteration) AS step, same_call, count() AS present, max(members) AS its_members,\n"
      "          min({2} * {3} + rank) AS shortest, sum({2}) AS ns_sum, max(clock_error_ns) AS error{6}\n"
      "        FROM {4}\n        WHERE {5}\n        GROUP BY same_call",
      has_job ? "" : base::format("{}({}) AS its_job, ", dialect.any(), its_job(selection, dialect)), dialect.any(),
      kCallNs, kMostRanks, dialect.table(push::kCollectives), calls_of_runs(selection, dialect), more_of_call);
  return base::format(
      "SELECT *{}, ns_sum - {} * present AS waited,\n"
      "        CASE WHEN its_members = 0 AND {} = 0 THEN {}\n"
      "          WHEN present != CASE WHEN its_members = 0 THEN {} ELSE its_members END THEN {}\n"
      "          WHEN waited < error * (present - 1) THEN {} ELSE {} END AS left_out\n"
      "      FROM (\n        {})",
      has_job ? base::format(", {} AS its_job", its_job(selection, dialect)) : "",
      dialect.divided("shortest", std::to_string(kMostRanks)), ranks, static_cast<int>(LeftOut::UnknownMembers), ranks,
      static_cast<int>(LeftOut::MissingRanks), static_cast<int>(LeftOut::ClockError), static_cast<int>(LeftOut::No),
      calls);
}

}  // namespace

std::string stragglers_statement(const Selection& selection, uint64_t ranks) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT its_job, left_out, its_rank, its_calls, others_waited, worst_iteration, worst_call, clock_error, "
      "wall_sum, in_calls, older_runs\n"
      "FROM (\n"
      "  SELECT its_job, left_out, its_rank, count() AS its_calls, sum(waited) AS others_waited,\n"
      "    argMax(step, {0}) AS worst_iteration, argMax(same_call, {0}) AS worst_call, max(error) AS clock_error,\n"
      "    sum(ns_sum) AS in_calls\n"
      "  FROM (\n"
      "    SELECT its_job, step, same_call, waited, error, left_out, ns_sum,\n"
      "      CASE WHEN left_out = {1} THEN shortest % {2} ELSE -1 END AS its_rank\n"
      "    FROM (\n      {3}))\n"
      "  GROUP BY its_job, left_out, its_rank) AS waits\n"
      "{4} (\n  SELECT its_job, sum(CASE WHEN {7} THEN newest_ns ELSE 0 END) AS wall_sum,\n"
      "    max(has_older_run) AS older_runs\n  FROM {5}\n  GROUP BY its_job) AS walls\n"
      "USING (its_job)\nORDER BY left_out DESC, others_waited DESC, its_job, its_rank\nLIMIT {6}",
      ordered("waited", falling("step")), static_cast<int>(LeftOut::No), kMostRanks,
      calls_by_reason(selection, dialect, ranks, ""), dialect.join(), runs_of_ranks(selection, dialect, ""),
      selection.limit, is_newest_run());
}

std::string walls_statement(const Selection& selection, uint64_t ranks) {
  const Dialect dialect(selection.target);
  const std::string of_call =
      base::format(",\n          {}({}) AS call_key", dialect.any(), dialect.key("trace", "attempt", "iteration"));
  return base::format(
      "SELECT its_job, sum(newest_ns) AS wall_sum\nFROM (\n{0})\nWHERE (its_job, its_run, step) {1} (\n"
      "  SELECT its_job, its_run, step FROM (\n{0})\n  WHERE {2} {1} (\n"
      "    SELECT call_key FROM (\n      {3})\n    WHERE left_out IN ({4}, {5}) GROUP BY call_key)\n"
      "  GROUP BY its_job, its_run, step)\nGROUP BY its_job",
      newest_run(selection, dialect), dialect.in(), dialect.key("newest_trace", "newest_attempt", "step"),
      calls_by_reason(selection, dialect, ranks, of_call), static_cast<int>(LeftOut::No),
      static_cast<int>(LeftOut::ClockError));
}

std::string worst_calls_statement(const Selection& selection, const std::vector<uint64_t>& calls) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT same_call, rank, argMax(trace, begin_ns) AS its_trace,\n"
      "  {0}(CAST(process_group AS String)) AS its_group, {0}(CAST(name AS String)) AS operation\n"
      "FROM {1}\n{2} same_call IN ({3})\n{4} {5}\nGROUP BY same_call, rank",
      dialect.any(), dialect.table(push::kCollectives), dialect.first_where(), base::join(calls, ", "),
      dialect.next_where(), chosen(selection, dialect));
}

std::string members_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT CAST(job AS String) AS its_job, CAST(process_group AS String) AS its_group, max(members) AS "
      "its_members,\n"
      "  rank, count() AS its_calls\n"
      "FROM {}\nWHERE {}\nGROUP BY its_job, its_group, rank\nORDER BY its_job, its_group, rank",
      dialect.table(push::kCollectives), calls_of_runs(selection, dialect));
}

std::string other_runs_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT its_job, its_rank, last_rank, max(newest_trace) AS its_trace, max(last_trace) AS trace_of_last,\n"
      "  max(run_began - newest_began) AS between\n"
      "FROM {}\nWHERE (newest_ended + {} < run_began OR newest_began < older_until) AND apart >= {}\n"
      "GROUP BY its_job, its_rank, last_rank\nORDER BY its_job, last_rank, its_rank",
      runs_of_ranks(
          selection, dialect,
          ",\n    argMax(its_rank, newest_began) AS last_rank, argMax(newest_trace, newest_began) AS last_trace"),
      kClocksDiffer, kRunsApart);
}

std::string older_runs_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT its_job, at_once, its_rank, count() AS steps, max(newest_trace) AS its_trace\nFROM (\n"
      "  SELECT *, CASE WHEN {3} AND newest_began - other_began < {0} THEN 1 ELSE 0 END AS at_once\n  FROM (\n  {1})\n"
      "  WHERE {2})\n"
      "GROUP BY its_job, at_once, its_rank\nORDER BY its_job, at_once, its_rank",
      kRunsApart, newest_of_ranks(selection, dialect), has_older_run(), has_older_trace());
}

std::string numbers_of_runs_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format("SELECT its_job, count(DISTINCT its_run) AS runs\nFROM (\n  {})\nGROUP BY its_job",
                      newest_of_ranks(selection, dialect));
}

std::string hosts_statement(const Selection& selection, const std::vector<uint64_t>& traces) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT trace, argMax(CAST(host AS String), attempt) AS its_host\nFROM {}\nWHERE trace IN ({})\nGROUP BY trace",
      dialect.table(push::kTraces), base::join(traces, ", "));
}

std::string clock_errors_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT CAST(job AS String) AS its_job, argMax(rank, {0}) AS its_rank,\n"
      "  argMax(CAST(host AS String), {0}) AS its_host, max(clock_error_ns) AS error\n"
      "FROM {1}\nWHERE {2}\n  AND rank >= 0\nGROUP BY its_job",
      ordered("clock_error_ns", falling("rank")), dialect.table(push::kTraces), chosen(selection, dialect));
}

std::string uncounted_calls_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT trace, file\nFROM {}\nWHERE {}\n  AND (trace, attempt) {} (SELECT trace, attempt FROM {}\n"
      "    WHERE {} AND of_table = {})\nGROUP BY trace, file\nLIMIT 1",
      dialect.table(push::kTraces), chosen(selection, dialect), dialect.not_in(), dialect.table(push::kRowCounts),
      job_and_times(selection, dialect), push::quoted_text(push::kCollectives.name));
}

std::string without_calls_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  const std::string rows = job_and_times(selection, dialect);
  return base::format(
      "SELECT trace, file\nFROM {0}\nWHERE {1}\n  AND (trace, attempt) {2} (SELECT trace, attempt FROM {3}\n"
      "    WHERE {4} AND {5} AND numbered = 1 AND rank >= 0 GROUP BY trace, attempt)\n"
      "  AND (trace, attempt) {6} (SELECT trace, attempt FROM {7} WHERE {4} AND call = 0\n"
      "    GROUP BY trace, attempt)\nGROUP BY trace, file\nORDER BY file, trace",
      dialect.table(push::kTraces), chosen(selection, dialect), dialect.in(), dialect.table(push::kOperations), rows,
      push::kIsCommunication, dialect.not_in(), dialect.table(push::kCollectives));
}

}  // namespace kymo::fleet
