// The ranges that the calling thread has sent to sinks and not ended yet. With it, a sink gets exactly the ends of the
// ranges whose start it got, also when sinks are turned on and off.
//
// Pushed ranges and scopes are one stack, as in a trace. A pushed range is identified by its depth, which is always
// counted, also without sinks. A range that was popped while no sink was on is found when the thread sends again; its
// late end is sent then. A scope itself remembers if it was sent. Has its own memory, created when a thread first
// sends. Safe in a signal handler.
#pragma once

#include <cstdint>

#include "record/process.h"

namespace kymo::record {

// Sinks by their index in the table of the process, one bit each.
using SinkMask = uint8_t;
static_assert(kMaxSinks <= 8);

class Sent {
 public:
  static constexpr uint32_t kDepth = 480;  // deeper ranges are not sent

  // True if there is space for one more. A scope that begins without space, or inside a call of a sink, is skipped with
  // its end.
  bool room() const noexcept { return count_ < kDepth; }
  void push(int depth, SinkMask sinks) noexcept { add(depth, sinks, false); }
  void begin_scope(SinkMask sinks) noexcept { add(0, sinks, true); }
  void skip_scope() noexcept { ++skipped_scopes_; }

  // Each returns the sinks that got its start, and removes it.
  SinkMask pop(int depth) noexcept;
  SinkMask end_scope() noexcept;
  // Removes the top entry if it is a pushed range of this depth or deeper, which has ended. Otherwise returns false.
  bool pop_stale(int depth, SinkMask& sinks) noexcept;

  // A sink is being called on this thread. Until it returns, nothing else changes the members below.
  bool inside() const noexcept { return inside_; }
  void set_inside(bool inside) noexcept { inside_ = inside; }

  void forget() noexcept {
    count_ = skipped_scopes_ = 0;
    inside_ = false;
  }

 private:
  struct Entry {
    int32_t depth;
    SinkMask sinks;
    bool scope;
  };

  void add(int depth, SinkMask sinks, bool scope) noexcept;
  SinkMask take(uint32_t index) noexcept;

  uint32_t count_, skipped_scopes_;  // all zero is the initial state
  bool inside_;
  Entry entries_[kDepth];
};
static_assert(sizeof(Sent) <= kPage);

// The object of this thread; null: it has none, or, with `make`, there is no memory.
Sent* sent_by_this_thread(Process&, bool make) noexcept;

}  // namespace kymo::record
