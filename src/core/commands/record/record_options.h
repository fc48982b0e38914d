// The command line of `kymo record`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "commands/record/interfaces.h"
#include "commands/record/record_samples.h"
#include "kymo/session.h"

namespace kymo::cli {

struct RecordOptions {
  std::string output;
  SessionOptions session;
  bool flight = false;  // keeps only the latest events: --flight, or policy overwrite
  bool append = false;  // to an existing trace
  bool strict = false;
  bool quiet = false;
  bool progress = false;  // show how the recording grows
  bool json = false;
  InterfaceChoice interfaces;
  std::string python;  // record the functions of Python programs too: "yes" or "all"; empty: no
  std::string memory;  // record the heap too: KYMO_MALLOC's text; empty: no
  SampleOptions samples;
  struct {
    bool is_given = false;  // on the command line
    uint64_t hertz = 1000;
    std::vector<std::string> names;  // of CUPTI; empty: a default set
  } gpu_counters;
  bool gpu_stalls = false;           // sample the instructions of kernels
  uint64_t pid = 0;                  // a process that already runs; 0: a program is started
  uint64_t duration_ns = 0;          // of the recording of such a process; 0: until it ends
  std::vector<std::string> program;  // and its arguments; empty only for a process that already runs
};

// The program follows "--", or starts at the first word that is not an option of kymo. Returns nothing if help was
// printed. Throws options::UsageError.
std::optional<RecordOptions> read_record_options(Arguments arguments);

}  // namespace kymo::cli
