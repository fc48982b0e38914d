#include "fleet/statements.h"

#include <ctime>

#include "analyze/diff/statistics.h"
#include "base/text.h"
#include "fleet/parquet_store.h"
#include "fleet/text_name.h"
#include "push/tables.h"

namespace kymo::fleet {
namespace {

using push::quoted_name;
using push::quoted_text;

constexpr int64_t kMinute = 60;  // seconds
constexpr int kMostJobs = 20;
constexpr std::string_view kOnDevice = " (device)";

// What ClickHouse and DuckDB write differently. Functions and types that both have are written as both accept them.
class Dialect {
 public:
  explicit Dialect(const Target& target) : target_(target), is_server_(target.server.has_value()) {}

  std::string table(const push::TableSpec& table) const {
    if (!is_server_) return parquet_table(target_.folder, table);
    const push::Address& address = *target_.server;
    if (address.cluster.empty()) return base::format("{}.{}", quoted_name(address.database), quoted_name(table.name));
    return base::format("cluster({}, {}, {})", quoted_text(address.cluster), quoted_name(address.database),
                        quoted_name(table.name));
  }
  std::string text(const std::string& value) const {
    return is_server_ ? quoted_text(value) : query::sql_literal(text_of_name(value));
  }
  std::string time(int64_t seconds) const {
    if (is_server_) return base::format("toDateTime({})", seconds);
    const time_t given = seconds;
    std::tm parts{};
    ::gmtime_r(&given, &parts);
    return base::format("TIMESTAMP '{:04}-{:02}-{:02} {:02}:{:02}:{:02}'", parts.tm_year + 1900, parts.tm_mon + 1,
                        parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
  }
  // The minute in which a trace began, since 1970.
  std::string minute() const {
    return is_server_ ? "intDiv(toUnixTimestamp(started), 60)" : "epoch_us(started) // 60000000";
  }
  // The second, the same.
  std::string_view second() const { return is_server_ ? "toUnixTimestamp(started)" : "epoch_us(started) // 1000000"; }
  std::string divided(const std::string& a, const std::string& b) const {
    return is_server_ ? base::format("intDiv({}, {})", a, b) : base::format("{} // {}", a, b);
  }
  // GLOBAL: the marks of all servers of a cluster count, and not only those beside the rows.
  std::string_view in() const { return is_server_ ? "GLOBAL IN" : "IN"; }
  std::string_view not_in() const { return is_server_ ? "GLOBAL NOT IN" : "NOT IN"; }
  // ALL: old servers want to be told that a row may match several.
  std::string_view join() const { return is_server_ ? "ALL INNER JOIN" : "INNER JOIN"; }
  // Of a table of the selection: each server of a cluster gets the right side.
  std::string_view join_everywhere() const { return is_server_ ? "GLOBAL ALL INNER JOIN" : "INNER JOIN"; }
  // A condition that few rows meet, and the others. The server reads the columns of the others only for these rows.
  std::string_view first_where() const { return is_server_ ? "PREWHERE" : "WHERE"; }
  std::string_view next_where() const { return is_server_ ? "WHERE" : "AND"; }
  // Of any row: the same in all rows of a group.
  std::string_view any() const { return is_server_ ? "any" : "any_value"; }
  std::string list(std::string_view of) const { return base::format("{}({})", is_server_ ? "groupArray" : "list", of); }

 private:
  const Target& target_;
  const bool is_server_;
};

// A number for argMin and argMax: by `value`, and of equal ones by `then`, which is below kThen. The order of rows is
// not defined, so without a second key the answer would not be. A tuple is compared several times slower, which matters
// for millions of rows. Values count up to 19 hours of nanoseconds.
constexpr int64_t kThen = 1 << 17;
std::string ordered(std::string_view value, const std::string& then) {
  return base::format("least({}, {}) * {} + {}", value, (int64_t{1} << 46) - 1, kThen, then);
}
std::string rising(std::string_view number) { return base::format("{} % {}", number, kThen); }
std::string falling(std::string_view number) { return base::format("({} - {} % {})", kThen - 1, number, kThen); }

std::string times_of(const Selection& selection, const Dialect& dialect) {
  return base::format("started >= {} AND started < {}", dialect.time(selection.from), dialect.time(selection.to));
}

// The conditions of the sorting key.
std::string job_and_times(const Selection& selection, const Dialect& dialect) {
  const std::string times = times_of(selection, dialect);
  return selection.job ? base::format("job = {} AND {}", dialect.text(*selection.job), times) : times;
}

// The rows of the selection, without those of attempts that were not completed.
std::string chosen(const Selection& selection, const Dialect& dialect) {
  return base::format("{}\n  AND (trace, attempt) {} (SELECT trace, max(attempt) FROM {} WHERE {} GROUP BY trace{})",
                      job_and_times(selection, dialect), dialect.in(), dialect.table(push::kTraces),
                      times_of(selection, dialect),
                      selection.job ? " HAVING argMax(job, attempt) = " + dialect.text(*selection.job) : "");
}

// How many minutes are one sample of a comparison: as many as leave the statistics of both sides all the values that
// they use. More values would only be averaged later.
std::string minutes_of_sample(const Selection& selection, const Dialect& dialect, int64_t middle) {
  // ELSE 0: old servers count a list of only NULL as NULL.
  const auto minutes = [&](std::string_view compare) {
    return base::format("count(DISTINCT CASE WHEN {0} {1} {2} THEN {0} ELSE 0 END)", dialect.minute(), compare, middle);
  };
  return base::format("greatest(1, (SELECT {}\n      FROM {} WHERE {}))",
                      dialect.divided(base::format("least({},\n        {})", minutes("<"), minutes(">=")),
                                      std::to_string(analyze::kMostValues)),
                      dialect.table(push::kTraces), job_and_times(selection, dialect));
}

// For each job and step the newest run of each rank: columns its_job, step, its_rank, newest_trace, newest_attempt and
// newest_ns. A job may have run several times with the same steps, and the times of different runs must not be
// compared. All ranks of a run are in a step at the same time, because they wait for each other. So a rank counts only
// if its newest step of this number had not ended when the last rank began it.
std::string newest_run(const Selection& selection, const Dialect& dialect) {
  constexpr int64_t kClocksDiffer = 10'000'000'000;  // by at most this many nanoseconds between hosts
  constexpr std::string_view kNewest = "(began, its_trace)";
  return base::format(
      "SELECT its_job, step, its_rank, newest_trace, newest_attempt, newest_ns\n"
      "FROM (\n"
      "  SELECT its_job, step, its_rank, argMax(its_trace, {0}) AS newest_trace,\n"
      "    argMax(its_attempt, {0}) AS newest_attempt, argMax(ns, {0}) AS newest_ns,\n"
      "    argMax(ended, {0}) AS newest_ended\n"
      "  FROM (\n"
      "    SELECT CAST(job AS String) AS its_job, iteration AS step, rank AS its_rank, trace AS its_trace,\n"
      "      attempt AS its_attempt, max(begin_ns) AS began, max(begin_ns + wall_ns) AS ended, sum(wall_ns) AS ns\n"
      "    FROM {1}\n    WHERE {2}\n      AND numbered = 1 AND rank >= 0\n"
      "    GROUP BY its_job, step, its_rank, its_trace, its_attempt)\n"
      "  GROUP BY its_job, step, its_rank) AS ranks\n"
      "{3} (\n"
      "  SELECT CAST(job AS String) AS its_job, iteration AS step, max(begin_ns) AS run_began\n"
      "  FROM {1}\n  WHERE {2}\n    AND numbered = 1 AND rank >= 0\n"
      "  GROUP BY its_job, step) AS runs\n"
      "USING (its_job, step)\nWHERE newest_ended + {4} >= run_began",
      kNewest, dialect.table(push::kIterations), chosen(selection, dialect), dialect.join(), kClocksDiffer);
}

// The calls that stragglers are found in: those of the newest runs.
std::string calls_of_runs(const Selection& selection, const Dialect& dialect) {
  return base::format(
      "{} AND numbered = 1 AND rank >= 0 AND point_to_point = 0\n"
      "      AND (trace, attempt, iteration) {} (SELECT newest_trace, newest_attempt, step FROM ({}))",
      job_and_times(selection, dialect), dialect.in(), newest_run(selection, dialect));
}

}  // namespace

std::string top_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT CAST(name AS String) AS operation, on_device, sum(count) AS calls, sum(self_ns) AS self_sum,\n"
      "  sum(total_ns) AS total_sum, max(max_ns) AS longest, count(DISTINCT trace) AS traces,\n"
      "  count(DISTINCT rank) AS ranks, argMax(trace, {3}) AS slowest_trace, argMax(rank, {3}) AS slowest_rank\n"
      "FROM {0}\nWHERE {1}\nGROUP BY operation, on_device\nORDER BY self_sum DESC, operation, on_device\nLIMIT {2}",
      dialect.table(push::kOperations), chosen(selection, dialect), selection.limit,
      ordered("max_ns", rising("trace")));
}

