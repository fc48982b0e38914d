// Performance events of the calling thread, counted as one group and read by one call.
//
// The kernel counts them together or not at all, so their ratios hold; where it had to share the processor's counters
// with others, a reading says for how long they really ran, and a difference of two is scaled by that.
//
// Counted is what the thread does itself, in user mode: not the threads it starts, not the kernel's work for it. Events
// that happen only inside the kernel (context switches, migrations, tracepoints) are counted there, which the kernel
// grants to fewer users.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kymo::counters {

inline constexpr size_t kMaxEvents = 8;

// An event as the kernel knows it.
struct Event {
  std::string name;  // as it was asked for
  uint32_t type = 0;
  uint64_t config = 0, config1 = 0, config2 = 0;
  bool exclude_kernel = true, exclude_user = false;
  bool operator==(const Event&) const = default;
};

// The events behind names: the original's five ("cycles", "instructions", "pagefaults", "backend-stall-cycles",
// "frontend-stall-cycles"), the kernel's own ("task-clock", "context-switches", "branch-misses", "LLC-load-misses", …),
// and whatever libpfm4 knows for this processor. Tried before they are returned: each alone, then all together. Throws
// kymo::InvalidArgument for one that is unknown, twice there or one too many, kymo::NotAvailable for one that this
// machine does not count, or not together with the others; both say what can be.
std::vector<Event> find_events(std::span<const std::string> names);

// Those that can be counted here, the usual five first where they can. Each is tried: some ms where there are many.
std::vector<std::string> countable_events();

struct Reading {
  uint64_t enabled_ns = 0, running_ns = 0;  // how long the group was asked to count, and did
  std::array<uint64_t, kMaxEvents> values{};
};

// What was counted between two readings of one thread.
struct Count {
  double value = 0;
  bool scaled = false;  // it ran for part of the time: extrapolated
  bool known = false;   // it ran at all
};
Count difference(const Reading& begin, const Reading& end, size_t event) noexcept;

// Of the thread that makes it; that thread alone may read it, any may destroy it, also after that thread has ended.
// Takes a file descriptor an event. In a forked child it counts nothing: make another there.
class ThreadGroup {
 public:
  // Throws kymo::NotAvailable where the kernel refuses, kymo::InvalidArgument for none or more than kMaxEvents.
  explicit ThreadGroup(std::span<const Event> events);
  ~ThreadGroup();
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  // The values in the order of the events. One system call, some 0.3 µs and more with each event. All zeros where it
  // fails.
  void read(Reading& into) noexcept;

 private:
  void close_all() noexcept;

  std::vector<int> files_;                       // the leader first
  std::array<uint8_t, kMaxEvents> positions_{};  // of the file at an index among the events
  uint32_t forks_ = 0;                           // how many there had been when it was made
};

}  // namespace kymo::counters
