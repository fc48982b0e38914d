// Sinks: annotations and device signposts also go to other tools, beside the trace.
//
//   kymo::set_sinks("usdt, nvtx");            // or KYMO_SINKS=usdt,nvtx in the environment of any program
//   for (const kymo::SinkReport& sink : kymo::list_sinks()) …    // which are available, or why one is not
//
//   name           what it is: tools that read it
//   usdt           probes in the program: perf, bpftrace, SystemTap, gdb (`readelf -n` lists them)
//   lttng          tracepoints of LTTng-UST, provider "kymo": `lttng enable-event -u 'kymo:*'`
//   trace-marker   lines in the kernel's trace: trace-cmd, ftrace, Perfetto
//   nvtx           ranges and marks in the domain "kymo": Nsight Systems, and any tool that uses NVTX injection
//
// A sink that is off costs nothing: the load that tests for a recording also tests for sinks. A sink that is on costs
// what its tool costs. If the tool makes system calls or takes locks, annotations do so too. If a sink wants a text
// ("step 7"), it is formatted, up to 511 bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kymo/error.h"
#include "kymo/sink_calls.h"

namespace kymo {

struct SinkReport {
  std::string name;
  std::string absent;  // why it is not available here, and what to do; empty: it is available
  bool on = false;
};
KYMO_API std::vector<SinkReport> list_sinks();

// Turns on exactly these sinks. Names are separated by commas; blanks and case are ignored; "" turns all off. If it
// throws, it has changed nothing. InvalidArgument: an unknown name; the message lists the valid ones. NotAvailable: the
// sink is not available here.
KYMO_API void set_sinks(std::string_view names);

}  // namespace kymo
