#include "record/numbers.h"

#include "record/slots.h"
#include "record/slow_path.h"

namespace kymo::record {
namespace {

constexpr uint64_t kRun = 1024;  // numbers that a thread takes from the process at once
// From the lowest bits: the recording, the sinks, the number.
constexpr uint32_t kSinkShift = 8, kHandleShift = kSinkShift + kMaxSinks;
constexpr uint64_t kTagMask = (1 << kSinkShift) - 1;

uint64_t recording_tag(const Process& shared) noexcept {
  return uint64_t{shared.epoch.load(std::memory_order_relaxed) % 127 + 1} << 1 | 1;
}

uint64_t take(Process& shared) noexcept {
  Slot* slot = own_slot();
  if (slot == nullptr || slot->busy.load(std::memory_order_relaxed) != 0)
    return shared.next_handle.fetch_add(1, std::memory_order_relaxed);
  if (slot->next_handle == slot->last_handle) {
    slot->next_handle = shared.next_handle.fetch_add(kRun, std::memory_order_relaxed);
    slot->last_handle = slot->next_handle + kRun;
  }
  return slot->next_handle++;
}

}  // namespace

uint64_t next_number() noexcept {
  Process* shared = process();
  return shared != nullptr ? take(*shared) : 1;
}

uint64_t next_handle(bool recorded, uint32_t sinks) noexcept {
  Process* shared = process();
  if (shared == nullptr) return uint64_t{1} << kHandleShift;
  // A forked child that has not recorded yet: its recording starts with its segment, and the handle must refer to it.
  if (recorded && shared->segment.load(std::memory_order_relaxed) == nullptr) enter_ring(Kind::Pad);
  return take(*shared) << kHandleShift | uint64_t{sinks} << kSinkShift | (recorded ? recording_tag(*shared) : 0);
}

uint32_t sinks_of_handle(uint64_t handle) noexcept { return (handle >> kSinkShift) & ((1 << kMaxSinks) - 1); }

bool is_own_handle(const Process& shared, uint64_t handle) noexcept {
  const uint64_t number = handle >> kHandleShift;
  return number >= shared.first_number && number < shared.next_handle.load(std::memory_order_relaxed);
}

HandleOrigin origin_of_handle(const Process& shared, uint64_t handle) noexcept {
  const uint64_t number = handle >> kHandleShift;
  const bool given = number != 0 && number < shared.next_handle.load(std::memory_order_relaxed);
  if (!given) return HandleOrigin::Unknown;
  return (handle & kTagMask) == recording_tag(shared) ? HandleOrigin::ThisRecording : HandleOrigin::NotThisRecording;
}

}  // namespace kymo::record
