// Whether the database can answer, and which traces of a selection are not complete in it, or are there twice.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "push/clickhouse.h"
#include "questions/statements.h"

namespace kymo::fleet {

// Throws kymo::Error if a newer version of Kymo made the tables, because they may mean something else, or if a server
// has no tables of Kymo, or lost one.
void refuse_newer_version(const Target& target);

// What people must know about the traces of a selection, a line each. Those that do not count become
// `selection.without`. Both throw kymo::Error, also if too many traces do not count.
//
// Parts and copies of a recording that is there too do not count (Parts), and traces that are incomplete themselves
// are named. Ask for this first: it is cheap, and says if there is no table to read.
std::vector<std::string> leave_out_copies(Selection& selection);
// Traces that lost rows are named, and those whose rows a server has twice do not count. On a server, the rows of
// iterations are counted, and those of operations if the answer uses them, else of calls.
std::vector<std::string> check_rows(Selection& selection, bool uses_operations);

// For diff_statement() and history_statement(): if some traces have iterations, the others do not count, because the
// time of a whole trace is not that of an iteration. Then a line says how many.
std::vector<std::string> leave_out_whole_traces(Selection& selection);

// For top_statement(), which has only what is in iterations: a line if devices work outside of them for more than a
// hundredth of their time, and one if that cannot be read, or lost rows.
std::vector<std::string> work_outside_of_iterations(const Selection& selection);

// For stragglers_statement(): the same for traces that an older version of Kymo pushed, without the calls of their
// collectives. `lost_rows`: check_rows() found some, so the calls may be lost too. Throws kymo::Error, also if there is
// no table for the calls at all.
std::vector<std::string> traces_without_calls(const Selection& selection, bool lost_rows);

// Traces of the same recording. Their contents are different, so their numbers are too: a file that was pushed while it
// was copied, and later the whole file; a file and its compressed copy; a trace of another tool, and what was imported
// from it.
//
// The rows have trace and file, for trace_names().
struct Parts {
  // Incomplete traces of which a complete one is there too. It is the same recording if host, program, job, rank and
  // the nanosecond of the first event are the same, and it has not less of anything. Traces of other tools often name
  // no host or no program. A part may begin later than the whole, because the threads of a program write in turns: such
  // a one stays in `alone`.
  push::Rows of_others;
  push::Rows alone;   // the other incomplete ones
  push::Rows copies;  // all but the first of those that also have the same length, number of events and totals
};

// The rows of trace, calls and nanoseconds: the totals of the operations of these traces.
using Totals = std::function<push::Rows(const std::vector<uint64_t>& traces)>;

// Of the rows of the traces of the same recordings. Asks for the totals only of traces that may be copies, up to 1,000
// at a time. Throws kymo::Error if the rows are not those of the statements.
Parts find_parts(const push::Rows& marks, const Totals& totals);

}  // namespace kymo::fleet
