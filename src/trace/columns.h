// The columns of an events chunk: integers taken apart into planes of bytes, with a directory in front.
//
// Both sides work on whole arrays and have no branch per value. ColumnsWriter picks, for each column, the encoding that
// leaves the fewest planes to compress. ColumnsReader trusts nothing: it decodes a column only into room the caller
// made, for a count the caller checked.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "trace/plane.h"

namespace kymo::trace {

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

// The three streams of field values, which ranges and points both have.
struct ValueColumns {
  Column ints, doubles, text;
};
inline constexpr ValueColumns kRangeValueColumns{Column::RangeInts, Column::RangeDoubles, Column::RangeText};
inline constexpr ValueColumns kPointValueColumns{Column::PointInts, Column::PointDoubles, Column::PointText};

enum class Encoding : uint8_t { Plain = 0, Zigzag = 1, Delta = 2, DeltaZigzag = 3 };

// Which encodings are worth trying for a column: trying costs a pass over it each.
enum class Try : uint8_t { Plain, Sign, Everything };

class ColumnsWriter {
 public:
  void clear();
  // T: uint8_t, uint16_t, uint32_t or uint64_t. A column without values is left out. `base` is kept for the reader as
  // it is, unless a delta encoding needs the place.
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

// What decoding keeps from one chunk to the next, so that it allocates nothing in the long run. One a thread.
struct ColumnScratch {
  PlaneReader plane_reader;
  std::vector<std::byte> plane;
};

class ColumnsReader {
 public:
  // Throws kymo::Error where the directory does not fit the planes. Keeps views of both.
  ColumnsReader(base::Bytes directory_untrusted, base::Bytes planes_untrusted, ColumnScratch& scratch);

  // 0: the column is absent.
  uint32_t count(Column) const;
  uint64_t base(Column) const;
  // Decodes the column into room for exactly its count of values.
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
