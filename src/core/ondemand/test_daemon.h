// A daemon that a test simulates: a listening socket, and the received messages of each connection, one by one.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "wire/message.h"

namespace kymo::ondemand::testing {

constexpr int kLimitMs = 100'000;  // only a hang reaches it, also on a busy machine

class DaemonConnection {
 public:
  explicit DaemonConnection(base::FileDescriptor socket) : socket_(std::move(socket)) {}

  void send(const wire::Message& message, uint32_t serial = 0) {
    const auto packet = wire::message_packet(message, serial);
    ASSERT_TRUE(packet) << packet.reason();
    send_bytes(*packet);
  }
  void send_bytes(const std::vector<std::byte>& bytes) {
    ASSERT_EQ(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }

  // Ignores send errors: the peer may close the connection before.
  void throw_bytes(const std::vector<std::byte>& bytes) {
    [[maybe_unused]] const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  // The next message; nothing if the peer has closed the connection.
  std::optional<wire::Packet> next() {
    pollfd file{socket_.get(), POLLIN, 0};
    if (poll(&file, 1, kLimitMs) != 1) {
      ADD_FAILURE() << "nothing came";
      return std::nullopt;
    }
    std::vector<std::byte> bytes(wire::kLargestMessage);
    const ssize_t got = recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got <= 0) return std::nullopt;
    return wire::read_message({bytes.data(), static_cast<size_t>(got)});
  }

  // The next message of this type; skips others.
  template <class M>
  std::optional<M> next_of() {
    while (auto packet = next())
      if (const auto* message = std::get_if<M>(&packet->message); message != nullptr) return *message;
    return std::nullopt;
  }
  // Waits for a Status with this state.
  bool reaches(wire::RequestState state) {
    while (auto status = next_of<wire::Status>())
      if (status->state == state) return true;
    return false;
  }
  void hang_up() { socket_.reset(); }

 private:
  base::FileDescriptor socket_;
};

class StandInDaemon {
 public:
  explicit StandInDaemon(std::string path) : path_(std::move(path)) { listen_there(); }

  void listen_there() {
    unlink(path_.c_str());
    listener_ = base::FileDescriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path_.c_str());
    ASSERT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0) << std::strerror(errno);
    ASSERT_EQ(listen(listener_.get(), 64), 0);
  }
  void stop_listening() { listener_.reset(); }

  std::optional<DaemonConnection> accept(int limit_ms = kLimitMs) {
    pollfd file{listener_.get(), POLLIN, 0};
    if (poll(&file, 1, limit_ms) != 1) return std::nullopt;
    return DaemonConnection(base::FileDescriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)));
  }
  // Accepts a connection, reads Hello and sends Welcome.
  std::optional<DaemonConnection> accept_agent(wire::Hello* hello = nullptr, std::vector<std::string> folders = {}) {
    auto connection = accept();
    if (!connection) return std::nullopt;
    const auto said = connection->next_of<wire::Hello>();
    if (!said) return std::nullopt;
    if (hello != nullptr) *hello = *said;
    connection->send(wire::Welcome{.output_folders = std::move(folders)});
    return connection;
  }

 private:
  std::string path_;
  base::FileDescriptor listener_;
};

}  // namespace kymo::ondemand::testing
