// Work on a simulated device, at times that a test can compute: queues [all|kill|fork|sessions FILE].
//
// The device's clock is CLOCK_MONOTONIC at 3 ticks in 40 ns (75 MHz), with its own zero. It counts 64 bits, or 32 on
// the second device. Durations of operations are multiples of ten microseconds.
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "kymo/queue_track.h"
#include "kymo/session.h"

namespace {

constexpr uint64_t kNumerator = 40, kDenominator = 3;  // nanoseconds per tick
constexpr uint64_t kZero = 1'000'000;                  // the device's counter when the host's clock was 0
constexpr uint64_t kError = 250;
constexpr int kKernels = 100;

uint64_t now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

uint64_t to_device(uint64_t monotonic_ns) { return kZero + monotonic_ns / kNumerator * kDenominator; }

kymo_queue_info info_of(const char* name, uint64_t queue) {
  return {name, "GPU-1111", 7, queue, 1, kNumerator, kDenominator, 0, 0, nullptr};
}

void pair_clocks(kymo::QueueTrack& queue) {
  // A time that is a whole number of ticks on both clocks.
  const uint64_t monotonic = now(CLOCK_MONOTONIC) / kNumerator * kNumerator;
  queue.clock_pair(to_device(monotonic), monotonic, now(CLOCK_REALTIME), kError);
}

// A launch on this thread; its work on the device, 10 µs after the launch and 30 µs long.
void launch(kymo::QueueTrack& queue, int number, uint64_t& device_time) {
  uint64_t correlation = 0;
  {
    const kymo::Launch call(kymo::Label("launch", "runtime"));
    correlation = call.correlation();
  }
  queue.span(kymo::Label("kernel {}", "kernel"), device_time, device_time + 2250, correlation, number);
  device_time += 3000;
}

void record_all() {
  kymo::QueueTrack compute(info_of("compute", 0)), copy(info_of("copy", 1));
  pair_clocks(compute);
  const uint64_t began = to_device(now(CLOCK_MONOTONIC) / kNumerator * kNumerator);
  uint64_t device_time = began;
  {
    KYMO_RANGE("submit");
    for (int i = 0; i < kKernels; ++i) launch(compute, i, device_time);
  }
  // Copies overlap, and are recorded in the order of their launches, not of their ends.
  for (uint64_t i = 0; i < 10; ++i) {
    const uint64_t start = began + i * 3000;
    copy.span(kymo::Label("copy", "copy"), start, start + (i % 2 == 0 ? 4500 : 750), 0, kymo::bytes("bytes", 4096 * i));
  }
  const uint64_t handle = kymo_next_handle();
  const kymo::Label batch("batch", "marker");
  kymo_queue_range_begin(compute.get(), &batch, nullptr, 0, began, handle);
  kymo_queue_range_end(compute.get(), device_time, handle);
  const kymo_arg size = kymo::bytes("bytes", 1 << 20);
  const kymo::Label tensor("tensor", "memory");
  kymo_allocation(&tensor, &size, 1, 0xd000);
  kymo_free(&tensor, &size, 1, 0xd000);
  compute.lost(3);
  pair_clocks(copy);
}

void count_one(void* context) { ++*static_cast<int*>(context); }

// The queue is opened once and used in two sessions. Work whose times are queried only at the end is in them too.
void record_sessions(const std::string& folder) {
  static kymo::QueueTrack queue(info_of("compute", 0));
  static uint64_t device_time = to_device(now(CLOCK_MONOTONIC));
  int flushes = 0;
  kymo_on_flush(count_one, &flushes);
  kymo_on_flush([](void*) { queue.span("harvested", device_time, device_time + 75, 0); }, nullptr);
  pair_clocks(queue);
  for (const char* name : {"first.kymo", "second.kymo"}) {
    kymo::Session session(folder + "/" + name);
    launch(queue, 1, device_time);
    session.close();
    launch(queue, 2, device_time);
  }
  kymo_remove_flush(count_one, &flushes);
  std::printf("%d\n", flushes);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "all";
  if (what == "all") record_all();
  if (what == "kill") {
    record_all();
    kill(getpid(), SIGKILL);
  }
  if (what == "fork") {
    kymo::QueueTrack queue(info_of("parents", 0));
    pair_clocks(queue);
    uint64_t device_time = to_device(now(CLOCK_MONOTONIC));
    launch(queue, 0, device_time);
    if (const pid_t child = fork(); child == 0) {
      launch(queue, 1, device_time);
      queue = kymo::QueueTrack(info_of("childs", 0));
      pair_clocks(queue);
      launch(queue, 2, device_time);
      return 0;
    } else {
      waitpid(child, nullptr, 0);
    }
    launch(queue, 3, device_time);
  }
  if (what == "sessions" && argc > 2) record_sessions(argv[2]);
  return 0;
}
