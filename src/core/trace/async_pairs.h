// Matches the two ends of ranges across threads.
//
// The two ends are on different tracks, whose chunks are in any order in the file. So the one that is read first waits
// for the other. If a program ends a range twice, the first end counts: a pair is kept for a while, because an earlier
// end may follow. At most 1,000,000 starts and ends are pending, and 65,536 pairs.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/hash.h"

namespace kymo::trace {

struct AsyncHandle {
  uint32_t writer;  // the number of the process; handles are unique within it
  uint64_t id;
  bool operator==(const AsyncHandle&) const = default;
};

// Begin and End are the caller's data for each end. An End has `int64_t ns`.
template <typename Begin, typename End>
class AsyncPairs {
 public:
  using Paired = std::function<void(uint64_t id, const Begin&, const End&)>;
  struct Limits {
    size_t waiting = 1'000'000, pairs = 65'536;
  };
  explicit AsyncPairs(Paired paired) : AsyncPairs(std::move(paired), Limits()) {}
  AsyncPairs(Paired paired, const Limits& limits) : paired_(std::move(paired)), limits_(limits) {}

  // False: this handle has a start already, or the limit is reached. `begin` is then unchanged.
  bool begin(const AsyncHandle& handle, Begin&& begin) {
    const auto found = ranges_.find(handle);
    if (found == ranges_.end()) {
      if (waiting_ >= limits_.waiting) return false;
      ranges_.emplace(handle, Range{std::move(begin), std::nullopt, 0});
      ++waiting_;
      return true;
    }
    Range& range = found->second;
    if (range.begin && range.end) {  // the program reuses its numbers
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

  // Reports all pairs, then unfinished(handle, begin) for each start without an end.
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
    uint64_t pair = 0;  // its number, from 1; 0: not a pair yet
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
    if (found == ranges_.end() || found->second.pair != pair) return;  // its number was reused
    paired_(handle.id, *found->second.begin, *found->second.end);
    ranges_.erase(found);
  }

  Paired paired_;
  const Limits limits_;
  std::unordered_map<AsyncHandle, Range, Hash> ranges_;
  std::deque<std::pair<AsyncHandle, uint64_t>> pairs_;  // oldest first
  uint64_t last_pair_ = 0;
  size_t waiting_ = 0;
  uint64_t unmatched_ends_ = 0;
};

}  // namespace kymo::trace
