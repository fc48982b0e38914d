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
  block.number(0x0102);
  block.text(std::string_view("\0\"a,\n", 5));
  block.text("x");
  block.end_row();
  block.number(3);
  block.text("");
  block.text("x");
  block.end_row();
  EXPECT_EQ(block.encode(5), std::string("5,258,\"\0\"\"a,\n\",\"x\"\n5,3,\"\",\"x\"\n", 30));
  EXPECT_EQ(block.rows(), 2u);
  EXPECT_EQ(Block(kTable).encode(5), "");
}

TEST(BlockTest, NumbersAreSignedAsTheirColumnsAndTimesHaveTenDigits) {
  constexpr ColumnSpec kNumbers[] = {
      {"a", ColumnType::I32}, {"b", ColumnType::U64}, {"c", ColumnType::Date}, {"attempt", ColumnType::U64}};
  Block block({"t", "a", kNumbers});
  block.number(static_cast<uint64_t>(-1));
  block.number(UINT64_MAX);
  block.number(7);
  block.end_row();
  EXPECT_EQ(block.encode(9), "-1,18446744073709551615,0000000007,9\n");
}

TEST(BlockTest, AppendedRowsAreAsIfTheyWereAddedThere) {
  const auto add = [](Block& block, std::string_view text, std::string_view name) {
    block.number(text.size());
    block.text(text);
    block.text(name);
    block.end_row();
  };
  Block first(kTable), second(kTable), expected(kTable);
  for (Block* block : {&first, &expected}) {
    add(*block, "a", "x");
    add(*block, "b", "y");
  }
  for (Block* block : {&second, &expected}) {
    add(*block, "", "z");
    add(*block, "long", "y");
    add(*block, "c", "z");
  }
  first.append(second);
  EXPECT_EQ(first.encode(7), expected.encode(7));
  EXPECT_EQ(first.rows(), 5u);
  EXPECT_THROW(first.append(Block(kDeviceTime)), Error);
}

TEST(BlockTest, RowsWithWrongValuesAreRefused) {
  Block block(kTable);
  EXPECT_THROW(block.text("x"), Error);
  EXPECT_THROW(block.end_row(), Error);
  block.number(1);
  EXPECT_THROW(block.number(1), Error);
  block.text("");
  block.text("");
  EXPECT_THROW(block.text(""), Error);
}

TEST(TablesTest, TextsCannotEndTheirQuotes) {
  EXPECT_EQ(quoted_text("a'b\\"), "'a\\'b\\\\'");
  EXPECT_EQ(quoted_name("a`b"), "`a\\`b`");
  EXPECT_EQ(quoted_text(std::string_view("\0\n\xff", 3)), "'\\x00\\x0A\\xFF'");
}

TEST(TablesTest, AllTablesHaveTheAttempt) {
  for (const TableSpec* table : all_tables()) {
    const std::string statement = create_statement("d", *table);
    EXPECT_NE(statement.find("attempt UInt64"), std::string::npos) << statement;
  }
}

}  // namespace
}  // namespace kymo::push
