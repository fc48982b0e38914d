#include "trace/columns.h"

#include <gtest/gtest.h>

#include <random>

#include "kymo/error.h"
#include "trace/test_support.h"

namespace kymo::trace {
namespace {

struct Written {
  base::ByteWriter directory;
  std::vector<std::byte> planes;
  size_t size() const { return directory.size() + planes.size(); }
};

template <typename T>
Written write(const std::vector<T>& values, Try effort) {
  ColumnsWriter columns;
  columns.add<T>(Column::PointId, values, effort);
  Written written;
  columns.write_directory(written.directory);
  written.planes.assign(columns.planes().begin(), columns.planes().end());
  return written;
}

template <typename T>
std::vector<T> read(const Written& written, size_t count) {
  ColumnScratch scratch;
  std::vector<T> values(count);
  ColumnsReader(written.directory.bytes(), written.planes, scratch).read(Column::PointId, std::span<T>(values));
  return values;
}

template <typename T>
void expect_any_values_come_back() {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<T> values(1 + random() % 500);
    const T start = static_cast<T>(testing::wild(random)), step = static_cast<T>(testing::wild(random));
    for (size_t i = 0; i < values.size(); ++i) {
      const T noise = static_cast<T>(round % 3 ? random() % (round + 1) : testing::wild(random));
      values[i] = static_cast<T>(start + step * i + noise);
    }
    for (Try effort : {Try::Plain, Try::Sign, Try::Everything}) {
      EXPECT_EQ(read<T>(write(values, effort), values.size()), values);
    }
  }
}

TEST(ColumnsTest, AnyValuesRoundTrip) {
  expect_any_values_come_back<uint8_t>();
  expect_any_values_come_back<uint16_t>();
  expect_any_values_come_back<uint32_t>();
  expect_any_values_come_back<uint64_t>();
}

TEST(ColumnsTest, ConstantColumnTakesAFewBytes) {
  EXPECT_LE(write(std::vector<uint64_t>(30000, 0), Try::Plain).size(), 10u);
  EXPECT_LE(write(std::vector<uint64_t>(30000, 123456), Try::Plain).size(), 20u);
}

TEST(ColumnsTest, EvenlySpacedValuesTakeAFewBytes) {
  std::vector<uint64_t> values(30000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 1'000'000'000'000 + 40 * i;
  EXPECT_LE(write(values, Try::Everything).size(), 30u);
}

TEST(ColumnsTest, FewSmallNegativesDoNotCostEightPlanes) {
  std::mt19937_64 random(2);
  std::vector<uint64_t> values(30000);
  for (uint64_t& value : values) value = random() % 100 - 2;
  EXPECT_LE(write(values, Try::Sign).size(), values.size());
}

TEST(ColumnsTest, ColumnWithoutValuesIsAbsent) {
  const Written written = write(std::vector<uint64_t>{}, Try::Plain);
  ColumnScratch scratch;
  EXPECT_EQ(ColumnsReader(written.directory.bytes(), written.planes, scratch).count(Column::PointId), 0u);
  EXPECT_THROW(read<uint64_t>(written, 1), Error);
}

TEST(ColumnsTest, ColumnsOfANewerVersionAreSkipped) {
  base::ByteWriter directory;
  directory.varint(2);
  for (int byte : {200, 77, 9, 5, 0}) directory.byte(static_cast<uint8_t>(byte));  // a column with nine planes
  for (int plane = 0; plane < 9; ++plane) {
    directory.byte(66);
    directory.varint(1);
  }
  for (int byte : {19, 0, 1, 2, 0, 2, 1}) directory.byte(static_cast<uint8_t>(byte));  // PointId: 2 values, both 4
  Written written;
  written.directory = directory;
  written.planes.assign(9, std::byte{99});
  written.planes.push_back(std::byte{4});
  EXPECT_EQ(read<uint64_t>(written, 2), std::vector<uint64_t>(2, 4));
}

TEST(ColumnsTest, MismatchedColumnsAreRefused) {
  const Written good = write(std::vector<uint64_t>(100, 70000), Try::Plain);
  EXPECT_THROW(read<uint64_t>(good, 99), Error);   // wrong number of values
  EXPECT_THROW(read<uint16_t>(good, 100), Error);  // more planes than the type has bytes
  Written cut = good;
  cut.planes.pop_back();
  EXPECT_THROW(read<uint64_t>(cut, 100), Error);
}

}  // namespace
}  // namespace kymo::trace
