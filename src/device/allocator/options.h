// How much memory the caching allocator may hold, and from where on it gives unused memory back.
//
// Both are ratios of what the device should hold at most (MemorySource::recommended_max):
//
//   high   the limit; 0: none but the device's own. On a discrete device the recommended maximum is all there is,
//   so 1.0;
//          memory shared with the host can be overcommitted, so 1.7 there.
//   low    from here on what was unused for long is given back before more is taken; 0: never. 0.8, shared 1.4.
//          Nobody need set it along with the high one: above the limit it means the limit.
#pragma once

namespace kymo::device {

inline constexpr double kMaxWatermark = 2.0;

struct AllocatorOptions {
  bool unified = false;  // device and host share their memory
  double high = 1.0;
  double low = 0.8;

  // The defaults for such a device.
  static AllocatorOptions defaults(bool unified);

  // The defaults, changed by KYMO_HIGH_WATERMARK_RATIO and KYMO_LOW_WATERMARK_RATIO, or where those are not set by
  // PYTORCH_MPS_HIGH_WATERMARK_RATIO and PYTORCH_MPS_LOW_WATERMARK_RATIO. Read when called; empty means not set. Throws
  // InvalidArgument with the variable, its value and the good range: for what is no number, for a high one outside
  // 0..2, for a low one outside 0..high (0..2 without a limit).
  static AllocatorOptions from_environment(bool unified);

  // For options made by hand: throws InvalidArgument unless both are 0..2.
  void check() const;
};

}  // namespace kymo::device
