// Answers connections, one per thread. Threads are started when they are needed, and used again.
//
// A connection that sends nothing only takes a thread that sleeps, so a browser that opens connections in advance, or a
// program that forgets to close them, does not delay others. If all threads are busy, the next connection is not
// accepted until one is free: a flood of connections waits in the queue of the system and takes no memory here.
#pragma once

#include <httplib.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace kymo::serve {

class Connections : public httplib::TaskQueue {
 public:
  explicit Connections(size_t most) : most_(most) {}
  void enqueue(std::function<void()> task) override {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return stopping_ || tasks_.size() < most_; });
    tasks_.push_back(std::move(task));
    if (tasks_.size() > idle_ && threads_.size() < most_) threads_.emplace_back([this] { work(); });
    wake_.notify_one();
  }
  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      wake_.notify_all();
      room_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      wake_.wait(lock, [&] { return stopping_ || !tasks_.empty(); });
      --idle_;
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      room_.notify_one();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  const size_t most_;
  std::mutex mutex_;
  std::condition_variable wake_, room_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace kymo::serve
