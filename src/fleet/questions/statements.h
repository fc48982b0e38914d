// The SQL of `kymo fleet`: one statement for each question, for ClickHouse 18.16 and later, or for DuckDB and a folder
// of Parquet files.
//
// A statement reads only complete attempts (push/tables.h). All texts of the user are quoted.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "push/tables.h"
#include "questions/target.h"
#include "questions/text_name.h"

namespace kymo::fleet {

struct Selection {
  Target target;
  std::optional<std::string> job;   // without one: all jobs; a trace that names none has the job ""
  int64_t from = 0, to = 0;         // seconds since 1970; `to` is not included
  uint64_t limit = 20;              // rows
  std::vector<uint64_t> without{};  // traces that do not count
  bool only_iterations = false;     // diff and history: neither do traces without iterations
};

// Columns: name, on_device, calls, self_sum, total_sum, longest, traces, ranks, slowest_trace, slowest_rank.
std::string top_statement(const Selection& selection);

// Columns: side (1: from the minute of `middle` on), name, on_device (2: the iterations), samples, sums, counts. The
// three lists have an entry for each sample: a minute in which traces began, because all ranks of a job that are
// recorded together are one. Every sample has the same ranks, with the same weight; if ranks were recorded at different
// times, or in more minutes than the statistics use, it is several minutes. The counts of iterations are those weights.
std::string diff_statement(const Selection& selection, int64_t middle);

// Columns: with_iterations, without. How many traces of the selection have iterations, and how many have none, so that
// the whole trace counts as one.
std::string iterations_statement(const Selection& selection);

// Columns: rank, earlier, later. The ranks of the selection, and in how many minutes of each side they were recorded.
std::string diff_ranks_statement(const Selection& selection, int64_t middle);

// Columns: counted, sample (minutes since 1970), sum_ns, iterations, usual_ns, shown_by (a trace), ranks. No operation
// means the iterations. Only traces that have the operation count, and of these only ranks that were recorded
// throughout: in at least kFewestAround samples of both halves, or fewer if there are few. The others are the `ranks`
// of a row that is not counted. usual_ns is what these iterations of these ranks usually take.
std::string history_statement(const Selection& selection, const std::optional<Operation>& operation);

// Columns: its_job, last (seconds since 1970). The jobs of all times, the chosen one first, then the latest: for a
// selection that has no traces.
std::string jobs_statement(const Selection& selection);

// Columns: its_job. The jobs of the selected time by name, at most kMostJobs.
inline constexpr int kMostJobs = 20;
std::string jobs_in_time_statement(const Selection& selection);

// Columns: trace, its_file, its_host, began (seconds since 1970). Traces of the selected job that begin after the
// selected time, and those that do not say when they were recorded and are before it.
std::string outside_time_statement(const Selection& selection);

// What ClickHouse and DuckDB write differently. Functions and types that both have are written as both accept them.
class Dialect {
 public:
  explicit Dialect(const Target& target) : target_(target), is_server_(target.server.has_value()) {}

  std::string table(const push::TableSpec& table) const;
  std::string text(const std::string& value) const;
  std::string time(int64_t seconds) const;
  // The minute in which a trace began, since 1970.
  std::string minute() const {
    return is_server_ ? "intDiv(toUnixTimestamp(started), 60)" : "epoch_us(started) // 60000000";
  }
  // The second, the same.
  std::string_view second() const { return is_server_ ? "toUnixTimestamp(started)" : "epoch_us(started) // 1000000"; }
  std::string divided(const std::string& a, const std::string& b) const;
  // GLOBAL: the marks of all servers of a cluster count, and not only those beside the rows.
  std::string_view in() const { return is_server_ ? "GLOBAL IN" : "IN"; }
  std::string_view not_in() const { return is_server_ ? "GLOBAL NOT IN" : "NOT IN"; }
  // ALL: old servers want to be told that a row may match several.
  std::string_view join() const { return is_server_ ? "ALL INNER JOIN" : "INNER JOIN"; }
  // Of a table of the selection: each server of a cluster gets the right side.
  std::string_view join_everywhere() const { return is_server_ ? "GLOBAL ALL INNER JOIN" : "INNER JOIN"; }
  // ANY: the right side has one row for each key. Where it has none, a server has empty values, and DuckDB NULL.
  std::string_view left_join_everywhere() const { return is_server_ ? "GLOBAL ANY LEFT JOIN" : "LEFT JOIN"; }
  // A number for a text. It is the same for all texts that left_join_everywhere() does not find.
  std::string hash(std::string_view text) const;
  // Of the rows of a group; 0 if there is only one.
  std::string second_largest(std::string_view of) const;
  // A condition that few rows meet, and the others. The server reads the columns of the others only for these rows.
  std::string_view first_where() const { return is_server_ ? "PREWHERE" : "WHERE"; }
  std::string_view next_where() const { return is_server_ ? "WHERE" : "AND"; }
  // Of any row: the same in all rows of a group.
  std::string_view any() const { return is_server_ ? "any" : "any_value"; }
  std::string list(std::string_view of) const;
  std::string set(std::string_view of) const;             // a list without duplicates
  std::string all_elements(std::string_view list) const;  // the same, of the lists of a group
  std::string sorted(const std::string& list) const;
  std::string count_below(const std::string& list, std::string_view limit) const;
  // A list with this expression of each element, which is `one` in it.
  std::string each(std::string_view expression, std::string_view list) const;
  // The first elements of a list, and the others.
  std::string first_of(std::string_view list, std::string_view count) const;
  std::string all_after(std::string_view list, std::string_view count) const;
  // Of a list of numbers that is sorted.
  std::string median(std::string_view sorted) const;
  // A value of the group: that below which this share of the values is.
  std::string quantile(std::string_view share, std::string_view of) const;
  // A query with a row for each element of the list of a row: the columns, `one`, which is the element, and `place`,
  // which is its place from 1 on.
  std::string elements(std::string_view columns, std::string_view list, const std::string& from) const;
  // The same beside the values of a group, in the list of its columns.
  std::string each_of(const std::string& list) const;
  // A tuple of columns, and a field of it, if its name is `one`, from 1 on.
  std::string tuple(std::initializer_list<std::string_view> columns) const;
  std::string field(int number) const;
  // A key of three numbers, the first of which is a hash. A server finds one number in a set in half of the time that
  // a tuple takes. Its sums wrap, and two different keys have the same sum only by chance, 1 in 2^64.
  std::string key(std::string_view trace, std::string_view attempt, std::string_view step) const;

 private:
  const Target& target_;
  const bool is_server_;
};

// A number for argMin and argMax: by `value`, and of equal ones by `then`, which is rising() or falling() of a number.
// The order of rows is not defined, so without a second key the answer would not be. A tuple is compared several times
// slower, which matters for millions of rows. Values count up to 19 hours of nanoseconds.
std::string ordered(std::string_view value, const std::string& then);
std::string rising(std::string_view number);
std::string falling(std::string_view number);

// The condition of the selected time.
std::string times_of(const Selection& selection, const Dialect& dialect);

// The conditions of the sorting key.
std::string job_and_times(const Selection& selection, const Dialect& dialect);

// The rows of the selection, without those of attempts that were not completed.
std::string chosen(const Selection& selection, const Dialect& dialect);

}  // namespace kymo::fleet
