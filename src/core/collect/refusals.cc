#include "collect/refusals.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"
#include "kymo/error.h"
#include "record/refusal.h"

namespace kymo::collect {
namespace {

constexpr size_t kMaxAtOnce = 256;  // someone may send without end

}  // namespace

Refusals::Refusals(const SessionId& session) : socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  sockaddr_un address;
  const uint32_t length = record::refusal_address(session.bytes, address);
  constexpr int kOn = 1;
  struct stat status {};
  if (socket_ >= 0 && fstat(socket_, &status) == 0 &&
      setsockopt(socket_, SOL_SOCKET, SO_PASSCRED, &kOn, sizeof kOn) == 0 &&
      bind(socket_, reinterpret_cast<const sockaddr*>(&address), length) == 0) {
    inode_ = status.st_ino;
    return;
  }
  const int error = errno;
  if (socket_ >= 0) ::close(socket_);
  throw NotAvailable(base::format("no socket for processes that cannot record: {}", strerror(error)));
}

Refusals::~Refusals() { close(); }

bool Refusals::is_open() const noexcept {
  struct stat status;
  return socket_ >= 0 && fstat(socket_, &status) == 0 && S_ISSOCK(status.st_mode) && status.st_ino == inode_;
}

void Refusals::close() noexcept {
  if (is_open()) ::close(socket_);
  socket_ = -1;
}

std::vector<Refusal> Refusals::take() {
  std::vector<Refusal> refusals;
  if (!is_open()) return refusals;
  for (size_t i = 0; i < kMaxAtOnce; ++i) {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    char why[record::kMaxRefusalBytes];
    iovec room{why, sizeof why};
    msghdr message{};
    message.msg_iov = &room;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t length = recvmsg(socket_, &message, 0);
    if (length < 0) break;
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS) continue;
    ucred sender;
    memcpy(&sender, CMSG_DATA(header), sizeof sender);
    refusals.push_back({static_cast<uint64_t>(sender.pid), std::string(why, static_cast<size_t>(length))});
  }
  return refusals;
}

}  // namespace kymo::collect
