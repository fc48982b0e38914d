#include "trace/range_times.h"

namespace kymo::trace {

uint64_t to_gaps(std::span<const uint64_t> end, std::span<const uint64_t> duration, std::span<const uint16_t> depth,
                 size_t open_before, std::span<uint64_t> gap) {
  gap[0] = 0;
  for (size_t i = 1; i < end.size(); ++i) {
    const uint64_t own = depth[i] >= depth[i - 1] ? duration[i] : 0;
    gap[i] = end[i] - end[i - 1] - own;
  }
  return end[0] - (depth[0] >= open_before ? duration[0] : 0);
}

void to_ends(std::span<uint64_t> gap_to_end, std::span<const uint64_t> duration, std::span<const uint16_t> depth,
             size_t open_before, uint64_t base) {
  if (gap_to_end.empty()) return;
  uint64_t end = base + gap_to_end[0] + (depth[0] >= open_before ? duration[0] : 0);
  gap_to_end[0] = end;
  for (size_t i = 1; i < gap_to_end.size(); ++i) {
    end += gap_to_end[i] + (depth[i] >= depth[i - 1] ? duration[i] : 0);
    gap_to_end[i] = end;
  }
}

}  // namespace kymo::trace