std::string diff_statement(const Selection& selection, int64_t middle) {
  const Dialect dialect(selection.target);
  const int64_t minute = middle / kMinute;
  // The sample of each trace comes by a join, and not by a division in GROUP BY: old servers of a cluster do not know
  // the value of a subquery of another server there.
  const std::string samples = base::format(
      "{} (\n      SELECT started, CAST({} >= {} AS UInt8) AS side,\n        {} AS sample\n"
      "      FROM {} WHERE {} GROUP BY started) AS traces\n    USING (started)",
      dialect.join_everywhere(), dialect.minute(), minute,
      dialect.divided(dialect.minute(), minutes_of_sample(selection, dialect, minute)), dialect.table(push::kTraces),
      job_and_times(selection, dialect));
  const auto sums = [&](const push::TableSpec& table, std::string_view name, std::string_view device,
                        std::string_view ns) {
    return base::format(
        "  SELECT side, sample, {} AS operation, CAST({} AS UInt8) AS device, sum({}) AS ns, count() AS n\n"
        "  FROM {} {}\n  WHERE {}\n  GROUP BY side, sample, operation, device",
        name, device, ns, dialect.table(table), samples, chosen(selection, dialect));
  };
  return base::format(
      "SELECT side, operation, device, {} AS samples, {} AS sums, {} AS counts\nFROM (\n{}\n  UNION ALL\n{})\n"
      "GROUP BY side, operation, device\nORDER BY side, operation, device",
      dialect.list("sample"), dialect.list("ns"), dialect.list("n"),
      sums(push::kOperations, "CAST(name AS String)", "on_device", "self_ns"),
      sums(push::kIterations, "''", "2", "wall_ns"));
}

