#include "base/text_table.h"

#include <gtest/gtest.h>

#include "kymo/error.h"

namespace kymo::base {
namespace {

using Align = TextTable::Align;

TEST(TextTableTest, NumbersAreRightAlignedAndWordsLeftAligned) {
  TextTable table({{"total", Align::Right}, {"thread"}, {"name"}});
  table.add({"1.20 s", "main", "step {}"});
  table.add({"3 µs", "worker 1", "copy"});
  EXPECT_EQ(table.text(),
            " total  thread    name\n"
            "1.20 s  main      step {}\n"
            "  3 µs  worker 1  copy\n");
}

TEST(TextTableTest, LinesHaveNoTrailingSpaces) {
  TextTable table({{"name"}, {"category"}});
  table.add({"step", ""});
  EXPECT_EQ(table.text(), "name  category\nstep\n");
}

TEST(TextTableTest, OnlyTheLastColumnIsCutToTheWidth) {
  TextTable table({{"count", Align::Right}, {"name"}});
  table.add({"1,234,567", "a name that goes on and on"});
  EXPECT_EQ(table.text({.width = 26}),
            "    count  name\n"
            "1,234,567  a name that go…\n");
  EXPECT_EQ(table.text({.width = 5}),
            "    count  name\n"
            "1,234,567  a name that…\n");
}

TEST(TextTableTest, IndentCountsTowardsTheWidth) {
  TextTable table({{"name"}});
  table.add({"a name that goes on and on"});
  EXPECT_EQ(table.text({.width = 17, .indent = 2}),
            "  name\n"
            "  a name that go…\n");
}

TEST(TextTableTest, TableWithoutRowsShowsItsHeadings) { EXPECT_EQ(TextTable({{"a"}, {"b"}}).text(), "a  b\n"); }

TEST(TextTableTest, RowOfTheWrongLengthIsRefused) {
  TextTable table({{"a"}, {"b"}});
  EXPECT_THROW(table.add({"1"}), InvalidArgument);
}

TEST(TextTableTest, WideCellsAreCut) {
  TextTable table({{"A", Align::Left, 6}, {"B", Align::Right, 6, TextTable::Cut::Begin}});
  table.add({"one two", "äöüßäöüß"});
  table.add({"ä", "b"});
  EXPECT_EQ(table.text({.rules = true, .title = "Letters", .ellipsis = "..."}),
            "------  ------\n"
            "Letters\n"
            "------  ------\n"
            "A            B\n"
            "------  ------\n"
            "one...  ...öüß\n"
            "ä            b\n"
            "------  ------\n");
}

}  // namespace
}  // namespace kymo::base
