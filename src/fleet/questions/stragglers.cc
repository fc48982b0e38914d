// The statements of `kymo fleet stragglers`.

#include "questions/stragglers.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "kymo/error.h"
#include "push/tables.h"
#include "questions/statements.h"
#include "questions/straggler_notes.h"

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

namespace {

using push::parse_i64;
using push::parse_u64;

// And sorts by them.
void set_shares(Stragglers& stragglers) {
  for (StragglerRow& one : stragglers.rows) {
    const TimeOfJob& time = stragglers.jobs[one.job];
    const uint64_t all = std::max(time.iterations_ns, time.calls_ns);
    one.share = all == 0 ? 0 : static_cast<double>(one.others_waited_ns) / static_cast<double>(all);
  }
  std::stable_sort(stragglers.rows.begin(), stragglers.rows.end(),
                   [](const StragglerRow& a, const StragglerRow& b) { return a.share > b.share; });
}

}  // namespace

Stragglers read_stragglers(const push::Rows& rows) {
  push::expect_columns(rows, 11);
  Stragglers found;
  found.may_have_older_runs = rows.rows.empty();
  for (const auto& row : rows.rows) {
    const auto number = [&](size_t i) { return parse_u64(row[i], rows.columns[i]); };
    found.may_have_older_runs |= number(10) != 0;
    const uint64_t left_out = number(1);
    if (left_out > static_cast<uint64_t>(LeftOut::ClockError))
      throw Error(base::format("the server's answer has {} in the column {}", left_out, rows.columns[1]));
    if (const auto why = static_cast<LeftOut>(left_out); why != LeftOut::No) {
      found.left_out.push_back({row[0], why, number(3), number(7)});
      continue;
    }
    StragglerRow& one = found.rows.emplace_back();
    one.job = row[0];
    one.rank = parse_i64(row[2], rows.columns[2]);
    one.times_last = number(3);
    one.others_waited_ns = number(4);
    one.worst_iteration = number(5);
    one.worst_call = number(6);
    TimeOfJob& time = found.jobs[one.job];
    time.iterations_ns = number(8);
    time.calls_ns += number(9);
  }
  set_shares(found);
  return found;
}

bool Stragglers::has_unknown_job() const {
  return std::any_of(left_out.begin(), left_out.end(),
                     [&](const CallsLeftOut& one) { return !jobs.contains(one.job); });
}

void set_iteration_times(Stragglers& stragglers, const push::Rows& rows) {
  push::expect_columns(rows, 2);
  for (const auto& row : rows.rows)
    if (const auto found = stragglers.jobs.find(row[0]); found != stragglers.jobs.end())
      found->second.iterations_ns = parse_u64(row[1], rows.columns[1]);
  set_shares(stragglers);
}

void add_worst_calls(Stragglers& stragglers, const push::Rows& rows) {
  push::expect_columns(rows, 5);
  std::map<std::pair<uint64_t, int64_t>, const std::vector<std::string>*> calls;
  for (const auto& row : rows.rows)
    calls[{parse_u64(row[0], rows.columns[0]), parse_i64(row[1], rows.columns[1])}] = &row;
  for (StragglerRow& one : stragglers.rows) {
    const auto found = calls.find({one.worst_call, one.rank});
    if (found == calls.end()) continue;
    const std::vector<std::string>& row = *found->second;
    one.worst_trace = parse_u64(row[2], rows.columns[2]);
    one.worst_group = row[3];
    one.worst_name = row[4];
  }
}

void add_hosts(Stragglers& stragglers, const push::Rows& rows) {
  push::expect_columns(rows, 2);
  std::map<uint64_t, std::string> hosts;
  for (const auto& row : rows.rows) hosts[parse_u64(row[0], rows.columns[0])] = row[1];
  for (StragglerRow& one : stragglers.rows)
    if (const auto found = hosts.find(one.worst_trace); found != hosts.end()) one.worst_host = found->second;
}

