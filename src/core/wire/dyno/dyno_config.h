// The request of `dyno gputrace`, and the config that a daemon makes from it for the processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/dyno/rpc.h"

namespace kymo::wire {

// The options of `dyno gputrace`, with its defaults.
struct GpuTraceOptions {
  std::string log_file;
  int64_t job = 0;
  std::vector<int32_t> pids = {0};
  int64_t process_limit = 3;
  uint64_t duration_ms = 500;
  uint64_t start_ms = 0;               // Unix time; 0: now
  std::optional<uint64_t> iterations;  // instead of a time
  uint64_t iteration_roundup = 1;
  bool record_shapes = false;
  bool profile_memory = false;  // a snapshot of memory, for the length of the duration
  bool with_stacks = false;
  bool with_flops = false;
  bool with_modules = false;
};

// The text that `dyno` writes, with its order of lines. Refuses a file name that a config cannot contain, memory
// together with iterations (a snapshot has only a duration), and zero iterations.
base::Result<std::string> gputrace_config(const GpuTraceOptions& options);
base::Result<RpcTrigger> gputrace_request(const GpuTraceOptions& options);

// What a process gets: the text, and an id to find its trace again.
std::string handed_out_config(std::string_view config, uint64_t trace_id);

}  // namespace kymo::wire
