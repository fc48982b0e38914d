#include "questions/statements.h"

#include <algorithm>
#include <ctime>

#include "analyze/diff/statistics.h"
#include "base/text.h"
#include "kymo/error.h"
#include "questions/change_points.h"
#include "questions/parquet_store.h"

namespace kymo::fleet {
namespace {

// Since 1970.
constexpr std::string_view kMinuteOfTrace = "intDiv(toUnixTimestamp(started), 60)";

}  // namespace

std::string sql(std::string_view text, std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
  std::string out;
  for (size_t open = text.find('{'); open != text.npos; open = text.find('{')) {
    const size_t close = std::min(text.find('}', open), text.size() - 1);
    const std::string_view name = text.substr(open + 1, close - open - 1);
    const auto found = std::find_if(values.begin(), values.end(), [&](const auto& one) { return one.first == name; });
    if (found == values.end()) throw Error(base::format("a statement has no value for {}", name));
    (out += text.substr(0, open)) += found->second;
    text.remove_prefix(close + 1);
  }
  return out += text;
}

std::string Dialect::table(const push::TableSpec& table) const {
  return is_server_ ? push::table_everywhere(*target_.server, table) : parquet_table(target_.folder, table);
}

std::string Dialect::text(const std::string& value) const {
  return is_server_ ? push::quoted_text(value) : query::sql_literal(text_of_name(value));
}

std::string ordered(std::string_view value, std::string_view number) {
  constexpr int64_t kNumbers = 1 << 17, kValues = int64_t{1} << 46;
  return base::format("least({}, {}) * {} + ({} - {} % {})", value, kValues - 1, kNumbers, kNumbers - 1, number,
                      kNumbers);
}

std::string times_of(const Selection& selection) {
  const std::string times =
      base::format("started >= toDateTime({}) AND started < toDateTime({})", selection.from, selection.to);
  if (selection.gap_from == selection.gap_to) return times;
  return base::format("{} AND (started < toDateTime({}) OR started >= toDateTime({}))", times, selection.gap_from,
                      selection.gap_to);
}

std::string job_and_times(const Selection& selection, const Dialect& dialect) {
  const std::string times = times_of(selection);
  return selection.job ? base::format("job = {} AND {}", dialect.text(*selection.job), times) : times;
}

namespace {

// The condition of the selected rows of `traces`, of any time.
std::string selected(const Selection& selection, const Dialect& dialect) {
  std::string where = selection.job ? "job = " + dialect.text(*selection.job) : "1 = 1";
  std::vector<std::string> runs;
  for (const std::string& run : selection.runs) runs.push_back(dialect.text(run));
  if (!runs.empty()) base::format_to(where, " AND run IN ({})", base::join(runs, ", "));
  if (selection.rank) base::format_to(where, " AND rank = {}", *selection.rank);
  if (selection.host) base::format_to(where, " AND host = {}", dialect.text(*selection.host));
  if (selection.only_iterations) where += " AND whole = 0";
  return where;
}

}  // namespace

std::string chosen(const Selection& selection, const Dialect& dialect) {
  return sql(R"({job and times}
  AND cityHash64(trace, attempt) {global}IN (
    SELECT cityHash64(argMax(trace, attempt), max(attempt)) AS newest FROM {traces}
    WHERE {selected} AND {times} AND complete = 1 GROUP BY recording))",
             {{"job and times", job_and_times(selection, dialect)},
              {"global", dialect.global()},
              {"traces", dialect.table(push::kTraces)},
              {"selected", selected(selection, dialect)},
              {"times", times_of(selection)}});
}

std::string traces_statement(const Selection& selection, int64_t now) {
  const Dialect dialect(selection.target);
  return sql(R"(SELECT era, complete, whole, count(DISTINCT trace) AS traces, count(DISTINCT recording) AS recordings,
  argMax(trace, began) AS its_trace, argMax(file, began) AS its_file, argMax(its_host, began) AS host_of_trace,
  max(began) AS newest
FROM (
  SELECT *, toUnixTimestamp(started) AS began, CAST(host AS String) AS its_host,
    CASE WHEN {times} THEN 0 WHEN started >= toDateTime({now}) THEN 1 ELSE 2 END AS era
  FROM {traces} WHERE {selected} AND ({times} OR started >= toDateTime({now}) OR started < toDateTime({undated}))) AS of_eras
GROUP BY era, complete, whole)",
             {{"times", times_of(selection)},
              {"now", std::to_string(now)},
              {"undated", std::to_string(push::kFirstDate)},
              {"traces", dialect.table(push::kTraces)},
              {"selected", selected(selection, dialect)}});
}

