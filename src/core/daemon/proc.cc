#include "daemon/proc.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <sstream>

#include "base/clock.h"
#include "base/text.h"

namespace kymo::daemon {
namespace {

#ifdef SO_PEERPIDFD
constexpr int kPeerPidfd = SO_PEERPIDFD;
#else
constexpr int kPeerPidfd = 77;  // newer than the headers of the C library
#endif

// The user id that the kernel shows for users of another user namespace who have no id in this one.
constexpr uint32_t kNobody = 65534;

constexpr size_t kMaxFileBytes = 1 << 20;
constexpr size_t kLongestCommandLine = 512;

// Files of /proc report no size: read until the end, or up to `max` bytes.
std::optional<std::string> proc_file(const std::string& path, size_t max = kMaxFileBytes) {
  const base::FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string text;
  char part[4096];
  while (text.size() < max) {
    const ssize_t size = read(file.get(), part, sizeof part);
    if (size < 0) return std::nullopt;
    if (size == 0) break;
    text.append(part, static_cast<size_t>(size));
  }
  text.resize(std::min(text.size(), max));
  return text;
}

std::string proc_path(pid_t pid, const char* name) { return base::format("/proc/{}/{}", pid, name); }

struct ProcStat {
  std::string name;
  char state = '?';
  int32_t parent = 0;
  uint64_t started = 0;
};

// The name is in brackets and may contain brackets itself: the last bracket ends it.
std::optional<ProcStat> read_stat(pid_t pid) {
  const auto text = proc_file(proc_path(pid, "stat"));
  if (!text) return std::nullopt;
  const size_t open = text->find('('), close = text->rfind(')');
  if (open == text->npos || close == text->npos || close < open) return std::nullopt;
  ProcStat stat;
  stat.name = text->substr(open + 1, close - open - 1);
  std::istringstream rest(text->substr(close + 1));
  std::string skipped;
  rest >> stat.state >> stat.parent;
  constexpr int kBetweenParentAndStart = 17;  // the start is field 22
  for (int i = 0; i < kBetweenParentAndStart; ++i) rest >> skipped;
  rest >> stat.started;
  if (!rest) return std::nullopt;
  return stat;
}

// The part after "Key:" of a line of /proc/PID/status.
std::string status_line(const std::string& status, const std::string& key) {
  size_t at = status.starts_with(key) ? 0 : status.find("\n" + key);
  if (at == status.npos) return {};
  at = status.find(':', at) + 1;
  return status.substr(at, status.find('\n', at) - at);
}

std::vector<int64_t> numbers_in(const std::string& text) {
  std::istringstream words(text);
  std::vector<int64_t> numbers;
  for (int64_t number = 0; words >> number;) numbers.push_back(number);
  return numbers;
}

uint64_t started_at(uint64_t ticks) {
  const auto per_second = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  const uint64_t since_boot = ticks / per_second * kNsPerSecond + ticks % per_second * (kNsPerSecond / per_second);
  return base::realtime_ns() - base::clock_ns(CLOCK_BOOTTIME) + since_boot;
}

bool has_ended(int pidfd) {
  pollfd ended{pidfd, POLLIN, 0};
  return poll(&ended, 1, 0) == 1;
}

}  // namespace

std::optional<ProcessFacts> read_process(pid_t pid) {
  if (pid <= 0) return std::nullopt;
  const auto stat = read_stat(pid);
  const auto status = proc_file(proc_path(pid, "status"));
  if (!stat || !status) return std::nullopt;
  ProcessFacts facts;
  facts.pid = pid;
  facts.name = stat->name;
  facts.started = stat->started;
  facts.started_at_ns = started_at(stat->started);
  const auto uids = numbers_in(status_line(*status, "Uid"));  // real, effective, saved, file system's
  const auto pids = numbers_in(status_line(*status, "NSpid"));
  if (uids.size() < 2) return std::nullopt;
  facts.uid = static_cast<uint32_t>(uids[1]);
  facts.is_of_one_user = std::ranges::count(uids, uids[1]) == static_cast<ptrdiff_t>(uids.size());
  facts.inner_pid = pids.empty() ? pid : static_cast<int32_t>(pids.back());
  facts.command_line = proc_file(proc_path(pid, "cmdline"), kLongestCommandLine).value_or("");
  while (facts.command_line.ends_with('\0')) facts.command_line.pop_back();
  std::ranges::replace(facts.command_line, '\0', ' ');
  facts.pid_namespace = namespace_of(pid, "pid");
  facts.network_namespace = namespace_of(pid, "net");
  facts.mount_namespace = namespace_of(pid, "mnt");
  for (auto parent = stat->parent; parent > 1 && facts.parents.size() < kMaxParents;) {
    facts.parents.push_back(parent);
    const auto above = read_stat(parent);
    parent = above ? above->parent : 0;
  }
  return facts;
}

bool runs_as(pid_t pid, uint32_t uid) {
  const auto status = proc_file(proc_path(pid, "status"));
  if (!status) return false;
  const auto uids = numbers_in(status_line(*status, "Uid"));
  return !uids.empty() && std::ranges::count(uids, int64_t{uid}) == static_cast<ptrdiff_t>(uids.size());
}

bool is_alive(pid_t pid, uint64_t started) {
  const auto stat = read_stat(pid);
  return stat && stat->started == started && stat->state != 'Z' && stat->state != 'X';
}

bool is_stopped(pid_t pid) {
  const auto stat = read_stat(pid);
  return stat && (stat->state == 'T' || stat->state == 't');
}

AgentSwitch agent_switch(const std::optional<std::string>& kymo_daemon) {
  if (!kymo_daemon || kymo_daemon->empty() || *kymo_daemon == "0") return AgentSwitch::Off;
  const bool is_path = kymo_daemon->find('/') != kymo_daemon->npos;
  return is_path && !kymo_daemon->starts_with('/') ? AgentSwitch::Invalid : AgentSwitch::On;
}

StartVariable start_variable(pid_t pid, const std::string& name) {
  const auto text = proc_file(proc_path(pid, "environ"));
  if (!text) return {};
  StartVariable variable{true, std::nullopt};
  std::istringstream entries(*text);
  for (std::string entry; std::getline(entries, entry, '\0');)
    if (entry.starts_with(name + "=")) variable.value = entry.substr(name.size() + 1);
  return variable;
}

std::optional<bool> has_library(pid_t pid, const std::string& begins_with) {
  constexpr size_t kMaxMapsBytes = 16 << 20;
  const auto text = proc_file(proc_path(pid, "maps"), kMaxMapsBytes);
  if (!text || text->empty()) return std::nullopt;
  return text->find("/" + begins_with) != text->npos;
}

uint64_t namespace_of(pid_t pid, const char* kind) {
  struct stat status {};
  return stat(base::format("/proc/{}/ns/{}", pid, kind).c_str(), &status) == 0 ? status.st_ino : 0;
}

std::string user_name(uint32_t uid) {
  passwd entry{};
  passwd* found = nullptr;
  char buffer[4096];
  if (getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr) return entry.pw_name;
  return base::format("user {}", uid);
}

base::Result<ucred> peer_of(int connection) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return base::Refusal{base::format("cannot get the credentials of the peer: {}", std::strerror(errno))};
  return credentials;
}

