#include "commands/ondemand/daemon_link.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/environment.h"
#include "base/host.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/terminal.h"
#include "client/connect.h"
#include "daemon/proc.h"
#include "wire/message.h"

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

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kAnswerLimit(10'000);
constexpr size_t kMaxParts = 4096;  // max parts of one answer

bool wait_for(int socket, short events, Clock::time_point deadline) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd wanted{socket, events, 0};
    const int ready = ::poll(&wanted, 1, left.count() > 0 ? static_cast<int>(left.count()) : 0);
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

}  // namespace

std::vector<DaemonLink> connect_daemons(const std::string& given) {
  std::vector<DaemonLink> links;
  std::vector<std::string> failures;
  std::exception_ptr first_failure;
  std::string reasons, remedy;
  for (const std::string& path : daemon_sockets(given)) {
    SocketProbe probe = probe_daemon(path);
    if (probe.outcome != SocketProbe::Outcome::Connected) {
      reasons += (reasons.empty() ? "" : " and ") + probe.reason;
      if (remedy.empty() || probe.outcome != SocketProbe::Outcome::Absent) remedy = probe.remedy;
      continue;
    }
    try {
      links.emplace_back(std::move(probe));
    } catch (const Error& error) {
      failures.emplace_back(error.what());
      if (!first_failure) first_failure = std::current_exception();
    }
  }
  if (links.empty() && first_failure) std::rethrow_exception(first_failure);
  if (links.empty()) throw NotAvailable(base::format("no daemon: {}; {}", reasons, remedy));
  for (const std::string& failure : failures) say_warning(base::format("one daemon is left out: {}", failure));
  return links;
}

DaemonLink::DaemonLink(SocketProbe connected) : path_(connected.path), socket_(std::move(connected.socket)) { greet(); }

void DaemonLink::greet() {
  wire::Hello hello;
  hello.role = wire::Role::Tool;
  hello.pid = ::getpid();
  hello.name = "kymo";
  hello.kymo_version = base::kVersion;
  wire::Message message = answer(send(hello));
  wire::Welcome* welcome = std::get_if<wire::Welcome>(&message);
  if (welcome == nullptr) throw unexpected(message);
  if (welcome->version != wire::kProtocolVersion)
    throw Error(wire::versions_differ("kymod", welcome->version, "this command", wire::kProtocolVersion));
  welcome_ = std::move(*welcome);
}

uint32_t DaemonLink::send(const wire::Message& message) {
  const uint32_t serial = ++last_serial_;
  const auto packet = wire::message_packet(message, serial);
  if (!packet) throw InvalidArgument(packet.reason());
  const auto deadline = Clock::now() + kAnswerLimit;
  while (::send(socket_.get(), packet->data(), packet->size(), MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN)
      throw ConnectionLost(base::format("the daemon at {} closed the connection", base::printable(path_)));
    if (!wait_for(socket_.get(), POLLOUT, deadline))
      throw Error(
          base::format("the daemon at {} does not read its messages any more; restart it", base::printable(path_)));
  }
  return serial;
}

std::optional<wire::Message> DaemonLink::next(uint32_t serial, std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  const auto buffer = std::make_unique<std::array<std::byte, wire::kLargestMessage + 1>>();
  while (wait_for(socket_.get(), POLLIN, deadline)) {
    const ssize_t size = ::recv(socket_.get(), buffer->data(), buffer->size(), 0);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (size <= 0) throw ConnectionLost(base::format("the daemon at {} closed the connection", base::printable(path_)));
    wire::Packet packet = wire::read_message({buffer->data(), static_cast<size_t>(size)});
    if (packet.kind == wire::PacketKind::Unknown) continue;  // sent by a newer daemon; not understood here
    if (packet.kind != wire::PacketKind::Good)
      throw Error(base::format("the daemon at {} sent a message that cannot be read: {}", base::printable(path_),
                               packet.reason));
    const auto* refused = std::get_if<wire::Refused>(&packet.message);
    if (refused != nullptr && (packet.serial == serial || packet.serial == 0))
      throw Error(base::printable(refused->text));
    if (packet.serial == serial) return std::move(packet.message);
  }
  return std::nullopt;
}

wire::Message DaemonLink::answer(uint32_t serial) {
  auto message = next(serial, kAnswerLimit);
  if (message) return std::move(*message);
  throw Error(base::format("the daemon at {} did not answer within {} s; is it stopped?", base::printable(path_),
                           kAnswerLimit.count() / 1000));
}

void DaemonLink::check_size(size_t parts) {
  if (parts >= kMaxParts) throw Error("the daemon's answer is too long; restart the daemon");
}

Error DaemonLink::unexpected(const wire::Message& message) {
  const auto type = std::visit([](const auto& one) { return one.kType; }, message);
  return Error(base::format("the daemon sent an unexpected answer ({}); are kymo and kymod of the same version?",
                            wire::name_of(type)));
}

}  // namespace kymo::cli
