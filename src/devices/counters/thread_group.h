// Performance events of the calling thread, counted as one group and read with one call. events.h finds them by name.
//
// The kernel counts all of them or none, so their ratios are correct. If the CPU's counters are shared with others, a
// reading says how long they really ran, and the difference of two readings is scaled by that.
//
// Only what the thread itself does in user mode is counted, not the threads it starts and not the kernel's work for it.
// Events that happen only in the kernel (context switches, migrations, tracepoints) are counted there. The kernel
// allows this to fewer users.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kymo::counters {

inline constexpr size_t kMaxEvents = 8;

// An event in the form that the kernel uses.
struct Event {
  std::string name;  // as it was requested
  uint32_t type = 0;
  uint64_t config = 0, config1 = 0, config2 = 0;
  bool exclude_kernel = true, exclude_user = false;
  bool operator==(const Event&) const = default;
};

struct Reading {
  uint64_t enabled_ns = 0, running_ns = 0;  // how long the group was enabled, and how long it really counted
  std::array<uint64_t, kMaxEvents> values{};
};

// What was counted between two readings of one thread.
struct Count {
  double value = 0;
  bool scaled = false;  // extrapolated, because it ran only part of the time
  bool known = false;   // false: it did not run at all
};
Count difference(const Reading& begin, const Reading& end, size_t event) noexcept;

// Counts for the thread that creates it. Only that thread may read it. Any thread may destroy it, also after that
// thread has ended. Uses one file descriptor per event. In a forked child it counts nothing: create another one there.
class ThreadGroup {
 public:
  // Throws kymo::NotAvailable if the kernel refuses, kymo::InvalidArgument for no events or more than kMaxEvents.
  explicit ThreadGroup(std::span<const Event> events);
  ~ThreadGroup();
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  // The values in the order of the events. Costs one system call: about 0.3 µs, and more with each event. All zeros if
  // it fails.
  void read(Reading& into) noexcept;

 private:
  void close_all() noexcept;

  std::vector<int> files_;                       // the leader first
  std::array<uint8_t, kMaxEvents> positions_{};  // index in the group's reading -> index of the event
  uint32_t forks_ = 0;                           // the number of forks of the process when it was created
};

// Whether the kernel counts the event for a thread: returns 0 or the error.
int try_event(const Event& event) noexcept;

// The reason why the kernel refused it, and what to do, as the end of a sentence: "this machine has no …".
std::string refusal(const Event& event, int error);

}  // namespace kymo::counters
