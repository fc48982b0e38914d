#include "cli/process_view.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/text.h"

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

}  // namespace kymo::cli
