#include "ondemand/fabric_poll.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/environment.h"
#include "ondemand/identity.h"
#include "ondemand/requests.h"
#include "wire/config.h"

namespace kymo::ondemand {
namespace {

constexpr uint64_t kFabricSecond = 1'000'000'000;
constexpr uint64_t kMaxSecondsBetween = 3600;
constexpr size_t kMaxAncestors = 11;

// A path may be spelled in more than one way; the sender is checked anyway.
bool is_daemon(const sockaddr_un& from, socklen_t length, const wire::FabricAddress& daemon) {
  if (length == daemon.length && memcmp(&from, &daemon.address, length) == 0) return true;
  if (length <= offsetof(sockaddr_un, sun_path) || from.sun_path[0] != '/' || daemon.address.sun_path[0] != '/')
    return false;
  const std::string_view path(from.sun_path, strnlen(from.sun_path, length - offsetof(sockaddr_un, sun_path)));
  return path.substr(path.rfind('/') + 1) == wire::kFabricDaemonName;
}

// The sender, as the kernel reports it.
std::optional<ucred> sender_of(msghdr& header) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS) continue;
    ucred sender;
    memcpy(&sender, CMSG_DATA(part), sizeof sender);
    return sender;
  }
  return std::nullopt;
}

}  // namespace

bool FabricPoller::open() {
  const char* folder_text = base::environment("KINETO_IPC_SOCKET_DIR");
  const std::string folder = folder_text != nullptr ? folder_text : "";
  std::array<uint8_t, 16> random{};
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) return false;
  const std::string name = wire::fabric_client_name(random);
  const auto own = wire::fabric_address(name, folder);
  const auto daemon = wire::fabric_address(wire::kFabricDaemonName, folder);
  if (!own || !daemon) return false;
  base::FileDescriptor file(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (!file || setsockopt(file.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) return false;
  if (bind(file.get(), reinterpret_cast<const sockaddr*>(&own->address), own->length) != 0) return false;
  if (!folder.empty()) {
    own_path_ = folder + "/" + name;
    chmod(own_path_.c_str(), 0600);  // the daemon is this user's or root's
  }
  daemon_ = *daemon;
  socket_ = OwnFile(std::move(file));
  pids_ = process_ancestry(kMaxAncestors);
  job_ = scheduler_job();
  const uint64_t interval = wire::read_config(base_config()).request.value_or(wire::TraceRequest{}).poll_interval_s;
  ask_every_ns_ = std::clamp<uint64_t>(interval, 1, kMaxSecondsBetween) * kFabricSecond;
  due_ns_ = 0;
  return true;
}

void FabricPoller::close() {
  if (!socket_) return;
  socket_.reset();
  if (!own_path_.empty()) unlink(own_path_.c_str());
  due_ns_ = ~uint64_t{0};
}

void FabricPoller::files_closed() {
  if (!socket_ || socket_.is_mine()) return;
  close();
  open();
}

void FabricPoller::ask(bool busy) {
  const uint64_t now = base::monotonic_ns();
  if (!socket_ || now < due_ns_) return;
  due_ns_ = now + ask_every_ns_;
  const auto datagram =
      wire::fabric_datagram(wire::FabricRequest(wire::FabricPoll{busy ? 0 : wire::kFabricActivities, job_, pids_}));
  if (!datagram || !socket_.is_mine()) return;
  // There is no daemon, or it does not read: asks again next time.
  sendto(socket_.get(), datagram->data(), datagram->size(), MSG_NOSIGNAL | MSG_DONTWAIT,
         reinterpret_cast<const sockaddr*>(&daemon_.address), daemon_.length);
}

void FabricPoller::add_files(std::vector<pollfd>& files) const {
  if (socket_) files.push_back({socket_.get(), POLLIN, 0});
}

void FabricPoller::serve(const std::vector<pollfd>& files) {
  for (const pollfd& file : files)
    if (socket_ && file.fd == socket_.get() && file.revents != 0) receive_all();
  files_closed();
}

void FabricPoller::receive_all() {
  std::vector<std::byte> buffer(wire::kFabricLargestDatagram);
  while (socket_ && socket_.is_mine()) {
    sockaddr_un from{};
    alignas(cmsghdr) char control[256];
    iovec part{buffer.data(), buffer.size()};
    msghdr header{};
    header.msg_name = &from;
    header.msg_namelen = sizeof from;
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const ssize_t got = recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;
    const auto sender = sender_of(header);
    const bool trusted = sender && (sender->uid == geteuid() || sender->uid == 0);
    if (!trusted || (header.msg_flags & MSG_TRUNC) != 0 || !is_daemon(from, header.msg_namelen, daemon_)) continue;
    const auto reply = wire::read_fabric_reply({buffer.data(), static_cast<size_t>(got)});
    if (!reply) continue;
    const auto* config = std::get_if<wire::FabricConfig>(&*reply);
    if (config != nullptr && !config->text.empty()) config_(config->text);
  }
}

}  // namespace kymo::ondemand
