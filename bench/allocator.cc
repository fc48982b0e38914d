// The cost of a cached allocation: allocate + free of one size, and replacing a random one of 256 live blocks of mixed
// sizes. malloc + free of the host run in the same rounds for comparison. Also the throughput of eight threads that
// compete for one allocator. The memory is simulated: no device is needed.
#include "device/allocator/allocator.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "measure.h"
#include "report.h"

namespace {

using bench::text;
using namespace kymo::device;

// A driver that always has a free address.
class Imaginary final : public MemorySource {
 public:
  Address allocate(size_t bytes) override {
    const Address address = next_;
    next_ += round_up(bytes, kHugeRounding);
    return address;
  }
  void release(Address, size_t) noexcept override {}
  void order(StreamId, StreamId) override {}
  void synchronize() override {}
  size_t recommended_max() const override { return size_t{128} << 30; }
  size_t max_allocation() const override { return size_t{64} << 30; }

 private:
  Address next_ = kHugeRounding;
};

constexpr double kMaxPairNs = 100, kMaxReplaceNs = 250;
constexpr size_t kLongestMalloc = 16 * kMiB;  // glibc maps and unmaps larger blocks each time, which takes microseconds
constexpr size_t kLive = 256;
constexpr size_t kChoices = 4096;  // random numbers made in advance: two arrays of them fit in the L1 cache

struct Choices {
  std::array<uint8_t, kChoices> slots;
  std::array<uint32_t, kChoices> sizes;  // 512 B .. 64 MiB, equally many for each power of two

  Choices() {
    uint64_t state = 88172645463325252u;
    const auto random = [&state] {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      return state;
    };
    for (size_t i = 0; i < kChoices; ++i) {
      slots[i] = static_cast<uint8_t>(random());
      const uint64_t power = uint64_t{512} << random() % 17;
      sizes[i] = static_cast<uint32_t>(power + random() % power);
    }
  }
};

std::string size_name(size_t bytes) {
  if (bytes < 1024) return text("%zu B", bytes);
  if (bytes < kMiB) return text("%zu KiB", bytes >> 10);
  return bytes < 1024 * kMiB ? text("%zu MiB", bytes >> 20) : text("%zu GiB", bytes >> 30);
}

void pair_row(bench::Meter& meter, size_t bytes) {
  Imaginary source;
  Allocator allocator(source, AllocatorOptions{});
  const size_t malloc_bytes = std::min(bytes, kLongestMalloc);
  const auto cost = meter.cost(
      [&] {
        Block* const block = allocator.allocate(bytes, 0);
        bench::keep();
        allocator.free(block);
      },
      [malloc_bytes] {
        void* volatile memory = std::malloc(malloc_bytes);
        bench::keep();
        std::free(memory);
      });
  const std::string id = "allocator_" + std::to_string(bytes);
  bench::row(id.c_str(), "allocate + free, cached, " + size_name(bytes),
             text("%.1f ns (malloc + free of %s: %.1f ns)", cost.ns, size_name(malloc_bytes).c_str(), cost.baseline_ns),
             text("<= %.0f ns", kMaxPairNs), cost.ns <= kMaxPairNs, {cost.kept, cost.discarded});
}

void replace_row(bench::Meter& meter, const Choices& choices) {
  Imaginary source;
  Allocator allocator(source, AllocatorOptions{});
  std::array<Block*, kLive> blocks{};
  size_t next = 0;
  const auto replace = [&] {
    const size_t i = next++ % kChoices;
    Block*& block = blocks[choices.slots[i]];
    allocator.free(block);
    block = allocator.allocate(choices.sizes[i], 0);
  };
  // The same pattern for the host, with smaller pieces. With large ones, malloc would measure the kernel's page tables.
  std::array<void*, kLive> pieces{};
  size_t next_piece = 0;
  const auto replace_piece = [&] {
    const size_t i = next_piece++ % kChoices;
    void*& piece = pieces[choices.slots[i]];
    std::free(piece);
    piece = std::malloc(choices.sizes[i] >> 10);
  };
  for (size_t i = 0; i < 16 * kChoices; ++i) replace();
  const auto cost = meter.cost(replace, replace_piece);
  const MemoryStatistics seen = allocator.statistics();
  bench::row("allocator_replace", "free + allocate at random, 256 live, 512 B .. 64 MiB",
             text("%.1f ns (malloc + free of 1/1024 of it %.1f ns)", cost.ns, cost.baseline_ns),
             text("<= %.0f ns", kMaxReplaceNs), cost.ns <= kMaxReplaceNs, {cost.kept, cost.discarded});
  bench::row("allocator_overhead", "reserved at that, to the most that was live",
             text("%.2f x", static_cast<double>(seen.peak_reserved) / static_cast<double>(seen.peak)), "", true);
  for (Block* block : blocks) allocator.free(block);
  for (void* piece : pieces) std::free(piece);
}

// Eight threads for half a second, each with its own stream: their total, and the slowest thread.
void contention_row() {
  constexpr unsigned kThreads = 8;
  Imaginary source;
  Allocator allocator(source, AllocatorOptions{});
  std::atomic<bool> stop{false};
  std::array<uint64_t, kThreads> pairs{};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      uint64_t done = 0;
      for (; !stop.load(std::memory_order_relaxed); ++done) allocator.free(allocator.allocate(4096, i));
      pairs[i] = done;
    });
  const uint64_t began = bench::host_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const double seconds = static_cast<double>(bench::host_ns() - began) * 1e-9;
  uint64_t all = 0;
  for (const uint64_t done : pairs) all += done;
  const double least = static_cast<double>(*std::min_element(pairs.begin(), pairs.end())) * kThreads;
  bench::row("allocator_threads", "allocate + free, 8 threads at once",
             text("%.1f million/s, the slowest thread %.2f of its share", static_cast<double>(all) / seconds * 1e-6,
                  least / static_cast<double>(all)),
             "", true);
}

}  // namespace

int main() {
  bench::Meter meter;
  for (const size_t bytes : {size_t{512}, size_t{4096}, size_t{65536}, kMiB, 2 * kMiB, 8 * kMiB, 16 * kMiB, 64 * kMiB,
                             256 * kMiB, 1024 * kMiB})
    pair_row(meter, bytes);
  replace_row(meter, Choices());
  contention_row();
  return 0;
}
