// Converts Kymo's options to libkineto's config text, and back.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "daemon/program.h"
#include "wire/config.h"

namespace kymo::daemon {

// What a process of libkineto gets, and the file that it will write.
struct KinetoOrder {
  std::string config;
  std::string path;
  bool is_late = false;  // the start time was too close for a program that polls every few seconds: it starts at once
};

// `request` as a config for the process of `program`. libkineto writes JSON, with its pid in the name. Refused: options
// that libkineto does not support or that a config cannot express.
base::Result<KinetoOrder> kineto_order(const Program& program, const ProgramRequest& request, uint64_t now_ms);

// A config text as a Kymo trigger, for programs that contain Kymo.
base::Result<wire::Trigger> trigger_of_config(const wire::TraceRequest& config);

}  // namespace kymo::daemon
