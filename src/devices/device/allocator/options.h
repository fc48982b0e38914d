// How much memory the caching allocator may hold, and at which size it starts to release unused memory.
//
// Both are ratios of the recommended maximum of the device (MemorySource::recommended_max):
//
//   high   the limit; 0 means no limit except the device's own. On a discrete device the recommended maximum is all
//          the memory that there is, so the default is 1.0. Memory shared with the host can be overcommitted, so the
//          default there is 1.7.
//   low    above this, memory that was unused for long is released before more is allocated; 0: never. The default is
//          0.8, shared 1.4. You need not set it together with the high one: if it is above the limit, the limit is
//          used.
#pragma once

namespace kymo::device {

inline constexpr double kMaxWatermark = 2.0;

struct AllocatorOptions {
  bool unified = false;  // device and host share their memory
  double high = 1.0;
  double low = 0.8;

  // The defaults for such a device.
  static AllocatorOptions defaults(bool unified);

  // The defaults, changed by KYMO_HIGH_WATERMARK_RATIO and KYMO_LOW_WATERMARK_RATIO, or if those are not set by
  // PYTORCH_MPS_HIGH_WATERMARK_RATIO and PYTORCH_MPS_LOW_WATERMARK_RATIO. The variables are read at each call; an empty
  // one counts as not set. Throws InvalidArgument with the variable, its value and the valid range: for text that is
  // not a number, for a high ratio outside 0..2, for a low ratio outside 0..high (0..2 without a limit).
  static AllocatorOptions from_environment(bool unified);

  // For options that were set in code: throws InvalidArgument unless both are in 0..2.
  void check() const;
};

}  // namespace kymo::device
