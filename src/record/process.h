// What all copies of the library in one process share: the recording state, the segment, the threads' slots.
//
// A program may hold several copies (two plug-ins that each link Kymo statically, an executable and a shared library).
// Each copy carries an ELF note that says where its pointer to the Process is; the first copy that runs makes the
// Process, the others find it through the notes of the objects loaded beside them. No environment variable, no file, no
// symbol that the dynamic linker would have to agree on.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "kymo/kymo.h"
#include "record/layout.h"
#include "record/segment.h"

struct kymo_sink;

namespace kymo::record {

// Of the mode mask.
inline constexpr uint32_t kRecordingBit = 1;
inline constexpr uint32_t kSinkBit = 2;   // annotations go to sinks too: kymo/sink.h
inline constexpr uint32_t kWatchBit = 4;  // somebody watches the work of devices: device/watcher.h
inline constexpr uint32_t kMaxCopies = 64;
inline constexpr uint32_t kHeardBits = kRecordingBit | kSinkBit;  // whoever hears annotations
inline constexpr uint32_t kProcessVersion = 7;
inline constexpr uint32_t kMaxFlushHooks = 64;
inline constexpr uint32_t kMaxSinks = 8;

// What the others must reach in a copy, because each keeps its own so as to reach it in one load.
struct Copy {
  std::atomic<std::atomic<uint32_t>*> mode;  // the mask that its inlined guards test
  std::atomic<Slot** (*)() noexcept> slot;   // where the calling thread's slot is kept
};

// What is called before a session ends: flush.h.
struct FlushHook {
  void (*call)(void*);
  void* context;
};

// Lives in memory of its own and is never freed: threads may record while the program's last destructors run.
struct Process {
  uint32_t version;
  std::atomic<uint32_t> mode;
  Copy copies[kMaxCopies];
  std::atomic<uint32_t> copy_count;
  pthread_key_t slot_key;  // the thread's Slot, for copies that do not know it yet

  std::atomic<SegmentHeader*> segment;  // null: nothing was ever recorded in this process
  Mapping mapping;
  char segment_path[kSegmentPathBytes];
  std::atomic<uint32_t> segment_lock;  // held while a segment is made
  uint32_t pid;                        // whose all this is: a forked child has to notice
  std::atomic<uint32_t> refused;       // the pid, in a child that could get no segment
  Mapping parent_mapping;              // in a child without a segment yet: where its classes are registered
  std::atomic<uint64_t> next_handle;   // of ranges across threads, and of correlations
  uint64_t first_number;               // handles below are of the process that forked this one
  std::atomic<uint32_t> epoch;         // recordings begun, by this process and those it was forked from

  // Where the segment's records go: another process (`kymo record`), or this one's own collector.
  std::atomic<bool> external;                // the collector is elsewhere
  SegmentOptions options;                    // for the segment of this process and of its forked children
  std::atomic<bool (*)() noexcept> restart;  // starts this process's own collector again in a forked child
  std::atomic<void*> session;                // the collector's, opaque here

  pthread_mutex_t flush_mutex;  // recursive; of what follows
  FlushHook flush[kMaxFlushHooks];
  bool flushing, flushes_at_exit, exiting;

  // sinks.h. A place is a sink's for good, so that what was sent to it is known by the place.
  std::atomic<const kymo_sink*> sinks[kMaxSinks];
  std::atomic<uint32_t> sinks_on;    // by place
  std::atomic<uint32_t> sinks_lock;  // held while that changes
  std::atomic<bool> sinks_asked;     // a copy has read KYMO_SINKS
  pthread_key_t sent_key;            // what the thread has sent and not ended
};

// This process's state. Never null once the program has called into Kymo; null where another copy's version differs.
Process* process() noexcept;

// Does this copy record?
inline bool recording() noexcept { return (kymo_mode.load(std::memory_order_relaxed) & kRecordingBit) != 0; }

// Who hears this copy's annotations: kRecordingBit, kSinkBit.
inline uint32_t heard() noexcept { return kymo_mode.load(std::memory_order_relaxed) & kHeardBits; }

// Sets or clears these bits of the mode mask, of the process and of every copy in it. From any thread.
void set_mode(Process&, uint32_t bits, bool on) noexcept;

// Makes this process's segment where there is none. False: `why` says why not.
bool ensure_segment(Process&, char* why, size_t why_bytes) noexcept;

// Starts and stops storing. Starting opens a new epoch: every thread's first record says that nothing before it is
// open.
void start_recording(Process&) noexcept;
void stop_recording(Process&) noexcept;

// Called in a forked child, by each copy: the parent's segment is the parent's, and the child's thread takes its depth
// along. Recording goes on, in a segment of the child's own that its first record makes.
void after_fork_in_child() noexcept;

// A collector's or an agent's own thread says so, and never records.
KYMO_API void forbid_recording_on_this_thread() noexcept;

}  // namespace kymo::record
