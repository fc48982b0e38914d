// The ranks that others wait for in collectives. stragglers_statement() says how they are found.
//
// A rank is never named on incomplete data: calls that cannot be compared are left out, and the notes say how many and
// why.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "questions/statements.h"
#include "push/answer.h"

namespace kymo::fleet {

struct StragglerRow {
  std::string job;
  int64_t rank = 0;
  uint64_t times_last = 0, others_waited_ns = 0;
  uint64_t worst_iteration = 0, worst_call = 0, worst_trace = 0;
  std::string worst_group, worst_name, worst_host;
  double share = 0;  // of TimeOfJob
};

// Calls of a job that do not count.
struct CallsLeftOut {
  std::string job;
  LeftOut why = LeftOut::No;
  uint64_t calls = 0;
  uint64_t clock_error_ns = 0;  // of LeftOut::ClockError, the largest
};

// The times of all ranks of a job. A share is of the iterations, or of the calls if they took longer, as for a program
// whose devices work longer than its iterations on the host take.
struct TimeOfJob {
  uint64_t iterations_ns = 0, calls_ns = 0;
};

struct Stragglers {
  std::map<std::string, TimeOfJob> jobs;  // those with calls that count
  std::vector<StragglerRow> rows;         // the largest shares first; also ranks for which nobody waits
  std::vector<CallsLeftOut> left_out;
  bool may_have_older_runs = false;  // without calls, it is not known

  bool has_unknown_job() const;  // one that has calls, and none of them counts
};

// From the rows of stragglers_statement(), without the names and traces of the worst calls. Rows are untrusted: all of
// these throw kymo::Error if they are not what the statement asks for.
Stragglers read_stragglers(const push::Rows& rows);

// Replaces the times of iterations by those of walls_statement().
void set_iteration_times(Stragglers& stragglers, const push::Rows& rows);

// Adds what worst_calls_statement() has, and then what hosts_statement() has of their traces.
void add_worst_calls(Stragglers& stragglers, const push::Rows& rows);
void add_hosts(Stragglers& stragglers, const push::Rows& rows);

// From the rows of stragglers_statement(). Asks the database for the rest. The names of the worst calls are those of
// the first `limit` rows. `notes`: which calls do not count, and why (straggler_notes.h).
Stragglers ask_stragglers(const Selection& selection, const push::Rows& rows, uint64_t ranks, uint64_t limit,
                          std::vector<std::string>& notes);

}  // namespace kymo::fleet
