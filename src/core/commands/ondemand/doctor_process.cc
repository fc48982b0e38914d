#include "commands/ondemand/doctor_process.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "base/text.h"
#include "cli/units.h"
#include "daemon/proc.h"
#include "wire/message.h"

namespace kymo::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAgentThread = "kymo-agent";

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<pid_t> as_pid(const std::string& text) {
  pid_t pid = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (failure != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return pid;
}

struct UnixSocket {
  uint64_t inode = 0;
  std::string name;  // "@" stands for NUL
};

// The sockets with a name in the network namespace of that process.
std::optional<std::vector<UnixSocket>> unix_sockets(pid_t pid) {
  std::ifstream table(base::format("/proc/{}/net/unix", pid));
  if (!table) return std::nullopt;
  std::vector<UnixSocket> sockets;
  for (std::string line; std::getline(table, line);) {
    // Number, references, protocol, flags, type, state, inode, and a name, which may contain blanks.
    std::istringstream words(line);
    std::string skipped;
    UnixSocket socket;
    for (int i = 0; i < 6; ++i) words >> skipped;
    if (words >> socket.inode >> std::ws && std::getline(words, socket.name)) sockets.push_back(std::move(socket));
  }
  return sockets;
}

// The inodes of the sockets that the process has open; empty if that cannot be read.
std::set<uint64_t> open_sockets(pid_t pid) {
  std::set<uint64_t> inodes;
  std::error_code failure;
  fs::directory_iterator files(base::format("/proc/{}/fd", pid), failure);
  if (failure) return inodes;
  for (; files != fs::directory_iterator() && !failure; files.increment(failure)) {
    std::error_code gone;
    const std::string target = fs::read_symlink(files->path(), gone);
    unsigned long long inode = 0;
    if (!gone && sscanf(target.c_str(), "socket:[%llu]", &inode) == 1) inodes.insert(inode);
  }
  return inodes;
}

}  // namespace

std::optional<bool> has_agent_thread(pid_t pid) {
  std::error_code failure;
  fs::directory_iterator tasks(base::format("/proc/{}/task", pid), failure);
  if (failure) return std::nullopt;
  for (; tasks != fs::directory_iterator() && !failure; tasks.increment(failure))
    if (first_line(tasks->path() / "comm") == kAgentThread) return true;
  return false;
}

std::optional<bool> sees_same_file(pid_t pid, const std::string& path) {
  struct stat here {
  }, there{};
  if (::stat(path.c_str(), &here) != 0) return std::nullopt;
  const std::string root = base::format("/proc/{}/root", pid);
  if (::stat((root + fs::absolute(path).string()).c_str(), &there) == 0)
    return here.st_dev == there.st_dev && here.st_ino == there.st_ino;
  if (errno == ENOENT || errno == ENOTDIR) {
    struct stat top {};
    if (::stat((root + "/").c_str(), &top) == 0) return false;  // its root is visible, so the file does not exist
  }
  return std::nullopt;
}

