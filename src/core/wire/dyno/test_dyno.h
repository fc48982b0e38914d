// The side of the `dyno` command, for tests and fuzzers: its requests, and what it reads from the replies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "base/result.h"
#include "base/text.h"
#include "json/document.h"
#include "kymo/error.h"
#include "wire/config.h"
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
inline base::Result<std::string> gputrace_config(const GpuTraceOptions& options) {
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

inline base::Result<RpcTrigger> gputrace_request(const GpuTraceOptions& options) {
  auto config = gputrace_config(options);
  if (!config) return base::Refusal{config.reason()};
  return RpcTrigger{std::move(*config), options.pids, options.job, options.process_limit};
}

inline std::string rpc_request(const RpcRequest& request) {
  const auto named = [](std::string_view name) { return base::format("{{\"fn\":\"{}\"}}", name); };
  if (const auto* trigger = std::get_if<RpcTrigger>(&request)) {
    return base::format(R"({{"config":{},"fn":"{}","job_id":{},"pids":{},"process_limit":{}}})",
                        base::json_string(trigger->config), "setKinetOnDemandRequest", trigger->job,
                        base::format("[{}]", base::join(trigger->pids, ",")), trigger->process_limit);
  }
  if (const auto* pause = std::get_if<RpcPauseCounters>(&request)) {
    return base::format(R"({{"duration_s":{},"fn":"{}"}})", pause->seconds, "dcgmProfPause");
  }
  if (std::holds_alternative<RpcGetStatus>(request)) return named("getStatus");
  if (std::holds_alternative<RpcGetVersion>(request)) return named("getVersion");
  return named("dcgmProfResume");
}

// ---- Replies. One with "failed" is a refusal with its text.

// The result of `read` for a reply, or why the reply cannot be read.
template <class T, class F>
base::Result<T> reply_of(std::string_view untrusted, F&& read) {
  if (untrusted.size() > kRpcLargest) {
    return base::Refusal{base::format("a reply of {} bytes is longer than {}", untrusted.size(), kRpcLargest)};
  }
  try {
    return base::Result<T>(read(json::Document(untrusted, json::RepeatedNames::LastCounts).root()));
  } catch (const Error& error) {
    return base::Refusal{error.what()};
  }
}

inline std::vector<int32_t> test_pids_of(const json::Value& value, std::string_view what) {
  std::vector<int32_t> pids;
  for (const json::Value& pid : value.list(what)) pids.push_back(static_cast<int32_t>(pid.integer(what)));
  return pids;
}

inline base::Result<RpcTriggered> read_rpc_triggered(std::string_view untrusted) {
  return reply_of<RpcTriggered>(untrusted, [](const json::Value& reply) {
    if (const auto status = reply.find("status")) throw Error(base::format("it {}", status->text("status")));
    RpcTriggered triggered;
    triggered.matched = test_pids_of(reply["processesMatched"], "processesMatched");
    triggered.activities_triggered = test_pids_of(reply["activityProfilersTriggered"], "activityProfilersTriggered");
    triggered.activities_busy = reply["activityProfilersBusy"].number("activityProfilersBusy");
    triggered.events_triggered = test_pids_of(reply["eventProfilersTriggered"], "eventProfilersTriggered");
    triggered.events_busy = reply["eventProfilersBusy"].number("eventProfilersBusy");
    return triggered;
  });
}

inline base::Result<int64_t> read_rpc_status(std::string_view untrusted) {
  return reply_of<int64_t>(untrusted, [](const json::Value& reply) { return reply["status"].integer("status"); });
}

inline base::Result<std::string> read_rpc_version(std::string_view untrusted) {
  return reply_of<std::string>(untrusted,
                               [](const json::Value& reply) { return std::string(reply["version"].text("version")); });
}

}  // namespace kymo::wire
