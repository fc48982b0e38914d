// Records on two threads until the test sets `stop`, and counts in shared memory: endless COUNTS.
//
// One thread makes "plain" ranges, the other "numbered" ones, which carry 0, 1, 2, …; each inside an "outer" range. A
// range is counted after it has ended.
#include <unistd.h>

#include <thread>

#include "../counts.h"
#include "kymo/annotate.h"

int main(int argc, char** argv) {
  kymo::e2e::Counts* counts = argc == 2 ? kymo::e2e::map_counts(argv[1]) : nullptr;
  if (counts == nullptr) return 2;
  alarm(1500);  // in case the test dies
  counts->pid = static_cast<uint32_t>(getpid());
  std::thread plain([counts] {
    KYMO_RANGE("outer");
    while (counts->stop == 0) {
      { KYMO_RANGE("plain"); }
      counts->done[0].fetch_add(1, std::memory_order_relaxed);
    }
  });
  std::thread numbered([counts] {
    KYMO_RANGE("outer");
    for (uint64_t i = 0; counts->stop == 0; ++i) {
      { KYMO_RANGE("numbered", kymo::arg("number", i)); }
      counts->done[1].store(i + 1, std::memory_order_relaxed);
    }
  });
  plain.join();
  numbered.join();
  return 0;
}
