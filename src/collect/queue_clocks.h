// The clocks of a process's devices: one domain for each, whichever of its queues says something about it.
//
// A counter that wraps is continued to 64 bits here, so that what comes later in a trace is larger. A time is taken for
// the one nearest to the last that was seen; after a silence of more than half the counter's circle, a pair says where
// it stands, if its period is known. Not thread-safe: a Source's.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "trace/model.h"

namespace kymo::collect {

// What makes two queues tick together.
struct ClockKey {
  std::string device_uuid;
  uint64_t clock = 0;
  uint64_t period_numerator = 0, period_denominator = 1;
  uint32_t wrap_bits = 64;
  auto operator<=>(const ClockKey&) const = default;
};

class QueueClock {
 public:
  QueueClock(uint32_t id, const ClockKey& key);
  // As a file has it, where its counter has 64 bits.
  explicit QueueClock(const trace::ClockDomain& known);

  uint32_t id() const { return domain_.id; }
  const trace::ClockDomain& domain() const { return domain_; }
  void wraps_after(uint32_t bits);  // any number: what cannot be is 64

  uint64_t extend(uint64_t ticks);
  // From one time to another, as they came; more than half of what there is means backwards.
  uint64_t elapsed(uint64_t from, uint64_t to) const { return (to - from) & mask_; }
  bool is_backwards(uint64_t elapsed_ticks) const { return elapsed_ticks > mask_ / 2; }
  uint64_t last_time() const { return last_; }

  // One that is known already is passed over.
  void add_pair(trace::ClockPair pair);

  // What the file has not been told yet: false where that is nothing. Told: what was taken is in the file.
  bool changes(trace::ClockDomain& into) const;
  void told();
  // For a file that is to stand alone.
  trace::ClockDomain whole() const;

 private:
  trace::ClockDomain domain_;            // with the first and the newest pair of those that were told
  std::vector<trace::ClockPair> fresh_;  // ascending
  uint64_t mask_ = ~uint64_t{0};
  uint64_t last_ = 0;
  bool seen_ = false;  // `last_` is a time
  bool new_ = true;
};

class QueueClocks {
 public:
  // Domains are numbered from `first_id` on. References stay good.
  explicit QueueClocks(uint32_t first_id) : next_id_(first_id) {}

  QueueClock& find(const ClockKey& key);
  QueueClock* find(uint32_t id);
  // What an earlier collector wrote. A file does not have the key of a domain, but a queue that ticks by it knows: its
  // device's other queues are to find the same one.
  void resume(const std::map<uint32_t, trace::ClockDomain>& known);
  void recognize(uint32_t id, const std::string& device_uuid, uint64_t clock, uint32_t wrap_bits);

  std::deque<QueueClock>& all() { return clocks_; }

 private:
  std::deque<QueueClock> clocks_;
  std::map<ClockKey, QueueClock*> by_key_;
  uint32_t next_id_;
};

}  // namespace kymo::collect
