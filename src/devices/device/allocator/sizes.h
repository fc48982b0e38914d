// The sizes of the caching allocator: how a request is rounded, which pool serves it, how large a segment is.
//
//   request, rounded to 512 bytes    pool          taken from a segment of
//   up to 1 MiB                      Small         8 MiB
//   below 10 MiB                     Large         32 MiB
//   below 64 MiB (shared: see below) ExtraLarge    twice the request
//   more                             Huge          its own, rounded to 2 MiB, never split
//
// So a request of 10 MiB or more never takes more than twice its size from the driver. If such a segment would exceed a
// watermark, or the driver has no segment that large, Kymo allocates one for the request alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kymo/memory.h"

namespace kymo::device {

inline constexpr size_t kMiB = size_t{1} << 20;
inline constexpr size_t kBlockAlignment = 512;
inline constexpr size_t kMaxSmall = 1 * kMiB;
inline constexpr size_t kMinExtraLarge = 10 * kMiB;
inline constexpr size_t kSmallSegment = 8 * kMiB;
inline constexpr size_t kLargeSegment = 32 * kMiB;
inline constexpr size_t kDiscreteExtraLargeSegment = 128 * kMiB;
inline constexpr size_t kUnifiedExtraLargeSegment = 1024 * kMiB;
inline constexpr size_t kHugeRounding = 2 * kMiB;
// A huge block is handed out whole if the request leaves at most this much of it unused.
inline constexpr size_t kHugeSlack = 32 * kMiB;

constexpr size_t round_up(size_t bytes, size_t multiple) { return (bytes + multiple - 1) & ~(multiple - 1); }

// The max size of an extra large segment on a device with this `recommended_max`: requests of half of it and more are
// huge. The host uses shared memory too, so there a segment is at most a sixteenth of it.
constexpr size_t max_extra_large_segment(bool unified, size_t recommended_max) {
  if (!unified) return kDiscreteExtraLargeSegment;
  const size_t share = recommended_max / 16 / kHugeRounding * kHugeRounding;
  return std::clamp(share, kDiscreteExtraLargeSegment, kUnifiedExtraLargeSegment);
}

// The size of an extra large segment for a request of this size.
constexpr size_t extra_large_segment(size_t size, size_t max) {
  return std::min(2 * size / kHugeRounding * kHugeRounding, max);
}

}  // namespace kymo::device
