// A daemon for tests of commands: listens at a real socket and gives the answers of the test.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "wire/message.h"

namespace kymo::cli {

class TestDaemon {
 public:
  using Replies = std::vector<wire::Message>;  // with the request's serial
  using Answer = std::function<Replies(const wire::Message&)>;

  // Hello is answered by `welcome`, everything else by `answer`; after a Refused the connection ends. Serves one
  // connection at a time, until its peer disconnects.
  explicit TestDaemon(Answer answer, wire::Message welcome = wire::Welcome{.kymo_version = "9.9"})
      : answer_(std::move(answer)), welcome_(std::move(welcome)) {
    std::string name = (std::filesystem::temp_directory_path() / "kymo-cli-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw Error("cannot make a folder");
    folder_ = name;
    listener_ = base::FileDescriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    std::strncpy(address.sun_path, path().c_str(), sizeof address.sun_path - 1);
    if (::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(listener_.get(), 8) != 0 || ::pipe(stop_.data()) != 0)
      throw Error("cannot listen");
    thread_ = std::thread([this] { serve(); });
  }
  ~TestDaemon() {
    ::close(stop_[1]);
    thread_.join();
    ::close(stop_[0]);
    std::filesystem::remove_all(folder_);
  }

  const std::string& folder() const { return folder_; }
  std::string path() const { return folder_ + "/kymod.sock"; }
  // Only after a command has ended.
  const std::vector<wire::Message>& received() const { return received_; }

 private:
  // False: the test is over.
  bool wait(int descriptor) const {
    std::array<pollfd, 2> wanted = {pollfd{descriptor, POLLIN, 0}, pollfd{stop_[0], POLLIN, 0}};
    return ::poll(wanted.data(), wanted.size(), -1) > 0 && wanted[1].revents == 0;
  }

  void serve() {
    while (wait(listener_.get())) {
      const base::FileDescriptor peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      while (peer && wait(peer.get()) && serve_one(peer.get())) continue;
    }
  }

  bool serve_one(int peer) {
    std::array<std::byte, wire::kLargestMessage> buffer;
    const ssize_t size = ::recv(peer, buffer.data(), buffer.size(), 0);
    if (size <= 0) return false;
    const wire::Packet packet = wire::read_message({buffer.data(), static_cast<size_t>(size)});
    EXPECT_EQ(packet.kind, wire::PacketKind::Good) << packet.reason;
    received_.push_back(packet.message);
    const bool is_hello = std::holds_alternative<wire::Hello>(packet.message);
    for (const wire::Message& reply : is_hello ? Replies{welcome_} : answer_(packet.message)) {
      const auto bytes = wire::message_packet(reply, packet.serial);
      EXPECT_TRUE(bytes) << bytes.reason();
      if (!bytes || ::send(peer, bytes->data(), bytes->size(), MSG_NOSIGNAL) < 0) return false;
      if (std::holds_alternative<wire::Refused>(reply)) return false;
    }
    return true;
  }

  Answer answer_;
  wire::Message welcome_;
  std::string folder_;
  base::FileDescriptor listener_;
  std::array<int, 2> stop_{-1, -1};
  std::vector<wire::Message> received_;
  std::thread thread_;
};

}  // namespace kymo::cli
