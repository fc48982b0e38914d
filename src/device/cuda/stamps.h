// When the kernels of one stream ran, as they tell themselves (ptx_stamps.h): places in device memory, a ring of them,
// read back together now and then.
//
//   take() ──▶ the launch, with its Stamp ──▶ … ──▶ redeem(): an event behind all launches so far ──▶ a copy of their
//   places, in a stream of its own ──▶ the times
//
// One event and one copy serve as many launches as there were since the last. Nobody waits for either. Where a launch
// has so many warps that reading the timer in each would hold it up, an event tells its end, and the launch is long
// enough not to mind.
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

  // For a launch of that many warps. Nothing where it must be timed otherwise: all places are taken, or the device does
  // not tell. Given again unless launched() says, behind the launch, that it is used.
  std::optional<Stamp> take(uint64_t warps);  // current
  void launched(uint64_t warps);              // current

  // Of the oldest launch that is not redeemed.
  Redeemed redeem(Timing& timing);  // current

  // All launches have run: reads what is left to read, so that all can be redeemed. Some 15 us where there is any.
  void read_all();  // current

 private:
  struct Place {
    uint64_t start, end;
  };
  static constexpr uint64_t kPlaces = 65536;    // launches under way and not yet read
  static constexpr uint64_t kWidePlaces = 512;  // of them those with more warps than one word is for
  static constexpr uint64_t kWordWarps = 1024, kWideWords = 8, kMostWarps = kWideWords * kWordWarps;
  static constexpr size_t kWideBytes = kWideWords * kStampLine;

  // How far something has come: in launches, and in those of them that have a wide place.
  struct Count {
    uint64_t all = 0, wide = 0;
  };
  enum class Reading : uint8_t { None, Fenced, Copied };

  static uint64_t words_for(uint64_t warps);  // 0: an event
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
  uint64_t take_end();                         // the same by its event, in ticks

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
  std::vector<uint8_t> words_;  // of the launch in each place
  base::Fifo<CUevent> ends_;    // of those without words
  std::vector<CUevent> unused_;

  Count launched_, covered_, read_, redeemed_;  // covered: by what is being read
  Reading reading_ = Reading::None;
};

}  // namespace kymo::device::cuda