std::string runs_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return sql(
      R"(SELECT CAST(job AS String) AS its_job, CAST(run AS String) AS its_run, min(toUnixTimestamp(started)) AS first,
  max(toUnixTimestamp(started)) AS last, count(DISTINCT trace) AS traces, count(DISTINCT rank) AS ranks, count(DISTINCT host) AS hosts,
  intDiv(sum(wall_ns), greatest(sum(iterations), 1)) AS iteration_ns
FROM {traces} WHERE {chosen}
GROUP BY its_job, its_run ORDER BY last DESC, its_job, its_run LIMIT {limit})",
      {{"traces", dialect.table(push::kTraces)},
       {"chosen", chosen(selection, dialect)},
       {"limit", std::to_string(selection.limit)}});
}

std::string times_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(R"(SELECT CAST(part AS String) AS its_part, sum(ns) AS its_ns, count(DISTINCT trace) AS traces
FROM {0} WHERE {1} GROUP BY its_part
UNION ALL
SELECT '' AS its_part, sum(wall_ns) AS its_ns, count(DISTINCT trace) AS traces FROM {2} WHERE {1})",
                      dialect.table(push::kDeviceTime), chosen(selection, dialect), dialect.table(push::kTraces));
}

std::string top_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      R"(SELECT CAST(name AS String) AS operation, on_device, sum(count) AS calls, sum(self_ns) AS self_sum,
  sum(total_ns) AS total_sum, max(max_ns) AS longest, count() AS traces,
  count(DISTINCT rank) AS ranks, argMax(trace, {3}) AS slowest_trace, argMax(rank, {3}) AS slowest_rank
FROM {0} WHERE {1}
GROUP BY name, on_device
ORDER BY max(CASE WHEN kind = {4} THEN 1 ELSE 0 END), self_sum DESC, operation, on_device
LIMIT {2})",
      dialect.table(push::kOperations), chosen(selection, dialect), selection.limit, ordered("max_ns", "trace"),
      push::quoted_text(push::kIterationKind));
}

std::string jobs_statement(const Selection& selection, bool of_all_times) {
  const Dialect dialect(selection.target);
  return sql(R"(SELECT CAST(job AS String) AS its_job, max(toUnixTimestamp(started)) AS last FROM {traces} WHERE {times}
GROUP BY its_job ORDER BY {chosen first}last DESC, its_job LIMIT {most})",
             {{"traces", dialect.table(push::kTraces)},
              {"times", of_all_times ? "1 = 1" : times_of(selection)},
              {"chosen first", selection.job ? base::format("its_job = {} DESC, ", dialect.text(*selection.job)) : ""},
              {"most", std::to_string(kMostJobs)}});
}

namespace {

// The statements of `diff` and `history`: times of the same ranks at different times.
//
// Ranks do different work, so times of different ranks are not comparable. If the recorded ranks change, that is not a
// change of the job.

constexpr int64_t kMinute = 60;  // seconds

// The first part of a statement: `minutes` are those in which traces of a rank with iterations began.
std::string minutes_of_ranks(const Selection& selection, const Dialect& dialect, int64_t middle) {
  return sql(R"(WITH minutes AS (
  SELECT rank, {minute} AS minute, CASE WHEN {is b} THEN 1 ELSE 0 END AS side, sum(iterations) AS its_iterations,
    sum(wall_ns) AS its_wall, groupArray(cityHash64(trace, attempt)) AS attempts
  FROM {traces} WHERE {chosen} AND iterations > 0 GROUP BY rank, minute, side),
ranks AS (
  SELECT rank, sum(1 - side) AS earlier, sum(side) AS later FROM minutes GROUP BY rank))",
             {{"minute", kMinuteOfTrace},
              {"traces", dialect.table(push::kTraces)},
              {"chosen", chosen(selection, dialect)},
              {"is b", selection.runs.size() == 2 ? "run = " + dialect.text(selection.runs[1])
                                                  : base::format("{} >= {}", kMinuteOfTrace, middle / kMinute)}});
}

}  // namespace

