// Traces of the same recording. Their contents are different, so their numbers are too: a file that was pushed while it
// was copied, and later the whole file; a file and its compressed copy; a trace of another tool, and what was imported
// from it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "push/answer.h"

namespace kymo::fleet {

// Rows of trace and file, for trace_names().
struct Parts {
  // Incomplete traces of which a complete one is there too. It is the same recording if host, program, job, rank and
  // the nanosecond of the first event are the same, and it has not less of anything. Traces of other tools often name
  // no host or no program. A part may begin later than the whole, because the threads of a program write in turns: such
  // a one stays in `alone`.
  push::Rows of_others;
  push::Rows alone;   // the other incomplete ones
  push::Rows copies;  // all but the first of those that also have the same length, number of events and totals
};

// The rows of totals_statement() of these traces.
using Totals = std::function<push::Rows(const std::vector<uint64_t>& traces)>;

// Of the rows of same_recordings_statement(). Asks for the totals only of traces that may be copies, up to 1,000 at a
// time. Throws kymo::Error if the rows are not those of the statements.
Parts find_parts(const push::Rows& marks, const Totals& totals);

}  // namespace kymo::fleet
