#include "questions/dialect.h"

#include <ctime>

#include "base/text.h"
#include "questions/parquet_reader.h"
#include "questions/text_name.h"
#include "push/tables.h"

namespace kymo::fleet {
namespace {

using push::quoted_name;
using push::quoted_text;

constexpr int64_t kThen = 1 << 17;

}  // namespace

std::string Dialect::table(const push::TableSpec& table) const {
  if (!is_server_) return parquet_table(target_.folder, table);
  const push::Address& address = *target_.server;
  if (address.cluster.empty()) return base::format("{}.{}", quoted_name(address.database), quoted_name(table.name));
  return base::format("cluster({}, {}, {})", quoted_text(address.cluster), quoted_name(address.database),
                      quoted_name(table.name));
}

std::string Dialect::text(const std::string& value) const {
  return is_server_ ? quoted_text(value) : query::sql_literal(text_of_name(value));
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

}  // namespace kymo::fleet
