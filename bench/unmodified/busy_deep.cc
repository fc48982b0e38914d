// Computes in two threads, 30 calls deep, in pieces of equal work. Prints the CPU time of an undisturbed piece in
// nanoseconds: the fifth percentile, because other programs of the machine disturb most pieces.
//
//   bench_busy_deep PIECES
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr int kDepth = 30;
constexpr unsigned kSteps = 8'000'000;  // of a piece: some ten milliseconds

uint64_t cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

__attribute__((noinline)) uint64_t compute(uint64_t value) {
  for (unsigned i = 0; i < kSteps; ++i) value = value * 6364136223846793005u + i;
  return value;
}

__attribute__((noinline)) uint64_t descend(int depth, uint64_t value) {
  volatile char frame[48];
  frame[0] = static_cast<char>(depth);
  const uint64_t result = depth == 0 ? compute(value) : descend(depth - 1, value);
  return result + static_cast<uint64_t>(frame[0]);
}

void run(unsigned pieces, std::vector<uint64_t>& times) {
  static volatile uint64_t sink = 0;
  for (unsigned i = 0; i < pieces; ++i) {
    const uint64_t before = cpu_ns();
    sink = descend(kDepth, sink);
    times.push_back(cpu_ns() - before);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto pieces = static_cast<unsigned>(argc > 1 ? std::atoi(argv[1]) : 100);
  std::vector<uint64_t> one, two;
  std::thread other(run, pieces, std::ref(two));
  run(pieces, one);
  other.join();
  one.insert(one.end(), two.begin(), two.end());
  std::sort(one.begin(), one.end());
  std::printf("%llu\n", static_cast<unsigned long long>(one[one.size() / 20]));
}
