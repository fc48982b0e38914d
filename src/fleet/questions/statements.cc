#include "questions/statements.h"

#include <algorithm>

#include "base/text.h"
#include "questions/dialect.h"
#include "push/tables.h"

namespace kymo::fleet {
namespace {

using push::quoted_text;

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

std::string wrong_counts_statement(const Selection& selection, const std::vector<const push::TableSpec*>& tables,
                                   WrongCounts wanted) {
  const Dialect dialect(selection.target);
  const std::string rows = job_and_times(selection, dialect);
  std::string counts = base::format(
      "    SELECT trace AS its_trace, attempt AS its_attempt, CAST(of_table AS String) AS its_table,\n"
      "      toInt64(max(row_count)) AS n\n"
      "    FROM {} WHERE {} GROUP BY trace, attempt, its_table\n",
      dialect.table(push::kRowCounts), rows);
  std::vector<std::string> names;
  // One number instead of two, as in Dialect::key(): half of the time.
  for (const push::TableSpec* table : tables) {
    names.push_back(quoted_text(table->name));
    base::format_to(counts,
                    "    UNION ALL SELECT any(trace) AS its_trace, any(attempt) AS its_attempt, {} AS its_table,\n"
                    "      -toInt64(count()) AS n\n"
                    "    FROM {} WHERE {} GROUP BY trace + attempt\n",
                    names.back(), dialect.table(*table), rows);
  }
  return base::format(
      "SELECT trace, file\nFROM {0}\nWHERE {1}\n  AND (trace, attempt) {2} (SELECT its_trace, its_attempt FROM (\n{3}  "
      ")\n"
      "  WHERE its_table IN ({4}) GROUP BY its_trace, its_attempt, its_table HAVING max(n) >= 0 AND sum(n) {5} 0)\n"
      "GROUP BY trace, file\nORDER BY file, trace",
      dialect.table(push::kTraces), chosen(selection, dialect), dialect.in(), counts, base::join(names, ", "),
      wanted == WrongCounts::TooMany ? "<" : "!=");
}

std::string same_recordings_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  // A trace that does not say when it was recorded begins at any number.
  return base::format(
      "SELECT DISTINCT trace, file, complete, CAST(host AS String) AS its_host, CAST(program AS String) AS "
      "its_program,\n"
      "  CAST(job AS String) AS its_job, rank, begin_ns AS began_ns, duration_ns, events, bytes\n"
      "FROM {0}\nWHERE {1}\n"
      "  AND (begin_ns {2} (SELECT begin_ns FROM {0} WHERE {3} AND complete = 0 GROUP BY begin_ns)\n"
      "    OR (begin_ns, duration_ns, events) {2} (SELECT begin_ns, duration_ns, events FROM {0}\n"
      "      WHERE {3} AND begin_ns >= {4} GROUP BY begin_ns, duration_ns, events HAVING count(DISTINCT trace) > 1))\n"
      "ORDER BY file, trace",
      dialect.table(push::kTraces), chosen(selection, dialect), dialect.in(), job_and_times(selection, dialect),
      int64_t{push::kFirstDate} * 1'000'000'000);
}

std::string totals_statement(const Selection& selection, const std::vector<uint64_t>& traces) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT trace, sum(count) AS its_calls, sum(total_ns) AS its_ns\nFROM {}\n{} trace IN ({})\n{} {}\nGROUP BY "
      "trace",
      dialect.table(push::kOperations), dialect.first_where(), base::join(traces, ", "), dialect.next_where(),
      chosen(selection, dialect));
}

std::string outside_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT sum(CASE WHEN outside > 0 THEN 1 ELSE 0 END) AS traces, sum(outside) AS outside_ns, sum(inside) AS "
      "inside_ns\nFROM (\n"
      "  SELECT trace, sum(CASE WHEN part = {0} THEN ns ELSE 0 END) AS outside,\n"
      "    sum(CASE WHEN part = {0} THEN 0 ELSE ns END) AS inside\n"
      "  FROM {1}\n  WHERE {2}\n  AND part IN ('compute', 'communication', 'copies', {0})\n  GROUP BY trace)",
      quoted_text(push::kOutside), dialect.table(push::kDeviceTime), chosen(selection, dialect));
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

std::string jobs_in_time_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT its_job\nFROM (\n  SELECT argMax(CAST(job AS String), attempt) AS its_job\n"
      "  FROM {}\n  WHERE {}\n  GROUP BY trace)\nGROUP BY its_job\nORDER BY its_job\nLIMIT {}",
      dialect.table(push::kTraces), times_of(selection, dialect), kMostJobs);
}

std::string outside_time_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT trace, argMax(file, attempt) AS its_file, argMax(CAST(host AS String), attempt) AS its_host,\n"
      "  argMax({0}, attempt) AS began\nFROM {1}\nWHERE started >= {2} OR started < {3}\nGROUP BY trace{4}\n"
      "ORDER BY began DESC, its_file, trace",
      dialect.second(), dialect.table(push::kTraces), dialect.time(selection.to),
      dialect.time(std::min<int64_t>(selection.from, push::kFirstDate)),
      selection.job ? "\nHAVING argMax(job, attempt) = " + dialect.text(*selection.job) : "");
}

std::string version_statement(const Target& target) {
  return base::format("SELECT max(version) AS version FROM {}", Dialect(target).table(push::kSchema));
}

}  // namespace kymo::fleet
