// Allocates as fast as it can: pairs of an allocation and a free, 10 to 20 calls deep, with call paths that change.
//
//   bench_allocates THREADS PAIRS      prints the nanoseconds per pair of each thread
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

namespace {

struct Way {
  uint32_t bits;  // which of two calls at each level
  uint32_t bytes;
};

void seen(void* memory) { asm volatile("" ::"r"(memory) : "memory"); }

template <int kLevel>
__attribute__((noinline)) char* call(const Way& way) {
  char* made;
  if constexpr (kLevel == 0) {
    made = new char[way.bytes];
  } else {
    // The innermost levels take a different path nearly every time, the outer ones rarely, like real programs.
    made = (way.bits >> kLevel & 1) != 0 ? call<kLevel - 1>(way) : call<kLevel - 1>({way.bits, way.bytes + 8});
  }
  seen(made);
  return made;
}

__attribute__((noinline)) char* enter(const Way& way, uint32_t depth) {
  char* made = depth == 0 ? call<10>(way) : depth == 1 ? call<13>(way) : call<17>(way);
  seen(made);
  return made;
}

__attribute__((noinline)) void work(uint32_t pairs) {
  constexpr uint32_t kKept = 64;
  char* kept[kKept] = {};
  uint32_t random = 12345;
  for (uint32_t i = 0; i < pairs; ++i) {
    random = random * 1664525 + 1013904223;
    const uint32_t inner = random >> 8 & 7, outer = (i >> 6 & 3) << 7;
    delete[] std::exchange(kept[random >> 24 & (kKept - 1)],
                           enter({inner | outer, 16 + (random >> 12 & 255)}, i >> 4 & 1   ? 0
                                                                             : i >> 9 & 1 ? 1
                                                                                          : 2));
  }
  for (char* memory : kept) delete[] memory;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const auto pairs = static_cast<uint32_t>(argc > 2 ? std::atoi(argv[2]) : 1'000'000);
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(work, pairs);
  for (auto& thread : all) thread.join();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
  std::printf("%.2f\n", took.count() / pairs);
}
