#include "fleet/statements.h"

#include "base/text.h"
#include "push/tables.h"

namespace kymo::fleet {
namespace {

using push::quoted_name;
using push::quoted_text;

constexpr std::string_view kSample = "intDiv(toUnixTimestamp(started), 60)";

std::string table(const Selection& selection, const push::TableSpec& table) {
  const push::Address& database = selection.database;
  if (database.cluster.empty()) return base::format("{}.{}", quoted_name(database.database), quoted_name(table.name));
  return base::format("cluster({}, {}, {})", quoted_text(database.cluster), quoted_name(database.database),
                      quoted_name(table.name));
}

// The rows of the selection. The first conditions are those of the sorting key; the last one drops attempts that were
// not completed. GLOBAL: the marks of all servers of a cluster count, and not only those beside the rows.
std::string chosen(const Selection& selection) {
  const std::string times =
      base::format("started >= toDateTime({}) AND started < toDateTime({})", selection.from, selection.to);
  const std::string job = selection.job.empty() ? "" : quoted_text(selection.job);
  return base::format(
      "{}{}\n  AND (trace, attempt) GLOBAL IN (SELECT trace, max(attempt) FROM {} WHERE {} GROUP BY trace{})",
      job.empty() ? "" : "job = " + job + " AND ", times, table(selection, push::kTraces), times,
      job.empty() ? "" : " HAVING argMax(job, attempt) = " + job);
}

}  // namespace

std::string top_statement(const Selection& selection) {
  return base::format(
      "SELECT CAST(name AS String) AS operation, on_device, sum(count) AS calls, sum(self_ns) AS self_sum,\n"
      "  sum(total_ns) AS total_sum, max(max_ns) AS longest, count(DISTINCT trace) AS traces,\n"
      "  count(DISTINCT rank) AS ranks, argMax(trace, max_ns) AS slowest_trace, argMax(rank, max_ns) AS slowest_rank\n"
      "FROM {}\nWHERE {}\nGROUP BY operation, on_device\nORDER BY self_sum DESC, operation\nLIMIT {}",
      table(selection, push::kOperations), chosen(selection), selection.limit);
}

std::string diff_statement(const Selection& selection, int64_t middle) {
  const std::string where = chosen(selection);
  return base::format(
      "SELECT side, operation, device, groupArray(sample) AS samples, groupArray(ns) AS sums, groupArray(n) AS counts\n"
      "FROM (\n"
      "  SELECT started >= toDateTime({0}) AS side, {1} AS sample, CAST(name AS String) AS operation,\n"
      "    toUInt8(on_device) AS device, sum(self_ns) AS ns, count() AS n\n"
      "  FROM {2}\n  WHERE {3}\n  GROUP BY side, sample, operation, device\n"
      "  UNION ALL\n"
      "  SELECT started >= toDateTime({0}) AS side, {1} AS sample, '' AS operation, toUInt8(2) AS device,\n"
      "    sum(wall_ns) AS ns, count() AS n\n"
      "  FROM {4}\n  WHERE {3}\n  GROUP BY side, sample, operation, device)\n"
      "GROUP BY side, operation, device\nORDER BY side, operation, device",
      middle, kSample, table(selection, push::kOperations), where, table(selection, push::kIterations));
}

std::string stragglers_statement(const Selection& selection) {
  const std::string where = chosen(selection);
  return base::format(
      "SELECT last_rank, count() AS times_last, sum(waited) AS others_waited, argMax(operation, waited) AS "
      "worst_name,\n"
      "  argMax(step, waited) AS worst_iteration, argMax(last_trace, waited) AS worst_trace,\n"
      "  (SELECT sum(wall_ns) FROM {0} WHERE {1}) AS wall_sum\n"
      "FROM (\n"
      "  SELECT its_job, step, operation, argMin(its_rank, ns) AS last_rank, argMin(its_trace, ns) AS last_trace,\n"
      "    sum(ns) - min(ns) * count() AS waited\n"
      "  FROM (\n"
      "    SELECT CAST(job AS String) AS its_job, iteration AS step, CAST(name AS String) AS operation, rank AS "
      "its_rank,\n"
      "      max(trace) AS its_trace, sum(self_ns) AS ns\n"
      "    FROM {2}\n    WHERE {1}\n"
      "      AND kind = 'communication' AND on_device = 1 AND numbered = 1 AND rank >= 0\n"
      "    GROUP BY its_job, step, operation, its_rank)\n"
      "  GROUP BY its_job, step, operation\n  HAVING count() > 1)\n"
      "GROUP BY last_rank\nORDER BY others_waited DESC, last_rank\nLIMIT {3}",
      table(selection, push::kIterations), where, table(selection, push::kOperations), selection.limit);
}

std::string history_statement(const Selection& selection, const std::string& operation) {
  const std::string where = chosen(selection);
  if (operation.empty())
    return base::format(
        "SELECT {} AS sample, sum(wall_ns) AS sum_ns, count() AS iterations, argMax(trace, wall_ns) AS shown_by\n"
        "FROM {}\nWHERE {}\nGROUP BY sample\nORDER BY sample",
        kSample, table(selection, push::kIterations), where);
  return base::format(
      "SELECT sample, sum(ns) AS sum_ns, sum(n) AS iterations, max(its_trace) AS shown_by\n"
      "FROM (\n"
      "  SELECT {0} AS sample, sum(self_ns) AS ns, toUInt64(0) AS n, argMax(trace, self_ns) AS its_trace\n"
      "  FROM {1}\n  WHERE {2}\n  AND name = {3}\n  GROUP BY sample\n"
      "  UNION ALL\n"
      "  SELECT {0} AS sample, toUInt64(0) AS ns, count() AS n, toUInt64(0) AS its_trace\n"
      "  FROM {4}\n  WHERE {2}\n  GROUP BY sample)\n"
      "GROUP BY sample\nHAVING iterations > 0\nORDER BY sample",
      kSample, table(selection, push::kOperations), where, quoted_text(operation), table(selection, push::kIterations));
}

}  // namespace kymo::fleet
