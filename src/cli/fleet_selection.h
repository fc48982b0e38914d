// Which traces a question of `kymo fleet` is about, and what to say about those that it is not about.
#pragma once

#include <string>

#include "cli/fleet_output.h"
#include "fleet/answers.h"
#include "fleet/statements.h"

namespace kymo::cli {

inline constexpr const char* kNoIterations =
    "these traces have no iterations: a program marks them with ranges that it repeats, or with kymo::step()";

// For a question about one job: chooses the only one of this time if none is given. Throws kymo::Error with their names
// if there are several.
void choose_job(fleet::Selection& selection, const std::string& question);

// Says which traces do not count because of their time: in the future, or unknown.
void warn_of_other_times(const fleet::Selection& selection, Notes& notes);

// Says why a selection has no traces: false if it has some. After warn_of_other_times().
bool say_nothing_found(const fleet::Selection& selection, Notes& notes);

// Says which ranks are not compared.
void warn_of_other_ranks(const fleet::DiffRanks& ranks, Notes& notes);

// Says if there are few samples because a rank has less than half of the minutes of another one.
void warn_of_few_samples(const fleet::DiffRanks& ranks, Notes& notes);

// Says why there is nothing to compare. `middle`: where B begins, in seconds since 1970.
void say_empty_sides(const fleet::Selection& selection, const fleet::DiffRanks& ranks, int64_t middle, Notes& notes);

}  // namespace kymo::cli