std::optional<bool> is_same_file(pid_t pid, const std::string& its_path, const std::string& path) {
  struct stat here {
  }, there{};
  if (::stat(path.c_str(), &here) != 0) return std::nullopt;
  if (::stat(base::format("/proc/{}/root{}", pid, its_path).c_str(), &there) != 0)
    return errno == ENOENT || errno == ENOTDIR ? std::optional(false) : std::nullopt;
  return here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

std::optional<uint64_t> abstract_socket(pid_t pid, const std::string& name) {
  const auto sockets = unix_sockets(pid);
  if (!sockets) return std::nullopt;
  const auto found = std::ranges::find(*sockets, name, &UnixSocket::name);
  return found == sockets->end() ? 0 : found->inode;
}

bool has_kineto_socket(pid_t pid) {
  constexpr std::string_view kClient = "dynoconfigclient";
  const auto sockets = unix_sockets(pid);
  if (!sockets) return false;
  std::set<uint64_t> clients;
  for (const UnixSocket& socket : *sockets) {
    const size_t slash = socket.name.rfind('/');
    const std::string_view last = std::string_view(socket.name).substr(slash == socket.name.npos ? 0 : slash + 1);
    if (last.starts_with(kClient) || (last.starts_with('@') && last.substr(1).starts_with(kClient)))
      clients.insert(socket.inode);
  }
  if (clients.empty()) return false;
  const std::set<uint64_t> own = open_sockets(pid);
  return std::ranges::any_of(clients, [&](uint64_t inode) { return own.contains(inode); });
}

std::optional<pid_t> owner_of_socket(uint64_t inode) {
  for (const pid_t pid : own_processes())
    if (open_sockets(pid).contains(inode)) return pid;
  return std::nullopt;
}

std::vector<pid_t> own_processes() {
  std::vector<pid_t> pids;
  std::error_code failure;
  fs::directory_iterator entries("/proc", failure);
  if (failure) return pids;
  for (; entries != fs::directory_iterator() && !failure; entries.increment(failure)) {
    const auto pid = as_pid(entries->path().filename());
    struct stat status {};
    if (!pid || ::stat(entries->path().c_str(), &status) != 0) continue;
    if (geteuid() == 0 || status.st_uid == geteuid()) pids.push_back(*pid);
  }
  std::ranges::sort(pids);
  return pids;
}

namespace {

using daemon::AgentSwitch;
using daemon::ProcessFacts;
using daemon::start_variable;
using daemon::StartVariable;

constexpr const char* kDynologName = "@dynolog@";
// For root there is no remedy: what root cannot read, nobody can.
std::string look_as_root() { return geteuid() == 0 ? "" : "run 'sudo kymo doctor'"; }

Finding good(std::string name, std::string text) { return {std::move(name), Verdict::Good, std::move(text), {}}; }
Finding doubtful(std::string name, std::string text, std::string remedy) {
  return {std::move(name), Verdict::Doubtful, std::move(text), std::move(remedy)};
}
Finding bad(std::string name, std::string text, std::string remedy) {
  return {std::move(name), Verdict::Bad, std::move(text), std::move(remedy)};
}

std::string value_in(pid_t pid, const char* name) { return start_variable(pid, name).value.value_or(""); }

// Where the agent of the process looks for a daemon, according to its environment at start.
std::vector<std::string> sockets_of(const ProcessFacts& facts, const std::string& kymo_daemon) {
  if (kymo_daemon.starts_with('/')) return {kymo_daemon};
  const std::string folder = value_in(facts.pid, "XDG_RUNTIME_DIR");
  return {wire::user_socket(folder.c_str(), facts.uid), std::string(wire::kHostSocket)};
}

std::string listed(const std::vector<std::string>& words) { return base::join(words, " and "); }

Finding variable_finding(pid_t pid) {
  const StartVariable own = start_variable(pid, "KYMO_DAEMON"), peers = start_variable(pid, "KINETO_USE_DAEMON");
  if (!own.is_known) return doubtful("variable", "no permission to read its environment", look_as_root());
  const AgentSwitch agent = daemon::agent_switch(own.value);
  if (agent == AgentSwitch::On) return good("variable", base::format("KYMO_DAEMON={}", *own.value));
  if (peers.value) return good("variable", "KINETO_USE_DAEMON is set: it polls dynolog every 5 s");
  const std::string remedy = "start it again with KYMO_DAEMON=1";
  if (!own.value) return bad("variable", "KYMO_DAEMON was not set when it was started", remedy);
  return bad("variable",
             agent == AgentSwitch::Off
                 ? base::format("KYMO_DAEMON={} switches traces on demand off", *own.value)
                 : base::format("KYMO_DAEMON={} is ignored: it is not an absolute path", *own.value),
             remedy);
}

Finding library_finding(pid_t pid, bool has_agent, const Finding& variable) {
  const auto kymo = daemon::has_library(pid, "libkymo_ondemand");
  if (!kymo) return doubtful("library", "no permission to read its loaded libraries", look_as_root());
  if (*kymo) return good("library", "libkymo_ondemand is loaded");
  if (has_agent) return good("library", "Kymo is linked statically: the agent thread runs");
  const std::string text = "neither libkymo_ondemand nor libtorch is loaded";
  // A statically linked program with the variable set would have an agent thread.
  if (variable.verdict == Verdict::Good) return bad("library", text, "link the program with kymo::ondemand");
  return doubtful("library", text, "link the program with kymo::ondemand, unless it is linked statically");
}

Finding kineto_library_finding(pid_t pid) {
  if (has_kineto_socket(pid)) return good("library", "libkineto runs: it has its socket dynoconfigclient");
  const auto torch = daemon::has_library(pid, "libtorch_cpu");
  if (!torch) return doubtful("library", "no permission to read its loaded libraries", look_as_root());
  return doubtful("library",
                  *torch ? "libtorch is loaded, but libkineto has not opened its socket dynoconfigclient"
                         : "it has neither libtorch nor the socket dynoconfigclient of a libkineto",
                  "libkineto opens it when it is initialized, for example by 'import torch'; wait for that");
}

std::optional<Finding> agent_finding(bool has_agent, bool has_library, const Finding& variable) {
  if (has_agent) return good("agent", "its thread kymo-agent runs");
  if (!has_library || variable.verdict == Verdict::Bad) return std::nullopt;  // already reported
  return bad("agent", "it has no thread kymo-agent",
             "the library was loaded without KYMO_DAEMON, or the program cleared the variable first; start it again");
}

// Checks whether other users could replace the socket. If so, the agent does not connect to it.
std::optional<Finding> folder_finding(const ProcessFacts& facts, const std::string& socket) {
  const std::string folder = std::filesystem::path(socket).parent_path();
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return std::nullopt;
  if (status.st_uid != 0 && status.st_uid != facts.uid)
    return bad("socket",
               base::format("{} belongs to {}: the program does not trust a socket there", folder,
                            daemon::user_name(status.st_uid)),
               base::format("let kymod listen in a folder that belongs to {}", daemon::user_name(facts.uid)));
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (status.st_mode & S_ISVTX) != 0) return std::nullopt;
  return bad("socket", base::format("{} can be changed by others: the program does not trust a socket there", folder),
             base::format("chmod go-w {}", folder));
}

// Checks whether the agent looks at the path where a daemon listens.
std::optional<Finding> socket_finding(const ProcessFacts& facts, const std::string& kymo_daemon,
                                      const std::vector<DaemonPlace>& daemons) {
  if (daemons.empty()) return std::nullopt;
  const auto wanted = sockets_of(facts, kymo_daemon);
  for (const DaemonPlace& place : daemons) {
    if (std::ranges::find(wanted, place.socket) == wanted.end()) continue;
    if (auto finding = folder_finding(facts, place.socket)) return finding;
    if (place.uid == 0 || place.uid == facts.uid) return good("socket", base::format("it looks at {}", place.socket));
    return bad("socket",
               base::format("the daemon at {} belongs to {}, but the program trusts only {} and root", place.socket,
                            daemon::user_name(place.uid), daemon::user_name(facts.uid)),
               base::format("run kymod as {} or as root", daemon::user_name(facts.uid)));
  }
  const std::string there = daemons.front().socket;
  return bad("socket", base::format("it looks at {}, but the daemon is at {}", listed(wanted), there),
             base::format("start it with KYMO_DAEMON={}", there));
}

void add_namespaces(const ProcessFacts& facts, const std::vector<DaemonPlace>& daemons, Findings& findings) {
  const pid_t self = getpid();
  const auto differs = [self](uint64_t theirs, const char* kind) {
    return theirs != 0 && theirs != daemon::namespace_of(self, kind);
  };
  if (differs(facts.pid_namespace, "pid")) {
    findings.push_back(doubtful("pid namespace", base::format("it has its own, where its pid is {}", facts.inner_pid),
                                base::format("use {}, its pid here", facts.pid)));
  }
  if (differs(facts.mount_namespace, "mnt")) {
    bool sees_one = daemons.empty();
    for (const DaemonPlace& place : daemons)
      sees_one = sees_one || sees_same_file(facts.pid, place.socket).value_or(false);
    findings.push_back(
        sees_one ? good("mount namespace", "it has its own (a container), and the daemon's socket is visible in it")
                 : bad("mount namespace", "it has its own (a container), and the daemon's socket is not visible in it",
                       base::format("mount the folder of {} into the container", daemons.front().socket)));
  }
  if (differs(facts.network_namespace, "net"))
    findings.push_back(good("network namespace", "it has its own; this matters only for programs with libkineto"));
}

// The process that has the socket, for a message: "dynolog (123)".
std::string owner_text(uint64_t inode) {
  const auto pid = owner_of_socket(inode);
  const auto facts = pid ? daemon::read_process(*pid) : std::nullopt;
  return facts ? base::format("{} ({})", facts->name, facts->pid) : "another program";
}

// Why no daemon serves libkineto at the place where the process looks.
Finding not_served_finding(const std::string& what, const std::string& remedy,
                           const std::vector<DaemonPlace>& daemons) {
  for (const DaemonPlace& place : daemons) {
    if (place.dynolog.empty())
      return bad("dynolog", base::format("{}; kymod at {} does not serve programs with libkineto", what, place.socket),
                 "run kymod with --dynolog");
    if (place.dynolog.starts_with('/'))
      return bad("dynolog", base::format("{}; kymod serves programs with libkineto at {}", what, place.dynolog),
                 base::format("start the program with KINETO_IPC_SOCKET_DIR={}",
                              std::filesystem::path(place.dynolog).parent_path().string()));
  }
  return bad("dynolog", what, remedy);
}

Finding dynolog_file_finding(pid_t pid, const std::string& folder, const std::vector<DaemonPlace>& daemons) {
  const std::string path = folder + "/dynolog";
  for (const DaemonPlace& place : daemons)
    if (place.dynolog.starts_with('/') && is_same_file(pid, path, place.dynolog).value_or(false))
      return good("dynolog", base::format("kymod serves it at {}", path));
  if (access(base::format("/proc/{}/root{}", pid, path).c_str(), F_OK) != 0)
    return bad("dynolog", base::format("there is no socket dynolog in {}", folder),
               base::format("run kymod --dynolog --dynolog-dir {}", folder));
  if (daemons.empty()) return doubtful("dynolog", base::format("{} exists; it is not known whose it is", path), {});
  return bad("dynolog", base::format("{} is not the socket of kymod", path),
             base::format("stop the program that has it, and run kymod --dynolog --dynolog-dir {}", folder));
}

// Programs with libkineto look for an abstract socket name, or for a socket file in a folder.
Finding dynolog_finding(const ProcessFacts& facts, const std::vector<DaemonPlace>& daemons) {
  const std::string folder = value_in(facts.pid, "KINETO_IPC_SOCKET_DIR");
  if (!folder.empty()) return dynolog_file_finding(facts.pid, folder, daemons);
  const auto socket = abstract_socket(facts.pid, kDynologName);
  if (!socket) return doubtful("dynolog", "no permission to read the sockets of its network namespace", look_as_root());
  if (*socket == 0)
    return not_served_finding("the name dynolog is not served in its network namespace",
                              "run kymod --dynolog there, or set KINETO_IPC_SOCKET_DIR for both", daemons);
  const auto is_here = [&](const DaemonPlace& place) {
    const bool is_near = place.network_namespace == 0 || facts.network_namespace == 0 ||
                         place.network_namespace == facts.network_namespace;
    return place.dynolog.starts_with('@') && is_near;
  };
  if (std::ranges::any_of(daemons, is_here)) return good("dynolog", "kymod serves it at @dynolog");
  const std::string owner = owner_text(*socket);
  if (daemons.empty()) return doubtful("dynolog", base::format("{} serves the name dynolog", owner), {});
  return bad("dynolog", base::format("{} has the name dynolog, not kymod", owner),
             "stop it, and run kymod with --dynolog; or request traces through it, with dyno");
}

void add_job(pid_t pid, Findings& findings) {
  const std::string job = value_in(pid, "SLURM_JOB_ID");
  if (!job.empty()) findings.push_back(good("job", base::format("it belongs to job {}: --job {} finds it", job, job)));
}

void add_recording(pid_t pid, Findings& findings) {
  const std::string trace = value_in(pid, "KYMO_TRACE"), recorded = value_in(pid, "KYMO_SESSION_FILE");
  if (trace.empty() && recorded.empty()) return;
  const std::string text = trace.empty() ? base::format("'kymo record' records it to {}", recorded)
                                         : base::format("it is already recording to {} (KYMO_TRACE)", trace);
  const char* remedy = "use that trace, which contains everything; a program can have only one recording";
  if (!value_in(pid, "KYMO_FLIGHT").empty())
    findings.push_back(doubtful("recording", text, "request the past of its flight recorder, with --last"));
  else
    findings.push_back(bad("recording", text, remedy));
}

std::optional<Finding> stopped_finding(const ProcessFacts& facts) {
  if (!daemon::is_stopped(facts.pid)) return std::nullopt;
  return bad("process", base::format("{} ({}) is stopped and does not answer", facts.name, facts.pid),
             base::format("continue it with: kill -CONT {}", facts.pid));
}

void add_reasons(const ProcessFacts& facts, const std::vector<DaemonPlace>& daemons, Findings& findings) {
  const pid_t pid = facts.pid;
  const bool has_agent = has_agent_thread(pid).value_or(false);
  const StartVariable own = start_variable(pid, "KYMO_DAEMON");
  const bool wants_agent = daemon::agent_switch(own.value) == AgentSwitch::On;
  const bool has_kymo = has_agent || daemon::has_library(pid, "libkymo_ondemand").value_or(false);
  // A program may have both variables; then the library that it contains decides.
  const bool uses_kineto = start_variable(pid, "KINETO_USE_DAEMON").value.has_value() && !(wants_agent && has_kymo);
  const Finding variable = variable_finding(pid);
  const Finding library =
      uses_kineto && !has_kymo ? kineto_library_finding(pid) : library_finding(pid, has_agent, variable);
  findings.insert(findings.end(), {variable, library});
  const auto add = [&findings](std::optional<Finding> finding) {
    if (finding) findings.push_back(std::move(*finding));
  };
  if (uses_kineto) {
    add(dynolog_finding(facts, daemons));
  } else {
    add(agent_finding(has_agent, library.verdict == Verdict::Good, variable));
    if (wants_agent) add(socket_finding(facts, *own.value, daemons));
  }
  add_namespaces(facts, daemons, findings);
  add_job(pid, findings);
  add_recording(pid, findings);
}

}  // namespace

