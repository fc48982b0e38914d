#include "daemon/loop.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/text.h"
#include "daemon/log.h"

namespace kymo::daemon {
namespace {

constexpr size_t kEventsARound = 64;

}  // namespace

void Loop::Watch::change(uint32_t events) {
  if (loop_ != nullptr) loop_->change(loop_.get_deleter().id, events);
}

Loop::Loop(Log& log) : log_(log), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) throw Error(base::format("cannot wait for sockets: {}", std::strerror(errno)));
}

Loop::Watch Loop::watch(int fd, uint32_t events, Handler handler) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = ++last_id_;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    throw Error(base::format("cannot wait for descriptor {}: {}", fd, std::strerror(errno)));
  watched_.emplace(last_id_, std::make_shared<Watched>(Watched{fd, std::move(handler)}));
  Watch watch;
  watch.loop_ = {this, {last_id_}};
  return watch;
}

void Loop::forget(uint64_t id) {
  const auto found = watched_.find(id);
  if (found == watched_.end()) return;
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second->fd, nullptr);
  watched_.erase(found);
}

void Loop::change(uint64_t id, uint32_t events) {
  const auto found = watched_.find(id);
  if (found == watched_.end()) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, found->second->fd, &event);
}

Loop::Timer Loop::at(Clock::time_point when, Action action) {
  const std::pair key(when, ++last_id_);
  timers_.emplace(key, std::move(action));
  Timer timer;
  timer.loop_ = {this, {key}};
  return timer;
}

void Loop::run() {
  while (!stopped_) round();
}

void Loop::round() {
  std::array<epoll_event, kEventsARound> events;
  const int count = epoll_wait(epoll_.get(), events.data(), events.size(), timeout_ms());
  if (count < 0 && errno != EINTR) throw Error(base::format("cannot wait for sockets: {}", std::strerror(errno)));
  for (int i = 0; i < count; ++i) {
    const uint64_t number = events[static_cast<size_t>(i)].data.u64;  // a copy: epoll_event is packed on x86-64
    const auto found = watched_.find(number);
    if (found == watched_.end()) continue;
    const std::shared_ptr<Watched> watched = found->second;  // the handler may end its own watch
    guarded([&] { watched->handler(events[static_cast<size_t>(i)].events); });
  }
  fire_timers();
  run_later();
}

// Rounded up: a wake-up before the deadline would need a second wake-up.
int Loop::timeout_ms() const {
  if (timers_.empty()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first.first - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
}

void Loop::fire_timers() {
  if (timers_.empty()) return;
  const auto now = Clock::now();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    const Action action = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    guarded(action);
  }
}

void Loop::run_later() {
  for (const Action& action : std::exchange(later_, {})) guarded(action);
}

void Loop::guarded(const Action& action) {
  try {
    action();
  } catch (const std::exception& error) {
    log_.warn(error.what());
  }
}

}  // namespace kymo::daemon
