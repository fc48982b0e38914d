// When the kernels of one stream ran, as they report it themselves (ptx_stamps.h). The times are stored in a ring of
// slots (Place) in device memory, which is read back in batches.
//
//   take() ──▶ the launch, with its Stamp ──▶ … ──▶ redeem(): an event after all launches so far ──▶ a copy of their
//   slots, in its own stream ──▶ the times
//
// One event and one copy serve all launches since the last copy. Nothing waits for either. If a launch has so many
// warps that reading the timer in each would slow it down, an event measures its end; such a launch is long enough that
// the event does not matter.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/fifo.h"
#include "device/backend.h"
#include "device/cuda/context.h"
#include "device/cuda/ptx_stamps.h"
#include "device/cuda/timer_offset.h"

namespace kymo::device::cuda {

class Stamps {
 public:
  Stamps(const Context& context, EventClock& clock, TimerOffset& timer, CUstream stream)
      : context_(context), clock_(clock), timer_(timer), stream_(stream) {}
  ~Stamps();
  Stamps(const Stamps&) = delete;
  Stamps& operator=(const Stamps&) = delete;

  // For a launch with this number of warps. Empty if the launch must be timed in another way: all slots are in use, or
  // the device does not support stamps. The slot is reused unless launched() is called after the launch.
  std::optional<Stamp> take(uint64_t warps);  // the context must be current
  void launched(uint64_t warps);              // the context must be current

  // For the oldest launch that is not redeemed.
  Redeemed redeem(Timing& timing);  // the context must be current

  // Call it when all launches have run: reads the remaining slots, so that all launches can be redeemed. Takes about 15
  // us if there are any.
  void read_all();  // the context must be current

 private:
  struct Place {
    uint64_t start, end;
  };
  static constexpr uint64_t kPlaces = 65536;    // launches that are pending or not yet read
  static constexpr uint64_t kWidePlaces = 512;  // for launches that have more warps than one word supports
  static constexpr uint64_t kWordWarps = 1024, kWideWords = 8, kMaxWarps = kWideWords * kWordWarps;
  static constexpr size_t kWideBytes = kWideWords * kStampLine;

  // A position: the number of launches, and the number of those that have a wide slot.
  struct Count {
    uint64_t all = 0, wide = 0;
  };
  enum class Reading : uint8_t { None, Fenced, Copied };

  static uint64_t words_for(uint64_t warps);  // 0: use an event
  bool allocate();
  bool allocate_wide();
  void* pinned(size_t bytes) const;
  CUdeviceptr zeroed(size_t bytes) const;
  bool advance();  // false: the device failed
  void fence();
  void copy();
  void copy_part(void* to, CUdeviceptr from, size_t size, uint64_t places, uint64_t begin, uint64_t end);
  uint64_t ticks_of(uint64_t timer) const { return timer - static_cast<uint64_t>(offset_); }
  uint64_t latest_word(uint64_t words) const;  // of the launch that is redeemed next
  uint64_t take_end();                         // the same from its event, in ticks

  const Context& context_;
  EventClock& clock_;
  TimerOffset& timer_;
  const CUstream stream_;
  bool tried_ = false, tried_wide_ = false;
  int64_t offset_ = 0;

  CUdeviceptr places_ = 0, wide_places_ = 0;
  Place* places_read_ = nullptr;  // page-locked
  std::byte* wide_read_ = nullptr;
  CUstream reader_ = nullptr;
  CUevent fence_ = nullptr, copied_ = nullptr;
  std::vector<uint8_t> words_;  // of the launch in each slot
  base::Fifo<CUevent> ends_;    // of the launches without words
  std::vector<CUevent> unused_;

  Count launched_, covered_, read_, redeemed_;  // covered: included in the current read
  Reading reading_ = Reading::None;
};

}  // namespace kymo::device::cuda
