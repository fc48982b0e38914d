// The best throughput that a collector could have here. This one only copies the bytes of the rings to the same memory
// again and again, and keeps nothing. Segment, rings and producers are the same as in throughput.cc.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstring>
#include <vector>

#include "record/process.h"
#include "report.h"
#include "two_threads.h"

namespace {

using namespace kymo::record;

constexpr unsigned kRuns = 7;

class CopyingCollector {
 public:
  explicit CopyingCollector(SegmentHeader& header) : header_(header) {
    buffer_.resize(header.ring_cells * sizeof(Cell));
    header_.collector_attached.store(1);
    thread_ = std::thread([this] { run(); });
  }
  ~CopyingCollector() {
    stopping_.store(true);
    thread_.join();
    header_.collector_attached.store(0);
  }
  CopyingCollector(const CopyingCollector&) = delete;
  CopyingCollector& operator=(const CopyingCollector&) = delete;

 private:
  void run() {
    forbid_recording_on_this_thread();
    while (true) {
      const bool last = stopping_.load();
      const uint32_t seen = header_.wake.load();
      bool read = false;
      for (uint32_t i = 0; i < header_.slots_used.load(); ++i) read |= copy_ring(i, last);
      if (last) return;
      if (!read) sleep(seen);
    }
  }

  bool copy_ring(uint32_t index, bool everything) {
    Slot& slot = slot_page(&header_, index)->slot;
    const uint64_t tail = slot.tail.load(), head = slot.head.load(std::memory_order_acquire);
    const bool retired = header_.slot_state[index].load() == static_cast<uint32_t>(SlotState::Retired);
    const bool enough = (head - tail) * 4 >= header_.ring_cells;
    if (retired && head == tail) {
      header_.retired_slots.fetch_sub(1);
      header_.slot_state[index].store(static_cast<uint32_t>(SlotState::Free));
    }
    if (head == tail || !(everything || retired || enough)) return false;
    const Cell* cells = slot_cells(&header_, index);
    const uint64_t capacity = header_.ring_cells, from = tail % capacity;
    const uint64_t first = std::min(head - tail, capacity - from);
    std::memcpy(buffer_.data(), static_cast<const void*>(cells + from), first * sizeof(Cell));
    std::memcpy(buffer_.data() + first * sizeof(Cell), static_cast<const void*>(cells),
                (head - tail - first) * sizeof(Cell));
    slot.tail.store(head, std::memory_order_release);
    header_.progress.fetch_add(1);
    if (header_.blocked_producers.load() != 0)
      syscall(SYS_futex, &header_.progress, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    return true;
  }

  void sleep(uint32_t seen) {
    const timespec timeout{0, 20'000'000};
    header_.collector_sleeps.store(1);
    syscall(SYS_futex, &header_.wake, FUTEX_WAIT, seen, &timeout, nullptr, 0);
    header_.collector_sleeps.store(0);
  }

  SegmentHeader& header_;
  std::vector<char> buffer_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

double burst_seconds(Process& shared) {
  const auto began = std::chrono::steady_clock::now();
  {
    const CopyingCollector collector(*shared.segment.load());
    start_recording(shared);
    bench::burst(bench::kBurstRanges);
    stop_recording(shared);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

}  // namespace

int main() {
  Process& shared = *process();
  if (const Outcome made = ensure_segment(shared); !made) {
    std::fprintf(stderr, "bench_copying: %s\n", made.why());
    return 1;
  }
  bench::Rates rates;
  for (unsigned run = 0; run < kRuns; ++run) {
    const bench::OtherWork other;
    const double seconds = burst_seconds(shared);
    rates.add(2 * static_cast<double>(bench::kBurstRanges) / seconds / 1e6, other.share());
  }
  bench::peer("throughput", "a collector that only copies to memory", rates.text(), rates.rounds());
  unlink(shared.segment_path);
}
