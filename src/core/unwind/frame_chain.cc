#include "unwind/frame_chain.h"

#include "unwind/step.h"

namespace kymo::unwind {

namespace {

struct FrameRecord {
  uintptr_t caller;
  uintptr_t return_address;
};

}  // namespace

KYMO_READS_STACKS size_t walk_frame_chain(uintptr_t frame, StackBounds bounds, std::span<uintptr_t> addresses,
                                          size_t skip) noexcept {
  size_t count = 0;
  uintptr_t above = bounds.low;
  while (count < addresses.size()) {
    if (frame < above || frame >= bounds.high || bounds.high - frame < sizeof(FrameRecord)) break;
    if (frame % alignof(FrameRecord) != 0) break;
    const FrameRecord record = *reinterpret_cast<const FrameRecord*>(frame);
    const uintptr_t address = without_signature(record.return_address);
    if (address == 0) break;
    if (skip != 0)
      --skip;
    else
      addresses[count++] = address;
    above = frame + sizeof(FrameRecord);
    frame = record.caller;
  }
  return count;
}

}  // namespace kymo::unwind
