#include "daemon/rpc_server.h"

#include <netinet/in.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "daemon/fabric_socket.h"
#include "wire/dyno/rpc.h"

namespace kymo::daemon {
namespace {

constexpr int kRpcBacklog = 64;
constexpr int kRpcAcceptedARound = 16;
constexpr size_t kMaxCallers = 64;
constexpr std::chrono::seconds kLongestCall{5};

}  // namespace

RpcServer::RpcServer(Loop& loop, Log& log, const std::vector<TcpAddress>& addresses, Answer answer)
    : loop_(loop), log_(log), answer_(std::move(answer)) {
  for (const TcpAddress& address : addresses) listen_at(address);
  if (listeners_.empty()) throw Error("this host has none of the addresses for dyno; give one with --dynolog-address");
}

void RpcServer::listen_at(const TcpAddress& address) {
  base::FileDescriptor socket(::socket(address.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.address.ss_family == AF_INET6) setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (!socket || bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.address), address.length) != 0 ||
      listen(socket.get(), kRpcBacklog) != 0) {
    if (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT)
      return log_.say(base::format("this host has no address {}", address.text()));
    const std::string why = base::format(
        "cannot listen at {}: {}; stop the process that listens there, or give another address with --dynolog-address",
        address.text(), std::strerror(errno));
    if (errno == EADDRINUSE) throw Taken(why);
    throw Error(why);
  }
  const int fd = socket.get();
  log_.say(base::format("dyno is served at {}", own_address(fd).value_or(address).text()));
  listeners_.push_back({std::move(socket), loop_.watch(fd, EPOLLIN, [this, fd](uint32_t) { accept_some(fd); })});
}

void RpcServer::accept_some(int listener) {
  for (int i = 0; i < kRpcAcceptedARound; ++i) {
    base::FileDescriptor socket(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      // Without free descriptors this would be called again and again: close a connection.
      if ((errno == EMFILE || errno == ENFILE) && !callers_.empty()) drop_one();
      return;
    }
    const auto peer = peer_address(socket.get());
    const bool is_near = peer && peer->is_loopback;
    const auto uid = is_near ? owner_of_peer(socket.get()) : std::nullopt;
    if (is_near && !uid) continue;  // the peer has already closed it
    add(std::move(socket), uid);
  }
}

void RpcServer::add(base::FileDescriptor socket, std::optional<uint32_t> uid) {
  if (callers_.size() >= kMaxCallers) drop_one();
  const uint64_t id = ++last_caller_;
  Caller& caller = callers_[id];
  caller.socket = std::move(socket);
  caller.uid = uid;
  caller.deadline = loop_.in(kLongestCall, [this, id] { callers_.erase(id); });
  caller.watch = loop_.watch(caller.socket.get(), EPOLLIN, [this, id](uint32_t events) { handle(id, events); });
}

// The oldest connection of the user with the most connections.
void RpcServer::drop_one() {
  std::map<std::optional<uint32_t>, size_t> of_user;
  for (const auto& [id, caller] : callers_) ++of_user[caller.uid];
  const auto busiest = std::ranges::max_element(of_user, {}, [](const auto& one) { return one.second; })->first;
  callers_.erase(std::ranges::find_if(callers_, [&](const auto& one) { return one.second.uid == busiest; }));
}

void RpcServer::handle(uint64_t id, uint32_t events) {
  const auto found = callers_.find(id);
  if (found == callers_.end()) return;
  Caller& caller = found->second;
  const bool goes_on = caller.reply.empty() ? receive(caller) : (events & EPOLLOUT) == 0 || send_reply(caller);
  if (!goes_on || (events & EPOLLERR) != 0) callers_.erase(found);
}

bool RpcServer::receive(Caller& caller) {
  std::byte part[16 * 1024];
  const ssize_t size = recv(caller.socket.get(), part, sizeof part, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (size <= 0) return false;
  caller.request.insert(caller.request.end(), part, part + size);
  const auto frame = wire::read_rpc_frame(caller.request);
  if (!frame) {
    log_.warn(base::format("a call was refused: {}", frame.reason()));
    return false;
  }
  if (!*frame) return true;
  const std::string answer = answer_(**frame, caller.uid);
  if (answer.empty()) return false;
  auto reply = wire::rpc_frame(answer);
  if (!reply) return false;
  caller.reply = std::move(*reply);
  return send_reply(caller);
}

bool RpcServer::send_reply(Caller& caller) {
  const ssize_t size = send(caller.socket.get(), caller.reply.data() + caller.sent, caller.reply.size() - caller.sent,
                            MSG_DONTWAIT | MSG_NOSIGNAL);
  if (size < 0 && errno != EAGAIN && errno != EINTR) return false;
  if (size > 0) caller.sent += static_cast<size_t>(size);
  if (caller.sent == caller.reply.size()) return false;
  caller.watch.change(EPOLLOUT);
  return true;
}

}  // namespace kymo::daemon
