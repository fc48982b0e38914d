#include "wire/dyno/dyno_config.h"

#include "base/text.h"
#include "wire/config.h"

namespace kymo::wire {

base::Result<std::string> gputrace_config(const GpuTraceOptions& options) {
  if (options.log_file.empty()) return base::Refusal{"a trace needs a file to be written to"};
  if (options.iterations && options.profile_memory) {
    return base::Refusal{"a snapshot of memory takes a duration, not iterations; leave one of them out"};
  }
  std::string text = base::format("ACTIVITIES_LOG_FILE={}", options.log_file);
  if (options.iterations) {
    text += base::format("\nPROFILE_START_ITERATION=0\nPROFILE_START_ITERATION_ROUNDUP={}\nACTIVITIES_ITERATIONS={}",
                         options.iteration_roundup, *options.iterations);
  } else {
    text +=
        base::format("\nPROFILE_START_TIME={}\nACTIVITIES_DURATION_MSECS={}", options.start_ms, options.duration_ms);
  }
  text += base::format("\nPROFILE_REPORT_INPUT_SHAPES={}", options.record_shapes);
  if (options.profile_memory) {
    text += base::format("\nPROFILE_PROFILE_MEMORY=true\nPROFILE_MEMORY=true\nPROFILE_MEMORY_DURATION_MSECS={}",
                         options.duration_ms);
  }
  text += base::format("\nPROFILE_WITH_STACK={}\nPROFILE_WITH_FLOPS={}\nPROFILE_WITH_MODULES={}", options.with_stacks,
                       options.with_flops, options.with_modules);
  // A file name with a line break would make another request. So the config is sent only if it reads back correctly.
  TraceRequest file_alone;
  file_alone.output = options.log_file;
  if (const auto sayable = config_text(file_alone); !sayable) return base::Refusal{sayable.reason()};
  if (const ConfigReading reading = read_config(text); !reading.request) return base::Refusal{reading.reason()};
  return text;
}

base::Result<RpcTrigger> gputrace_request(const GpuTraceOptions& options) {
  auto config = gputrace_config(options);
  if (!config) return base::Refusal{config.reason()};
  return RpcTrigger{std::move(*config), options.pids, options.job, options.process_limit};
}

std::string handed_out_config(std::string_view config, uint64_t trace_id) {
  return base::format("\n    {}\n    REQUEST_TRACE_ID={}\n", config, trace_id);
}

}  // namespace kymo::wire
