#include "ondemand/daemon_address.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/text.h"
#include "wire/socket_path.h"

namespace kymo::ondemand {
namespace {

bool is_trusted(uid_t uid) { return uid == geteuid() || uid == 0; }

std::string socket_problem(const std::string& path) {
  struct stat status {};
  const std::string folder = path.substr(0, path.rfind('/'));
  if (stat(folder.empty() ? "/" : folder.c_str(), &status) != 0) return {};
  const bool others_write = (status.st_mode & 022) != 0 && (status.st_mode & S_ISVTX) == 0;
  if (!is_trusted(status.st_uid) || others_write)
    return base::format("{} belongs to another user, or others can write to it", folder);
  if (lstat(path.c_str(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode)) return base::format("{} is not a socket", path);
  if (!is_trusted(status.st_uid)) return base::format("{} is the socket of user {}", path, status.st_uid);
  return {};
}

}  // namespace

std::vector<std::string> daemon_sockets(const std::string& value) {
  if (value.empty() || value == "0" || !address_problem(value).empty()) return {};
  if (value[0] == '/') return {value};
  return {wire::user_socket(base::environment("XDG_RUNTIME_DIR"), geteuid()), std::string(wire::kHostSocket)};
}

std::string address_problem(const std::string& value) {
  if (value.find('/') == value.npos) return {};
  if (value[0] != '/')
    return base::format("\"{}\" is not an absolute path; use 1, or a path that begins with /", value);
  const size_t most = sizeof sockaddr_un{}.sun_path - 1;
  if (value.size() > most) return base::format("\"{}\" is too long: a socket's path has at most {} bytes", value, most);
  return {};
}

void make_user_folder(const std::string& socket) {
  const char* runtime = base::environment("XDG_RUNTIME_DIR");
  struct stat status {};
  if (runtime == nullptr || !socket.starts_with(std::string(runtime) + "/kymo/")) return;
  if (stat(runtime, &status) != 0 || status.st_uid != geteuid()) return;  // for example root with a user's environment
  mkdir(socket.substr(0, socket.rfind('/')).c_str(), 0700);
}

ConnectResult connect_to_daemon(const std::string& path) {
  ConnectResult result;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return result;
  result.problem = socket_problem(path);
  if (!result.problem.empty()) return result;
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  base::FileDescriptor file(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!file) return result;
  if (connect(file.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EAGAIN || errno == EINTR) result.state = Connecting::Full;
    if (errno == ECONNREFUSED) result.state = Connecting::Refused;
    if (errno == EACCES) result.state = Connecting::Denied;
    return result;
  }
  ucred peer{};
  socklen_t length = sizeof peer;
  if (getsockopt(file.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || !is_trusted(peer.uid)) {
    result.problem = base::format("{} is served by user {}", path, peer.uid);
    return result;
  }
  result.state = Connecting::Connected;
  result.socket = std::move(file);
  return result;
}

}  // namespace kymo::ondemand