// Each sample has all ranks that count, with the same weight: the minutes of each rank are divided into as many groups
// as its side has samples. If all ranks are recorded together, a sample is a minute. There are as many samples as the
// rank with the fewest minutes has. So that this is not one that has hardly any, ranks with less than half of the
// median do not count, and neither do those with too few for the statistics. The times of a
// trace are divided by `divisor`: the iterations of its minute, times the minutes of its rank in the same sample. A
// server joins and groups many rows faster by one number. Sums are rounded: their order, and so their last digits, are
// not defined.
std::string diff_statement(const Selection& selection, int64_t middle) {
  const Dialect dialect(selection.target);
  return sql(R"({minutes},
compared_ranks AS (
  SELECT rank, earlier, later, least({most}, min(earlier) OVER ()) AS of_earlier,
    least({most}, min(later) OVER ()) AS of_later
  FROM (
    SELECT *, least(earlier, later) AS fewer, max(least(earlier, later)) OVER () AS most_of_all,
      {median}(least(earlier, later)) OVER () AS usual
    FROM ranks WHERE earlier > 0 AND later > 0) AS of_both_sides
  WHERE fewer >= usual / 2 AND fewer >= least({fewest}, most_of_all)),
placed AS (
  SELECT *, CASE WHEN side = 1 THEN later ELSE earlier END AS of_rank,
    CASE WHEN side = 1 THEN of_later ELSE of_earlier END AS of_side,
    row_number() OVER (PARTITION BY rank, side ORDER BY minute) - 1 AS place
  FROM minutes INNER JOIN compared_ranks USING (rank)),
sampled AS (
  SELECT side, sample, its_iterations, its_wall, attempts,
    its_iterations * count() OVER (PARTITION BY rank, side, sample) AS divisor
  FROM (SELECT *, intDiv(place * of_side, of_rank) AS sample FROM placed) AS its_samples)
SELECT side, operation, device, groupArray(sample) AS samples, groupArray(round(ns, 3)) AS sums,
  groupArray(round(n, 6)) AS counts
FROM (
  SELECT intDiv(packed, {most}) % 2 AS side, packed % {most} AS sample, CAST(name AS String) AS operation,
    on_device AS device, sum(packed_ns / intDiv(packed, {both sides})) AS ns, sum(packed_n) * 1.0 AS n
  FROM (
    SELECT packed, name, on_device, sum(self_ns) AS packed_ns, count() AS packed_n
    FROM {operations} {global}INNER JOIN (
      SELECT divisor * {both sides} + side * {most} + sample AS packed, arrayJoin(attempts) AS its_attempt
      FROM sampled) AS its_traces ON cityHash64(trace, attempt) = its_attempt
    WHERE {job and times} GROUP BY packed, name, on_device) AS of_packed
  GROUP BY side, sample, name, on_device
  UNION ALL
  SELECT side, sample, '' AS operation, CAST(2 AS UInt8) AS device, sum(its_wall / divisor) AS ns,
    sum(its_iterations / divisor) AS n
  FROM sampled GROUP BY side, sample) AS sums_of_samples
GROUP BY side, operation, device ORDER BY side, operation, device{settings})",
             {{"minutes", minutes_of_ranks(selection, dialect, middle)},
              {"most", std::to_string(analyze::kMostValues)},
              {"both sides", std::to_string(2 * analyze::kMostValues)},
              {"settings", dialect.settings()},
              {"median", dialect.median()},
              {"fewest", std::to_string(analyze::Comparison::kFewest)},
              {"operations", dialect.table(push::kOperations)},
              {"global", dialect.global()},
              {"job and times", job_and_times(selection, dialect)}});
}

