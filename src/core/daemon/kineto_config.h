// Converts Kymo's options to libkineto's config text, and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "daemon/program.h"
#include "wire/config.h"

namespace kymo::daemon {

// What a process of libkineto gets, and what will come of it.
struct KinetoOrder {
  std::string config;
  std::string path;           // the file that it will write
  std::string instead;        // the file that a newer libkineto writes if it may not write `path`
  uint64_t starts_at_ns = 0;  // CLOCK_REALTIME, when the recording starts; 0: that depends on the program's iterations
  uint64_t ends_at_ns = 0;    // the same for its end
  bool is_late = false;  // the start time was too close for a program that polls every few seconds: it starts at once
};

// `request` as a config for the process of `program`, which reads it now. libkineto writes JSON for a trace and a
// pickle for memory, so the file has that extension. {pid} is the pid that the daemon shows; libkineto adds the pid
// that it has in its own namespace, if that is another one. Refused: options that libkineto does not support or that a
// config cannot express.
base::Result<KinetoOrder> kineto_order(const Program& program, const ProgramRequest& request, uint64_t now_ms);

// The folder that a newer libkineto writes to if KINETO_ONDEMAND_TRACE_DIR is not set.
inline constexpr std::string_view kKinetoFolder = "/tmp";

// A config text as a Kymo trigger, for programs that contain Kymo.
base::Result<wire::Trigger> trigger_of_config(const wire::TraceRequest& config);

}  // namespace kymo::daemon
