#include "cli/daemon_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/environment.h"
#include "base/text.h"
#include "cli/text.h"
#include "daemon/proc.h"
#include "wire/socket_path.h"

namespace kymo::cli {
namespace {

using Outcome = SocketProbe::Outcome;

// One that is to listen at another place than its own has to be told.
std::string how_to_start(const std::string& path) {
  const bool is_usual =
      path == wire::kHostSocket || path == wire::user_socket(base::environment("XDG_RUNTIME_DIR"), geteuid());
  if (is_usual)
    return base::format("start it: 'systemctl {}start kymod', or 'kymod &'", geteuid() == 0 ? "" : "--user ");
  return base::format("start it: 'kymod --socket {} &'", printable(path));
}

void explain_connect(SocketProbe& probe, int failure) {
  const std::string shown = printable(probe.path);
  std::error_code ignored;
  const auto file = std::filesystem::status(probe.path, ignored);
  probe.remedy = how_to_start(probe.path);
  if (failure == ENOENT || failure == ENOTDIR) {
    probe.outcome = Outcome::Absent;
    probe.reason = base::format("there is no {}", shown);
  } else if (std::filesystem::exists(file) && !std::filesystem::is_socket(file)) {
    probe.reason = base::format("{} is no socket", shown);
    probe.remedy = "give the socket of kymod";
  } else if (failure == ECONNREFUSED) {
    probe.outcome = Outcome::NobodyListens;
    probe.reason = base::format("nobody listens at {}", shown);
  } else if (failure == EACCES || failure == EPERM) {
    probe.outcome = Outcome::NotAllowed;
    probe.reason = base::format("{} may not connect to {}", daemon::user_name(geteuid()), shown);
    probe.remedy = "that daemon is another user's: start one of your own, or ask root for one in /run/kymo";
  } else if (failure == EPROTOTYPE) {
    probe.reason = base::format("{} is a socket, but not a daemon's", shown);
    probe.remedy = "give the socket of kymod";
  } else if (failure == EAGAIN) {
    probe.reason = base::format("too many wait for the daemon at {}", shown);
    probe.remedy = "try again";
  } else {
    probe.reason = base::format("cannot connect to {}: {}", shown, std::strerror(failure));
  }
}

// Whose daemon it is; the kernel keeps who it was that began to listen.
void check_owner(SocketProbe& probe) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(probe.socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    probe.reason = base::format("cannot tell whose daemon listens at {}: {}", printable(probe.path), strerror(errno));
    probe.socket.reset();
    return;
  }
  probe.daemon_uid = peer.uid;
  if (peer.uid == 0 || peer.uid == geteuid()) {
    probe.outcome = Outcome::Connected;
    return;
  }
  const std::string owner = printable(daemon::user_name(peer.uid));
  probe.outcome = Outcome::OtherUser;
  probe.reason = base::format("{} is a daemon of {}, neither yours nor root's", printable(probe.path), owner);
  probe.remedy = base::format("run kymo as {}, or start a daemon of your own", owner);
  probe.socket.reset();
}

}  // namespace

std::vector<std::string> daemon_sockets(const std::string& given) {
  if (!given.empty()) return {std::filesystem::absolute(given).lexically_normal().string()};
  const char* named = base::environment("KYMO_DAEMON");
  if (named != nullptr && named[0] == '/') return {named};
  return {wire::user_socket(base::environment("XDG_RUNTIME_DIR"), geteuid()), std::string(wire::kHostSocket)};
}

SocketProbe probe_daemon(const std::string& path) {
  SocketProbe probe;
  probe.path = path;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    probe.reason = base::format("'{}' cannot be a socket: its path has {} bytes, and 1 to {} are possible",
                                printable(path), path.size(), sizeof address.sun_path - 1);
    probe.remedy = "give a shorter path";
    return probe;
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  // Connecting to a daemon that does not accept must not wait for ever.
  probe.socket = base::FileDescriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.socket) throw Error(base::format("cannot make a socket: {}", std::strerror(errno)));
  if (::connect(probe.socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    explain_connect(probe, errno);
    probe.socket.reset();
    return probe;
  }
  check_owner(probe);
  return probe;
}

}  // namespace kymo::cli
