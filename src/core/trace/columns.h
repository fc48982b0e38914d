// The columns of an events chunk: integers split into planes of bytes, with a directory in front.
//
// Both directions work on whole arrays, without a branch per value. ColumnsWriter selects for each column the encoding
// with the fewest planes to compress. ColumnsReader trusts nothing: it decodes a column only into memory of the caller,
// for a count that the caller has checked.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace kymo::trace {

// One plane of bytes in a chunk: stored raw, as a zstd frame, or as one repeated byte. The planes of a column are
// compressed separately, because they are different. The lowest is mostly noise and is coded by frequency. The others
// hardly change and become very small.
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

enum class Column : uint8_t {
  RangeDuration = 1,
  RangeGap = 2,
  RangeClass = 3,
  RangeDepth = 4,
  RangeLane = 5,
  RangeCorrelation = 6,
  RangeInts = 7,
  RangeDoubles = 8,
  RangeText = 9,
  PointTime = 16,
  PointKind = 17,
  PointClass = 18,
  PointId = 19,
  PointInts = 20,
  PointDoubles = 21,
  PointText = 22,
};

// The three streams of field values. Ranges and points both have them.
struct ValueColumns {
  Column ints, doubles, text;
};
inline constexpr ValueColumns kRangeValueColumns{Column::RangeInts, Column::RangeDoubles, Column::RangeText};
inline constexpr ValueColumns kPointValueColumns{Column::PointInts, Column::PointDoubles, Column::PointText};

enum class Encoding : uint8_t { Plain = 0, Zigzag = 1, Delta = 2, DeltaZigzag = 3 };

// The encodings to try for a column. Each costs a pass over the column.
enum class Try : uint8_t { Plain, Sign, Everything };

class ColumnsWriter {
 public:
  void clear();
  // T is uint8_t, uint16_t, uint32_t or uint64_t. An empty column is omitted. `base` is stored for the reader, unless a
  // delta encoding needs its place.
  template <typename T>
  void add(Column, std::span<const T> values, Try, uint64_t base = 0);

  void write_directory(base::ByteWriter& out) const;
  base::Bytes planes() const { return planes_.bytes(); }

 private:
  template <Encoding kEncoding, typename T>
  void add_encoded(Column, std::span<const T> values, T ored, T varied, uint64_t base);

  uint64_t columns_ = 0;
  base::ByteWriter directory_, planes_;
  std::vector<std::byte> plane_;
  PlaneWriter plane_writer_;
};

// Memory that decoding reuses for the next chunk, so that it normally does not allocate. One per thread.
struct ColumnScratch {
  PlaneReader plane_reader;
  std::vector<std::byte> plane;
};

class ColumnsReader {
 public:
  // Throws kymo::Error if the directory does not match the planes. Keeps views of both.
  ColumnsReader(base::Bytes directory_untrusted, base::Bytes planes_untrusted, ColumnScratch& scratch);

  // 0: the column is absent.
  uint32_t count(Column) const;
  uint64_t base(Column) const;
  // Decodes the column into a span of exactly its number of values.
  template <typename T>
  void read(Column, std::span<T> into) const;

 private:
  static constexpr size_t kMaxPlanes = 8;
  struct Plane {
    PlaneStorage storage;
    base::Bytes stored;
  };
  struct Entry {
    Column id;
    Encoding encoding;
    uint8_t plane_count;
    uint32_t count;
    uint64_t base;
    std::array<Plane, kMaxPlanes> planes;
  };
  const Entry* find(Column) const;

  std::vector<Entry> entries_;
  ColumnScratch& scratch_;
};

}  // namespace kymo::trace
