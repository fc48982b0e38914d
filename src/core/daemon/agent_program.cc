#include "daemon/agent_program.h"

#include <algorithm>

#include "base/clock.h"
#include "base/host.h"
#include "wire/output_pattern.h"

namespace kymo::daemon {
namespace {

// Limits the size of the list of a user's programs, so that it can be sent as a reply.
constexpr size_t kLongestKeptName = 128, kLongestKeptCommand = 256;

wire::ProcessEntry agent_entry(const ProcessFacts& facts, const wire::Hello& hello) {
  wire::ProcessEntry entry;
  entry.pid = facts.pid;
  entry.uid = facts.uid;
  entry.protocol = wire::Protocol::Kymo;
  entry.parents = facts.parents;
  entry.name = (hello.name.empty() ? facts.name : hello.name).substr(0, kLongestKeptName);
  entry.command_line =
      (hello.command_line.empty() ? facts.command_line : hello.command_line).substr(0, kLongestKeptCommand);
  entry.job = hello.job.substr(0, kLongestKeptName);
  entry.started_at_ns = facts.started_at_ns;
  entry.seen_at_ns = base::realtime_ns();
  entry.capabilities = hello.capabilities;
  entry.pid_namespace = facts.pid_namespace;
  return entry;
}

}  // namespace

AgentProgram::AgentProgram(Connection& connection, const ProcessFacts& facts, const wire::Hello& hello)
    : Program(agent_entry(facts, hello), facts), connection_(connection) {}

// The agent itself reports what it cannot do.
std::optional<wire::Done> AgentProgram::objection(const ProgramRequest&) const { return std::nullopt; }

// dyno derives the name of the file from the inner pid, which it gets in the reply.
int32_t AgentProgram::pid_in_path(const ProgramRequest& request) const {
  return request.kineto_config.empty() ? entry().pid : inner_pid();
}

std::string AgentProgram::path_of(const ProgramRequest& request) const {
  const auto path = wire::output_from_pattern(request.options.output, {.pid = pid_in_path(request),
                                                                       .request = request.id,
                                                                       .name = entry().name,
                                                                       .host = base::host_name(),
                                                                       .job = entry().job});
  return path ? *path : "";
}

void AgentProgram::start(const ProgramRequest& request) {
  connection_.send(wire::Start{request.id, request.options, request.kind, pid_in_path(request), request.asked_at_ns});
}

base::Check AgentProgram::cancel(uint64_t request_id) {
  connection_.send(wire::Cancel{request_id});
  return {};
}

base::Check AgentProgram::stop(uint64_t request_id) {
  connection_.send(wire::Stop{request_id});
  return {};
}

}  // namespace kymo::daemon
