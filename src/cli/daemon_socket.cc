#include "cli/daemon_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/environment.h"
#include "base/printable.h"
#include "base/text.h"
#include "daemon/proc.h"
#include "wire/socket_path.h"

namespace kymo::cli {
namespace {

using Outcome = SocketProbe::Outcome;

// A daemon needs --socket to listen anywhere but at its default path.
std::string how_to_start(const std::string& path) {
  const bool is_usual =
      path == wire::kHostSocket || path == wire::user_socket(base::environment("XDG_RUNTIME_DIR"), geteuid());
  if (is_usual)
    return base::format("start the daemon: 'systemctl {}start kymod', or 'kymod &'", geteuid() == 0 ? "" : "--user ");
  return base::format("start the daemon: 'kymod --socket {} &'", base::printable(path));
}

void explain_connect(SocketProbe& probe, int failure) {
  const std::string shown = base::printable(probe.path);
  std::error_code ignored;
  const auto file = std::filesystem::status(probe.path, ignored);
  probe.remedy = how_to_start(probe.path);
  if (failure == ENOENT || failure == ENOTDIR) {
    probe.outcome = Outcome::Absent;
    probe.reason = base::format("{} does not exist", shown);
  } else if (std::filesystem::exists(file) && !std::filesystem::is_socket(file)) {
    probe.reason = base::format("{} is not a socket", shown);
    probe.remedy = "give the path of kymod's socket";
  } else if (failure == ECONNREFUSED) {
    probe.outcome = Outcome::NobodyListens;
    probe.reason = base::format("no process is listening at {}", shown);
  } else if (failure == EACCES || failure == EPERM) {
    probe.outcome = Outcome::NotAllowed;
    probe.reason = base::format("{} has no permission to connect to {}", daemon::user_name(geteuid()), shown);
    probe.remedy = "the daemon belongs to another user: start your own daemon, or ask root to run one in /run/kymo";
  } else if (failure == EPROTOTYPE) {
    probe.reason = base::format("{} is a socket, but not the socket of a daemon", shown);
    probe.remedy = "give the path of kymod's socket";
  } else if (failure == EAGAIN) {
    probe.reason = base::format("too many connections are waiting for the daemon at {}", shown);
    probe.remedy = "try again";
  } else {
    probe.reason = base::format("cannot connect to {}: {}", shown, std::strerror(failure));
  }
}

// The user of the daemon. The kernel stores the user that called listen().
void check_owner(SocketProbe& probe) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(probe.socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    probe.reason =
        base::format("cannot get the user of the daemon at {}: {}", base::printable(probe.path), strerror(errno));
    probe.socket.reset();
    return;
  }
  probe.daemon_uid = peer.uid;
  if (peer.uid == 0 || peer.uid == geteuid()) {
    probe.outcome = Outcome::Connected;
    return;
  }
  const std::string owner = base::printable(daemon::user_name(peer.uid));
  probe.outcome = Outcome::OtherUser;
  probe.reason = base::format("the daemon at {} belongs to {}, not to you or root", base::printable(probe.path), owner);
  probe.remedy = base::format("run kymo as {}, or start your own daemon", owner);
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
    probe.reason = base::format("'{}' is not a valid socket path: it has {} bytes, and 1 to {} are allowed",
                                base::printable(path), path.size(), sizeof address.sun_path - 1);
    probe.remedy = "give a shorter path";
    return probe;
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  // Connecting to a daemon that does not accept must not wait forever.
  probe.socket = base::FileDescriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.socket) throw Error(base::format("cannot create a socket: {}", std::strerror(errno)));
  if (::connect(probe.socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    explain_connect(probe, errno);
    probe.socket.reset();
    return probe;
  }
  check_owner(probe);
  return probe;
}

}  // namespace kymo::cli