std::string stragglers_statement(const Selection& selection, uint64_t ranks) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT its_job, left_out, its_rank, its_calls, others_waited, worst_iteration, worst_call, clock_error, "
      "wall_sum\n"
      "FROM (\n"
      "  SELECT its_job, left_out, its_rank, count() AS its_calls, sum(waited) AS others_waited,\n"
      "    argMax(step, {0}) AS worst_iteration, argMax(same_call, {0}) AS worst_call, max(error) AS clock_error\n"
      "  FROM (\n"
      "    SELECT its_job, step, same_call, waited, error, left_out,\n"
      "      CASE WHEN left_out = {1} THEN last_rank ELSE -1 END AS its_rank\n"
      "    FROM (\n"
      "      SELECT its_job, step, same_call, waited, error, last_rank,\n"
      "        CASE WHEN its_members = 0 THEN {2} WHEN present != its_members THEN {3}\n"
      "          WHEN waited < error * (present - 1) THEN {4} ELSE {1} END AS left_out\n"
      "      FROM (\n"
      "        SELECT {5}(CAST(job AS String)) AS its_job, {5}(iteration) AS step, same_call, count() AS present,\n"
      "          CASE WHEN max(members) = 0 THEN {6} ELSE max(members) END AS its_members,\n"
      "          argMin(rank, {7}) AS last_rank, sum(ns) - min(ns) * count() AS waited,\n"
      "          max(clock_error_ns) AS error\n"
      "        FROM {8}\n        WHERE {9}\n        GROUP BY same_call)))\n"
      "  GROUP BY its_job, left_out, its_rank) AS waits\n"
      "{10} (SELECT its_job, sum(newest_ns) AS wall_sum FROM ({11}) GROUP BY its_job) AS walls\n"
      "USING (its_job)\nORDER BY left_out DESC, others_waited DESC, its_job, its_rank\nLIMIT {12}",
      ordered("waited", falling("step")), static_cast<int>(LeftOut::No), static_cast<int>(LeftOut::UnknownMembers),
      static_cast<int>(LeftOut::MissingRanks), static_cast<int>(LeftOut::ClockError), dialect.any(), ranks,
      ordered("ns", rising("rank")), dialect.table(push::kCollectives), calls_of_runs(selection, dialect),
      dialect.join(), newest_run(selection, dialect), selection.limit);
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

namespace {

// The rows of an operation as `top` lists it: "gemm", or "gemm (device)". Both may have the same name; the one on the
// host is meant if there is one.
std::string rows_of_operation(const Dialect& dialect, const std::string& where, const std::string& operation) {
  const std::string is_name = base::format("name = {}", dialect.text(operation));
  std::string rows = base::format("{0} AND on_device = (SELECT min(on_device) FROM {1}\n    WHERE {2}\n    AND {0})",
                                  is_name, dialect.table(push::kOperations), where);
  if (!operation.ends_with(kOnDevice)) return rows;
  const std::string name = operation.substr(0, operation.size() - kOnDevice.size());
  return base::format("({} OR (name = {} AND on_device = 1))", is_name, dialect.text(name));
}

}  // namespace

