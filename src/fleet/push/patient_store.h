// A store that may not answer at once: what it could not do now is tried again, as long as the options say.
//
// One thread uses it.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <vector>

#include "base/text.h"
#include "push/attempt.h"
#include "push/pusher.h"
#include "push/store.h"

namespace kymo::push {

class PatientStore {
 public:
  // `options` must outlive it.
  PatientStore(std::unique_ptr<Store> store, const PushOptions& options, Pusher::Warn warn);

  Store& operator*() { return *store_; }
  Store* operator->() { return store_.get(); }

  // Runs `action` until it does not throw TryAgain, at most `retries` more times. Then throws TryAgain.
  template <typename Action>
  void with_retries(Action&& action) {
    auto wait = options_.first_wait;
    for (int left = options_.retries;; --left) {
      try {
        return action();
      } catch (const TryAgain& problem) {
        before_retry(problem, left, wait);
      }
      wait_for(wait);
      wait = std::min(wait * 2, options_.longest_wait);
    }
  }

  // Throws kymo::Error if the user wants to end.
  void wait_for(std::chrono::milliseconds time);

  // Store::prepare(), once. Throws Refused, or TryAgain after the last retry.
  void prepare();
  void forget_prepared() { is_prepared_ = false; }

  // Those of these traces that the store has, with all their rows read.
  std::map<uint64_t, KnownTrace> known(const std::vector<uint64_t>& traces);
  // The same, without their rows.
  std::map<uint64_t, KnownTrace> marked(const std::vector<uint64_t>& traces);

  // Later than all that it replaces, and than those that failed.
  uint64_t next_attempt() { return newest_ = new_attempt(newest_); }

  uint64_t retries() const { return retries_; }

 private:
  template <typename Ask>
  std::map<uint64_t, KnownTrace> in_parts(const std::vector<uint64_t>& traces, Ask&& ask);
  void before_retry(const TryAgain& problem, int left, std::chrono::milliseconds wait);

  std::unique_ptr<Store> store_;
  const PushOptions& options_;
  Pusher::Warn warn_;
  bool is_prepared_ = false;
  uint64_t newest_ = 0;  // attempt that is known
  uint64_t retries_ = 0;
};

}  // namespace kymo::push
