#include "push/tables.h"

#include <gtest/gtest.h>

#include "kymo/error.h"

namespace kymo::push {
namespace {

constexpr ColumnSpec kColumns[] = {
    {"attempt", ColumnType::U64}, {"n", ColumnType::U16}, {"t", ColumnType::Text}, {"k", ColumnType::Name}};
const TableSpec kTable{"t", "n", kColumns};

// The bytes as ClickHouse's documentation of the format Native has them.
TEST(BlockTest, TheBytesAreThoseOfTheFormat) {
  Block block(kTable);
  block.number(0x0102);
  block.text(std::string_view("\0a", 2));
  block.text("x");
  block.end_row();
  block.number(3);
  block.text("");
  block.by_key(block.key(3, "x"));
  block.end_row();
  std::string expected("\4\2\7attempt\6UInt64", 17);
  expected += std::string("\5\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0", 16);
  expected += std::string("\1n\6UInt16\2\1\3\0\1t\6String\2\0a\0\1k\x16LowCardinality(String)", 51);
  expected += std::string("\1\0\0\0\0\0\0\0\0\6\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1x\2\0\0\0\0\0\0\0\0\0", 36);
  EXPECT_EQ(block.encode(5), expected);
  EXPECT_EQ(block.rows(), 2u);
  block.clear();
  EXPECT_EQ(block.rows(), 0u);
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
  EXPECT_THROW(first.append(Block(kMemory)), Error);
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

TEST(BlockTest, KeysGrowWithTheNumberOfNames) {
  for (const size_t names : {256u, 257u, 65'537u}) {
    Block block(kTable);
    for (size_t i = 0; i < names; ++i) {
      block.number(0);
      block.text("");
      block.text(std::to_string(i));
      block.end_row();
    }
    const size_t width = names <= 256 ? 1 : names <= 65'536 ? 2 : 4;
    const std::string bytes = block.encode(1);
    const auto key = static_cast<uint32_t>(names - 1);
    const std::string last(reinterpret_cast<const char*>(&key), width);
    EXPECT_EQ(bytes.substr(bytes.size() - width), last);
  }
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
