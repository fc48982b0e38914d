// Uses the CPU inside and outside of ranges: spins MILLISECONDS, of CPU time for each part.
#include <time.h>

#include <cstdlib>

#include "kymo/annotate.h"

namespace {

long cpu_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

extern "C" __attribute__((noinline)) void spin(long milliseconds) {
  static volatile unsigned long sum = 0;
  for (const long end = cpu_milliseconds() + milliseconds; cpu_milliseconds() < end;)
    for (unsigned long i = 0; i < 100'000; ++i) sum = sum * 31 + i;
}

extern "C" __attribute__((noinline)) void spin_outside(long milliseconds) {
  spin(milliseconds);
  asm volatile("");
}

extern "C" __attribute__((noinline)) void spin_inside(long milliseconds) {
  spin(milliseconds);
  asm volatile("");
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const long milliseconds = std::atol(argv[1]);
  spin_outside(milliseconds);
  {
    KYMO_RANGE("outer");
    KYMO_RANGE("inner");
    spin_inside(milliseconds);
  }
  return 0;
}
