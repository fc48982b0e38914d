#include "record/wait.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace kymo::record {

void wake_collector(SegmentHeader& header) noexcept {
  header.wake.fetch_add(1, std::memory_order_seq_cst);
  if (header.collector_sleeps.load(std::memory_order_seq_cst) != 0)
    syscall(SYS_futex, &header.wake, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void sleep_until_progress(SegmentHeader& header, uint32_t seen) noexcept {
  constexpr timespec kNap{0, 2'000'000};  // in case a wake-up is missed
  syscall(SYS_futex, &header.progress, FUTEX_WAIT, seen, &kNap, nullptr, 0);
}

}  // namespace kymo::record