Findings examine_process(pid_t pid, const std::vector<DaemonPlace>& daemons) {
  const auto facts = daemon::read_process(pid);
  if (!facts) {
    return {bad("process", base::format("there is no process {} here", pid),
                "'kymo ps' lists the programs; for a program in a container, use its pid outside")};
  }
  if (geteuid() != 0 && facts->uid != geteuid()) {
    return {bad("user", base::format("process {} belongs to {}", pid, daemon::user_name(facts->uid)),
                "run kymo as that user or as root")};
  }
  Findings findings;
  findings.push_back(stopped_finding(*facts).value_or(
      good("process", base::format("{} ({}), of {}", facts->name, pid, daemon::user_name(facts->uid)))));
  add_reasons(*facts, daemons, findings);
  return findings;
}

Findings examine_connected(pid_t pid) {
  Findings findings;
  const auto facts = daemon::read_process(pid);
  if (!facts) return findings;
  if (auto stopped = stopped_finding(*facts)) findings.push_back(std::move(*stopped));
  add_recording(pid, findings);
  return findings;
}

namespace {

// Programs that are not connected, for one line.
class Unconnected {
 public:
  void add(const ProcessFacts& facts) {
    constexpr size_t kMaxNamed = 5;
    if (count_++ == 0) first_ = facts.pid;
    if (names_.size() < kMaxNamed) names_.push_back(base::format("{} ({})", facts.name, facts.pid));
  }
  void report(const char* one, const char* many, Findings& findings) const {
    if (count_ == 0) return;
    findings.push_back(doubtful("not connected",
                                base::format("{}: {}{}", count_of(count_, one, many), base::join(names_, ", "),
                                             count_ > names_.size() ? ", …" : ""),
                                base::format("'kymo doctor {}' says why", first_)));
  }

 private:
  std::vector<std::string> names_;
  size_t count_ = 0;
  pid_t first_ = 0;
};

}  // namespace

Findings examine_others(const std::vector<pid_t>& connected) {
  Unconnected with_kymo, with_kineto;
  for (const pid_t pid : own_processes()) {
    if (pid == getpid() || std::ranges::find(connected, pid) != connected.end()) continue;
    const bool has_kymo =
        has_agent_thread(pid).value_or(false) || daemon::has_library(pid, "libkymo_ondemand").value_or(false);
    const bool has_kineto = !has_kymo && has_kineto_socket(pid);
    if (!has_kymo && !has_kineto) continue;
    const StartVariable own = start_variable(pid, "KYMO_DAEMON");
    // It was switched off on purpose.
    if (has_kymo && own.value && daemon::agent_switch(own.value) == AgentSwitch::Off) continue;
    const auto facts = daemon::read_process(pid);
    if (facts) (has_kymo ? with_kymo : with_kineto).add(*facts);
  }
  Findings findings;
  with_kymo.report("program with Kymo in it", "programs with Kymo in them", findings);
  with_kineto.report("program with libkineto", "programs with libkineto", findings);
  return findings;
}

}  // namespace kymo::cli
