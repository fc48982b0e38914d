#include "daemon/metrics_server.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "metrics/text.h"

namespace kymo::daemon {
namespace {

constexpr size_t kMaxReaders = 16;
constexpr std::chrono::seconds kLongestRead{5};

}  // namespace

MetricsServer::MetricsServer(Loop& loop, const metrics::Place& place, std::function<std::string()> text)
    : loop_(loop), text_(std::move(text)), listening_(metrics::listen_at(place)) {
  ::fcntl(listening_.socket.get(), F_SETFL, O_NONBLOCK);
  watch_ = loop.watch(listening_.socket.get(), EPOLLIN, [this](uint32_t) { accept_one(); });
}

MetricsServer::~MetricsServer() {
  if (!listening_.path.empty()) ::unlink(listening_.path.c_str());
}

void MetricsServer::accept_one() {
  if (callers_.size() >= kMaxReaders) callers_.erase(callers_.begin());
  base::FileDescriptor socket(::accept4(listening_.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) {
    // Without free descriptors this would be called again and again: close a connection.
    if ((errno == EMFILE || errno == ENFILE) && !callers_.empty()) callers_.erase(callers_.begin());
    return;
  }
  const uint64_t id = ++last_caller_;
  Caller& caller = callers_[id];
  caller.socket = std::move(socket);
  caller.deadline = loop_.in(kLongestRead, [this, id] { callers_.erase(id); });
  caller.watch = loop_.watch(caller.socket.get(), EPOLLIN, [this, id](uint32_t events) {
    const auto found = callers_.find(id);
    if (found == callers_.end()) return;
    const bool goes_on = found->second.reply.empty() ? receive(found->second) : send_reply(found->second);
    if (!goes_on || (events & EPOLLERR) != 0) callers_.erase(found);
  });
}

bool MetricsServer::receive(Caller& caller) {
  char part[1'024];
  const ssize_t size = ::recv(caller.socket.get(), part, sizeof part, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (size <= 0) return false;
  caller.request.append(part, static_cast<size_t>(size));
  caller.reply = metrics::answer(caller.request, text_());
  if (caller.reply.empty()) return true;
  caller.watch.change(EPOLLOUT);
  return true;
}

bool MetricsServer::send_reply(Caller& caller) {
  const ssize_t size = ::send(caller.socket.get(), caller.reply.data() + caller.sent, caller.reply.size() - caller.sent,
                              MSG_DONTWAIT | MSG_NOSIGNAL);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  caller.sent += static_cast<size_t>(size);
  return caller.sent < caller.reply.size();
}

}  // namespace kymo::daemon
