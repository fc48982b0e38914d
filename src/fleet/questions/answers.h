// The answers of `kymo fleet`, from the rows of its statements. Rows are untrusted: throws kymo::Error if they are not
// what the statement asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/diff/diff.h"
#include "push/clickhouse.h"
#include "questions/change_points.h"
#include "questions/statements.h"

namespace kymo::fleet {

// With the statistics of `kymo diff`: a sample is a minute in which traces began.
analyze::Diff read_diff(const push::Rows& rows);

// The ranks of both sides, and why some are not compared.
struct DiffRanks {
  uint64_t earlier = 0, later = 0;  // the most minutes that a rank has on a side
  std::vector<int64_t> only_a, only_b, too_few;
};
DiffRanks read_diff_ranks(const push::Rows& rows, const analyze::Diff& diff);

// "ranks 0-6, 9", "rank 3", or "traces without a rank" for -1. In order.
std::string rank_names(const std::vector<int64_t>& ranks);

struct HistoryPoint {
  int64_t seconds = 0;  // since 1970
  double ns = 0;        // per iteration, as if all ranks were in it
  uint64_t shown_by = 0;
};
struct History {
  std::vector<HistoryPoint> points;
  std::vector<ChangePoint> changes;       // their places are those of points
  std::optional<VisibleChange> smallest;  // that would have been found, if there are no changes
  std::vector<int64_t> left_out;          // ranks that were not recorded throughout
};
// At most kMostHistory points.
History read_history(const push::Rows& rows);

// A trace as the commands print it, and as SQL can find it: WHERE trace = 0x….
std::string trace_text(uint64_t trace);

// Throws kymo::Error if the database has no tables of Kymo, or those of another version.
void refuse_other_tables(const Target& target);

// How many traces a selection has. All functions throw kymo::Error.
struct CountedTraces {
  // Of which one is named.
  struct Some {
    uint64_t count = 0, trace = 0;
    std::string file, host;
    int64_t began = 0;  // seconds since 1970
  };
  uint64_t counted = 0;
  uint64_t whole = 0;       // of these: without iterations
  uint64_t incomplete = 0;  // their recording or file was cut off, or is damaged
  uint64_t copies = 0;      // of a recording of which another file counts
  Some future, undated;     // they do not count in this time

  // Whether some have iterations, and others none: times of both are not comparable.
  bool are_mixed() const { return whole > 0 && whole < counted; }
  // A line for each kind that has not the time as its reason, for people.
  std::vector<std::string> lines() const;
};
CountedTraces count_traces(const Selection& selection, int64_t now);

// For top_statement(): the time that its shares are of, and how devices spend it.
struct TimesOfTop {
  uint64_t iterations_ns = 0;  // of all ranks together
  uint64_t compute_ns = 0, communication_ns = 0, copies_ns = 0, idle_ns = 0;
  uint64_t outside_ns = 0, traces_outside = 0;  // work that was launched outside of iterations

  uint64_t devices_ns() const { return compute_ns + communication_ns + copies_ns + idle_ns; }
  // A line if devices work outside of iterations for more than a hundredth of their time: that is not in the answer.
  std::vector<std::string> lines() const;
};
TimesOfTop times_of_top(const Selection& selection);

}  // namespace kymo::fleet
