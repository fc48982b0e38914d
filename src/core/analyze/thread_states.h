// What each thread of a sampled program did over its life: it ran, it waited, or it was ready and others ran.
//
// The sampler states the time of each thread on and off the processors (docs/sampling.md). A thread lives from its
// first record to its last one, of all writers: its annotations and its samples have a writer each, and so has every
// program that a process runs (exec). The four times of a thread sum to its life.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/reader.h"

namespace kymo::analyze {

enum class ThreadState : uint8_t { Running, Waiting, Preempted };

struct StateSpan {
  int64_t begin = 0, end = 0;
  ThreadState state = ThreadState::Running;
  uint32_t chunk = UINT32_MAX, point = 0;  // the record of a time off the processors, in Reader::event_chunks()
};

struct ThreadStates {
  std::string key;      // thread_key()
  std::string program;  // the last one that it ran
  std::string name;     // never empty
  uint64_t pid = 0, tid = 0;
  trace::WriterId writer;            // one of its writers; its clock is that of the times
  uint32_t track = 0;                // of this writer
  int64_t begin_ns = 0, end_ns = 0;  // of the monotonic clock
  uint64_t running_ns = 0;           // its CPU time
  uint64_t waiting_ns = 0;           // until it was woken and ran again
  uint64_t preempted_ns = 0;         // it could have run, but others ran; without wake-ups, a part has no span
  uint64_t unknown_ns = 0;           // the rest of its life
  std::vector<StateSpan> spans;      // by time, without overlaps; what is between them is not known

  uint64_t life_ns() const { return static_cast<uint64_t>(end_ns) - static_cast<uint64_t>(begin_ns); }
  std::string label() const;  // "python3 worker"
};

// A thread waited until another one woke it: the kernel's wake-up, or a lock that the other one held (`kymo record
// --with waits`).
struct Handover {
  uint32_t waiting = 0, by = 0;           // threads, in StatesOfThreads::keys
  int64_t begin = 0, woken = 0, end = 0;  // of the monotonic clock; at the end, it was on a processor again
  bool is_guess = false;                  // only the end of the other one is known, shortly before that of the wait
};

struct StatesOfThreads {
  std::vector<ThreadStates> threads;  // whose time on or off the processors is known; the longest CPU time first
  bool are_placed = true;           // false: there are too many spans, so no thread has any, and no handovers are known
  std::vector<Handover> handovers;  // in no order
  std::vector<std::string> keys;
  std::string missing_wake_ups;  // "not recorded: …", "not recorded for 2 s, …"; empty: nothing is missing
};

// The same for all threads of a process, of all its writers.
std::string thread_key(const trace::WriterInfo& writer, const trace::Track& track);

// Never throws for a damaged trace: what cannot be read is not known.
StatesOfThreads read_thread_states(const trace::Reader& reader);

// How long a thread was in each state in a part of its life. Uses 24 bytes for each span, and refers to the thread.
class StateTimes {
 public:
  explicit StateTimes(const ThreadStates& thread);

  using Times = std::array<uint64_t, 3>;  // nanoseconds, by ThreadState
  // Two binary searches.
  Times between(int64_t begin_ns, int64_t end_ns) const;

 private:
  Times until(int64_t ns) const;

  const std::vector<StateSpan>& spans_;
  std::vector<Times> before_;  // by span: of all spans before it
};

// What the threads did at the same time.
struct ThreadsTogether {
  uint64_t any_running_ns = 0;
  uint64_t any_preempted_ns = 0;
  uint64_t all_waiting_ns = 0;  // all threads that lived then
  // The same in order, with the thread whose wait was the first to end.
  struct Pause {
    int64_t begin = 0, end = 0;
    uint32_t thread = 0;
  };
  std::vector<Pause> pauses;
  // The largest number for at least a hundredth of the time in which any runs.
  size_t most_running = 0, most_wanting = 0;  // wanting: running or preempted
  std::vector<uint64_t> wanting_ns;           // by number of threads

  // The time in which more threads wanted to run.
  uint64_t wanting_more_than(size_t number) const;
};

ThreadsTogether together(const std::vector<ThreadStates>& threads);

}  // namespace kymo::analyze
