// Sends blocks of events from a thread of its own, so that the next block is made meanwhile. At most two blocks wait: a
// slow server makes the reader wait.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "push/http.h"

namespace kymo::push {

class BlockSender {
 public:
  BlockSender(Client& client, std::string_view table) : client_(client), table_(table), thread_([this] { work(); }) {}
  // What waits is dropped.
  ~BlockSender() {
    close(true);
    if (thread_.joinable()) thread_.join();
  }
  BlockSender(const BlockSender&) = delete;
  BlockSender& operator=(const BlockSender&) = delete;

  // Both throw what the insert of a block threw.
  void send(std::string native) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failure_ != nullptr || waiting_.size() < kMostWaiting; });
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    waiting_.push_back(std::move(native));
    changed_.notify_all();
  }
  void finish() {
    close(false);
    thread_.join();
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  static constexpr size_t kMostWaiting = 2;

  void close(bool drop) {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    if (drop) waiting_.clear();
    changed_.notify_all();
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const std::string native = std::move(waiting_.front());
      waiting_.pop_front();
      changed_.notify_all();
      lock.unlock();
      std::exception_ptr failure;
      try {
        client_.insert(table_, native);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (failure == nullptr) continue;
      failure_ = failure;
      waiting_.clear();
      changed_.notify_all();
      return;
    }
  }

  Client& client_;
  std::string table_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> waiting_;
  std::exception_ptr failure_;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace kymo::push
