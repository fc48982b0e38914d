// The commands that say what is in a trace.
#pragma once

#include "cli/command.h"

namespace kymo::cli {

int info(const Arguments&);            // what a trace or a capture holds
int report_command(const Arguments&);  // where the time went, on one page
int stats(const Arguments&);           // the same by name
int annotate(const Arguments&);        // the source of a function with the times of its lines
int path_command(const Arguments&);    // the critical path of an iteration
int diff_command(const Arguments&);    // what became slower or faster
int flame(const Arguments&);           // where the time went, by path
int hist(const Arguments&);            // the distribution of durations
int roofline(const Arguments&);        // kernels against the peaks of their GPU
int timeline(const Arguments&);        // the tracks as text
int memory_command(const Arguments&);  // where the memory went
int query_command(const Arguments&);   // SQL

}  // namespace kymo::cli
