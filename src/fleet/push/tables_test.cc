#include "push/tables.h"

#include <gtest/gtest.h>

#include "kymo/error.h"

namespace kymo::push {
namespace {

constexpr ColumnSpec kColumns[] = {
    {"attempt", ColumnType::U64}, {"n", ColumnType::U32}, {"t", ColumnType::Text}, {"k", ColumnType::Name}};
const TableSpec kTable{"t", "n", kColumns};

TEST(BlockTest, RowsAreCsvThatServersAndDuckDbRead) {
  Block block(kTable);
  block.add(0x0102, std::string_view("\0\"a,\n", 5), "x");
  block.add(3, "", "x");
  EXPECT_EQ(block.encode(5), std::string("5,258,\"\0\"\"a,\n\",\"x\"\n5,3,\"\",\"x\"\n", 30));
  EXPECT_EQ(block.rows(), 2u);
  EXPECT_EQ(Block(kTable).encode(5), "");
}

TEST(BlockTest, NumbersAreSignedAsTheirColumnsAndTimesHaveTenDigits) {
  constexpr ColumnSpec kNumbers[] = {
      {"attempt", ColumnType::U64}, {"a", ColumnType::I32}, {"b", ColumnType::U64}, {"c", ColumnType::Date}};
  Block block({"t", "a", kNumbers});
  block.add(-1, UINT64_MAX, 7);
  EXPECT_EQ(block.encode(9), "9,-1,18446744073709551615,0000000007\n");
}

TEST(BlockTest, AppendedRowsAreAsIfTheyWereAddedThere) {
  Block first(kTable), second(kTable), expected(kTable);
  for (Block* block : {&first, &expected}) {
    block->add(1, "a", "x");
    block->add(1, "b", "y");
  }
  for (Block* block : {&second, &expected}) {
    block->add(0, "", "z");
    block->add(4, "long", "y");
    block->add(1, "c", "z");
  }
  first.append(second);
  EXPECT_EQ(first.encode(7), expected.encode(7));
  EXPECT_EQ(first.rows(), 5u);
}

TEST(BlockTest, RowsWithWrongValuesAreRefused) {
  Block block(kTable);
  EXPECT_THROW(block.add(1, "x"), Error);
  EXPECT_THROW(block.add(1, "x", "y", "z"), Error);
  EXPECT_THROW(block.add("x", "x", "x"), Error);
}

TEST(TablesTest, TextsCannotEndTheirQuotes) {
  EXPECT_EQ(quoted_text("a'b\\"), "'a\\'b\\\\'");
  EXPECT_EQ(quoted_name("a`b"), "`a\\`b`");
  EXPECT_EQ(quoted_text(std::string_view("\0\n\xff", 3)), "'\\x00\\x0A\\xFF'");
}

TEST(TablesTest, AllTablesBeginWithTheAttempt) {
  for (const TableSpec* table : all_tables()) EXPECT_EQ(table->columns.front().name, "attempt") << table->name;
}

}  // namespace
}  // namespace kymo::push
