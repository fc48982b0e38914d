// What Kymo's options are in libkineto's config text, and the other way round.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/program.h"
#include "wire/config.h"
#include "wire/result.h"

namespace kymo::daemon {

// What a process of libkineto gets, and the file that it will write.
struct KinetoOrder {
  std::string config;
  std::string path;
  bool is_late =
      false;  // the time to start at was too near for a program that asks every few seconds: it starts at once
};

// `request` as the process that `program` is will be told. libkineto writes JSON, with its pid in the name. Refused:
// what it cannot do, or what a config cannot say.
wire::Result<KinetoOrder> kineto_order(const Program& program, const ProgramRequest& request, uint64_t now_ms);

// What a config text asks for, in Kymo's words: for programs that have Kymo in them.
wire::Result<wire::Trigger> trigger_of_config(const wire::TraceRequest& config);

}  // namespace kymo::daemon
