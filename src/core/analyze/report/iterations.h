// Finds the iterations of a program: the unit in which people think about a training loop or a server.
//
//   "ProfilerStep#3"        the ranges of a profiler that also marks its steps, if they are as many
//   kymo::step()            the time from one mark "step N" to the next one
//   "ProfilerStep#3",       ranges that are named like steps or iterations. One or two of them must take half of the
//   "step 7", "iteration 2"  trace, unless a profiler named them
//   "Optimizer.step#Adam"   the time from one end to the next one: PyTorch has this range in every training loop
//   a range that repeats    the outermost range of a thread that takes most of its time, if there are at least three,
//                           and others are inside
//   none of these           the whole trace is one window
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyze/report/events.h"
#include "analyze/report/intervals.h"

namespace kymo::analyze {

struct Iterations {
  enum class Source : uint8_t { StepMarks, NamedRanges, OptimizerSteps, RepeatingRange, WholeTrace };
  Source source = Source::WholeTrace;
  std::string name;               // of the ranges, without their numbers: "ProfilerStep#{}"
  std::optional<uint32_t> track;  // of the thread that has them
  std::vector<Interval> list;     // in order of time; one for the whole trace
  Intervals window() const { return Intervals(list); }
  // The index of the one that has this time; nothing: it is in none.
  std::optional<uint32_t> at(int64_t time) const;
  // Indices in the list, which must not be empty. Of several that are equally long, the first one.
  size_t longest() const;
  size_t median() const;
};

// Reads the times and classes of all host ranges once or twice. `main_track`: the thread that counts if the program
// does not say what an iteration is, such as the one that launches device work; nothing: the busiest one. The
// iterations of `helpers` do not count.
Iterations find_iterations(EventWalk& walk, std::optional<uint32_t> main_track = {},
                           const std::set<trace::WriterId>& helpers = {});

// Whether a process can have iterations that the program says, by the names that it uses. Reads no events.
bool may_name_iterations(const trace::WriterInfo& process);

}  // namespace kymo::analyze