std::string history_statement(const Selection& selection, const std::string& operation) {
  const Dialect dialect(selection.target);
  const std::string where = chosen(selection, dialect);
  if (operation.empty())
    return base::format(
        "SELECT {} AS sample, sum(wall_ns) AS sum_ns, count() AS iterations, argMax(trace, wall_ns) AS shown_by\n"
        "FROM {}\nWHERE {}\nGROUP BY sample\nORDER BY sample",
        dialect.minute(), dialect.table(push::kIterations), where);
  // A trace without the operation says nothing about it, so its iterations do not count.
  return base::format(
      "SELECT sample, sum(ns) AS sum_ns, sum(n) AS iterations, max(its_trace) AS shown_by\n"
      "FROM (\n"
      "  SELECT {0} AS sample, sum(self_ns) AS ns, CAST(0 AS UInt64) AS n, argMax(trace, self_ns) AS its_trace\n"
      "  FROM {1}\n  WHERE {2}\n  AND {3}\n  GROUP BY sample\n"
      "  UNION ALL\n"
      "  SELECT {0} AS sample, CAST(0 AS UInt64) AS ns, count() AS n, CAST(0 AS UInt64) AS its_trace\n"
      "  FROM {4}\n  WHERE {2}\n"
      "  AND trace {5} (SELECT trace FROM {1}\n    WHERE {2}\n    AND {3})\n  GROUP BY sample)\n"
      "GROUP BY sample\nHAVING iterations > 0\nORDER BY sample",
      dialect.minute(), dialect.table(push::kOperations), where, rows_of_operation(dialect, where, operation),
      dialect.table(push::kIterations), dialect.in());
}

std::string lost_rows_statement(const Selection& selection, bool uses_operations) {
  const Dialect dialect(selection.target);
  const std::string rows = job_and_times(selection, dialect);
  const auto has = [&](const push::TableSpec& table) {
    return base::format("(trace, attempt) {} (SELECT trace, attempt FROM {} WHERE {} GROUP BY trace, attempt)",
                        dialect.in(), dialect.table(table), rows);
  };
  return base::format(
      "SELECT trace, file\nFROM {}\nWHERE {} AND iterations > 0\n  AND NOT ({}{}{})\nGROUP BY trace, file\n"
      "ORDER BY file, trace",
      dialect.table(push::kTraces), chosen(selection, dialect), has(push::kIterations),
      uses_operations ? "\n  AND " : "", uses_operations ? has(push::kOperations) : "");
}

std::string wrong_counts_statement(const Selection& selection, bool uses_operations) {
  const Dialect dialect(selection.target);
  const std::string rows = job_and_times(selection, dialect);
  std::string counts = base::format(
      "    SELECT trace, attempt, CAST(of_table AS String) AS its_table, toInt64(max(row_count)) AS n\n"
      "    FROM {} WHERE {} GROUP BY trace, attempt, its_table\n",
      dialect.table(push::kRowCounts), rows);
  std::vector<std::string> names;
  for (const push::TableSpec* table :
       {&push::kIterations, uses_operations ? &push::kOperations : &push::kCollectives}) {
    names.push_back(quoted_text(table->name));
    base::format_to(counts,
                    "    UNION ALL SELECT trace, attempt, {} AS its_table, -toInt64(count()) AS n\n"
                    "    FROM {} WHERE {} GROUP BY trace, attempt\n",
                    names.back(), dialect.table(*table), rows);
  }
  return base::format(
      "SELECT trace, file\nFROM {0}\nWHERE {1}\n  AND (trace, attempt) {2} (SELECT trace, attempt FROM (\n{3}  )\n"
      "  WHERE its_table IN ({4}) GROUP BY trace, attempt, its_table HAVING max(n) >= 0 AND sum(n) != 0)\n"
      "GROUP BY trace, file\nORDER BY file, trace",
      dialect.table(push::kTraces), chosen(selection, dialect), dialect.in(), counts, base::join(names, ", "));
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

std::string jobs_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT its_job, max(began) AS last\nFROM (\n"
      "  SELECT argMax(CAST(job AS String), attempt) AS its_job, argMax({}, attempt) AS began\n"
      "  FROM {}\n  GROUP BY trace)\nGROUP BY its_job\nORDER BY {}last DESC, its_job\nLIMIT {}",
      dialect.second(), dialect.table(push::kTraces),
      selection.job ? base::format("its_job = {} DESC, ", dialect.text(*selection.job)) : "", kMostJobs);
}

std::string version_statement(const Target& target) {
  return base::format("SELECT max(version) AS version FROM {}", Dialect(target).table(push::kSchema));
}

}  // namespace kymo::fleet
