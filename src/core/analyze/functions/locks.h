// The locks of a program by the time that threads waited for them, and who held them (`kymo record --with waits`).
//
// A recorded wait has its lock, its stack and the thread that held the lock when the wait began. Each nanosecond of it
// counts for the thread that held the lock then: a thread whose own wait ends holds the lock from there on, until
// another wait says that another thread has it. Where the holder was follows from its samples and from its own waits.
// While it waits for the same lock, it does not hold it, and nothing is known.
//
// A wait that has not ended lasts until the process was last seen alive.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/reader.h"

namespace kymo::functions {

inline constexpr std::string_view kLockOfPython = "lock of Python";

struct WaitedLock {
  std::string kind;     // "mutex", "read-write lock", "lock of Python", "lock", "condition", "semaphore"
  uint64_t object = 0;  // its address
  uint64_t pid = 0;
  uint64_t count = 0, total_ns = 0, longest_ns = 0;
  uint64_t unfinished = 0;         // of the waits
  uint64_t longest_thread_ns = 0;  // of all waits of one thread
  uint64_t maybe_ns = 0;           // more, with its waits without a stack

  // The function of a thread, and the time of the waits that it stands for.
  struct Place {
    std::string thread;    // empty: of all threads, or it is not known
    std::string function;  // empty: not known
    uint64_t ns = 0;
  };
  std::vector<Place> waiting;  // by function, without threads; most first
  std::vector<Place> holding;  // only of mutexes and of those that write; most first

  // Only one thread at a time can hold it: others cannot go on without it.
  bool excludes() const { return kind == "mutex" || kind == "read-write lock" || kind.starts_with("lock"); }
};

struct WaitedLocks {
  std::vector<WaitedLock> locks;  // the longest total first
  bool were_recorded = false;     // there are recorded waits, maybe for no lock
  std::vector<trace::Problem> problems;
};

// Never throws for a damaged trace. Memory depends on the number of recorded waits and of samples.
WaitedLocks read_locks(const trace::Reader& reader);

}  // namespace kymo::functions
