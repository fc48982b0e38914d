// dyno's remote calls: how its command talks to a daemon, over a stream.
//
// A request and its reply are each a length of four bytes and that many bytes of JSON; a connection carries one of
// both. A daemon reads a frame, then a request out of it; `dyno` itself is the other side. Where a daemon cannot read a
// request it says nothing and closes, and where a field is missing it says so: RpcReading holds which of the two.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "wire/result.h"

namespace kymo::wire {

inline constexpr uint16_t kRpcPort = 1778;
inline constexpr size_t kRpcLengthBytes = 4;
// A longer frame is refused when its first four bytes are there. Reading one takes up to a hundred times its length.
inline constexpr size_t kRpcLargest = 256 * 1024;

// `setKinetOnDemandRequest`, spelled like this: a trace of the processes that match.
struct RpcTrigger {
  std::string config;         // config.h; handed on as it is
  std::vector<int32_t> pids;  // none, or 0 alone: all of the job
  int64_t job = 0;            // 0: those that belong to no job
  uint64_t process_limit = 1000;
  bool operator==(const RpcTrigger&) const = default;
};
struct RpcGetStatus {
  bool operator==(const RpcGetStatus&) const = default;
};
struct RpcGetVersion {
  bool operator==(const RpcGetVersion&) const = default;
};
// The counters of the accelerators, for a while, because only one tool can have them.
struct RpcPauseCounters {
  uint64_t seconds = 0;
  bool operator==(const RpcPauseCounters&) const = default;
};
struct RpcResumeCounters {
  bool operator==(const RpcResumeCounters&) const = default;
};
using RpcRequest = std::variant<RpcTrigger, RpcGetStatus, RpcGetVersion, RpcPauseCounters, RpcResumeCounters>;

// What became of an RpcTrigger. The pids are the processes' own.
struct RpcTriggered {
  std::vector<int32_t> matched;
  std::vector<int32_t> activities_triggered;
  uint64_t activities_busy = 0;
  std::vector<int32_t> events_triggered;
  uint64_t events_busy = 0;
  bool operator==(const RpcTriggered&) const = default;
};

// Frames. `received` is what has come so far: the JSON in it once that is whole, nothing while more must come, and a
// refusal when the length is one that no request has or something follows the end.
Result<std::optional<std::string_view>> read_rpc_frame(base::Bytes received);
Result<std::vector<std::byte>> rpc_frame(std::string_view json);

struct RpcReading {
  std::optional<RpcRequest> request;
  std::string reason;  // why there is none
  std::string answer;  // what to reply then; empty: nothing, the connection is closed
};
RpcReading read_rpc_request(std::string_view untrusted);
std::string rpc_request(const RpcRequest& request);

// Replies, keys in alphabetical order.
std::string rpc_triggered(const RpcTriggered& triggered);
std::string rpc_status(int64_t status);
std::string rpc_status(bool done);
std::string rpc_version(std::string_view version);

// For the side that asked. A reply that says "failed" is a refusal with what it says.
Result<RpcTriggered> read_rpc_triggered(std::string_view untrusted);
Result<int64_t> read_rpc_status(std::string_view untrusted);
Result<std::string> read_rpc_version(std::string_view untrusted);

// Whether a process is meant: its job is the same, and all are asked for or one of its pids, parents included. So the
// pid of a launcher selects all its workers.
bool rpc_selects(const RpcTrigger& trigger, int64_t job, std::span<const int32_t> pids);

}  // namespace kymo::wire
