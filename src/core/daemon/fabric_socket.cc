#include "daemon/fabric_socket.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/text.h"

namespace kymo::daemon {
namespace {

constexpr int kDatagramsARound = 64;
constexpr double kDatagramsASecond = 2000;  // of one user: ten thousand programs that ask every five seconds
constexpr size_t kMaxUsers = 1024;          // whose rates are remembered

Error cannot_serve(const std::string& where, const std::string& why) {
  return Error(base::format("cannot serve programs with libkineto at {}: {}", where, why));
}

Taken taken(const std::string& where) {
  return Taken(base::format("cannot serve programs with libkineto at {}: another daemon is already there", where));
}

// The socket file at `path`, as the sender's process sees it; empty if it does not belong to the sender's user.
base::FileDescriptor socket_of(const FabricSender& sender, const std::string& path) {
  const std::string as_it_sees = base::format("/proc/{}/root{}", sender.credentials.pid, path);
  base::FileDescriptor file(open(as_it_sees.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!file) file = base::FileDescriptor(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode) || status.st_uid != sender.credentials.uid) return {};
  return file;
}

const ucred* credentials_in(msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_CREDENTIALS &&
        part->cmsg_len == CMSG_LEN(sizeof(ucred)))
      return reinterpret_cast<const ucred*>(CMSG_DATA(part));
  }
  return nullptr;
}

}  // namespace

FabricSocket::FabricSocket(Loop& loop, Log& log, const std::string& folder, Handler handler)
    : log_(log), handler_(std::move(handler)) {
  bind_there(folder);
  watch_ = loop.watch(socket_.get(), EPOLLIN, [this](uint32_t) { receive_some(); });
}

FabricSocket::~FabricSocket() {
  if (!path_.empty()) unlink(path_.c_str());
}

void FabricSocket::bind_there(const std::string& folder) {
  const auto address = wire::fabric_address(wire::kFabricDaemonName, folder);
  const std::string where = folder.empty() ? base::format("@{}", wire::kFabricDaemonName)
                                           : base::format("{}/{}", folder, wire::kFabricDaemonName);
  if (!address) throw cannot_serve(where, address.reason());
  struct stat status {};
  if (!folder.empty() && lstat(where.c_str(), &status) == 0) {
    if (!S_ISSOCK(status.st_mode)) throw cannot_serve(where, "the path exists and is not a socket; remove it");
    // A leftover, or the socket of another daemon: if it answers, another daemon is there.
    const base::FileDescriptor probe(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&address->address), address->length) == 0)
      throw taken(where);
    if (unlink(where.c_str()) != 0) throw cannot_serve(where, std::strerror(errno));
  }
  socket_ = base::FileDescriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!socket_ || setsockopt(socket_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0)
    throw cannot_serve(where, std::strerror(errno));
  const mode_t before = umask(0111);  // every user's programs may ask
  const bool is_bound = bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address->address), address->length) == 0;
  const int error = errno;
  umask(before);
  if (!is_bound && error == EADDRINUSE) throw taken(where);
  if (!is_bound) throw cannot_serve(where, std::strerror(error));
  if (!folder.empty()) path_ = where;
}

void FabricSocket::receive_some() {
  static std::vector<std::byte> buffer(wire::kFabricLargestDatagram + 1);
  for (int i = 0; i < kDatagramsARound; ++i) {
    FabricSender sender;
    iovec part{buffer.data(), buffer.size()};
    // No room for descriptors: the kernel closes descriptors that a sender attaches.
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
    msghdr message{};
    message.msg_name = &sender.address;
    message.msg_namelen = sizeof sender.address;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size = recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
    if (size < 0) return;
    const ucred* credentials = credentials_in(message);
    if (credentials == nullptr) {
      log_.warn("a datagram without credentials was ignored");
      continue;
    }
    sender.address_length = message.msg_namelen;
    sender.credentials = *credentials;
    receive(sender, base::Bytes(buffer).first(std::min(static_cast<size_t>(size), buffer.size())));
  }
}

void FabricSocket::receive(const FabricSender& sender, base::Bytes untrusted) {
  const auto ignore = [&](const std::string& why) {
    log_.warn(base::format("a datagram of process {} was ignored: {}", sender.credentials.pid, why));
  };
  if (!may_ask_again(sender.credentials.uid)) return ignore("its user sends too many datagrams");
  const auto peer = wire::read_fabric_peer(sender.address, sender.address_length);
  if (!peer) return ignore(peer.reason());
  const auto request = wire::read_fabric_request(untrusted);
  if (!request) return ignore(request.reason());
  handler_(sender, *request);
}

bool FabricSocket::may_ask_again(uint32_t uid) {
  if (allowances_.size() >= kMaxUsers) allowances_.clear();
  return allowances_.try_emplace(uid, kDatagramsASecond, kDatagramsASecond).first->second.take_one();
}

bool FabricSocket::answer(const FabricSender& sender, const wire::FabricReply& reply) {
  const auto datagram = wire::fabric_datagram(reply);
  const auto peer = wire::read_fabric_peer(sender.address, sender.address_length);
  if (!datagram || !peer) return false;
  sockaddr_un address = sender.address;
  socklen_t length = sender.address_length;
  base::FileDescriptor file;
  if (!peer->is_abstract) {
    file = socket_of(sender, peer->name);
    if (!file) return false;
    // Use the path of the descriptor, so that the answer goes to the file that was checked.
    const std::string path = base::format("/proc/self/fd/{}", file.get());
    address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  }
  return sendto(socket_.get(), datagram->data(), datagram->size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                reinterpret_cast<const sockaddr*>(&address), length) >= 0;
}

}  // namespace kymo::daemon
