// What the parts of a range cost: the floor, and then one necessary part more in each row, up to the whole range.
//
//   bench_range_parts FOLDER      the trace goes into the folder
//
// Each row has everything of the rows above. The stores are those of record/store.h, written out here so that parts can
// be left out. `scripts/bench range_parts` prints the table.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "kymo/annotate.h"
#include "kymo/session.h"
#include "measure.h"
#include "report.h"

namespace {

struct Cell {
  std::atomic<uint64_t> time, word;
};

struct Ring {
  std::atomic<uint64_t> head{0}, limit{~uint64_t{0}};
  std::atomic<uint32_t> busy{0};
  std::unique_ptr<Cell[]> memory = std::make_unique<Cell[]>(bench::kFloorCells);
  Cell* cells = memory.get();
  uint64_t mask = bench::kFloorCells - 1;
};
thread_local Ring* this_ring = nullptr;
std::atomic<uint32_t> mode{1};

enum Part { kCall, kMode, kRoom, kSignals, kPrefetch };

template <Part last>
[[gnu::noinline]] void store(uint64_t word) {
  if constexpr (last >= kMode)
    if (mode.load(std::memory_order_relaxed) != 1) return;
  Ring* const ring = this_ring;
  if constexpr (last >= kSignals) {
    if (ring == nullptr || ring->busy.load(std::memory_order_relaxed) != 0) return;
    ring->busy.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  const uint64_t time = bench::ticks(), head = ring->head.load(std::memory_order_relaxed);
  if constexpr (last >= kRoom)
    if (head >= ring->limit.load(std::memory_order_relaxed)) return;
#if defined(__x86_64__)
  if constexpr (last >= kPrefetch) asm volatile("prefetchw %0" : : "m"(ring->cells[(head + 32) & ring->mask]));
#endif
  Cell& cell = ring->cells[head & ring->mask];
  cell.time.store(time, std::memory_order_relaxed);
  cell.word.store(word, std::memory_order_relaxed);
  ring->head.store(head + 1, std::memory_order_release);
  if constexpr (last >= kSignals) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    ring->busy.store(0, std::memory_order_relaxed);
  }
}

// Reads the cells as the collector does: a quarter of the ring at a time.
void read_cells(const Ring& ring, const std::atomic<bool>& stopped) {
  uint64_t read = 0, sum = 0;
  while (!stopped) {
    const uint64_t head = ring.head.load(std::memory_order_acquire);
    for (; head - read >= bench::kFloorCells / 4; read += bench::kFloorCells / 4)
      for (uint64_t i = 0; i < bench::kFloorCells / 4; ++i) {
        const Cell& cell = ring.cells[(read + i) & ring.mask];
        sum += cell.time.load(std::memory_order_relaxed) + cell.word.load(std::memory_order_relaxed);
      }
    asm volatile("" : : "r"(sum));
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

void row(const char* id, const char* what, const bench::Cost& cost) {
  bench::row(id, what, bench::text("%.1f ns = %.2f x floor", cost.ns, cost.ratio), "", true,
             {cost.kept, cost.discarded});
}

template <Part last>
void part(bench::Meter& meter, const char* id, const char* what) {
  row(id, what, meter.cost([] {
    store<last>(1);
    bench::keep();
    store<last>(2);
  }));
}

}  // namespace

int main(int argc, char** argv) {
  bench::Meter meter;
  Ring ring;
  this_ring = &ring;
  part<kCall>(meter, "part_call", "the floor, each store in a function");
  part<kMode>(meter, "part_mode", "... and whether something records");
  part<kRoom>(meter, "part_room", "... and whether the ring has space");
  part<kSignals>(meter, "part_signals", "... and safe if a signal handler records too");
  part<kPrefetch>(meter, "part_prefetch", "... and a prefetch of the next cache lines");
  {
    std::atomic<bool> stopped{false};
    std::thread reader([&] { read_cells(ring, stopped); });
    part<kPrefetch>(meter, "part_reader", "... and another thread reads the ring");
    stopped = true;
    reader.join();
  }
  kymo::Session session(std::string(argc > 1 ? argv[1] : ".") + "/range_parts.kymo");
  row("part_all", "KYMO_RANGE, while the collector reads it and writes a file", meter.cost([] {
    KYMO_RANGE("static");
    bench::keep();
  }));
  const std::string name = "load images";
  row("part_lookup", "..., its name looked up", meter.cost([&name] {
    const kymo::Range range{name};
    bench::keep();
  }));
  row("part_push", "range_push + range_pop, its name looked up, and the depth counted", meter.cost([&name] {
    kymo::range_push(name);
    bench::keep();
    kymo::range_pop();
  }));
  session.close();
}
