#include "cli/daemon_socket.h"

#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/environment.h"
#include "base/printable.h"
#include "base/text.h"
#include "client/connect.h"
#include "daemon/proc.h"
#include "wire/socket_path.h"

namespace kymo::cli {
namespace {

using Outcome = SocketProbe::Outcome;

// For a daemon that has more clients than it can accept at the moment.
constexpr std::chrono::milliseconds kFullLimit(5'000), kFullPause(5);

// A daemon needs --socket to listen anywhere but at its default path.
std::string how_to_start(const std::string& path) {
  const bool is_usual =
      path == wire::kHostSocket || path == wire::user_socket(base::environment("XDG_RUNTIME_DIR"), geteuid());
  if (is_usual)
    return base::format("start the daemon: 'systemctl {}start kymod', or 'kymod &'", geteuid() == 0 ? "" : "--user ");
  return base::format("start the daemon: 'kymod --socket {} &'", base::printable(path));
}

void explain(SocketProbe& probe, const client::Connection& connection) {
  using State = client::Connection::State;
  const std::string shown = base::printable(probe.path);
  if (connection.state != State::Connected) probe.remedy = how_to_start(probe.path);
  switch (connection.state) {
    case State::Connected:
      return;
    case State::NotThere:
      probe.outcome = Outcome::Absent;
      probe.reason = base::format("{} does not exist", shown);
      break;
    case State::NotASocket:
      probe.reason = base::printable(connection.problem);
      probe.remedy = "give the path of kymod's socket";
      break;
    case State::Refused:
      probe.outcome = Outcome::NobodyListens;
      probe.reason = base::format("no process is listening at {}", shown);
      break;
    case State::Full:
      probe.reason = base::format("too many connections are waiting for the daemon at {}", shown);
      probe.remedy = "try again, or find the program that connects so often (ss -xp)";
      break;
    case State::Denied:
      probe.outcome = Outcome::NotAllowed;
      probe.reason = base::format("{} has no permission to connect to {}", daemon::user_name(geteuid()), shown);
      probe.remedy = "the daemon belongs to another user: start your own daemon, or ask root to run one in /run/kymo";
      break;
    case State::Untrusted:
      probe.outcome = Outcome::OtherUser;
      probe.reason = base::printable(connection.problem);
      probe.remedy = "start your own daemon, in a folder that only you and root can write to";
      break;
    case State::Failed:
      if (connection.error == EPROTOTYPE) {
        probe.reason = base::format("{} is a socket, but not the socket of a daemon", shown);
        probe.remedy = "give the path of kymod's socket";
      } else {
        probe.reason = base::format("cannot connect to {}: {}", shown, std::strerror(connection.error));
      }
  }
  if (connection.state != State::Untrusted || connection.owner == 0) return;
  const std::string owner = base::printable(daemon::user_name(connection.owner));
  probe.reason = base::format("the daemon at {} belongs to {}, not to you or root", shown, owner);
  probe.remedy = base::format("run kymo as {}, or start your own daemon", owner);
}

}  // namespace

std::vector<std::string> daemon_sockets(const std::string& given) {
  if (!given.empty()) return {std::filesystem::absolute(given).lexically_normal().string()};
  const char* named = base::environment("KYMO_DAEMON");
  if (named != nullptr && named[0] == '/') return {named};
  return client::default_sockets();
}

SocketProbe probe_daemon(const std::string& path) {
  SocketProbe probe;
  probe.path = path;
  constexpr size_t kMaxBytes = sizeof sockaddr_un{}.sun_path - 1;
  if (path.empty() || path.size() > kMaxBytes) {
    probe.reason = base::format("'{}' is not a valid socket path: it has {} bytes, and 1 to {} are allowed",
                                base::printable(path), path.size(), kMaxBytes);
    probe.remedy = "give a shorter path";
    return probe;
  }
  client::Connection connection = client::connect_to_daemon(path);
  const auto deadline = std::chrono::steady_clock::now() + kFullLimit;
  while (connection.state == client::Connection::State::Full && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kFullPause);
    connection = client::connect_to_daemon(path);
  }
  explain(probe, connection);
  if (connection.state != client::Connection::State::Connected) return probe;
  probe.outcome = Outcome::Connected;
  probe.daemon_uid = connection.owner;
  probe.socket = std::move(connection.socket);
  return probe;
}

}  // namespace kymo::cli
