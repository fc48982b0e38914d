// Sends annotations to sinks: kymo/sink.h. These functions are not on the hot path, which only tests a bit.
//
// Any thread may call them at any time, as everything in record: no allocation except one page per thread, no locks of
// Kymo, no exceptions. Sinks may be slower. Kymo's own threads send only signposts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kymo/kymo.h"
#include "kymo/sink_calls.h"
#include "record/process.h"

namespace kymo::record {

// Sinks by their index in the table of the process, one bit each.
using SinkMask = uint8_t;
static_assert(kMaxSinks <= 8);

// The ranges that the calling thread has sent to sinks and not ended yet. With it, a sink gets exactly the ends of the
// ranges whose start it got, also when sinks are turned on and off.
//
// Pushed ranges and scopes are one stack, as in a trace. A pushed range is identified by its depth, which is always
// counted, also without sinks. A range that was popped while no sink was on is found when the thread sends again; its
// late end is sent then. A scope itself remembers if it was sent. Has its own memory, created when a thread first
// sends. Safe in a signal handler.
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

// Pushed ranges are identified by their depth; scopes remember their own state.
void send_push(const kymo_label& label, const kymo_arg* args, uint32_t count, int depth) noexcept;
void send_pop(int depth) noexcept;
void send_scope(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept;
void send_scope_end() noexcept;

// The sinks that get a range that is started now. Its handle contains them (numbers.h).
uint32_t sinks_for_start() noexcept;
void send_start(const kymo_label& label, const kymo_arg* args, uint32_t count, uint64_t handle) noexcept;
void send_end(uint64_t handle) noexcept;

void send_mark(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept;
void send_counter(const kymo_label& label, const kymo_arg* args, uint32_t count) noexcept;

// A label with its arguments as text: "step {}" and 7 give "step 7". A reader of a trace gives the same text.
inline constexpr size_t kLabelTextBytes = 512;  // with the NUL
// Arguments fill their places (base/name_places.h); others are omitted. A longer text is truncated, but not inside a
// UTF-8 character. The result is NUL-terminated; a NUL inside becomes a blank. Returns its length. Does not allocate,
// and does not depend on the locale.
size_t label_text(const kymo_label& label, const kymo_arg* args, uint32_t count,
                  char (&text)[kLabelTextBytes]) noexcept;

// The value of a counter: its argument "value", or its first one; 0 if that is not a number.
double counter_value(const kymo_arg* args, uint32_t count) noexcept;

// The sink with this name in the table of the process, from any copy of the library; null: not found. `on` is set to
// its state.
const kymo_sink* sink_named(const char* name, bool& on) noexcept;

// The thread-exit hook, and the handler in a forked child: the child does not end ranges that its parent started.
void release_sent(void* sent) noexcept;
void leave_parents_sinks(Process&) noexcept;

}  // namespace kymo::record
