#include "daemon/call_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::daemon {
namespace {

constexpr int kAcceptedARound = 16;
constexpr size_t kMaxCallers = 64;
constexpr std::chrono::seconds kLongestCall{5};

bool loopback(const sockaddr_storage& address) {
  constexpr uint32_t kNet = 0xff000000, kLoopbackNet = 0x7f000000;
  if (address.ss_family == AF_INET) {
    return (ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) & kNet) == kLoopbackNet;
  }
  return address.ss_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

InvalidArgument bad_address(std::string_view text) {
  return InvalidArgument(
      base::format("'{}' is not an address; use one such as 127.0.0.1, 0.0.0.0:1779, ::1 or [::1]:1778", text));
}

uint16_t port_of(std::string_view text, std::string_view whole) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) throw bad_address(whole);
  return port;
}

TcpAddress parse_one(std::string_view text, uint16_t port) {
  std::string host(text);
  if (text.starts_with('[')) {
    const size_t close = text.find(']');
    if (close == text.npos) throw bad_address(text);
    host = text.substr(1, close - 1);
    const std::string_view rest = text.substr(close + 1);
    if (!rest.empty() && !rest.starts_with(':')) throw bad_address(text);
    if (!rest.empty()) port = port_of(rest.substr(1), text);
  } else if (const size_t colon = text.find(':'); colon != text.npos && colon == text.rfind(':')) {
    host = text.substr(0, colon);
    port = port_of(text.substr(colon + 1), text);
  }
  TcpAddress address;
  auto& v4 = reinterpret_cast<sockaddr_in&>(address.address);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address.address);
  if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    address.length = sizeof v4;
  } else if (inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    address.length = sizeof v6;
  } else {
    throw bad_address(text);
  }
  address.is_loopback = loopback(address.address);
  return address;
}

std::optional<TcpAddress> address_by(int (*ask)(int, sockaddr*, socklen_t*), int socket) {
  TcpAddress address;
  address.length = sizeof address.address;
  if (ask(socket, reinterpret_cast<sockaddr*>(&address.address), &address.length) != 0) return std::nullopt;
  address.is_loopback = loopback(address.address);
  return address;
}

// The format of /proc/net/tcp: the address in words of four bytes, each in the byte order of this machine.
std::string table_form(const TcpAddress& address) {
  std::string text;
  if (address.address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address.address);
    return base::format("{:08X}:{:04X}", v4.sin_addr.s_addr, ntohs(v4.sin_port));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address.address);
  for (size_t at = 0; at < sizeof v6.sin6_addr; at += sizeof(uint32_t)) {
    uint32_t word = 0;
    std::memcpy(&word, v6.sin6_addr.s6_addr + at, sizeof word);
    text += base::format("{:08X}", word);
  }
  return text + base::format(":{:04X}", ntohs(v6.sin6_port));
}

// The owner according to /proc/net/tcp.
std::optional<uint32_t> owner_in_table(const TcpAddress& peer, const TcpAddress& own) {
  const std::string local = table_form(peer), remote = table_form(own);
  std::ifstream table(peer.address.ss_family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string number, line_local, line_remote, state, queues, timer, retransmits, uid, timeout, inode;
    words >> number >> line_local >> line_remote >> state >> queues >> timer >> retransmits >> uid >> timeout >> inode;
    if (line_local != local || line_remote != remote) continue;
    // Without an inode no process has it open, and the user shown is always 0.
    if (!words || inode == "0") return std::nullopt;
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(uid.data(), uid.data() + uid.size(), value);
    return error == std::errc{} && end == uid.data() + uid.size() ? std::optional(value) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::string TcpAddress::text() const {
  char host[INET6_ADDRSTRLEN] = "?";
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, host, sizeof host);
    return base::format("{}:{}", host, ntohs(v4.sin_port));
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof host);
  return base::format("[{}]:{}", host, ntohs(v6.sin6_port));
}

