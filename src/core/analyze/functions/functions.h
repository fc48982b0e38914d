// The functions that used the CPU or waited, from the samples of a trace: a row for each function
// of a file, or for each of its source lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/functions/samples.h"
#include "analyze/views/paths.h"

namespace kymo::functions {

struct FunctionRow {
  std::string function;
  std::string module;                            // the path of the file; empty: not known
  uint64_t self_samples = 0, total_samples = 0;  // total: it, or a function that it called, was running
  uint64_t self_ns = 0, total_ns = 0;
  std::string file = {};  // of count_lines(); empty: not known
  uint32_t line = 0;
  uint64_t waiting_ns = 0;
  uint64_t device_ns = 0;  // of the work that it launched (launch_lines.h)
};

struct FunctionTable {
  What what = What::Cpu;
  std::vector<FunctionRow> rows;  // largest self time first
  uint64_t samples = 0;           // of the rows
  uint64_t time_ns = 0;           // that the samples stand for
  uint64_t cpu_ns = 0;            // CPU time of the threads; 0: not known, or only a part of the samples is counted
  uint64_t lost_cpu_ns = 0;       // of it: records were lost, so it is of no thread
  uint64_t unknown_ns = 0;        // of the threads: there may be so much more CPU time
  uint64_t period_ns = 0;         // the longest time between two samples
  uint64_t without_stack = 0;     // of the samples, waits of which only the length is known: a row of their own
  uint64_t incomplete = 0;        // samples whose outer functions are not known
  uint64_t longer_than_copy = 0;  // of these, because only a part of the stack was copied
  uint64_t threads = 0;           // all, or those with samples in the ranges
  uint64_t off_ns = 0, preempted_ns = 0;            // of these threads
  uint64_t device_ns = 0, device_with_line_ns = 0;  // of all devices (launch_lines.h)
  std::vector<std::string> missing_files;  // functions in them have no names, because the files are not there any more
};

// Whether a function that the compiler inlined has a row, or is a part of the function whose code it is in: the one in
// which a debugger would stop.
enum class Inlines : uint8_t { Fold, Show };

// A wait belongs to the innermost function of the program itself: those of the kernel and of the standard libraries,
// which wait for it, have no rows. They are in the call tree.
FunctionTable count_functions(Samples& samples, Inlines inlines = Inlines::Fold);

// The same for each source line of a function, inlined or not. A function without lines is one row.
FunctionTable count_lines(Samples& samples);
// The lines of one function. Self is the time in a line with what the compiler inlined there, total also that in what
// the line called. `name`: as in CallTreeOptions.
FunctionTable count_lines_of(Samples& samples, const std::string& name);
// The times `from` of `other` become the times `to` of `lines`, which is sorted by all of its times.
void add_times(FunctionTable& lines, const FunctionTable& other, uint64_t FunctionRow::*from,
               uint64_t FunctionRow::*to);
// The self times of waits become waiting times.
inline void add_waits(FunctionTable& lines, const FunctionTable& waits) {
  add_times(lines, waits, &FunctionRow::self_ns, &FunctionRow::waiting_ns);
}

// The instructions with which one function used the CPU itself, also in code that was inlined there.
struct SampledInstruction {
  memory::Stacks::Code code;
  uint64_t samples = 0, ns = 0;
};
std::vector<SampledInstruction> count_instructions(Samples& samples, const std::string& name);

// The time of the program's own functions, each with that in the libraries that it calls, but without that in Kymo's.
// Most first.
struct OwnFunction {
  std::string function;
  uint64_t ns = 0;
};
std::vector<OwnFunction> own_functions(Samples& samples);

// All functions on the stacks of samples, without those whose names are not known.
std::vector<std::string> function_names(Samples& samples);

// What a thread does in a function of the C library that waits, as its callers see it. Empty: no such function.
inline constexpr std::string_view kMutex = "waits for a mutex", kReadWrite = "waits for a read-write lock",
                                  kPythonLock = "waits for a lock of Python", kCondition = "waits for a condition",
                                  kSleep = "sleeps", kJoin = "waits for the end of a thread",
                                  kChild = "waits for the end of a process";
std::string_view action_of_call(std::string_view function);

// Whether it is a function of the program itself: not of the kernel or a standard library.
bool is_own(const symbols::Frame& frame);
// The innermost one in a stack; the end: it has none.
std::vector<symbols::Frame>::const_iterator innermost_own(const std::vector<symbols::Frame>& frames);

// The function of the program to which a wait with this stack belongs. `frames`: innermost first, at least one.
std::string own_function(std::vector<symbols::Frame> frames);

// Who called whom. A row is a function at one place of the tree; its total is that of the samples with this path.
struct CallTree {
  enum class Shape : uint8_t {
    All,      // from the outermost function to those that it called
    Callers,  // from a function to those that called it
    Callees,  // from a function to those that it called
  };
  struct Row {
    std::string function, module;
    uint32_t depth = 0;
    uint32_t parent = 0;  // a row, or itself
    uint64_t samples = 0, total_ns = 0, self_ns = 0;
  };
  std::vector<Row> rows;              // each is followed by its children, largest first
  uint64_t samples = 0, time_ns = 0;  // of all stacks
};

struct CallTreeOptions {
  CallTree::Shape shape = CallTree::Shape::All;
  // Of Callers and Callees: the function, with or without its namespaces and parameters; * and ? are wildcards. If it
  // is several times on a stack, the outermost one counts.
  std::string function;
  Inlines inlines = Inlines::Fold;
};

CallTree call_tree(Samples& samples, const CallTreeOptions& options);

// The samples of a trace as paths for a flame graph: process, thread, the innermost range, functions.
views::Paths paths_of_samples(Samples& samples, const views::PathOptions& options = {});

}  // namespace kymo::functions
