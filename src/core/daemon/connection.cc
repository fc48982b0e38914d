#include "daemon/connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace kymo::daemon {
namespace {

constexpr int kPacketsARound = 16;  // then other connections get their turn
constexpr size_t kMaxUnreadPerUser = 16 << 20, kMaxUnread = 64 << 20;

// One buffer for all connections: each packet is processed before the next one is read.
std::span<std::byte> packet_buffer() {
  static std::vector<std::byte> buffer(wire::kLargestMessage + 1);
  return buffer;
}

// The peer has closed its end. Its last messages are read first, then its end is.
bool has_left(int error) { return error == EPIPE || error == ECONNRESET; }

}  // namespace

bool UnreadSum::take(uint32_t uid, size_t bytes) {
  // The limit for all users together does not apply to root, so that root can look for the cause of a problem.
  const bool is_too_much = uid != 0 && all_ + bytes > kMaxUnread;
  const auto found = of_user_.find(uid);
  if (is_too_much || (found == of_user_.end() ? 0 : found->second) + bytes > kMaxUnreadPerUser) return false;
  all_ += bytes;
  of_user_[uid] += bytes;
  return true;
}

void UnreadSum::give(uint32_t uid, size_t bytes) {
  if (bytes == 0) return;
  all_ -= bytes;
  const auto found = of_user_.find(uid);
  if ((found->second -= bytes) == 0) of_user_.erase(found);
}

Connection::Connection(Loop& loop, base::FileDescriptor socket, ConnectionLimits limits, UnreadSum& sum, uint32_t uid,
                       Handlers handlers)
    : loop_(loop),
      socket_(std::move(socket)),
      limits_(limits),
      sum_(sum),
      uid_(uid),
      handlers_(std::move(handlers)),
      allowance_(limits.messages_a_second, limits.messages_at_once),
      watch_(loop.watch(socket_.get(), EPOLLIN, [this](uint32_t events) { handle(events); })) {}

Connection::~Connection() { sum_.give(uid_, unread_); }

void Connection::handle(uint32_t events) {
  if (events & EPOLLOUT) flush();
  if (!is_closed_ && (events & (EPOLLIN | EPOLLHUP | EPOLLERR))) receive();
}

void Connection::receive() {
  const std::span<std::byte> buffer = packet_buffer();
  for (int i = 0; i < kPacketsARound && !is_closed_; ++i) {
    const ssize_t size = recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size < 0 && errno == ECONNRESET)
      continue;  // reported once: it left without reading; what it sent is still there
    if (size < 0) return close(std::strerror(errno));
    if (size == 0) return close("");
    if (!allowance_.take_one()) {
      send(wire::Refused{wire::RefusedCode::Limit, 0, "too many messages per second; the connection is closed"});
      return close("it sends too many messages");
    }
    // A truncated packet is longer than a message may be, so it is detected as malformed.
    const wire::Packet packet = wire::read_message(buffer.first(std::min(static_cast<size_t>(size), buffer.size())));
    if (packet.kind == wire::PacketKind::Foreign) {
      send(wire::Refused{wire::RefusedCode::Malformed, 0, packet.reason});
      return close(packet.reason);
    }
    if (packet.kind != wire::PacketKind::Good) send(wire::refusal_of(packet), packet.serial);
    handlers_.message(packet);
  }
}

void Connection::send(const wire::Message& message, uint32_t serial) {
  if (is_closed_) return;
  auto packet = wire::message_packet(message, serial);
  if (!packet) return;  // too large for a message: callers check that first, and it is not the fault of the peer
  if (waiting_.empty()) {
    const ssize_t sent = ::send(socket_.get(), packet->data(), packet->size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0 || has_left(errno)) return;
    if (errno != EAGAIN && errno != ENOBUFS && errno != EINTR) return close(std::strerror(errno));
    watch_.change(EPOLLIN | EPOLLOUT);
    unread_deadline_ = loop_.in(limits_.longest_unread, [this] { close("it does not read its messages"); });
  }
  if (unread_ + packet->size() > limits_.max_unread || !sum_.take(uid_, packet->size()))
    return close("it does not read its messages");
  unread_ += packet->size();
  waiting_.push_back(std::move(*packet));
}

void Connection::flush() {
  while (!waiting_.empty()) {
    const auto& packet = waiting_.front();
    if (::send(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
      if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR || has_left(errno)) return;
      return close(std::strerror(errno));
    }
    unread_ -= packet.size();
    sum_.give(uid_, packet.size());
    waiting_.pop_front();
    unread_deadline_ = loop_.in(limits_.longest_unread, [this] { close("it does not read its messages"); });
  }
  waiting_.shrink_to_fit();
  unread_deadline_.reset();
  watch_.change(EPOLLIN);
}

void Connection::close(const std::string& why) {
  if (is_closed_) return;
  is_closed_ = true;
  watch_.reset();
  unread_deadline_.reset();
  waiting_.clear();
  sum_.give(uid_, std::exchange(unread_, 0));
  // As an expired deadline, not with later(): the deadline is removed with this connection.
  closing_ = loop_.at(Loop::Clock::time_point(), [this, why] {
    const auto closed = std::move(handlers_.closed);  // it may destroy this connection, and itself with it
    closed(why);
  });
}

}  // namespace kymo::daemon
