// Brings the two ends of ranges across threads together.
//
// They are on different tracks, whose chunks lie in the file in any order, so whichever is read first waits for the
// other. A range that a program has ended twice ended the first time: a pair is kept for a while, in case that an
// earlier end follows. At most a million beginnings and ends wait, and 65,536 pairs.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/seeded_hash.h"

namespace kymo::trace {

struct AsyncHandle {
  uint32_t writer;  // a number for the process, whose handles are its own
  uint64_t id;
  bool operator==(const AsyncHandle&) const = default;
};

// Begin and End are what the caller keeps of either. An End has `int64_t ns`.
template <typename Begin, typename End>
class AsyncPairs {
 public:
  using Paired = std::function<void(uint64_t id, const Begin&, const End&)>;
  struct Limits {
    size_t waiting = 1'000'000, pairs = 65'536;
  };
  explicit AsyncPairs(Paired paired) : AsyncPairs(std::move(paired), Limits()) {}
  AsyncPairs(Paired paired, const Limits& limits) : paired_(std::move(paired)), limits_(limits) {}

  // False: it has begun already, or there is no room; `begin` is then untouched.
  bool begin(const AsyncHandle& handle, Begin&& begin) {
    const auto found = ranges_.find(handle);
    if (found == ranges_.end()) {
      if (waiting_ >= limits_.waiting) return false;
      ranges_.emplace(handle, Range{std::move(begin), std::nullopt, 0});
      ++waiting_;
      return true;
    }
    Range& range = found->second;
    if (range.begin && range.end) {  // the program gives its numbers again
      paired_(handle.id, *range.begin, *range.end);
      range = {std::move(begin), std::nullopt, 0};
      ++waiting_;
      return true;
    }
    if (range.begin) return false;
    range.begin.emplace(std::move(begin));
    complete(handle, range);
    return true;
  }

  void end(const AsyncHandle& handle, const End& end) {
    const auto found = ranges_.find(handle);
    if (found == ranges_.end()) {
      if (waiting_ >= limits_.waiting) {
        ++unmatched_ends_;
        return;
      }
      ranges_.emplace(handle, Range{std::nullopt, end, 0});
      ++waiting_;
    } else if (std::optional<End>& known = found->second.end; known) {
      if (end.ns < known->ns) known = end;
      ++unmatched_ends_;
    } else {
      known = end;
      complete(handle, found->second);
    }
  }

  // Hands out all pairs; then unfinished(handle, begin) for what has no end.
  template <typename Unfinished>
  void finish(Unfinished&& unfinished) {
    while (!pairs_.empty()) hand_out_oldest();
    for (const auto& [handle, range] : ranges_) {
      if (range.begin)
        unfinished(handle, *range.begin);
      else
        ++unmatched_ends_;
    }
    ranges_.clear();
    waiting_ = 0;
  }

  uint64_t unmatched_ends() const { return unmatched_ends_; }

 private:
  struct Range {
    std::optional<Begin> begin;
    std::optional<End> end;
    uint64_t pair = 0;  // its number, from 1; 0: not yet one
  };
  struct Hash {
    size_t operator()(const AsyncHandle& handle) const noexcept {
      return base::SeededHash::of(handle.id, handle.writer);
    }
  };

  void complete(const AsyncHandle& handle, Range& range) {
    --waiting_;
    range.pair = ++last_pair_;
    pairs_.push_back({handle, range.pair});
    if (pairs_.size() > limits_.pairs) hand_out_oldest();
  }

  void hand_out_oldest() {
    const auto [handle, pair] = pairs_.front();
    pairs_.pop_front();
    const auto found = ranges_.find(handle);
    if (found == ranges_.end() || found->second.pair != pair) return;  // its number was given again
    paired_(handle.id, *found->second.begin, *found->second.end);
    ranges_.erase(found);
  }

  Paired paired_;
  const Limits limits_;
  std::unordered_map<AsyncHandle, Range, Hash> ranges_;
  std::deque<std::pair<AsyncHandle, uint64_t>> pairs_;  // the oldest first
  uint64_t last_pair_ = 0;
  size_t waiting_ = 0;
  uint64_t unmatched_ends_ = 0;
};

}  // namespace kymo::trace
