#include "daemon/kineto_config.h"

#include <algorithm>

#include "base/host.h"
#include "base/text.h"
#include "wire/dyno/rpc.h"
#include "wire/output_pattern.h"

namespace kymo::daemon {
namespace {

// libkineto looks once a second whether it is time, and refuses a start that is past.
constexpr uint64_t kLeastLeadMs = 1'500;
// Without a start time, it starts this long after it has read the config, plus the warm-up.
constexpr uint64_t kKinetoLeadMs = 2'000;

uint64_t in_ms(uint64_t ns) { return (ns + kNsPerMs - 1) / kNsPerMs; }

std::string without_endings(std::string path, std::initializer_list<std::string_view> endings) {
  for (const std::string_view ending : endings)
    if (path.ends_with(ending)) path.erase(path.size() - ending.size());
  return path;
}

// The path ends in .json, without the pid before it, because libkineto adds the pid there.
std::string kineto_output(const std::string& asked, int32_t pid) {
  std::string path = without_endings(asked, {".gz", ".kymo", ".pftrace", ".perfetto-trace", ".csv"});
  if (!path.ends_with(".json")) path += ".json";
  const std::string own = base::format("_{}.", pid);
  const size_t at = path.rfind(own);
  if (at != path.npos && wire::path_with_pid(path.substr(0, at) + path.substr(at + own.size() - 1), pid) == path)
    path.erase(at, own.size() - 1);
  return path;
}

// A snapshot is always a pickle.
std::string kineto_memory_output(const std::string& asked) {
  return without_endings(asked, {".pickle", ".html", ".kymo", ".gz", ".json", ".raw"}) + ".pickle";
}

wire::TraceRequest kineto_request(const Program& program, const ProgramRequest& request, const std::string& path) {
  const wire::TraceOptions& options = request.options;
  wire::TraceRequest config;
  config.warmup_s = 0;
  config.shapes = (options.flags & wire::kWithShapes) != 0;
  config.memory_events = (options.flags & wire::kWithMemory) != 0;
  config.stack = (options.flags & wire::kWithStack) != 0;
  config.flops = (options.flags & wire::kWithFlops) != 0;
  config.modules = (options.flags & wire::kWithModules) != 0;
  config.trace_id = std::to_string(request.id);
  if (request.kind == wire::RequestKind::Memory) {
    config.memory_snapshot = true;
    config.memory_duration_ms = in_ms(options.duration_ns);
    config.output = kineto_memory_output(path);
    return config;
  }
  config.output = kineto_output(path, program.inner_pid());
  if (options.iterations != 0) {
    config.start_iteration = 0;
    config.iterations = options.iterations;
    if (options.iteration_roundup != 0) config.iteration_roundup = options.iteration_roundup;
    config.duration_ms = wire::TraceRequest().duration_ms;
  } else {
    config.duration_ms = in_ms(options.duration_ns);
    config.start_ms = in_ms(options.start_at_ns);
  }
  return config;
}

// Same as wire::path_with_pid, but with the placeholder {pid} instead of a pid.
std::string with_pid_place(const std::string& path) {
  std::string escaped;
  for (const char c : path) escaped.append(c == '{' || c == '}' ? 2 : 1, c);
  for (const std::string_view ending : {".pt.trace.json", ".json"}) {
    const size_t at = escaped.find(ending);
    if (at != escaped.npos) return escaped.insert(at, "_{pid}");
  }
  return escaped;
}

// Everything except the text that is sent.
KinetoOrder order_of(const wire::TraceRequest& config, int32_t pid, uint64_t now_ms) {
  wire::TraceRequest without_output = config;
  without_output.output.clear();
  KinetoOrder order;
  order.path = wire::output_path(config, pid);
  order.instead = wire::output_path(without_output, pid);
  if (config.memory_snapshot) {
    order.starts_at_ns = now_ms * kNsPerMs;
    order.ends_at_ns = order.starts_at_ns + config.memory_duration_ms * kNsPerMs;
  } else if (!config.by_iterations()) {
    const uint64_t start_ms = config.start_ms != 0 ? config.start_ms : now_ms + kKinetoLeadMs + config.warmup_s * 1000;
    order.starts_at_ns = start_ms * kNsPerMs;
    order.ends_at_ns = order.starts_at_ns + config.duration_ms * kNsPerMs;
  }
  return order;
}

}  // namespace

base::Result<KinetoOrder> kineto_order(const Program& program, const ProgramRequest& request, uint64_t now_ms) {
  const int32_t own_pid = program.inner_pid();
  if (!request.kineto_config.empty()) {
    const wire::ConfigReading reading = wire::read_config(request.kineto_config);
    if (!reading.request) return base::Refusal{reading.reason()};
    KinetoOrder order = order_of(*reading.request, own_pid, now_ms);
    order.config = wire::handed_out_config(request.kineto_config, request.id);
    return order;
  }
  if (request.options.last_ns != 0)
    return base::Refusal{"libkineto does not keep past events; request a trace without --last"};
  const auto path = wire::output_from_pattern(request.options.output, {.pid = program.entry().pid,
                                                                       .request = request.id,
                                                                       .name = program.entry().name,
                                                                       .host = base::host_name(),
                                                                       .job = program.entry().job});
  if (!path) return base::Refusal{path.reason()};
  wire::TraceRequest config = kineto_request(program, request, *path);
  const bool is_late = config.start_ms != 0 && config.start_ms < now_ms + kLeastLeadMs;
  if (is_late) config.start_ms = 0;
  auto text = wire::config_text(config);
  if (!text) return base::Refusal{text.reason()};
  KinetoOrder order = order_of(config, own_pid, now_ms);
  order.config = std::move(*text);
  order.is_late = is_late;
  return order;
}

base::Result<wire::Trigger> trigger_of_config(const wire::TraceRequest& config) {
  constexpr uint64_t kMaxMs = wire::kLongestTraceNs / kNsPerMs, kLatestMs = ~uint64_t{0} / kNsPerMs;
  if (config.duration_ms > kMaxMs || config.memory_duration_ms > kMaxMs)
    return base::Refusal{"the max length of a trace is seven days"};
  if (config.start_ms > kLatestMs)
    return base::Refusal{base::format("{} ms since 1970 is not a valid start time", config.start_ms)};
  if (!config.enabled) return base::Refusal{"ACTIVITIES_ENABLED is false: there is nothing to record"};
  wire::Trigger trigger;
  trigger.follow = false;
  if (config.memory_snapshot) trigger.kind = wire::RequestKind::Memory;
  wire::TraceOptions& options = trigger.options;
  options.format = wire::TraceFormat::KinetoJson;
  options.output = with_pid_place(config.output.empty() ? "/tmp/libkineto_activities.json" : config.output);
  if (config.memory_snapshot) {
    options.output = config.output.empty() ? "/tmp/memory_snapshot_{pid}.pickle" : with_pid_place(config.output);
    options.duration_ns = config.memory_duration_ms * kNsPerMs;
  } else if (config.by_iterations()) {
    options.iterations = config.iterations;
    options.iteration_roundup = config.iteration_roundup.value_or(0);
  } else {
    options.duration_ns = config.duration_ms * kNsPerMs;
    options.start_at_ns = config.start_ms * kNsPerMs;
  }
  options.flags = (config.shapes ? wire::kWithShapes : 0) | (config.memory_events ? wire::kWithMemory : 0) |
                  (config.stack ? wire::kWithStack : 0) | (config.flops ? wire::kWithFlops : 0) |
                  (config.modules ? wire::kWithModules : 0);
  if (options.duration_ns == 0 && options.iterations == 0)
    return base::Refusal{"the trace has no duration; give a duration"};
  return trigger;
}

}  // namespace kymo::daemon
