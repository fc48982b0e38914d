#include "daemon/program.h"

#include <algorithm>

#include "base/clock.h"
#include "base/host.h"
#include "base/text.h"
#include "base/wildcard.h"
#include "wire/output_pattern.h"

namespace kymo::daemon {
namespace {

bool has_pid(const wire::ProcessEntry& entry, int32_t pid) {
  return entry.pid == pid || std::ranges::find(entry.parents, pid) != entry.parents.end();
}

bool pid_matches(const wire::Selection& selection, const wire::ProcessEntry& entry) {
  return selection.pids.empty() ||
         std::ranges::any_of(selection.pids, [&](int32_t pid) { return has_pid(entry, pid); });
}

// The script or module that an interpreter of Python runs; empty: it is none, or runs something else.
std::string script_of(const wire::ProcessEntry& entry) {
  const auto last_part = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  const std::vector<std::string> words = base::split(entry.command_line, ' ');
  if (words.empty() || !last_part(words[0]).starts_with("python")) return {};
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "-c") return {};
    if (words[i] == "-m") return i + 1 < words.size() ? words[i + 1] : std::string();
    if (words[i] == "-W" || words[i] == "-X")
      ++i;
    else if (!words[i].starts_with('-'))
      return last_part(words[i]);
  }
  return {};
}

bool name_matches(const wire::Selection& selection, const wire::ProcessEntry& entry) {
  const std::string script = script_of(entry);
  return selection.names.empty() || std::ranges::any_of(selection.names, [&](const std::string& name) {
           return base::matches(name, entry.name) || entry.name == name ||
                  (!script.empty() && base::matches(name, script));
         });
}

bool job_matches(const wire::Selection& selection, const wire::ProcessEntry& entry) {
  return !selection.job || *selection.job == entry.job;
}

std::string job_text(const std::string& job) { return job.empty() ? "no job" : base::format("job {}", job); }

// Describes a process that is not connected, as far as `asker` may see it.
std::string why_not_connected(int32_t pid, const Asker& asker) {
  const auto facts = read_process(pid);
  if (!facts) return base::format("there is no process {}", pid);
  if (!asker.may_see(facts->uid)) {
    return base::format("process {} belongs to {}; run kymo as that user or as root", pid, user_name(facts->uid));
  }
  return base::format("process {} ({}) is not connected; 'kymo doctor {}' says why", pid, facts->name, pid);
}

}  // namespace

bool is_there(const Program& program) {
  return program.entry().protocol == wire::Protocol::Kymo || is_alive(program.entry().pid, program.started());
}

base::Check check_selection(const wire::Selection& selection) {
  constexpr size_t kMaxNames = 64, kLongestName = 256;
  if (selection.names.size() > kMaxNames)
    return base::Refusal{
        base::format("{} names are given, the max is {}; use a pattern", selection.names.size(), kMaxNames)};
  for (const std::string& name : selection.names)
    if (name.size() > kLongestName)
      return base::Refusal{base::format("a name of {} characters is too long", name.size())};
  return {};
}

bool selects(const wire::Selection& selection, const wire::ProcessEntry& entry) {
  if (std::ranges::find(selection.except, entry.pid) != selection.except.end()) return false;
  return pid_matches(selection, entry) && name_matches(selection, entry) && job_matches(selection, entry);
}

std::string nothing_found(const wire::Selection& selection, const Programs& programs, const Asker& asker) {
  std::vector<const wire::ProcessEntry*> seen;
  for (const auto& [id, program] : programs)
    if (asker.may_see(program->entry().uid) && is_there(*program)) seen.push_back(&program->entry());
  const auto any = [&](auto matches) {
    return std::ranges::any_of(seen, [&](const wire::ProcessEntry* entry) { return matches(selection, *entry); });
  };
  if (!any(pid_matches)) {
    if (!selection.pids.empty()) return why_not_connected(selection.pids.front(), asker);
    return asker.uid == 0
               ? "no program is connected; start one with KYMO_DAEMON=1 in its environment"
               : base::format("no program of {} is connected; start one with KYMO_DAEMON=1 in its environment",
                              user_name(asker.uid));
  }
  std::vector<std::string> names, jobs;
  for (const wire::ProcessEntry* entry : seen) {
    if (!pid_matches(selection, *entry)) continue;
    const std::string script = script_of(*entry);
    names.push_back(script.empty() ? entry->name : script);
    jobs.push_back(job_text(entry->job));
  }
  const auto listed = [](std::vector<std::string> words) {
    constexpr size_t kMaxWords = 5;
    std::ranges::sort(words);
    words.erase(std::unique(words.begin(), words.end()), words.end());
    const bool is_cut = words.size() > kMaxWords;
    if (is_cut) words.resize(kMaxWords);
    return base::format("{}{}", base::join(words, ", "), is_cut ? ", …" : "");
  };
  if (!any(name_matches)) {
    return base::format("no program is called {}; connected: {}", base::join(selection.names, " or "), listed(names));
  }
  if (!any(job_matches))
    return base::format("no program belongs to {}; connected: {}", job_text(*selection.job), listed(jobs));
  return "no program matches all options; give fewer options, or see 'kymo ps'";
}

// ---- Programs with Kymo's own agent

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

base::Check AgentProgram::end(uint64_t request_id, Ending ending) {
  connection_.send(wire::Cancel{request_id, ending == Ending::Keep});
  return {};
}

}  // namespace kymo::daemon
