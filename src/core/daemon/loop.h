// The event loop of the daemon's thread: waits for sockets and deadlines, and calls their handlers.
//
// Without a deadline it waits forever, so an idle daemon does not wake up at all. A handler may end its own watch or
// another one. An exception of a handler is logged and ends only that call.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/file.h"

namespace kymo::daemon {

class Log;

class Loop {
 public:
  using Clock = std::chrono::steady_clock;
  using Handler = std::function<void(uint32_t events)>;  // EPOLLIN and so on
  using Action = std::function<void()>;

  // Ends its watch or deadline when it is destroyed. Must not outlive its loop.
  class Watch {
   public:
    void reset() { loop_.reset(); }
    void change(uint32_t events);  // what to wait for from now on

   private:
    friend class Loop;
    struct Forget {
      uint64_t id;
      void operator()(Loop* loop) const { loop->forget(id); }
    };
    std::unique_ptr<Loop, Forget> loop_;
  };
  class Timer {
   public:
    void reset() { loop_.reset(); }
    explicit operator bool() const { return loop_ != nullptr; }  // it was set; it may have fired since

   private:
    friend class Loop;
    struct Cancel {
      std::pair<Clock::time_point, uint64_t> key;
      void operator()(Loop* loop) const { loop->timers_.erase(key); }
    };
    std::unique_ptr<Loop, Cancel> loop_;
  };

  explicit Loop(Log& log);

  // The caller keeps the descriptor, and keeps it open as long as the watch exists. Throws kymo::Error.
  Watch watch(int fd, uint32_t events, Handler handler);
  Timer at(Clock::time_point when, Action action);
  Timer in(Clock::duration delay, Action action) { return at(Clock::now() + delay, std::move(action)); }
  // Runs after the current round of events: for work that must not happen inside a handler.
  void later(Action action) { later_.push_back(std::move(action)); }

  void run();  // until stop()
  void stop() { stopped_ = true; }

 private:
  struct Watched {
    int fd;
    Handler handler;
  };
  void forget(uint64_t id);
  void change(uint64_t id, uint32_t events);
  void round();
  int timeout_ms() const;
  void fire_timers();
  void run_later();
  void guarded(const Action& action);

  Log& log_;
  base::FileDescriptor epoll_;
  // By a number that is never reused: an event for a watch that ended in the same round finds nothing.
  std::unordered_map<uint64_t, std::shared_ptr<Watched>> watched_;
  std::map<std::pair<Clock::time_point, uint64_t>, Action> timers_;
  std::vector<Action> later_;
  uint64_t last_id_ = 0;
  bool stopped_ = false;
};

// How much somebody may send: `per_second` on average, and `at_once` after a pause.
class Allowance {
 public:
  Allowance(double per_second, double at_once) : per_second_(per_second), at_once_(at_once), left_(at_once) {}
  // False: not now.
  bool take_one() {
    const auto now = Loop::Clock::now();
    left_ = std::min(at_once_, left_ + std::chrono::duration<double>(now - at_).count() * per_second_);
    at_ = now;
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }

 private:
  double per_second_, at_once_, left_;
  Loop::Clock::time_point at_ = Loop::Clock::now();
};

}  // namespace kymo::daemon
