#include "wire/dyno/rpc.h"

#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"
#include "json/document.h"
#include "kymo/error.h"

namespace kymo::wire {
namespace {

using base::json_string;
using json::Document;
using json::Value;

constexpr std::string_view kTrigger = "setKinetOnDemandRequest", kGetStatus = "getStatus", kGetVersion = "getVersion",
                           kPauseCounters = "dcgmProfPause", kResumeCounters = "dcgmProfResume";
constexpr std::string_view kFailed = "failed";
constexpr size_t kLongestName = 64;

std::string status_text(std::string_view status) { return base::format("{{\"status\":{}}}", json_string(status)); }

// A required field of a request is missing: the reply says only that the request failed.
struct MissingField {
  std::string_view name;
};

Value needed(const Value& request, std::string_view name) {
  const auto member = request.find(name);
  if (!member) throw MissingField{name};
  return *member;
}

// A negative pid is no process, and matches none.
int32_t pid_of(const Value& value, std::string_view what) {
  const int64_t pid = value.integer(what);
  if (pid > INT32_MAX || pid < INT32_MIN) throw Error(base::format("{} has {}, which is no process", what, pid));
  return static_cast<int32_t>(pid);
}

std::vector<int32_t> pids_of(const Value& value, std::string_view what) {
  std::vector<int32_t> pids;
  for (const Value& pid : value.list(what)) pids.push_back(pid_of(pid, what));
  return pids;
}

RpcTrigger trigger_of(const Value& request) {
  const Value config = needed(request, "config");
  const Value pids = needed(request, "pids");
  RpcTrigger trigger;
  trigger.config = config.text("config");
  if (trigger.config.find('\0') != std::string::npos) throw Error("config has a NUL in it");
  trigger.pids = pids_of(pids, "pids");
  if (const auto job = request.find("job_id")) trigger.job = job->integer("job_id");
  if (const auto limit = request.find("process_limit")) trigger.process_limit = limit->integer("process_limit");
  return trigger;
}

std::optional<RpcRequest> request_of(std::string_view name, const Value& request) {
  if (name == kTrigger) return trigger_of(request);
  if (name == kGetStatus) return RpcGetStatus{};
  if (name == kGetVersion) return RpcGetVersion{};
  if (name == kPauseCounters) return RpcPauseCounters{needed(request, "duration_s").number("duration_s")};
  if (name == kResumeCounters) return RpcResumeCounters{};
  return std::nullopt;
}

std::string list_text(const std::vector<int32_t>& pids) { return base::format("[{}]", base::join(pids, ",")); }

}  // namespace

base::Result<std::optional<std::string_view>> read_rpc_frame(base::Bytes received) {
  using Frame = std::optional<std::string_view>;
  if (received.size() < kRpcLengthBytes) return Frame();
  const auto length = base::load<uint32_t>(received.data());
  if (length > kRpcLargest) {
    return base::Refusal{
        base::format("a frame of {} bytes is longer than {}", static_cast<int32_t>(length), kRpcLargest)};
  }
  const base::Bytes body = received.subspan(kRpcLengthBytes);
  if (body.size() < length) return Frame();
  if (body.size() > length) return base::Refusal{base::format("{} bytes follow a frame's end", body.size() - length)};
  return Frame(std::string_view(reinterpret_cast<const char*>(body.data()), body.size()));
}

base::Result<std::vector<std::byte>> rpc_frame(std::string_view json) {
  if (json.size() > kRpcLargest) {
    return base::Refusal{base::format("a frame of {} bytes would be longer than {}", json.size(), kRpcLargest)};
  }
  std::vector<std::byte> frame(kRpcLengthBytes + json.size());
  base::store(frame.data(), static_cast<uint32_t>(json.size()));
  std::ranges::copy(base::as_bytes(json), frame.begin() + kRpcLengthBytes);
  return frame;
}

RpcReading read_rpc_request(std::string_view untrusted) {
  RpcReading reading;
  if (untrusted.size() > kRpcLargest) {
    reading.reason = base::format("a request of {} bytes is longer than {}", untrusted.size(), kRpcLargest);
    return reading;
  }
  std::optional<Document> document;
  std::string name;
  try {
    document.emplace(untrusted, json::RepeatedNames::LastCounts);
    name = document->root()["fn"].text("fn");
  } catch (const Error& error) {
    reading.reason = error.what();
    return reading;
  }
  try {
    reading.request = request_of(name, document->root());
    if (!reading.request)
      reading.reason = base::format("there is no function {}", json_string(name.substr(0, kLongestName)));
  } catch (const MissingField& missing) {
    reading.reason = base::format("{} has no \"{}\"", name, missing.name);
    reading.answer = status_text(kFailed);
  } catch (const Error& error) {
    reading.reason = base::format("{}: {}", name, error.what());
    reading.answer = status_text(base::format("{} with exception = {}", kFailed, error.what()));
  }
  return reading;
}

std::string rpc_triggered(const RpcTriggered& triggered) {
  return base::format(R"({{"activityProfilersBusy":{},"activityProfilersTriggered":{},"eventProfilersBusy":{},)"
                      R"("eventProfilersTriggered":{},"processesMatched":{}}})",
                      triggered.activities_busy, list_text(triggered.activities_triggered), triggered.events_busy,
                      list_text(triggered.events_triggered), list_text(triggered.matched));
}

std::string rpc_status(int64_t status) { return base::format("{{\"status\":{}}}", status); }
std::string rpc_status(bool done) { return base::format("{{\"status\":{}}}", done); }
std::string rpc_version(std::string_view version) { return base::format("{{\"version\":{}}}", json_string(version)); }

bool rpc_selects(const RpcTrigger& trigger, int64_t job, std::span<const int32_t> pids) {
  if (trigger.job != job) return false;
  if (std::ranges::all_of(trigger.pids, [](int32_t pid) { return pid == 0; })) return true;
  return std::ranges::find_first_of(trigger.pids, pids) != trigger.pids.end();
}

std::string handed_out_config(std::string_view config, uint64_t trace_id) {
  return base::format("\n    {}\n    REQUEST_TRACE_ID={}\n", config, trace_id);
}

}  // namespace kymo::wire
