// One plane of bytes in a chunk: stored raw, as a zstd frame, or as one repeated byte.
//
// The planes of a column are compressed separately, because they are different. The lowest is mostly noise and is coded
// by frequency. The others hardly change and become very small.
#pragma once

#include <memory>

#include "base/bytes.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace kymo::trace {

enum class PlaneStorage : uint8_t { Raw = 0, Zstd = 1, Fill = 2 };

// Reuses the memory of the compressor for the next plane. Not thread-safe.
class PlaneWriter {
 public:
  PlaneWriter();

  // Appends the plane to `out`, as the smaller of Raw and Zstd. The caller sees the length from `out`.
  PlaneStorage write(base::Bytes plane, base::ByteWriter& out);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s*) const;
  };
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
};

class PlaneReader {
 public:
  PlaneReader();

  // The `size` bytes of a plane: in `scratch`, or in place if stored raw. Throws kymo::Error if the stored bytes do not
  // give exactly this size.
  base::Bytes read(PlaneStorage storage_untrusted, base::Bytes stored_untrusted, size_t size,
                   std::vector<std::byte>& scratch);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s*) const;
  };
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
};

}  // namespace kymo::trace
