// Calls on devices in which the ranks do not wait for each other, or may not: they do not show who is late.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "questions/statements.h"
#include "push/answer.h"

namespace kymo::fleet {

// Columns: its_job, waiting (analyze::Waiting), operation, its_calls (of all ranks). Only of numbered iterations and of
// traces with a rank, as stragglers_statement().
std::string calls_without_wait_statement(const Selection& selection);

// A line for each job about calls of which the traces do not say which collective they are. And one for each job that
// is not in `jobs_with_others`, which has calls that can show who is late: it has only sends, receives and calls with a
// root. Throws kymo::Error if the rows are not those of the statement.
std::vector<std::string> notes_of_calls_without_wait(const push::Rows& rows,
                                                     const std::set<std::string>& jobs_with_others);

}  // namespace kymo::fleet
