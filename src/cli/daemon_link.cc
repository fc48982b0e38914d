#include "cli/daemon_link.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>

#include "base/clock.h"
#include "base/host.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/terminal.h"
#include "daemon/proc.h"

namespace kymo::cli {
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
  hello.uid = ::geteuid();
  hello.name = "kymo";
  hello.boot_id = base::boot_id();
  hello.pid_namespace = daemon::namespace_of(hello.pid, "pid");
  hello.mount_namespace = daemon::namespace_of(hello.pid, "mnt");
  hello.network_namespace = daemon::namespace_of(hello.pid, "net");
  hello.started_at_ns = base::realtime_ns();
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
      throw Error(base::format("the daemon at {} sent an invalid message: {}", base::printable(path_), packet.reason));
    if (const auto* ping = std::get_if<wire::Ping>(&packet.message)) {
      send(wire::Pong{ping->token, base::realtime_ns()});
      continue;
    }
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
