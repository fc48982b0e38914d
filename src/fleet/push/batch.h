// How rows get into a store: in batches, and with patience.
//
// One thread uses these classes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/text.h"
#include "push/pusher.h"
#include "push/ranks.h"
#include "push/store.h"
#include "push/trace_rows.h"

namespace kymo::push {

// A store that may not answer at once: what it could not do now is tried again, as long as the options say.
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

  // Store::known().
  KnownTraces known(const std::vector<uint64_t>& traces);

  // Later than all that it replaces, and than those that failed.
  uint64_t next_attempt() { return newest_ = new_attempt(newest_); }

  uint64_t retries() const { return retries_; }

 private:
  void before_retry(const TryAgain& problem, int left, std::chrono::milliseconds wait);

  std::unique_ptr<Store> store_;
  const PushOptions& options_;
  Pusher::Warn warn_;
  bool is_prepared_ = false;
  uint64_t newest_ = 0;  // attempt that is known
  uint64_t retries_ = 0;
};

// A trace of a file that the store does not have, or not like this. Its rows are read from the file.
struct TraceToPush {
  const RankOfFile* rank = nullptr;
  TraceLabels labels;
  RowHead head{};
  SummaryBlocks rows{};
  uint32_t month = 0;
};

// A trace that the store has now. Its file is reported after the last one of its traces.
struct PushedTrace {
  bool is_last = false;
  std::shared_ptr<FileOutcome> file;
};

// The rows of several traces, which are inserted together: rows first, then their marks.
class Batch {
 public:
  using OnPushed = std::function<void(const std::vector<PushedTrace>&)>;

  // `counts` gets what is pushed. Both references must outlive the batch.
  Batch(PatientStore& store, Pusher::Counts& counts, OnPushed on_pushed);

  // Inserts what is there if it is of another month: the rows of one insert should have one.
  void add(const TraceToPush& trace, const std::shared_ptr<FileOutcome>& file, bool is_last);

  bool is_full() const;

  // Inserts the rows and then the marks. Throws TryAgain after the last retry, or what else the store throws.
  void flush();

  void drop();

 private:
  PatientStore& store_;
  Pusher::Counts& counts_;
  OnPushed on_pushed_;
  SummaryBlocks blocks_;
  std::vector<PushedTrace> traces_;
  uint32_t month_ = 0;
};

}  // namespace kymo::push
