// The SQL of `kymo fleet`: one statement for each question, for ClickHouse 23.8 and later, or for DuckDB and a folder
// of Parquet files.
//
// A statement reads only complete attempts of complete traces (push/tables.h). All texts of the user are quoted.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "push/tables.h"
#include "questions/target.h"
#include "questions/text_name.h"

namespace kymo::fleet {

struct Selection {
  Target target;
  std::optional<std::string> job;    // without one: all jobs; a trace that names none has the job ""
  int64_t from = 0, to = 0;          // seconds since 1970; `to` is not included
  uint64_t limit = 20;               // rows
  bool only_iterations = false;      // diff and history: traces without iterations do not count
  int64_t gap_from = 0, gap_to = 0;  // a part of this time that does not count, in the same way
  std::vector<std::string> runs{};   // only these; two of them are A and B of diff
  std::optional<int64_t> rank{};     // only this one
  std::optional<std::string> host{};
  bool is_narrow() const { return !runs.empty() || rank || host; }
};

// Columns: its_job, its_run, first, last (seconds since 1970), traces, ranks, hosts, iteration_ns (the mean). The
// runs of jobs, the latest first.
std::string runs_statement(const Selection& selection);

// The iteration itself is last. Columns: name, on_device, calls, self_sum, total_sum, longest, traces, ranks,
// slowest_trace, slowest_rank.
std::string top_statement(const Selection& selection);

// Columns: side (1: from the minute of `middle` on, or the second run), name, on_device (2: the iterations), samples,
// sums, counts. The three lists have an entry for each sample: a minute in which traces began, because all ranks of a
// job that are recorded together are one. Every sample has the same ranks, with the same weight; if ranks were recorded
// at different times, or in more minutes than the statistics use, it is several minutes. The counts of iterations are
// those weights.
std::string diff_statement(const Selection& selection, int64_t middle);

// Columns: rank, earlier, later. The ranks of the selection, and in how many minutes of each side they were recorded.
std::string diff_ranks_statement(const Selection& selection, int64_t middle);

// Columns: counted, sample (minutes since 1970), sum_ns, iterations, usual_ns, shown_by (a trace), ranks. No operation
// means the iterations. Only traces that have the operation count, and of these only ranks that were recorded
// throughout: in at least kFewestAround samples of both halves, or fewer if there are few. The others are the `ranks`
// of a row that is not counted. usual_ns is what these iterations of these ranks usually take.
std::string history_statement(const Selection& selection, const std::optional<Operation>& operation);

// Columns: era (0: of the selected time, 1: from `now` on, 2: it does not say when it was recorded), complete, whole
// (1: without iterations), traces, recordings, its_trace, its_file, its_host, began (seconds since 1970): how many
// traces the selection has, and the newest one. Incomplete ones do not count, and of several complete ones of a
// recording one does.
std::string traces_statement(const Selection& selection, int64_t now);

// Columns: its_part, its_ns, traces. The parts of the time of devices (push/tables.h), and as the part '' the
// iterations.
std::string times_statement(const Selection& selection);

// Columns: its_job, last (seconds since 1970). The jobs of the selected time, or of all times; the chosen one first,
// then the latest. At most kMostJobs.
inline constexpr int kMostJobs = 20;
std::string jobs_statement(const Selection& selection, bool of_all_times);

// A statement with values in place of the names in braces: sql("SELECT {what}", {{"what", "1"}}). A value is not looked
// at again. Throws kymo::Error for a name that has no value.
std::string sql(std::string_view text, std::initializer_list<std::pair<std::string_view, std::string_view>> values);

// What ClickHouse and DuckDB write differently, beside the functions that ParquetStore defines.
class Dialect {
 public:
  explicit Dialect(const Target& target) : target_(target), is_server_(target.server.has_value()) {}

  std::string table(const push::TableSpec& table) const;
  std::string text(const std::string& value) const;
  // Before IN and JOIN: each server of a cluster gets the right side.
  std::string_view global() const { return is_server_ ? "GLOBAL " : ""; }
  // The mean of the two values in the middle, or one of them.
  std::string_view median() const { return is_server_ ? "quantileExactInclusive(0.5)" : "median"; }
  // At the end of a statement that joins many rows with few: by default, a server divides the many rows first.
  std::string_view settings() const { return is_server_ ? "\nSETTINGS join_algorithm = 'hash'" : ""; }

 private:
  const Target& target_;
  const bool is_server_;
};

// A number for argMax: by `value`, and of equal ones the one with the smallest `number`. The order of rows is not
// defined, so without a second key the answer would not be. A tuple is compared several times slower, which matters for
// millions of rows. Values count up to 19 hours of nanoseconds.
std::string ordered(std::string_view value, std::string_view number);

// The condition of the selected time.
std::string times_of(const Selection& selection);

// The conditions of the sorting key.
std::string job_and_times(const Selection& selection, const Dialect& dialect);

// The rows of the selection that count: of the newest attempt of complete traces, and of one trace of each recording. A
// trace and its attempt are one number, a hash, which a server finds faster than two.
std::string chosen(const Selection& selection, const Dialect& dialect);

}  // namespace kymo::fleet
