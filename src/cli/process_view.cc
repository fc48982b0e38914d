#include "cli/process_view.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>

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

}  // namespace

std::optional<bool> has_agent_thread(pid_t pid) {
  std::error_code failure;
  fs::directory_iterator tasks(base::format("/proc/{}/task", pid), failure);
  if (failure) return std::nullopt;
  for (; tasks != fs::directory_iterator() && !failure; tasks.increment(failure))
    if (first_line(tasks->path() / "comm") == kAgentThread) return true;
  return false;
}

bool is_stopped(pid_t pid) {
  // The name in brackets may contain any character; the state follows the last bracket.
  const std::string stat = first_line(base::format("/proc/{}/stat", pid));
  const size_t end = stat.rfind(')');
  if (end == stat.npos || end + 2 >= stat.size()) return false;
  return stat[end + 2] == 'T' || stat[end + 2] == 't';
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

std::optional<bool> has_abstract_socket(pid_t pid, const std::string& name) {
  std::ifstream sockets(base::format("/proc/{}/net/unix", pid));
  if (!sockets) return std::nullopt;
  for (std::string line; std::getline(sockets, line);)
    if (line.ends_with(" " + name)) return true;
  return false;
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