namespace {

// Calls on devices in which the ranks do not wait for each other, or may not: they do not show who is late.
// Columns: its_job, waiting (analyze::Waiting), operation, its_calls (of all ranks). Only of numbered iterations and of
// traces with a rank, as stragglers_statement().
std::string calls_without_wait_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT CAST(job AS String) AS its_job, point_to_point AS waiting, CAST(name AS String) AS operation,\n"
      "  count() AS its_calls\n"
      "FROM {}\n{} point_to_point > 0\n{} {}\n  AND numbered = 1 AND rank >= 0\nGROUP BY its_job, waiting, operation\n"
      "ORDER BY its_job, waiting, operation",
      dialect.table(push::kCollectives), dialect.first_where(), dialect.next_where(), chosen(selection, dialect));
}

push::Rows list_of(const Selection& selection, const std::string& statement, size_t columns) {
  push::Rows rows = ask(selection.target, statement);
  push::expect_columns(rows, columns);
  return rows;
}

LeftOutDetails details_of(const Selection& selection, const std::vector<CallsLeftOut>& left_out) {
  const auto has = [&](LeftOut why) {
    return std::any_of(left_out.begin(), left_out.end(), [&](const CallsLeftOut& one) { return one.why == why; });
  };
  LeftOutDetails details;
  if (has(LeftOut::ClockError)) details.clock_errors = list_of(selection, clock_errors_statement(selection), 4);
  if (!has(LeftOut::MissingRanks)) return details;
  details.members = list_of(selection, members_statement(selection), 5);
  details.other_runs = list_of(selection, other_runs_statement(selection), 6);
  details.numbers_of_runs = list_of(selection, numbers_of_runs_statement(selection), 2);
  std::set<uint64_t> traces;
  for (const auto& row : details.other_runs.rows)
    for (const size_t column : {3, 4}) traces.insert(parse_u64(row[column], details.other_runs.columns[column]));
  if (!traces.empty())
    details.hosts = list_of(selection, hosts_statement(selection, {traces.begin(), traces.end()}), 2);
  return details;
}

}  // namespace

Stragglers ask_stragglers(const Selection& selection, const push::Rows& rows, uint64_t ranks, uint64_t limit,
                          std::vector<std::string>& notes) {
  Stragglers found = read_stragglers(rows);
  std::future<push::Rows> without_wait = ask_later(selection.target, calls_without_wait_statement(selection));
  // Iterations without comparable calls must not make the shares of the others smaller.
  if (!found.rows.empty() && std::any_of(found.left_out.begin(), found.left_out.end(),
                                         [](const CallsLeftOut& one) { return one.why != LeftOut::ClockError; }))
    set_iteration_times(found, ask(selection.target, walls_statement(selection, ranks)));
  std::vector<uint64_t> calls;
  for (const StragglerRow& row : found.rows)
    if (calls.size() < limit && row.others_waited_ns > 0) calls.push_back(row.worst_call);
  if (!calls.empty()) {
    add_worst_calls(found, ask(selection.target, worst_calls_statement(selection, calls)));
    std::vector<uint64_t> traces;
    for (const StragglerRow& row : found.rows)
      if (row.worst_trace != 0) traces.push_back(row.worst_trace);
    if (!traces.empty()) add_hosts(found, ask(selection.target, hosts_statement(selection, traces)));
  }
  // Of several jobs, one may have older runs and no calls.
  if (!selection.job || found.may_have_older_runs)
    for (std::string& note : notes_of_older_runs(ask(selection.target, older_runs_statement(selection))))
      notes.push_back(std::move(note));
  const std::vector<std::string> more = notes_of(found.left_out, details_of(selection, found.left_out), ranks);
  notes.insert(notes.end(), more.begin(), more.end());
  std::set<std::string> jobs;
  for (const StragglerRow& row : found.rows) jobs.insert(row.job);
  for (const CallsLeftOut& one : found.left_out) jobs.insert(one.job);
  for (std::string& note : notes_of_calls_without_wait(without_wait.get(), jobs)) notes.push_back(std::move(note));
  return found;
}

}  // namespace kymo::fleet