std::string diff_ranks_statement(const Selection& selection, int64_t middle) {
  const Dialect dialect(selection.target);
  return minutes_of_ranks(selection, dialect, middle) + "\nSELECT rank, earlier, later FROM ranks ORDER BY rank";
}

// Host and devices may have the same name; the one on the host is meant if there is one. Half of the samples are in the
// half 0. What is usual for a rank is the mean of the medians of both halves, so that a rank that was mostly recorded
// in one of them does not have the level of this half as its usual time. The error of what is usual is in all samples
// of a rank. If it had many of them in one half and few in the other, the error would look like a change. So it has at
// most twice as many, evenly from all.
std::string history_statement(const Selection& selection, const std::optional<Operation>& operation) {
  const Dialect dialect(selection.target);
  // Of each rank. A trace without the operation says nothing about it, so its iterations do not count.
  const std::string times =
      operation
          ? R"(SELECT rank, device, sample, sum(trace_ns) AS ns, sum(trace_n) AS n, argMax(trace, trace_ns) AS its_trace
  FROM (
    SELECT trace, rank, on_device AS device, {minute} AS sample, sum(self_ns) AS trace_ns
    FROM {operations} WHERE {chosen}
      AND name = {name}{on device} GROUP BY trace, rank, device, sample) AS its_operations
  INNER JOIN (SELECT trace, iterations AS trace_n FROM {traces} WHERE {chosen} AND iterations > 0) AS its_iterations
  USING (trace) GROUP BY rank, device, sample)"
          : R"(SELECT rank, 0 AS device, {minute} AS sample, sum(wall_ns) AS ns, sum(iterations) AS n,
    argMax(trace, wall_ns / iterations) AS its_trace
  FROM {traces} WHERE {chosen} AND iterations > 0 GROUP BY rank, sample)";
  return sql("WITH times AS (\n  " + times + R"(),
numbered AS (
  SELECT *, max(number) OVER () AS samples
  FROM (
    SELECT *, dense_rank() OVER (ORDER BY sample) AS number
    FROM (SELECT *, min(device) OVER () AS its_device FROM times) AS of_devices
    WHERE device = its_device) AS of_device),
halves AS (
  SELECT *, {median}(ns / n) OVER (PARTITION BY rank, half) AS level,
    row_number() OVER (PARTITION BY rank, half ORDER BY sample) AS place,
    count() OVER (PARTITION BY rank, half) AS of_half, count() OVER (PARTITION BY rank) AS of_rank
  FROM (SELECT *, CASE WHEN number > intDiv(samples, 2) THEN 1 ELSE 0 END AS half FROM numbered) AS of_halves),
ranks AS (
  SELECT *, (min(level) OVER (PARTITION BY rank) + max(level) OVER (PARTITION BY rank)) / 2 AS usual,
    least(of_half, of_rank - of_half) AS fewer
  FROM halves)
SELECT counted, its_sample, sum(ns) AS sum_ns, sum(n) AS iterations, round(sum(n * usual), 3) AS usual_ns,
  argMax(its_trace, ns / n - usual) AS shown_by, groupUniqArray(its_rank) AS left_out
FROM (
  SELECT *, CASE WHEN counted = 1 THEN sample ELSE 0 END AS its_sample,
    CASE WHEN counted = 1 THEN -1 ELSE rank END AS its_rank
  FROM (
    SELECT *, CASE WHEN fewer >= least({fewest around}, intDiv(samples, 4)) THEN 1 ELSE 0 END AS counted
    FROM ranks) AS of_ranks
  WHERE counted = 0 OR fewer = 0 OR intDiv(place * 2 * fewer, of_half) > intDiv((place - 1) * 2 * fewer, of_half)) AS kept
GROUP BY counted, its_sample ORDER BY counted, its_sample)",
             {{"minute", kMinuteOfTrace},
              {"operations", dialect.table(push::kOperations)},
              {"traces", dialect.table(push::kTraces)},
              {"chosen", chosen(selection, dialect)},
              {"name", operation ? dialect.text(operation->name) : ""},
              {"on device", operation && operation->only_on_device ? " AND on_device = 1" : ""},
              {"median", dialect.median()},
              {"fewest around", std::to_string(kFewestAround)}});
}

}  // namespace kymo::fleet
