#include "client/connect.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/environment.h"
#include "base/text.h"
#include "wire/message.h"

namespace kymo::client {
namespace {

using State = Connection::State;

bool is_trusted(uid_t uid) { return uid == geteuid() || uid == 0; }

// Checks the folder and the file before anything is sent to them. Connected: nothing is wrong.
State check_path(const std::string& path, std::string& problem) {
  struct stat status {};
  const std::string folder = path.substr(0, path.rfind('/'));
  if (stat(folder.empty() ? "/" : folder.c_str(), &status) != 0) return State::Connected;  // connect() says why
  const bool others_write = (status.st_mode & 022) != 0 && (status.st_mode & S_ISVTX) == 0;
  if (!is_trusted(status.st_uid) || others_write) {
    problem = others_write ? base::format("{} is not safe: others can write to it", folder)
                           : base::format("{} belongs to user {}, not to you or root", folder, status.st_uid);
    return State::Untrusted;
  }
  if (lstat(path.c_str(), &status) != 0) return State::Connected;
  if (!S_ISSOCK(status.st_mode)) {
    problem = base::format("{} is not a socket", path);
    return State::NotASocket;
  }
  if (!is_trusted(status.st_uid)) {
    problem = base::format("{} belongs to user {}, not to you or root", path, status.st_uid);
    return State::Untrusted;
  }
  return State::Connected;
}

State state_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return State::NotThere;
    case ECONNREFUSED:
      return State::Refused;
    case EAGAIN:
    case EINTR:
      return State::Full;
    case EACCES:
    case EPERM:
      return State::Denied;
    default:
      return State::Failed;
  }
}

}  // namespace

std::vector<std::string> default_sockets() {
  std::vector<std::string> paths{wire::user_socket(base::environment("XDG_RUNTIME_DIR"), geteuid())};
  if (paths[0] != wire::kHostSocket) paths.emplace_back(wire::kHostSocket);  // the same if XDG_RUNTIME_DIR is /run
  return paths;
}

Connection connect_to_daemon(const std::string& path) {
  Connection result;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    result.error = ENAMETOOLONG;
    return result;
  }
  result.state = check_path(path, result.problem);
  if (result.state != State::Connected) return result;
  std::memcpy(address.sun_path, path.data(), path.size());
  base::FileDescriptor file(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!file || ::connect(file.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    result.error = errno;
    result.state = file ? state_of(errno) : State::Failed;
    return result;
  }
  // The kernel stores the user that called listen().
  ucred peer{};
  socklen_t length = sizeof peer;
  if (getsockopt(file.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    result.error = errno;
    result.state = State::Failed;
    return result;
  }
  result.owner = peer.uid;
  if (!is_trusted(peer.uid)) {
    result.state = State::Untrusted;
    result.problem = base::format("the daemon at {} belongs to user {}, not to you or root", path, peer.uid);
    return result;
  }
  result.socket = std::move(file);
  return result;
}

}  // namespace kymo::client