base::FileDescriptor peer_process(int connection) {
  int pidfd = -1;
  socklen_t size = sizeof pidfd;
  if (getsockopt(connection, SOL_SOCKET, kPeerPidfd, &pidfd, &size) != 0) return {};
  return base::FileDescriptor(pidfd);
}

base::Check check_user(const ucred& credentials) {
  if (credentials.uid != kNobody) return {};
  if (credentials.pid > 0 && namespace_of(credentials.pid, "user") == namespace_of(getpid(), "user")) return {};
  return base::Refusal{
      base::format("process {} belongs to a user of another user namespace who has no user id here", credentials.pid)};
}

base::Result<ProcessFacts> verified_process(const ucred& credentials, int32_t claimed_pid, int pidfd) {
  if (credentials.pid <= 0) {
    return base::Refusal{
        "the process is in a pid namespace that is not visible here; run kymod on the host, or share the namespace"};
  }
  auto facts = read_process(credentials.pid);
  if (!facts || (pidfd >= 0 && has_ended(pidfd))) {
    return base::Refusal{base::format("process {} has ended", credentials.pid)};
  }
  if (claimed_pid != facts->inner_pid) {
    return base::Refusal{base::format("process {} claims to have pid {}, but it has pid {} in its own namespace",
                                      credentials.pid, claimed_pid, facts->inner_pid)};
  }
  if (const base::Check user = check_user(credentials); !user) return base::Refusal{user.reason()};
  if (!facts->is_of_one_user || facts->uid != credentials.uid) {
    return base::Refusal{base::format("process {} runs with the rights of several users; such programs are not traced",
                                      credentials.pid)};
  }
  return std::move(*facts);
}

}  // namespace kymo::daemon
