// The state that all copies of the library in one process share: the recording state, the segment, the slots of
// threads.
//
// A program may contain several copies (two plug-ins that link Kymo statically, an executable and a shared library).
// Each copy has an ELF note with the location of its pointer to the Process. The first copy that runs creates the
// Process; the others find it through the notes of the other loaded objects. No environment variable, file or symbol of
// the dynamic linker is needed.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "kymo/kymo.h"
#include "record/layout.h"
#include "record/segment.h"

struct kymo_sink;

namespace kymo::record {

// Bits of the mode mask, from kymo/kymo.h.
inline constexpr uint32_t kRecordingBit = KYMO_MODE_RECORDING;
inline constexpr uint32_t kSinkBit = KYMO_MODE_SINKS;
inline constexpr uint32_t kWatchBit = KYMO_MODE_WATCHED;
inline constexpr uint32_t kReceiverBits = KYMO_MODE_HEARD;
inline constexpr uint32_t kMaxCopies = 64;
inline constexpr uint32_t kProcessVersion = 11;
inline constexpr uint32_t kMaxFlushHooks = 64;
inline constexpr uint32_t kMaxSinks = 8;

// The members of a copy that other copies must access. Each copy has its own, to reach it with one load.
struct Copy {
  std::atomic<std::atomic<uint32_t>*> mode;  // the mask that its inlined guards test
  std::atomic<Slot** (*)() noexcept> slot;   // where the calling thread's slot pointer is
  std::atomic<void (*)() noexcept> changed;  // call_when_wanted(); null: nobody
};

// A callback before a session ends: run_flush().
struct FlushHook {
  void (*call)(void*);
  void* context;
};

// Has its own memory and is never freed: threads may record while the program's last destructors run.
struct Process {
  uint32_t version;
  std::atomic<uint32_t> mode;
  Copy copies[kMaxCopies];
  std::atomic<uint32_t> copy_count;
  pthread_key_t slot_key;  // the thread's Slot, for copies that do not have it yet

  std::atomic<SegmentHeader*> segment;  // null: nothing was recorded in this process yet
  Mapping mapping;
  char segment_path[kSegmentPathBytes];
  std::atomic<uint32_t> segment_lock;  // held while a segment is created
  uint32_t pid;                        // the owner of this state: a forked child must detect this
  std::atomic<uint32_t> restart_lock;  // held while a forked child begins to record
  std::atomic<uint32_t> refused;       // the pid, in a child that got no segment
  Mapping parent_mapping;              // in a child without a segment yet: where its classes are registered
  std::atomic<uint64_t> next_handle;   // for ranges across threads, and for correlations
  uint64_t first_number;               // lower handles belong to the parent process
  std::atomic<uint32_t> epoch;         // recordings started, by this process and its ancestors

  // Who collects the segment's records: another process (`kymo record`), or this process's own collector.
  std::atomic<bool> external;                // the collector is another process
  SegmentOptions options;                    // for the segment of this process and of its forked children
  std::atomic<bool (*)() noexcept> restart;  // starts this process's own collector again in a forked child
  std::atomic<void*> session;                // of the collector, opaque here

  pthread_mutex_t flush_mutex;  // recursive; protects the following members
  FlushHook flush[kMaxFlushHooks];
  bool flushing, flushes_at_exit, exiting;

  // sinks.h. A sink keeps its index permanently, so that the index identifies it for all ranges that were sent to it.
  std::atomic<const kymo_sink*> sinks[kMaxSinks];
  std::atomic<uint32_t> sinks_on;                                         // one bit per index
  std::atomic<uint32_t> sinks_lock;                                       // held while sinks_on changes
  std::atomic<bool> sinks_asked;                                          // a copy has read KYMO_SINKS
  std::atomic<void (*)(const kymo_label* label) noexcept> range_watcher;  // watch_ranges()
  pthread_key_t sent_key;  // the ranges that the thread has sent and not ended
};

// The state of this process. Not null after the first call of Kymo, except if another copy has a different version.
Process* process() noexcept;

// True while this copy records.
inline bool recording() noexcept { return (kymo_mode.load(std::memory_order_relaxed) & kRecordingBit) != 0; }

// Who receives this copy's annotations: kRecordingBit, kSinkBit.
inline uint32_t receiver_bits() noexcept { return kymo_mode.load(std::memory_order_relaxed) & kReceiverBits; }

// Sets or clears these bits of the mode mask, for the process and every copy in it. Any thread may call it.
void set_mode(Process&, uint32_t bits, bool on) noexcept;

// Creates this process's segment if there is none.
Outcome ensure_segment(Process&) noexcept;

// Start and stop recording. Each start begins a new epoch: the first record of every thread says that no range before
// it is open.
void start_recording(Process&) noexcept;
void stop_recording(Process&) noexcept;

// Calls `changed` after each start of a recording and after watch_ranges(), whichever copy calls these, on their
// thread. One callback per copy. Nothing is called if a recording runs already.
void call_when_wanted(void (*changed)() noexcept) noexcept;

// For the agent, which counts iterations while nothing records: interfaces of other tools call `saw` for each range
// that may be one, on its thread, before it is stored. Null: no more; a call may still run. Kymo's own annotations, and
// interfaces that use them, go to sinks instead.
void watch_ranges(void (*saw)(const kymo_label* label) noexcept) noexcept;
inline auto range_watcher() noexcept {
  Process* const shared = process();
  return shared != nullptr ? shared->range_watcher.load(std::memory_order_acquire) : nullptr;
}

// Called in a forked child, by each copy. The parent's segment stays with the parent, and the child's thread keeps its
// depth. Recording continues in a segment of the child, which its first record creates.
void after_fork_in_child() noexcept;

// For the threads of collectors and agents: this thread never records.
KYMO_API void forbid_recording_on_this_thread() noexcept;

// Calls the callbacks of kymo_on_flush() on this thread, one after the other, while the session still records. They add
// device work that has completed but whose times were not queried yet. They belong to the process, for all copies of
// the library. Returns immediately if it is called from a callback.
void run_flush(Process&) noexcept;

}  // namespace kymo::record
