#include "cli/table.h"

#include <gtest/gtest.h>

#include "kymo/error.h"

namespace kymo::cli {
namespace {

using Align = Table::Align;

TEST(TableTest, NumbersStandRightAndWordsLeft) {
  Table table({{"total", Align::Right}, {"thread"}, {"name"}});
  table.add({"1.20 s", "main", "step {}"});
  table.add({"3 µs", "worker 1", "copy"});
  EXPECT_EQ(table.text(),
            " total  thread    name\n"
            "1.20 s  main      step {}\n"
            "  3 µs  worker 1  copy\n");
}

TEST(TableTest, NoLineEndsInSpaces) {
  Table table({{"name"}, {"category"}});
  table.add({"step", ""});
  EXPECT_EQ(table.text(), "name  category\nstep\n");
}

TEST(TableTest, OnlyTheLastColumnIsCutToTheWidth) {
  Table table({{"count", Align::Right}, {"name"}});
  table.add({"1,234,567", "a name that goes on and on"});
  EXPECT_EQ(table.text(26),
            "    count  name\n"
            "1,234,567  a name that go…\n");
  EXPECT_EQ(table.text(5),
            "    count  name\n"
            "1,234,567  a name that…\n");
}

TEST(TableTest, AnIndentIsPartOfTheWidth) {
  Table table({{"name"}});
  table.add({"a name that goes on and on"});
  EXPECT_EQ(table.text(17, 2),
            "  name\n"
            "  a name that go…\n");
}

TEST(TableTest, ATableWithoutRowsIsItsHeadings) { EXPECT_EQ(Table({{"a"}, {"b"}}).text(), "a  b\n"); }

TEST(TableTest, ARowOfTheWrongLengthIsRefused) {
  Table table({{"a"}, {"b"}});
  EXPECT_THROW(table.add({"1"}), InvalidArgument);
}

}  // namespace
}  // namespace kymo::cli