std::vector<TcpAddress> parse_tcp_addresses(std::string_view text, uint16_t default_port) {
  std::vector<TcpAddress> addresses;
  for (const std::string& one : base::split(text, ',')) addresses.push_back(parse_one(one, default_port));
  return addresses;
}

std::optional<TcpAddress> own_address(int socket) { return address_by(getsockname, socket); }
std::optional<TcpAddress> peer_address(int socket) { return address_by(getpeername, socket); }

std::optional<uint32_t> owner_of_peer(int connection) {
  const auto own = own_address(connection), peer = peer_address(connection);
  if (!own || !peer) return std::nullopt;
  return owner_in_table(*peer, *own);
}

// ---- The server

void CallServer::serve(base::FileDescriptor listening) {
  const int fd = listening.get();
  fcntl(fd, F_SETFL, O_NONBLOCK);
  listeners_.push_back({std::move(listening), loop_.watch(fd, EPOLLIN, [this, fd](uint32_t) { accept_some(fd); })});
}

void CallServer::accept_some(int listener) {
  for (int i = 0; i < kAcceptedARound; ++i) {
    base::FileDescriptor socket(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      // Without free descriptors this would be called again and again: close a connection.
      if ((errno == EMFILE || errno == ENFILE) && !callers_.empty()) drop_one();
      return;
    }
    const auto peer = identifies_users_ ? peer_address(socket.get()) : std::nullopt;
    const bool is_near = peer && peer->is_loopback;
    const auto uid = is_near ? owner_of_peer(socket.get()) : std::nullopt;
    if (is_near && !uid) continue;  // the peer has already closed it
    add(std::move(socket), uid);
  }
}

void CallServer::add(base::FileDescriptor socket, std::optional<uint32_t> uid) {
  if (callers_.size() >= kMaxCallers) drop_one();
  const uint64_t id = ++last_caller_;
  Caller& caller = callers_[id];
  caller.socket = std::move(socket);
  caller.uid = uid;
  caller.deadline = loop_.in(kLongestCall, [this, id] { callers_.erase(id); });
  caller.watch = loop_.watch(caller.socket.get(), EPOLLIN, [this, id](uint32_t events) { handle(id, events); });
}

// The oldest connection of the user with the most connections.
void CallServer::drop_one() {
  std::map<std::optional<uint32_t>, size_t> of_user;
  for (const auto& [id, caller] : callers_) ++of_user[caller.uid];
  const auto busiest = std::ranges::max_element(of_user, {}, [](const auto& one) { return one.second; })->first;
  callers_.erase(std::ranges::find_if(callers_, [&](const auto& one) { return one.second.uid == busiest; }));
}

void CallServer::handle(uint64_t id, uint32_t events) {
  const auto found = callers_.find(id);
  if (found == callers_.end()) return;
  Caller& caller = found->second;
  const bool goes_on = caller.reply.empty() ? receive(caller) : (events & EPOLLOUT) == 0 || send_reply(caller);
  if (!goes_on || (events & EPOLLERR) != 0) callers_.erase(found);
}

bool CallServer::receive(Caller& caller) {
  char part[16 * 1024];
  const ssize_t size = recv(caller.socket.get(), part, sizeof part, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (size <= 0) return false;
  caller.request.append(part, static_cast<size_t>(size));
  auto reply = answer_(caller.request, caller.uid);
  if (!reply) return false;
  caller.reply = std::move(*reply);
  return caller.reply.empty() || send_reply(caller);
}

bool CallServer::send_reply(Caller& caller) {
  const ssize_t size = send(caller.socket.get(), caller.reply.data() + caller.sent, caller.reply.size() - caller.sent,
                            MSG_DONTWAIT | MSG_NOSIGNAL);
  if (size < 0 && errno != EAGAIN && errno != EINTR) return false;
  if (size > 0) caller.sent += static_cast<size_t>(size);
  if (caller.sent == caller.reply.size()) return false;
  caller.watch.change(EPOLLOUT);
  return true;
}

}  // namespace kymo::daemon
