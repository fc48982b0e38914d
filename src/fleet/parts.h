// Traces that are a part of another one: a file that was pushed while it was copied, and later the whole file. Their
// contents are different, so their numbers are too.
#pragma once

#include "push/answer.h"

namespace kymo::fleet {

// Rows of incomplete traces: trace and file, for trace_names().
struct Parts {
  // Those of which a complete trace is there too. It is the same recording if host, program, job, rank and the
  // nanosecond of the first event are the same, and it has not less of anything. Only recordings of Kymo have a host
  // and a program. A part may begin later than the whole, because the threads of a program write in turns: such a one
  // stays in `alone`.
  push::Rows of_others;
  push::Rows alone;
};

// Of the rows of incomplete_marks_statement(). Throws kymo::Error if they are not that.
Parts find_parts(const push::Rows& marks);

}  // namespace kymo::fleet
