#include "questions/statements.h"

#include <algorithm>
#include <ctime>
#include <string>

#include "analyze/diff/statistics.h"
#include "base/text.h"
#include "push/tables.h"
#include "questions/change_points.h"
#include "questions/parquet_tables.h"
#include "questions/text_name.h"

namespace kymo::fleet {
namespace {

constexpr int64_t kThen = 1 << 17;

}  // namespace

std::string Dialect::table(const push::TableSpec& table) const {
  return is_server_ ? push::table_everywhere(*target_.server, table) : parquet_table(target_.folder, table);
}

std::string Dialect::text(const std::string& value) const {
  return is_server_ ? push::quoted_text(value) : query::sql_literal(text_of_name(value));
}

std::string Dialect::time(int64_t seconds) const {
  if (is_server_) return base::format("toDateTime({})", seconds);
  const time_t given = seconds;
  std::tm parts{};
  ::gmtime_r(&given, &parts);
  return base::format("TIMESTAMP '{:04}-{:02}-{:02} {:02}:{:02}:{:02}'", parts.tm_year + 1900, parts.tm_mon + 1,
                      parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string Dialect::divided(const std::string& a, const std::string& b) const {
  return is_server_ ? base::format("intDiv({}, {})", a, b) : base::format("{} // {}", a, b);
}

std::string Dialect::list(std::string_view of) const {
  return base::format("{}({})", is_server_ ? "groupArray" : "list", of);
}

std::string Dialect::hash(std::string_view text) const {
  return base::format("{}({})", is_server_ ? "cityHash64" : "hash", text);
}

std::string Dialect::second_largest(std::string_view of) const {
  return is_server_ ? base::format("arrayElement(arrayReverseSort(groupArray({})), 2)", of)
                    : base::format("coalesce(list_reverse_sort(list({}))[2], 0)", of);
}

std::string Dialect::each_of(const std::string& list) const {
  return base::format("{}({})", is_server_ ? "arrayJoin" : "unnest", list);
}

std::string Dialect::set(std::string_view of) const {
  return is_server_ ? base::format("groupUniqArray({})", of) : base::format("list(DISTINCT {})", of);
}

std::string Dialect::all_elements(std::string_view list) const {
  return is_server_ ? base::format("groupUniqArrayArray({})", list)
                    : base::format("list_distinct(flatten(list({})))", list);
}

std::string Dialect::count_below(const std::string& list, std::string_view limit) const {
  // Old servers do not see that a column is needed if only a lambda has it.
  return is_server_ ? base::format("arrayCount(x -> x < {0}, {1}) + 0 * {0}", limit, list)
                    : base::format("length([x FOR x IN {} IF x < {}])", list, limit);
}

std::string Dialect::sorted(const std::string& list) const {
  return base::format("{}({})", is_server_ ? "arraySort" : "list_sort", list);
}

std::string Dialect::each(std::string_view expression, std::string_view list) const {
  return is_server_ ? base::format("arrayMap(one -> {}, {})", expression, list)
                    : base::format("[{} FOR one IN {}]", expression, list);
}

std::string Dialect::first_of(std::string_view list, std::string_view count) const {
  return is_server_ ? base::format("arraySlice({}, 1, {})", list, count) : base::format("{}[1:{}]", list, count);
}

std::string Dialect::all_after(std::string_view list, std::string_view count) const {
  return is_server_ ? base::format("arraySlice({}, {} + 1)", list, count) : base::format("{}[{} + 1:]", list, count);
}

std::string Dialect::median(std::string_view sorted) const {
  const std::string length = base::format("length({})", sorted);
  return base::format("({0}[{1}] + {0}[{2} + 1]) / 2", sorted, divided("(" + length + " + 1)", "2"),
                      divided(length, "2"));
}

std::string Dialect::quantile(std::string_view share, std::string_view of) const {
  return is_server_ ? base::format("quantileExact({})({})", share, of)
                    : base::format("quantile_disc({}, {})", of, share);
}

std::string Dialect::elements(std::string_view columns, std::string_view list, const std::string& from) const {
  if (is_server_)
    return base::format("SELECT {0}, one, place FROM (\n{2})\nARRAY JOIN {1} AS one, arrayEnumerate({1}) AS place",
                        columns, list, from);
  return base::format("SELECT {0}, unnest({1}) AS one, generate_subscripts({1}, 1) AS place FROM (\n{2})", columns,
                      list, from);
}

std::string Dialect::tuple(std::initializer_list<std::string_view> columns) const {
  if (is_server_) return base::format("({})", base::join(columns, ", "));
  std::vector<std::string> fields;
  for (const std::string_view column : columns) fields.push_back(base::format("'f{}': {}", fields.size() + 1, column));
  return base::format("{{{}}}", base::join(fields, ", "));
}

std::string Dialect::field(int number) const {
  return is_server_ ? base::format("tupleElement(one, {})", number) : base::format("one['f{}']", number);
}

std::string Dialect::key(std::string_view trace, std::string_view attempt, std::string_view step) const {
  return is_server_ ? base::format("{} + {} + {} * 7046029254386353131", trace, attempt, step)
                    : base::format("({}, {}, {})", trace, attempt, step);
}

std::string ordered(std::string_view value, const std::string& then) {
  return base::format("least({}, {}) * {} + {}", value, (int64_t{1} << 46) - 1, kThen, then);
}
std::string rising(std::string_view number) { return base::format("{} % {}", number, kThen); }
std::string falling(std::string_view number) { return base::format("({} - {} % {})", kThen - 1, number, kThen); }

std::string times_of(const Selection& selection, const Dialect& dialect) {
  return base::format("started >= {} AND started < {}", dialect.time(selection.from), dialect.time(selection.to));
}

std::string job_and_times(const Selection& selection, const Dialect& dialect) {
  const std::string times = times_of(selection, dialect);
  return selection.job ? base::format("job = {} AND {}", dialect.text(*selection.job), times) : times;
}

std::string chosen(const Selection& selection, const Dialect& dialect) {
  return base::format(
      "{}\n  AND (trace, attempt) {} (SELECT trace, max(attempt) FROM {} WHERE {}{} GROUP BY trace{})",
      job_and_times(selection, dialect), dialect.in(), dialect.table(push::kTraces), times_of(selection, dialect),
      selection.without.empty() ? "" : base::format(" AND trace NOT IN ({})", base::join(selection.without, ", ")),
      selection.job ? " HAVING argMax(job, attempt) = " + dialect.text(*selection.job) : "");
}

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

namespace {

// The statements of `diff` and `history`: times of the same ranks at different times.
//
// Ranks do different work, so times of different ranks are not comparable. If the recorded ranks change, that is not a
// change of the job.

constexpr int64_t kMinute = 60;  // seconds

// Of the rows of a trace in `iterations`: an iteration of a program has a number, or is one of several. The other ones
// are whole traces.
constexpr std::string_view kIsWholeTrace = "count() = 1 AND max(numbered) = 0";

// The rows of the selection that are compared.
std::string compared(const Selection& selection, const Dialect& dialect) {
  std::string where = chosen(selection, dialect);
  if (selection.only_iterations)
    base::format_to(
        where, "\n  AND (trace, attempt) {} (SELECT trace, attempt FROM {} WHERE {} GROUP BY trace, attempt HAVING {})",
        dialect.not_in(), dialect.table(push::kIterations), job_and_times(selection, dialect), kIsWholeTrace);
  return where;
}

// Columns: rank, minute, its_iterations, traces (with their attempts). The minutes in which traces of a rank with
// iterations began.
std::string minutes_of_ranks(const Selection& selection, const Dialect& dialect) {
  return base::format(
      "  SELECT rank, {} AS minute, sum(iterations) AS its_iterations, {} AS traces\n"
      "  FROM {}\n  WHERE {}\n  AND iterations > 0\n  GROUP BY rank, minute",
      dialect.minute(), dialect.list(dialect.tuple({"trace", "attempt"})), dialect.table(push::kTraces),
      compared(selection, dialect));
}

// How many rows of minutes_of_ranks() are before the middle, and after it.
std::string sides(int64_t middle) {
  return base::format(
      "sum(CASE WHEN minute < {0} THEN 1 ELSE 0 END) AS earlier, sum(CASE WHEN minute < {0} THEN 0 ELSE 1 END) AS "
      "later",
      middle);
}

// Columns: trace, attempt, side, sample, weight, of the traces that are compared. Each sample has all ranks that count,
// with the same weight: the minutes of each rank are divided into as many groups as its side has samples. If all ranks
// are recorded together, a sample is a minute. There are as many samples as the rank with the fewest minutes has. So
// that this is not one that has hardly any, ranks with less than half of the median do not count, and neither do those
// with too few for the statistics.
std::string samples_of_diff(const Selection& selection, const Dialect& dialect, int64_t middle) {
  const std::string of_ranks =
      base::format("SELECT {} AS ones, {}\nFROM (\n{})\nGROUP BY rank HAVING earlier > 0 AND later > 0",
                   dialect.sorted(dialect.list(dialect.tuple({"minute", "its_iterations", "traces"}))), sides(middle),
                   minutes_of_ranks(selection, dialect));
  // Each rank with figures of all: no subquery has them, because old servers run one again for each query around it.
  const auto with_all = [&](const std::string& figures, std::string_view names, const std::string& from) {
    const std::string all = base::format("SELECT {} AS ranks, {} FROM (\n{})",
                                         dialect.list(dialect.tuple({"ones", "earlier", "later"})), figures, from);
    return base::format("SELECT {} AS ones, {} AS earlier, {} AS later, {} FROM (\n{})", dialect.field(1),
                        dialect.field(2), dialect.field(3), names, dialect.elements(names, "ranks", all));
  };
  const std::string fewest = base::format("greatest({}, least({}, max(least(earlier, later)))) AS fewest",
                                          dialect.divided(dialect.quantile("0.5", "least(earlier, later)"), "2"),
                                          analyze::Comparison::kFewest);
  const std::string counted =
      base::format("SELECT ones, earlier, later FROM (\n{})\nWHERE least(earlier, later) >= fewest",
                   with_all(fewest, "fewest", of_ranks));
  const std::string ranks = with_all(
      base::format("least({0}, min(earlier)) AS of_earlier, least({0}, min(later)) AS of_later", analyze::kMostValues),
      "of_earlier, of_later", counted);
  // The place of a minute among those of its rank decides its sample. `together` is how many minutes of the rank are in
  // the same sample.
  const auto first_of = [&](std::string_view sample) {
    return dialect.divided(base::format("({} * of_rank + samples - 1)", sample), "samples");
  };
  const std::string placed = base::format(
      "SELECT {} AS its_iterations, {} AS traces, CAST({} >= {} AS UInt8) AS side,\n"
      "  CASE WHEN side = 1 THEN later ELSE earlier END AS of_rank,\n"
      "  CASE WHEN side = 1 THEN of_later ELSE of_earlier END AS samples,\n"
      "  {} AS sample,\n  {} - {} AS together\nFROM (\n{})",
      dialect.field(2), dialect.field(3), dialect.field(1), middle,
      dialect.divided("((place - 1 - side * earlier) * samples)", "of_rank"), first_of("(sample + 1)"),
      first_of("sample"), dialect.elements("earlier, later, of_earlier, of_later", "ones", ranks));
  return base::format("SELECT {} AS trace, {} AS attempt, side, sample, weight FROM (\n{})", dialect.field(1),
                      dialect.field(2),
                      dialect.elements("side, sample, 1 / (its_iterations * together) AS weight", "traces", placed));
}

}  // namespace

std::string iterations_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      "SELECT sum(1 - is_whole) AS with_iterations, sum(is_whole) AS without\nFROM (\n"
      "  SELECT trace, CASE WHEN {} THEN 1 ELSE 0 END AS is_whole\n  FROM {}\n  WHERE {}\n  GROUP BY trace)",
      kIsWholeTrace, dialect.table(push::kIterations), chosen(selection, dialect));
}

std::string diff_statement(const Selection& selection, int64_t middle) {
  const Dialect dialect(selection.target);
  const std::string samples = samples_of_diff(selection, dialect, middle / kMinute);
  const auto sums = [&](const push::TableSpec& table, std::string_view name, std::string_view device,
                        std::string_view ns, std::string_view n) {
    return base::format(
        "  SELECT side, sample, {} AS operation, CAST({} AS UInt8) AS device, sum({} * weight) AS ns, {} AS n\n"
        "  FROM {} {} (\n{}) AS samples\n  USING (trace, attempt)\n  WHERE {}\n  GROUP BY side, sample, operation, "
        "device",
        name, device, ns, n, dialect.table(table), dialect.join_everywhere(), samples,
        job_and_times(selection, dialect));
  };
  // Rounded: the order of a sum, and so its last digits, are not defined.
  return base::format(
      "SELECT side, operation, device, {} AS samples, {} AS sums, {} AS counts\nFROM (\n{}\n  UNION ALL\n{})\n"
      "GROUP BY side, operation, device\nORDER BY side, operation, device",
      dialect.list("sample"), dialect.list("round(ns, 3)"), dialect.list("round(n, 6)"),
      sums(push::kOperations, "CAST(name AS String)", "on_device", "self_ns", "count() * 1.0"),
      sums(push::kIterations, "''", "2", "wall_ns", "sum(weight)"));
}

std::string diff_ranks_statement(const Selection& selection, int64_t middle) {
  const Dialect dialect(selection.target);
  return base::format("SELECT rank, {}\nFROM (\n{})\nGROUP BY rank\nORDER BY rank", sides(middle / kMinute),
                      minutes_of_ranks(selection, dialect));
}

namespace {

// Columns: rank, device, sample, ns, n, its_trace.
std::string times_of_ranks(const Dialect& dialect, const std::string& where,
                           const std::optional<Operation>& operation) {
  if (!operation)
    return base::format(
        "  SELECT rank, 0 AS device, {} AS sample, sum(wall_ns) AS ns, count() AS n, argMax(trace, wall_ns) AS "
        "its_trace\n  FROM {}\n  WHERE {}\n  GROUP BY rank, sample",
        dialect.minute(), dialect.table(push::kIterations), where);
  // A trace without the operation says nothing about it, so its iterations do not count.
  return base::format(
      "  SELECT rank, device, sample, sum(trace_ns) AS ns, sum(trace_n) AS n, argMax(trace, trace_ns) AS its_trace\n"
      "  FROM (\n    SELECT trace, rank, on_device AS device, {} AS sample, sum(self_ns) AS trace_ns\n"
      "    FROM {}\n    WHERE {}\n    AND name = {}{}\n    GROUP BY trace, rank, device, sample) AS operations\n"
      "  {} (\n    SELECT trace, count() AS trace_n\n    FROM {}\n    WHERE {}\n    GROUP BY trace) AS iterations\n"
      "  USING (trace)\n  GROUP BY rank, device, sample",
      dialect.minute(), dialect.table(push::kOperations), where, dialect.text(operation->name),
      operation->only_on_device ? " AND on_device = 1" : "", dialect.join(), dialect.table(push::kIterations), where);
}

}  // namespace

std::string history_statement(const Selection& selection, const std::optional<Operation>& operation) {
  const Dialect dialect(selection.target);
  const std::string lists =
      base::format("SELECT rank, device, {} AS ones, {} AS samples\nFROM (\n{})\nGROUP BY rank, device",
                   dialect.sorted(dialect.list(dialect.tuple({"sample", "ns", "n", "its_trace"}))),
                   dialect.list("sample"), times_of_ranks(dialect, compared(selection, dialect), operation));
  const std::string of_ranks =
      base::format("SELECT rank, device, ones, samples, {} AS times\nFROM (\n{})",
                   dialect.each(base::format("{} / {}", dialect.field(2), dialect.field(3)), "ones"), lists);
  // One row. Host and devices may have the same name; the one on the host is meant if there is one. No subquery says
  // that, because old servers run one again for each query around it.
  const std::string all = base::format("SELECT {} AS ranks, {} AS all_samples, min(device) AS its_device\nFROM (\n{})",
                                       dialect.list(dialect.tuple({"rank", "ones", "samples", "times", "device"})),
                                       dialect.sorted(dialect.all_elements("samples")), of_ranks);
  // Half of the samples are before the middle. What is usual for a rank is the mean of the medians of both halves, so
  // that a rank that was mostly recorded in one of them does not have the level of this half as its usual time.
  // With very few samples one half may be empty.
  const std::string usual =
      base::format("CASE WHEN earlier = 0 THEN {1} WHEN later = 0 THEN {0} ELSE ({0} + {1}) / 2 END",
                   dialect.median("before"), dialect.median("after"));
  const std::string ranks = base::format(
      "SELECT {} AS rank, {} AS ones, {} AS times, CAST({} AS Int64) AS earlier, length(times) - earlier AS later,\n"
      "  {} AS before, {} AS after, {} AS usual, least(earlier, later) >= least({}, few) AS counts\n"
      "FROM (\n{})\nWHERE {} = its_device",
      dialect.field(1), dialect.field(2), dialect.field(4), dialect.count_below(dialect.field(3), "middle"),
      dialect.sorted(dialect.first_of("times", "earlier")), dialect.sorted(dialect.all_after("times", "earlier")),
      usual, kFewestAround,
      dialect.elements(
          base::format("its_device, all_samples[{} + 1] AS middle, {} AS few",
                       dialect.divided("length(all_samples)", "2"), dialect.divided("length(all_samples)", "4")),
          "ranks", all),
      dialect.field(5));
  // The error of what is usual is in all samples of a rank. If it had many of them in one half and few in the other,
  // the error would look like a change. So it has at most twice as many, evenly from all.
  const auto kept_before = [&](std::string_view place) {
    return dialect.divided(base::format("(({}) * 2 * least(earlier, later))", place), "of_half");
  };
  return base::format(
      "SELECT counted, sample, sum(ns) AS sum_ns, sum(n) AS iterations, round(sum(n * usual), 3) AS usual_ns,\n"
      "  argMax(its_trace, ns / n - usual) AS shown_by, {} AS ranks\nFROM (\n"
      "SELECT usual, CAST(counts AS UInt8) AS counted, CASE WHEN counts THEN {} ELSE 0 END AS sample, {} AS ns, {} AS "
      "n,\n"
      "  {} AS its_trace, CASE WHEN counts THEN -1 ELSE rank END AS left_out,\n"
      "  CASE WHEN place > earlier THEN place - earlier ELSE place END AS place_in_half,\n"
      "  CASE WHEN place > earlier THEN later ELSE earlier END AS of_half\nFROM (\n{})\n"
      "WHERE NOT counts OR least(earlier, later) = 0 OR {} > {})\n"
      "GROUP BY counted, sample\nORDER BY counted, sample",
      dialect.set("left_out"), dialect.field(1), dialect.field(2), dialect.field(3), dialect.field(4),
      dialect.elements("rank, usual, counts, earlier, later", "ones", ranks), kept_before("place_in_half"),
      kept_before("place_in_half - 1"));
}

}  // namespace kymo::fleet
