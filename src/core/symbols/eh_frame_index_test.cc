#include "symbols/eh_frame_index.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <random>
#include <vector>

namespace kymo::symbols {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> numbers) {
  std::vector<std::byte> bytes;
  for (const int number : numbers) bytes.push_back(static_cast<std::byte>(number));
  return bytes;
}

// A common record with addresses relative to their place, two functions, and the end.
std::vector<std::byte> sample_table() {
  return bytes_of({12,   0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1,  // length 12: up to the encoding …
                   0x1b, 0, 0, 0});
}

TEST(EhFrameIndexTest, FindsFunctionsAndSortsThem) {
  std::vector<std::byte> table = bytes_of({16,   0,    0,  0, 0,    0, 0, 0, 1,    'z',  'R', 0,  // common record
                                           1,    0x78, 16, 1, 0x1b, 0, 0, 0, 12,   0,    0,   0, 24, 0, 0, 0,
                                           0x00, 0x02, 0,  0, 16,   0, 0, 0,                                   // at 20
                                           12,   0,    0,  0, 40,   0, 0, 0, 0x00, 0x01, 0,   0, 16, 0, 0, 0,  // at 36
                                           0,    0,    0,  0});
  const auto functions = index_eh_frame(table, 0x1000);
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].begin, 0x1000u + 36 + 8 + 0x100);
  EXPECT_EQ(functions[0].description, 0x1000u + 36);
  EXPECT_EQ(functions[1].begin, 0x1000u + 20 + 8 + 0x200);
  const auto header = make_search_table(functions, 0x3000);
  ASSERT_EQ(header.size(), 12u + 16);
  EXPECT_EQ(base::load<uint32_t>(header.data() + 8), 2u);
  EXPECT_EQ(base::load<uint32_t>(header.data() + 12), static_cast<uint32_t>(functions[0].begin - 0x3000));
}

TEST(EhFrameIndexTest, AnyBytesAreATable) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::byte> table = sample_table();
    table.resize(table.size() + random() % 64);
    for (int i = 0; i < 12; ++i) table[random() % table.size()] = static_cast<std::byte>(random() % 32);
    for (const DescribedFunction& function : index_eh_frame(table, 0x1000))
      EXPECT_LT(function.description - 0x1000, table.size());
  }
  EXPECT_TRUE(index_eh_frame({}, 0).empty());
}

TEST(EhFrameIndexTest, FunctionsFarAwayAreLeftOut) {
  EXPECT_EQ(make_search_table({{uint64_t{1} << 40, 8}}, 0).size(), 12u);
}

}  // namespace
}  // namespace kymo::symbols
