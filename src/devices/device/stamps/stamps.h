// When the kernels of one queue ran, as they report it themselves (ptx.h). The times are stored in a ring of
// slots (Place) in device memory, which is read back in batches. The same for CUDA and for NVIDIA's OpenCL.
//
//   take() ──▶ the launch, with its Stamp ──▶ … ──▶ redeem(): a fence after all launches so far ──▶ a copy of their
//   slots, beside the queue ──▶ the times
//
// One fence and one copy serve all launches since the last copy. Nothing waits for either. If a launch has so many
// warps that reading the timer in each would slow it down, its Stamp has no ends: the caller measures the end by an
// event. Such a launch is long enough that the event does not matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "device/backend.h"
#include "device/ptx/ptx.h"

namespace kymo::device {

// What stamps need from a driver: memory for the slots, and a way to read it without waiting. One object for
// one queue. Errors of the driver throw kymo::DeviceError.

// Memory on the device, and page-locked memory of the same size on the host that gets copies of it.
struct StampBlock {
  uint64_t device = 0;  // address
  std::byte* host = nullptr;
};

enum class StampProgress : uint8_t { Pending, Reached, Failed };

class StampDriver {
 public:
  virtual ~StampDriver() = default;  // frees the blocks

  // The timer that kernels store minus the ticks of the device's clock. Empty: kernels cannot be timed by stamps.
  virtual std::optional<int64_t> timer_offset() = 0;

  // Filled with zeros before anything that is queued later runs. Empty: there is no memory left.
  virtual std::optional<StampBlock> allocate(size_t bytes) = 0;

  // Marks the end of what is in the queue now.
  virtual void fence() = 0;
  // Queues a copy of a part of a block to the host, beside the queue: it does not wait for the queue. end_copies()
  // comes after the last one.
  virtual void copy(const StampBlock& block, size_t offset, size_t bytes) = 0;
  virtual void end_copies() = 0;

  // Whether the device has reached the last fence or the end of the last copies.
  virtual StampProgress look() = 0;
  virtual void wait() = 0;  // until then
};

uint64_t warps_of(const Launch& launch);

class Stamps {
 public:
  explicit Stamps(StampDriver& driver) : driver_(driver) {}
  Stamps(const Stamps&) = delete;
  Stamps& operator=(const Stamps&) = delete;

  // For a launch with this number of warps. Empty if the launch must be timed in another way: all slots are in use, or
  // the device does not support stamps. The slot is reused unless launched() is called after the launch.
  std::optional<Stamp> take(uint64_t warps);
  void launched(uint64_t warps);

  // For the oldest launch that is not redeemed. timing.end is 0 if its Stamp had no ends.
  Redeemed redeem(Timing& timing);

  // Call it when all launches have run: reads the remaining slots, so that all launches can be redeemed. Takes 15 to 30
  // us if there are any.
  void read_all();

 private:
  struct Place {
    uint64_t start, end;
  };
  static constexpr uint64_t kPlaces = 65536;    // launches that are pending or not yet read
  static constexpr uint64_t kWidePlaces = 512;  // for launches that have more warps than one word supports
  static constexpr uint64_t kWordWarps = 1024, kWideWordWarps = 512, kWideWords = 64, kMaxWarps = 262144;
  static constexpr size_t kWideBytes = kWideWords * kStampLine;

  // A position: the number of launches, and the number of those that have a wide slot.
  struct Count {
    uint64_t all = 0, wide = 0;
  };
  enum class Reading : uint8_t { None, Fenced, Copied };

  static uint64_t words_for(uint64_t warps);  // 0: use an event
  bool allocate();
  bool allocate_wide();
  bool advance();  // false: the device failed
  void copy();
  void copy_part(const StampBlock& block, size_t size, uint64_t places, uint64_t begin, uint64_t end);
  uint64_t ticks_of(uint64_t timer) const { return timer - static_cast<uint64_t>(offset_); }
  Place oldest() const;                        // the slot of the launch that is redeemed next
  uint64_t latest_word(uint64_t words) const;  // of that launch

  StampDriver& driver_;
  bool tried_ = false, tried_wide_ = false;
  int64_t offset_ = 0;
  std::optional<StampBlock> places_, wide_places_;
  std::vector<uint8_t> words_;  // of the launch in each slot

  Count launched_, covered_, read_, redeemed_;  // covered: included in the current read
  Reading reading_ = Reading::None;
};

// The operations of one queue run in order. Times that were measured by different methods may be out of order by some
// microseconds.
class TimeOrder {
 public:
  void apply(Timing& timing) {
    if (timing.start < last_end_) timing.start = last_end_;
    if (timing.end < timing.start) timing.end = timing.start;
    last_end_ = timing.end;
  }

 private:
  uint64_t last_end_ = 0;
};

}  // namespace kymo::device
