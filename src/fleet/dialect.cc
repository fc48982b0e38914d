#include "fleet/dialect.h"

#include <ctime>

#include "base/text.h"
#include "fleet/parquet_reader.h"
#include "fleet/text_name.h"
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

std::string Dialect::rows_of_group(const std::vector<std::string>& columns) const {
  if (is_server_) return base::format("arrayJoin(groupArray(({})))", base::join(columns, ", "));
  std::vector<std::string> fields;
  for (const std::string& column : columns) fields.push_back(base::format("'{0}': {0}", column));
  return base::format("unnest(list({{{}}}))", base::join(fields, ", "));
}

std::string Dialect::columns_of_row(std::string_view row, const std::vector<std::string>& columns) const {
  std::vector<std::string> all;
  for (const std::string& column : columns)
    all.push_back(is_server_ ? base::format("tupleElement({}, {}) AS {}", row, all.size() + 1, column)
                             : base::format("{0}.{1} AS {1}", row, column));
  return base::join(all, ", ");
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
