// The clocks of a process's devices. Each clock is one domain, shared by all queues that use it.
//
// A counter that wraps is extended to 64 bits here, so that later times are larger. A time is assumed to be the one
// nearest to the last time seen. If nothing came for more than half the counter's period, a clock pair gives the
// position, if the length of a tick is known. Not thread-safe: a Source owns it.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "trace/model.h"

namespace kymo::collect {

// Queues with equal keys share a clock.
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
  // From a file, where its counter has 64 bits.
  explicit QueueClock(const trace::ClockDomain& known);

  uint32_t id() const { return domain_.id; }
  const trace::ClockDomain& domain() const { return domain_; }
  void wraps_after(uint32_t bits);  // an impossible number counts as 64

  uint64_t extend(uint64_t ticks);
  // Raw ticks from one time to another. More than half of the counter's range means backwards.
  uint64_t elapsed(uint64_t from, uint64_t to) const { return (to - from) & mask_; }
  bool is_backwards(uint64_t elapsed_ticks) const { return elapsed_ticks > mask_ / 2; }
  uint64_t last_time() const { return last_; }

  // Ignores a pair that is known already.
  void add_pair(trace::ClockPair pair);

  // changes() returns what is not in the file yet; false if nothing. Call mark_written() when it is in the file.
  bool changes(trace::ClockDomain& into) const;
  void mark_written();
  // Everything, for a file that must be complete on its own.
  trace::ClockDomain whole() const;

 private:
  trace::ClockDomain domain_;            // with the first and the newest pair that are in the file
  std::vector<trace::ClockPair> fresh_;  // not in the file yet, ascending
  uint64_t mask_ = ~uint64_t{0};
  uint64_t last_ = 0;
  bool seen_ = false;  // `last_` is valid
  bool new_ = true;
};

class QueueClocks {
 public:
  // Domains are numbered from `first_id`. References stay valid.
  explicit QueueClocks(uint32_t first_id) : next_id_(first_id) {}

  QueueClock& find(const ClockKey& key);
  QueueClock* find(uint32_t id);
  // resume() takes what an earlier collector wrote. A file does not contain the key of a domain. recognize() restores
  // it from a queue that uses the domain, so that other queues of the device find the same domain.
  void resume(const std::map<uint32_t, trace::ClockDomain>& known);
  void recognize(uint32_t id, const std::string& device_uuid, uint64_t clock, uint32_t wrap_bits);

  std::deque<QueueClock>& all() { return clocks_; }

 private:
  std::deque<QueueClock> clocks_;
  std::map<ClockKey, QueueClock*> by_key_;
  uint32_t next_id_;
};

}  // namespace kymo::collect
