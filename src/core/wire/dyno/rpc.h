// dyno's remote calls: how its command communicates with a daemon over a stream.
//
// A request and its reply each have a length of four bytes and then that many bytes of JSON. A connection has one of
// each. A daemon reads a frame, then a request from it; `dyno` is the other side. If a daemon cannot read a request, it
// closes without a reply. If a field is missing, it replies with that. RpcReading says which of the two applies.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace kymo::wire {

inline constexpr uint16_t kRpcPort = 1778;
inline constexpr size_t kRpcLengthBytes = 4;
// A longer frame is refused after its first four bytes. Reading a frame needs about ten times its length of memory.
inline constexpr size_t kRpcLargest = size_t{256} * 1024;

// `setKinetOnDemandRequest` (this spelling is correct): a trace of the matching processes.
struct RpcTrigger {
  std::string config;            // config.h; passed on unchanged
  std::vector<int32_t> pids;     // empty, or only 0: all processes of the job
  int64_t job = 0;               // 0: processes without a job
  int64_t process_limit = 1000;  // max number of processes to trigger; negative: no limit
  bool operator==(const RpcTrigger&) const = default;
};
struct RpcGetStatus {
  bool operator==(const RpcGetStatus&) const = default;
};
struct RpcGetVersion {
  bool operator==(const RpcGetVersion&) const = default;
};
// Pauses the counters of the accelerators for some time, because only one tool can use them.
struct RpcPauseCounters {
  uint64_t seconds = 0;
  bool operator==(const RpcPauseCounters&) const = default;
};
struct RpcResumeCounters {
  bool operator==(const RpcResumeCounters&) const = default;
};
using RpcRequest = std::variant<RpcTrigger, RpcGetStatus, RpcGetVersion, RpcPauseCounters, RpcResumeCounters>;

// The result of an RpcTrigger. The pids are those of the processes themselves, not of parents.
struct RpcTriggered {
  std::vector<int32_t> matched;
  std::vector<int32_t> activities_triggered;
  uint64_t activities_busy = 0;
  std::vector<int32_t> events_triggered;
  uint64_t events_busy = 0;
  bool operator==(const RpcTriggered&) const = default;
};

// Frames. `received` is the data so far. Returns the JSON in it when it is complete, nothing if more must come, and a
// refusal if the length is not possible or if something follows the end.
base::Result<std::optional<std::string_view>> read_rpc_frame(base::Bytes received);
base::Result<std::vector<std::byte>> rpc_frame(std::string_view json);

struct RpcReading {
  std::optional<RpcRequest> request;
  std::string reason;  // why there is none
  std::string answer;  // the reply in that case; empty: no reply, close the connection
};
RpcReading read_rpc_request(std::string_view untrusted);

// Replies. Keys are in alphabetical order.
std::string rpc_triggered(const RpcTriggered& triggered);
std::string rpc_status(int64_t status);
std::string rpc_status(bool done);
std::string rpc_version(std::string_view version);

// True if the trigger selects a process: its job is the same, and either all processes or one of its pids is selected.
// Its pids include its parents, so the pid of a launcher selects all its workers.
bool rpc_selects(const RpcTrigger& trigger, int64_t job, std::span<const int32_t> pids);

// What a process gets for a trigger: its config, and an id to find its trace again.
std::string handed_out_config(std::string_view config, uint64_t trace_id);

}  // namespace kymo::wire
