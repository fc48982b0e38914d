#include "ondemand/requests.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/clock.h"
#include "base/environment.h"
#include "base/host.h"
#include "base/text.h"
#include "ondemand/identity.h"
#include "wire/config.h"
#include "wire/output_pattern.h"

namespace kymo::ondemand {

namespace {

constexpr uint64_t kKnownFlags =
    wire::kWithShapes | wire::kWithMemory | wire::kWithStack | wire::kWithFlops | wire::kWithModules;
constexpr uint64_t kRequestMillisecond = 1'000'000;
constexpr size_t kMaxConfigNotes = 8;

std::string time_text() {
  const time_t now = time(nullptr);
  tm parts{};
  char text[32] = "";
  if (localtime_r(&now, &parts) != nullptr) strftime(text, sizeof text, "%Y%m%d-%H%M%S", &parts);
  return text;
}

base::Result<std::string> path_of(const std::string& pattern, uint64_t id, int32_t pid) {
  const char* job = base::environment("SLURM_JOB_ID");
  return wire::output_from_pattern(pattern, {.pid = pid,
                                             .request = id,
                                             .name = program_name(),
                                             .host = base::host_name(),
                                             .job = job != nullptr ? job : "",
                                             .time = time_text()});
}

base::Check check_clock(uint64_t start_at_ns, const std::string& boot_id) {
  if (start_at_ns == 0 || boot_id.empty() || boot_id == base::boot_id()) return {};
  return base::Refusal{
      base::format("the start time is from another host's clock (boot id {}); use a time of this host", boot_id)};
}

base::Check check_flags(uint64_t flags) {
  if ((flags & ~kKnownFlags) == 0) return {};
  return base::Refusal{base::format("options {:#x} are unknown to this version of Kymo; leave them out, or update Kymo",
                                    flags & ~kKnownFlags)};
}

TraceFlags flags_of(uint64_t flags) {
  return {(flags & wire::kWithShapes) != 0, (flags & wire::kWithMemory) != 0, (flags & wire::kWithStack) != 0,
          (flags & wire::kWithFlops) != 0, (flags & wire::kWithModules) != 0};
}

// The requester is unknown: a message of this protocol names no user. So a program writes only to the folders that
// Kineto uses, and to those that its own user allowed.
std::vector<std::string> config_folders() {
  std::vector<std::string> folders = folders_in("KINETO_ONDEMAND_TRACE_DIR");
  if (folders.empty()) folders = {"/tmp"};
  for (std::string& folder : folders_in("KYMO_TRACE_DIR")) folders.push_back(std::move(folder));
  return folders;
}

}  // namespace

std::string base_config() {
  constexpr size_t kMax = wire::kConfigLargest / 2;  // leaves space for the request
  const char* named = base::environment("KINETO_CONFIG");
  std::ifstream file(named != nullptr && *named != '\0' ? named : "/etc/libkineto.conf", std::ios::binary);
  std::string text(kMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.gcount() == static_cast<std::streamsize>(kMax)) return {};
  text.resize(static_cast<size_t>(file.gcount()));
  return wire::read_config(text).errors.empty() ? text : std::string();
}

base::Result<JobRequest> job_of(const wire::Start& start, const std::vector<std::string>& folders) {
  const wire::TraceOptions& options = start.options;
  if (!wire::is_known(start.kind)) {
    return base::Refusal{
        base::format("request kind {} is unknown to this version of Kymo", static_cast<uint32_t>(start.kind))};
  }
  const base::Check usable =
      base::first_refusal({check_flags(options.flags), check_clock(options.start_at_ns, options.boot_id)});
  if (!usable) return base::Refusal{usable.reason()};
  const auto path = path_of(options.output, start.id, start.pid.value_or(getpid()));
  if (!path) return base::Refusal{path.reason()};
  JobRequest request;
  request.id = start.id;
  request.start_at_ns = options.start_at_ns;
  request.asked_at_ns = start.asked_at_ns.value_or(0);
  request.duration_ns = options.duration_ns;
  request.output = *path;
  request.allowed = {folders_in("KYMO_TRACE_DIR"), folders};
  request.flags = flags_of(options.flags);
  if (start.kind == wire::RequestKind::Memory) {  // the name of the file decides the format
    request.kind = JobKind::Memory;
    request.flags.memory = true;
    return request;
  }
  request.kind = options.last_ns != 0 ? JobKind::Last : JobKind::Trace;
  request.iterations = options.iterations;
  request.iteration_roundup = options.iteration_roundup;
  request.last_ns = options.last_ns;
  if (options.format == wire::TraceFormat::KinetoJson) request.form = OutputForm::ChromeJson;
  request.metadata.emplace_back("request", std::to_string(start.id));
  return request;
}

base::Result<JobRequest> job_of_config(const std::string& text) {
  const wire::ConfigReading said = wire::read_config(text);
  if (!said.request) return base::Refusal{said.reason()};
  const wire::ConfigReading reading = wire::read_config(base_config() + "\n" + text);
  if (!reading.request) return base::Refusal{reading.reason()};
  const wire::TraceRequest& config = *reading.request;
  if (!config.enabled) return base::Refusal{"ACTIVITIES_ENABLED is false"};
  const uint64_t now_ms = base::realtime_ns() / kRequestMillisecond;
  if (const base::Check start = wire::check_start(config, now_ms); !start) return base::Refusal{start.reason()};
  JobRequest request;
  request.id = 1;  // these requests have no id
  request.output = wire::output_path(config, getpid());
  request.allowed = {folders_in("KYMO_TRACE_DIR"), config_folders()};
  request.existing = Existing::Replace;  // whoever asks this way is not told the name, and looks for this one
  request.flags = {config.shapes, config.memory_events, config.stack, config.flops, config.modules};
  request.start_at_ns = config.start_ms * kRequestMillisecond;
  // A start that is slightly in the past means now.
  if (config.start_ms != 0 && config.start_ms <= now_ms) request.start_at_ns = 0;
  if (config.memory_snapshot) {
    request.kind = JobKind::Memory;
    request.duration_ns = config.memory_duration_ms * kRequestMillisecond;
    return request;
  }
  request.form = OutputForm::ChromeJson;
  if (config.by_iterations()) {
    request.start_at_ns = 0;
    request.iterations = config.iterations;
    request.iteration_roundup = config.iteration_roundup.value_or(0);
    request.start_iteration = config.start_iteration;
    request.instead_ns = config.duration_ms * kRequestMillisecond;
  } else {
    request.duration_ns = config.duration_ms * kRequestMillisecond;
  }
  if (request.duration_ns == 0 && request.iterations == 0) return base::Refusal{"the duration is 0"};
  for (size_t i = 0; i < std::min(said.warnings.size(), kMaxConfigNotes); ++i)
    request.metadata.emplace_back(base::format("config line {}", said.warnings[i].line), said.warnings[i].text);
  if (!config.trace_id.empty()) request.metadata.emplace_back("trace_id", config.trace_id);
  if (!config.group_trace_id.empty()) request.metadata.emplace_back("group_trace_id", config.group_trace_id);
  return request;
}

}  // namespace kymo::ondemand
