// The report of a trace: where the time of an iteration went, why devices were idle, and what would save the most time.
//
// Every nanosecond of the window (the iterations, or the whole trace) is counted once, so the parts sum to the whole.
// Reads the columns that it needs two to four times; tens of millions of ranges per second. Memory depends on the
// number of names, of device operations, and of host ranges that overlap others, not of all host ranges.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/report/arrivals.h"
#include "analyze/report/device_work.h"
#include "analyze/report/gpu_stalls.h"
#include "analyze/report/gpu_use.h"
#include "analyze/report/host_time.h"
#include "analyze/report/iterations.h"
#include "analyze/report/unfinished.h"
#include "analyze/thread_states.h"
#include "trace/reader.h"

namespace kymo::analyze {

// A part of the window.
struct ReportPart {
  std::string name;
  uint64_t ns = 0;
};

struct OperationRow {
  std::string name;
  WorkKind kind = WorkKind::Compute;
  uint64_t count = 0, total_ns = 0, longest_ns = 0;
};

// Idle time of one cause, over all of its gaps.
struct GapSummary {
  uint64_t count = 0, ns = 0;
  uint64_t median_ns = 0;
  uint64_t slow = 0, slow_ns = 0;  // at least 100 µs and, if there are ten, ten times the median
  // The longest one:
  uint64_t longest_ns = 0;
  int64_t longest_begin = 0;
  std::string next;           // the operation after it
  bool is_first_run = false;  // the first operation of its name
  std::string launch;         // the call that launched it; empty: it is not in the trace
  int64_t launch_begin = 0, launch_end = 0;
};

struct DeviceReport {
  uint32_t number = 0;  // index in DeviceWork::devices
  std::string name;
  DeviceTime time;
  std::string rank;                      // of the process that uses it
  std::vector<OperationRow> operations;  // most total time first
  uint64_t largest_alone_ns = 0;         // the kernel with the most time runs, and nothing else on the device
  uint64_t awaited_compute_ns = 0, awaited_idle_ns = 0;  // while all other ranks waited for this one
  std::array<GapSummary, kIdleCauses> gaps;
  std::vector<HostRow> during_late;     // what the launching threads did while the device waited for a launch
  uint64_t during_late_outside_ns = 0;  // of that: outside of any range
  std::string outside_function;         // with most of the CPU time of the thread outside of ranges; empty: not known
  uint64_t outside_function_ns = 0;     // its CPU time there
  std::vector<HostRow> during_nothing;  // what the main thread did while nothing more was submitted
};

// What the main thread waits for in the ranges of one name.
struct HostWait {
  std::string name;                // empty: it does not wait
  std::optional<uint64_t> cpu_ns;  // CPU time in these ranges; nothing: not sampled
  bool is_cpu_at_most = false;     // by samples, of all threads
  std::vector<std::string> all;    // the names of all ranges in which it waits, the longest first
  struct Other {
    std::string thread;
    HostRow row;
  };
  std::vector<Other> meanwhile;  // what the other threads of its process did, most time first
};

// What the longer iterations have more of than the others: a range of the main thread, or an operation of the device.
// Longer is more than 5/4 of the median.
struct LongerIterations {
  size_t count = 0;
  uint64_t more_ns = 0;  // than the median time
  std::string name;      // of what explains at least half of that; empty: nothing does
  uint64_t explained_ns = 0;
};

// What samples say about functions. Without samples there is none.
struct SampledFunctions {
  struct Function {
    std::string name;
    std::string thread;  // empty: all threads
    uint64_t ns = 0;
    std::string action = {};  // with which it waits: "sleeps"; empty: not known
    uint64_t count = 0;       // of waits
  };
  std::map<std::string, uint64_t> cpu_by_range;  // CPU time by the innermost range
  std::map<std::string, Function> outside;       // by thread_key(): the one that uses most CPU time outside of ranges
  uint64_t lost_cpu_ns = 0;                      // CPU time without samples, because records were lost
  uint64_t unknown_ns = 0;                       // for so long, threads may have run or not, because records were lost
  std::vector<Function> running;                 // CPU time in functions of the program and libraries, most first
  std::vector<Function> waiting;                 // why all threads wait, most first; no name: not known
  uint64_t stacked_ns = 0;                       // of all waits: those that have a stack
  // The lock for which threads waited the longest.
  struct Lock {
    std::string kind;  // "mutex"; empty: none
    uint64_t count = 0, ns = 0, longest_ns = 0;
    uint64_t unfinished = 0;              // of the waits
    uint64_t longest_thread_ns = 0;       // of all waits of one thread
    uint64_t maybe_ns = 0;                // more, if its waits without a stack were for the lock too
    std::string function;                 // in which threads wait most; empty: not known
    std::string holder, holder_function;  // of most of the time; empty: not known
    size_t other_holders = 0;             // threads that held it in this function too
    uint64_t held_ns = 0;                 // of all these threads, in this function
    uint64_t saves_ns() const { return longest_thread_ns + maybe_ns; }
  } lock;
  // A thread that waits for others, which make what it takes or take what it makes.
  struct Limit {
    std::string waiting, waiting_function;  // the thread
    std::string by;                         // the thread that ended most of the waits; empty: no thread waits so
    size_t others = 0;                      // threads that ended some
    uint64_t ns = 0, count = 0;             // of the waits
    std::string function, action;           // of these threads meanwhile; no action: it runs
    uint64_t function_ns = 0;
    uint64_t ready_ns = 0;  // of ns: these threads wanted to run, and others ran
    uint64_t saves_ns() const { return ns > ready_ns ? ns - ready_ns : 0; }
  } limit;
  // A function in which the main thread is seldom, but long each time.
  struct Bursts {
    std::string function;  // empty: there are none
    std::string action;    // with which it waits for most of the time; empty: it runs
    uint64_t count = 0, ns = 0, median_ns = 0;
    uint64_t period_ns = 0;  // from begin to begin; 0: not regular
  } bursts;
  bool is_lock_recorded = false;  // by kymo record --with waits; otherwise it follows from stacks and wake-ups
  bool has_wait_stacks = false;   // they were recorded, also if nothing waited
};

// Something that costs time, with what proves it.
struct Finding {
  std::string kind;  // for programs: "late launches", "straggler", …
  std::string text;
  uint64_t ns = 0;                    // of the window that it is about
  uint64_t saves_ns = 0;              // of the window, at most; 0: the trace does not prove a saving
  std::vector<std::string> evidence;  // rows
  std::string command;                // shows more; FILE stands for the trace
  std::string record;                 // what to record to know more; empty: nothing is missing
};

// A device had not so much memory as a thread asked for.
struct OutOfMemory {
  int64_t time = 0;
  std::string what;  // "2.15 GB more on NVIDIA H200"
  std::string thread;
};

struct Report {
  Iterations iterations;
  uint64_t window_ns = 0;
  uint64_t median_ns = 0, shortest_ns = 0, longest_ns = 0;  // of an iteration
  size_t longest_iteration = 0;
  LongerIterations longer;
  int64_t first_ns = 0, last_ns = 0;            // of the trace, on the host's clock
  std::string main_thread;                      // the thread of the iterations
  bool has_samples = false;                     // CPU samples of the program's functions
  std::string main_device;                      // the busiest one; empty: none
  std::vector<ReportPart> parts;                // of the window, with device idle time by cause, or host time by name
  HostTime host;                                // of the main thread
  HostWait wait;                                // of the main thread, without a device
  std::vector<ThreadStates> threads;            // without a device: sampled ones, the longest CPU time first
  ThreadsTogether together;                     // of these threads
  uint64_t processors = 0;                      // on which the sampled program could run; 0: not known
  SampledFunctions functions;                   // of the program
  bool is_by_state = false;                     // there are no ranges, so the parts are the states of the main thread
  std::vector<Unfinished> unfinished;           // the window has them in addition to the iterations
  std::vector<std::string> unfinished_threads;  // their names
  std::vector<OutOfMemory> out_of_memory;       // in order of time; at most 1,000
  Arrivals arrivals;                            // of the ranks of a merged trace
  std::vector<DeviceReport> devices;            // busiest first
  std::vector<ShapeRow> shapes;                 // operations of the main thread by the shapes of their inputs
  std::vector<GpuUse> gpus;                     // what the counters of GPUs say, if they were recorded
  std::vector<KernelStalls> stalls;             // by the most samples
  std::string not_recorded;                     // what the sampler could not see, and why; empty: it saw all
  uint64_t device_operations_left_out = 0;
  std::vector<Finding> findings;         // at most three
  std::vector<trace::Problem> problems;  // what could not be read

  // Whether the parts can be divided by the number of iterations.
  bool is_of_iterations() const { return iterations.source != Iterations::Source::WholeTrace && unfinished.empty(); }
};

// Never throws for a damaged trace: what is readable is reported.
Report make_report(const trace::Reader& reader, const SampledFunctions* functions = nullptr);

}  // namespace kymo::analyze
