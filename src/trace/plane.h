// One plane of bytes in a chunk: as it is, as a zstd frame, or as the one byte it repeats.
//
// A column's planes are compressed apart from each other because they have nothing in common: the lowest is mostly
// noise and ends up coded by frequency, the ones above hardly change and all but vanish.
#pragma once

#include <memory>

#include "base/bytes.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace kymo::trace {

enum class PlaneStorage : uint8_t { Raw = 0, Zstd = 1, Fill = 2 };

// Keeps a compressor's memory from one plane to the next. Not thread-safe.
class PlaneWriter {
 public:
  PlaneWriter();

  // Appends the plane to `out`, in the smaller of Raw and Zstd. How much was appended is for the caller to see.
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

  // The `size` bytes of a plane: in `scratch`, or in place where they are stored raw. Throws kymo::Error where what is
  // stored does not give exactly that many.
  base::Bytes read(PlaneStorage storage_untrusted, base::Bytes stored_untrusted, size_t size,
                   std::vector<std::byte>& scratch);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s*) const;
  };
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
};

}  // namespace kymo::trace
