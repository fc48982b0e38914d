#include "query/schema.h"

#include "base/text.h"
#include "base/text_table.h"
#include "query/table.h"

namespace kymo::query {
namespace {

constexpr Example kExamples[] = {
    {"Where did the time go?",
     "SELECT name, count(*) AS count, sum(duration_ns) / 1e6 AS total_ms\n"
     "FROM ranges GROUP BY name ORDER BY total_ms DESC LIMIT 20"},
    {"Which ranges took longest, with their values?",
     "SELECT full_name, thread, duration_ns, args FROM ranges ORDER BY duration_ns DESC LIMIT 10"},
    {"How are the durations of each name distributed?",
     "SELECT name, quantile_cont(duration_ns, [0.5, 0.9, 0.99]) AS p50_p90_p99\n"
     "FROM ranges GROUP BY name ORDER BY name"},
    {"What about the names that match a pattern? (A pattern on ranges itself is ten times slower.)",
     "SELECT name, sum(duration_ns) AS total_ns FROM ranges\n"
     "WHERE name IN (SELECT name FROM names WHERE name LIKE '%step%') GROUP BY name"},
    {"How long did device work wait after its launch?",
     "SELECT work.name, count(*) AS count, avg(work.start_ns - launch.start_ns) AS delay_ns\n"
     "FROM ranges AS launch JOIN ranges AS work USING (pid, correlation)\n"
     "WHERE launch.device IS NULL AND work.device IS NOT NULL GROUP BY ALL ORDER BY delay_ns DESC"},
    {"How busy was each thread, in parts of 10 ms?",
     "SELECT thread, (start_ns - first_ns) // 10_000_000 * 10 AS at_ms, sum(duration_ns) AS busy_ns\n"
     "FROM ranges, (SELECT min(start_ns) AS first_ns FROM ranges)\n"
     "WHERE depth = 0 GROUP BY thread, at_ms ORDER BY thread, at_ms"},
    {"What were the values of each counter?",
     "SELECT name, min(value), avg(value), max(value), arg_max(value, time_ns) AS last\n"
     "FROM counters GROUP BY name ORDER BY name"},
    {"Which allocations are the largest?",
     "SELECT make_timestamp_ns(time_ns) AS time, memory, bytes, thread FROM allocations\n"
     "WHERE kind = 'allocation' ORDER BY bytes DESC LIMIT 10"},
    {"Which range is inside which, and how much time does it take itself?",
     "SELECT parent.name AS inside, child.name, count(*) AS count, sum(child.self_ns) AS self_ns\n"
     "FROM ranges AS child JOIN ranges AS parent ON child.parent = parent.id GROUP BY ALL ORDER BY self_ns DESC LIMIT "
     "20"},
    {"How long did each name take in each iteration?",
     "SELECT name, iteration, sum(duration_ns) AS total_ns FROM ranges\n"
     "WHERE iteration IS NOT NULL GROUP BY ALL ORDER BY name, iteration"},
    {"Which functions used the processor?",
     "SELECT function, count(*) AS samples FROM events WHERE function IS NOT NULL GROUP BY function ORDER BY samples "
     "DESC"},
    {"Where did each thread wait, and how long?",
     "SELECT thread, function, count(*) AS waits, sum(duration_ns) / 1e6 AS total_ms FROM states\n"
     "WHERE state = 'waiting' GROUP BY ALL ORDER BY total_ms DESC"},
    {"How many bytes were loaded?",
     "SELECT name, sum((args->>'bytes')::BIGINT) AS bytes FROM ranges WHERE args->>'bytes' IS NOT NULL GROUP BY name"},
    {"Which threads and queues are there?",
     "SELECT track, process, name, kind, ranges, points FROM threads ORDER BY track"},
    {"Which names are in another trace, but not in this one?",
     "SELECT DISTINCT name::VARCHAR AS name FROM 'run.kymo' EXCEPT SELECT DISTINCT name::VARCHAR FROM ranges"},
};

std::string_view type_text(ColumnType type) {
  switch (type) {
    case ColumnType::Boolean:
      return "BOOLEAN";
    case ColumnType::UInt16:
      return "USMALLINT";
    case ColumnType::UInt32:
      return "UINTEGER";
    case ColumnType::UInt64:
      return "UBIGINT";
    case ColumnType::Int64:
      return "BIGINT";
    case ColumnType::Double:
      return "DOUBLE";
    case ColumnType::Text:
      return "VARCHAR";
    default:
      return "ENUM";
  }
}

std::string indented(std::string_view text) {
  std::string result = "  ";
  for (const char c : text) {
    result.push_back(c);
    if (c == '\n') result += "  ";
  }
  return result;
}

}  // namespace

std::span<const Example> examples() { return kExamples; }

std::string schema_text() {
  std::string text =
      "Tables\n\n"
      "FROM ranges            the ranges of all files of the command line\n"
      "FROM 'x.kymo'          the ranges of this file\n"
      "FROM events('x.kymo')  another table of this file\n\n"
      "Rows come in any order without ORDER BY. Other files cannot be read or written.\n";
  for (const Table& table : all_tables()) {
    base::format_to(text, "\n{}: {}\n", table.name, table.help);
    base::TextTable columns({{"column"}, {"type"}, {"meaning"}});
    for (const Column& column : table.columns)
      columns.add({std::string(column.name), std::string(type_text(column.type)), std::string(column.help)});
    text += columns.text({.indent = 2});
  }
  text += "\nExamples\n";
  for (const Example& example : kExamples) base::format_to(text, "\n{}\n{}\n", example.question, indented(example.sql));
  return text;
}

}  // namespace kymo::query
