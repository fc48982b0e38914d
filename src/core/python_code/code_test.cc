#include "python_code/code.h"

#include <gtest/gtest.h>

#include <vector>

namespace kymo::python_code {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

// The tables are those that CPython made for
//   def f(n):        # line 10
//     x = 0          # line 11
//     (two empty lines)
//     return x + n   # line 14
TEST(PythonLineTest, Python39CountsDistances) {
  const auto table = bytes_of({0, 1, 4, 3});
  EXPECT_EQ(python_line(9, table, 10, 0), 11u);
  EXPECT_EQ(python_line(9, table, 10, 3), 11u);
  EXPECT_EQ(python_line(9, table, 10, 4), 14u);
  EXPECT_EQ(python_line(9, table, 10, -1), 10u);  // not started
}

TEST(PythonLineTest, Python39LinesGoBack) { EXPECT_EQ(python_line(9, bytes_of({0, 5, 4, 256 - 3}), 10, 6), 12u); }

TEST(PythonLineTest, Python310HasRangesAndInstructionsWithoutLine) {
  const auto table = bytes_of({4, 1, 2, 128, 8, 3});
  EXPECT_EQ(python_line(10, table, 10, 0), 11u);
  EXPECT_EQ(python_line(10, table, 10, 4), 11u);  // without its own line: the one before
  EXPECT_EQ(python_line(10, table, 10, 6), 14u);
}

TEST(PythonLineTest, Python311HasLocations) {
  // One instruction of the definition (no columns), two with short columns, one in the next line, three far behind, and
  // a loop back by the long form.
  const auto table = bytes_of({0x80 | 13 << 3, 0, 0x80 | 1, 0x22, 0x80 | 11 << 3, 1, 2, 0x80 | 14 << 3 | 2, 0x40 | 40,
                               3, 0, 1, 2, 0x80 | 14 << 3, 9, 0, 1, 2, 0x80 | 15 << 3});
  EXPECT_EQ(python_line(11, table, 10, 0), 10u);
  EXPECT_EQ(python_line(11, table, 10, 2), 10u);
  EXPECT_EQ(python_line(11, table, 10, 6), 11u);
  EXPECT_EQ(python_line(11, table, 10, 8), 11u + (40 + (3 << 6)) / 2);
  EXPECT_EQ(python_line(11, table, 10, 14), 11u + (40 + (3 << 6)) / 2 - 4);
}

TEST(PythonLineTest, AnyBytesGiveSomeLineAndReadNothingElse) {
  uint64_t random = 1;
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> table(random >> 40 & 31);
    for (std::byte& one : table) one = static_cast<std::byte>((random = random * 6364136223846793005u + 1) >> 56);
    for (const unsigned minor : {9u, 10u, 11u, 13u}) python_line(minor, table, 3, static_cast<int64_t>(random >> 58));
    random += table.size();
  }
}

TEST(PythonTextTest, WidthsBecomeUtf8) {
  EXPECT_EQ(python_text(bytes_of({'a', 0xe9}), 1), "a\u00e9");
  EXPECT_EQ(python_text(bytes_of({0x42, 0x04, 0x00, 0xd8}), 2), "\u0442\ufffd");  // a surrogate is no character
  EXPECT_EQ(python_text(bytes_of({0x80, 0xf6, 0x01, 0x00}), 4), "\U0001f680");
  EXPECT_EQ(python_text(bytes_of({'a', 'b', 'c'}), 2).size(), 3u);  // half a character is left out
}

}  // namespace
}  // namespace kymo::python_code
