// What the calling thread has sent to which sinks and not ended yet: so that a sink hears the end of what it heard
// begin, and of nothing else, whenever sinks come and go.
//
// Pushed ranges and scopes are one stack, as they are for a trace. A pushed range is known by its depth, which is
// counted whether or not anybody hears: what was popped while nobody did is found when the thread sends the next time,
// and its late end is sent then. A scope remembers itself whether it was sent. In memory of its own, made when a thread
// first sends; safe in a signal handler.
#pragma once

#include <cstdint>

#include "record/process.h"

namespace kymo::record {

// Sinks by their places in the process's table, a bit each.
using SinkMask = uint8_t;
static_assert(kMaxSinks <= 8);

class Sent {
 public:
  static constexpr uint32_t kDepth = 480;  // what is deeper is not sent

  // Has room for one more? A scope that is begun without one, or inside a sink's call, is skipped, and so is its end.
  bool room() const noexcept { return count_ < kDepth; }
  void push(int depth, SinkMask sinks) noexcept { add(depth, sinks, false); }
  void begin_scope(SinkMask sinks) noexcept { add(0, sinks, true); }
  void skip_scope() noexcept { ++skipped_scopes_; }

  // Each gives the sinks that heard it begin, and forgets it.
  SinkMask pop(int depth) noexcept;
  SinkMask end_scope() noexcept;
  // A pushed range on top of this depth or deeper, which is over: 0 and false where there is none.
  bool pop_stale(int depth, SinkMask& sinks) noexcept;

  // A call of a sink's is going on on this thread: until it is over, what is below is touched by nobody else.
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

  uint32_t count_, skipped_scopes_;  // all zero is the first state
  bool inside_;
  Entry entries_[kDepth];
};
static_assert(sizeof(Sent) <= kPage);

// This thread's; null: it has none, and with `make` there is no memory.
Sent* sent_by_this_thread(Process&, bool make) noexcept;

}  // namespace kymo::record
