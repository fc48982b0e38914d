// Other people's tools see what Kymo sees: annotations and device signposts go to sinks beside the trace.
//
//   kymo::set_sinks("usdt, nvtx");            // or KYMO_SINKS=usdt,nvtx in the environment of any program
//   for (const kymo::SinkReport& sink : kymo::list_sinks()) …    // which there are, or why one is not
//
//   name           what it is, and who reads it
//   usdt           probes in the program: perf, bpftrace, SystemTap, gdb (`readelf -n` lists them)
//   lttng          tracepoints of LTTng-UST, provider "kymo": `lttng enable-event -u 'kymo:*'`
//   trace-marker   lines in the kernel's trace: trace-cmd, ftrace, Perfetto
//   nvtx           ranges and marks in the domain "kymo": Nsight Systems, or any tool that is injected as NVTX asks
//
// A sink that is off costs nothing: the guards that test whether something records test this too, in the same load.
// One that is on costs what its tool costs. Annotations are then no longer free of system calls and locks, if the tool
// is not. A text is put together where a sink wants one ("step 7"), up to 511 bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kymo/error.h"
#include "kymo/sink_calls.h"

namespace kymo {

struct SinkReport {
  std::string name;
  std::string absent;  // why it cannot be had here, and what to do; empty: it can
  bool on = false;
};
KYMO_API std::vector<SinkReport> list_sinks();

// These and no others, separated by commas; blanks and case do not matter, "" is none. Throws before anything changes:
// InvalidArgument for a name that is none, with those there are; NotAvailable for one that cannot be had here.
KYMO_API void set_sinks(std::string_view names);

}  // namespace kymo
