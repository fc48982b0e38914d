#include "daemon/doctor.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "base/version.h"

namespace kymo::daemon {
namespace {

using wire::Finding;
using wire::Verdict;

std::string_view protocol_text(const wire::ProcessEntry& entry) {
  return entry.protocol == wire::Protocol::Kymo ? "Kymo's own protocol" : "libkineto's protocol";
}

Finding connected_finding(const wire::ProcessEntry& entry) {
  Finding finding{
      "connected", Verdict::Good, base::format("{} ({}), with {}", entry.name, entry.pid, protocol_text(entry)), {}};
  if (is_stopped(entry.pid)) {
    finding.verdict = Verdict::Bad;
    finding.text += "; it is stopped and does not answer";
    finding.remedy = base::format("continue it with: kill -CONT {}", entry.pid);
    return finding;
  }
  if (entry.request_id == 0) return finding;
  finding.verdict = Verdict::Doubtful;
  finding.text += base::format("; busy: {}", wire::name_of(entry.state));
  finding.remedy = base::format("wait until it is done, or run 'kymo trigger --cancel {}'", entry.request_id >> 20);
  return finding;
}

Finding variable_finding(const DaemonFacts& daemon, int32_t pid) {
  const StartVariable own = start_variable(pid, "KYMO_DAEMON"), peers = start_variable(pid, "KINETO_USE_DAEMON");
  if (!own.is_known) {
    return {"variable", Verdict::Doubtful, "its environment cannot be read from here", "run 'kymo doctor' as root"};
  }
  const AgentSwitch agent = agent_switch(own.value);
  if (agent == AgentSwitch::On) {
    constexpr size_t kLongestShown = 200;
    const std::string shown = own.value->substr(0, kLongestShown);
    if (own.value->starts_with('/') && *own.value != daemon.socket) {
      return {"variable", Verdict::Bad,
              base::format("KYMO_DAEMON is {}, but this daemon listens at {}", shown, daemon.socket),
              "set KYMO_DAEMON=1, or run kymod with that path as --socket"};
    }
    return {"variable", Verdict::Good, base::format("KYMO_DAEMON={}", shown), {}};
  }
  if (!peers.value && own.value) {
    return {"variable", Verdict::Bad,
            agent == AgentSwitch::Off ? "KYMO_DAEMON switches traces on demand off"
                                      : "KYMO_DAEMON is ignored: it is not an absolute path",
            "start it with KYMO_DAEMON=1"};
  }
  if (!peers.value) {
    return {"variable", Verdict::Bad, "neither KYMO_DAEMON nor KINETO_USE_DAEMON was set when it was started",
            "start it with KYMO_DAEMON=1"};
  }
  if (daemon.dynolog.empty()) {
    return {"variable", Verdict::Bad, "KINETO_USE_DAEMON is set, but this daemon does not serve libkineto",
            "run kymod --dynolog, or start the program with KYMO_DAEMON=1"};
  }
  return {"variable", Verdict::Good, "KINETO_USE_DAEMON is set; it polls every five seconds", {}};
}

Finding library_finding(int32_t pid) {
  const auto kymo = has_library(pid, "libkymo_ondemand"), torch = has_library(pid, "libtorch_cpu");
  if (!kymo)
    return {"library", Verdict::Doubtful, "its loaded libraries cannot be read from here", "run 'kymo doctor' as root"};
  if (*kymo) return {"library", Verdict::Good, "libkymo_ondemand is loaded", {}};
  if (torch && *torch) return {"library", Verdict::Good, "libtorch is loaded, which contains libkineto", {}};
  return {"library", Verdict::Doubtful, "libkymo_ondemand is not loaded as a shared library",
          "link the program with kymo::ondemand, unless it is linked statically"};
}

void namespace_findings(const ProcessFacts& facts, const DaemonFacts& daemon, std::vector<Finding>& findings) {
  const pid_t self = getpid();
  if (facts.pid_namespace != 0 && facts.pid_namespace != namespace_of(self, "pid")) {
    findings.push_back({"pid namespace", Verdict::Doubtful,
                        base::format("it has its own, where its pid is {}", facts.inner_pid),
                        base::format("use {}, its pid here", facts.pid)});
  }
  if (facts.mount_namespace != 0 && facts.mount_namespace != namespace_of(self, "mnt")) {
    findings.push_back({"mount namespace", Verdict::Doubtful, "it has its own: a container",
                        base::format("mount the folder of {} into the container", daemon.socket)});
  }
  if (facts.network_namespace != 0 && facts.network_namespace != namespace_of(self, "net")) {
    findings.push_back({"network namespace", Verdict::Doubtful,
                        "it has its own, so libkineto does not find this daemon by name",
                        "share a folder, and set KINETO_IPC_SOCKET_DIR on both sides"});
  }
}

void examine_process(const DaemonFacts& daemon, const Programs& programs, const Asker& asker, int32_t pid,
                     std::vector<Finding>& findings) {
  const auto facts = read_process(pid);
  if (!facts) {
    return findings.push_back(
        {"process", Verdict::Bad, base::format("there is no process {}", pid), "'kymo ps' lists the programs"});
  }
  if (!asker.may_see(facts->uid)) {
    return findings.push_back({"user", Verdict::Bad,
                               base::format("process {} belongs to {}", pid, user_name(facts->uid)),
                               "run kymo as that user or as root"});
  }
  for (const auto& [id, program] : programs)
    if (program->entry().pid == pid) return findings.push_back(connected_finding(program->entry()));
  findings.push_back({"connected", Verdict::Bad, base::format("{} ({}) is not connected", facts->name, pid), {}});
  if (geteuid() != 0 && facts->uid != geteuid()) {
    findings.push_back({"user", Verdict::Bad,
                        base::format("this daemon serves {}, but the process belongs to {}", user_name(geteuid()),
                                     user_name(facts->uid)),
                        "run kymod as that user or as root"});
  }
  findings.push_back(variable_finding(daemon, pid));
  findings.push_back(library_finding(pid));
  namespace_findings(*facts, daemon, findings);
}

}  // namespace

std::vector<Finding> examine(const DaemonFacts& daemon, const Programs& programs, const Asker& asker,
                             std::optional<int32_t> pid) {
  std::vector<Finding> findings;
  findings.push_back({"daemon",
                      Verdict::Good,
                      base::format("kymod {}, process {}, of {}, at {}", base::kVersion, getpid(), user_name(geteuid()),
                                   daemon.socket),
                      {}});
  if (!daemon.dynolog_problem.empty()) {
    findings.push_back({"dynolog", Verdict::Bad, daemon.dynolog_problem,
                        "stop the process that uses it; kymod tries again every few seconds"});
  } else if (daemon.dynolog.empty()) {
    findings.push_back(
        {"dynolog", Verdict::Good, "programs with libkineto are not served", "to serve them, run kymod --dynolog"});
  } else {
    findings.push_back(
        {"dynolog", Verdict::Good, base::format("programs with libkineto are served at {}", daemon.dynolog), {}});
  }
  const auto seen = std::count_if(programs.begin(), programs.end(),
                                  [&](const auto& one) { return asker.may_see(one.second->entry().uid); });
  if (seen == 0) {
    findings.push_back(
        {"programs", Verdict::Doubtful, "no program of yours is connected", "start one with KYMO_DAEMON=1"});
  } else {
    findings.push_back({"programs", Verdict::Good, base::format("{} connected", seen), {}});
  }
  if (pid) examine_process(daemon, programs, asker, *pid, findings);
  return findings;
}

}  // namespace kymo::daemon
