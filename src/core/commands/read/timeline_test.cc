#include "commands/read/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/printable.h"

namespace kymo::cli {
namespace {

views::TimelineRow row_of(const std::vector<double>& columns, const std::string& name = "load") {
  views::TimelineRow row;
  row.process = "train (7)";
  row.track = "main";
  row.columns = columns;
  row.names.assign(columns.size(), name);
  return row;
}

TEST(TimelineTextTest, ShadesSayHowBusyAColumnIs) {
  EXPECT_EQ(timeline_cells(row_of({0, 0.01, 0.25, 0.26, 0.5, 0.51, 0.75, 0.76, 1}, "")), " ░░▒▒▓▓██");
}

TEST(TimelineTextTest, NameIsWrittenOverColumnsThatItDominates) {
  EXPECT_EQ(timeline_cells(row_of({1, 1, 1, 1, 1, 1})), "█load█");
  EXPECT_EQ(timeline_cells(row_of({1, 1, 1, 1, 1})), "█████");
  EXPECT_EQ(timeline_cells(row_of({1, 1, 1, 0.1, 1, 1, 1})), "███░███");
}

TEST(TimelineTextTest, BlocksHaveTheirNameInBrackets) {
  views::TimelineRow row = row_of(std::vector<double>(20, 1));
  row.blocks = {{0, 8, "step 7", false}, {10, 15, "a long name", true}};
  EXPECT_EQ(timeline_cells(row), "[step 7█]█[a l…>████");
}

TEST(TimelineTextTest, BlockOfASampledThreadIsAWaitAndNotFull) {
  views::TimelineRow row = row_of({0, 0, 0, 0, 0, 0, 0, 1});
  row.is_sampled = true;
  row.blocks = {{0, 6, "wait", false}};
  EXPECT_EQ(timeline_cells(row), "[wait ]█");
}

TEST(TimelineTextTest, SampledThreadThatCouldRunIsNotShownAsOneThatWaits) {
  views::TimelineRow row = row_of({1, 0.1, 0, 0}, "");
  row.is_sampled = true;
  row.ready = {0, 0.9, 0, 0.2};
  row.unknown = {0, 0, 0.8, 0};
  EXPECT_EQ(timeline_cells(row), "█·? ");
}

TEST(TimelineTextTest, NamesCannotControlTheTerminal) {
  views::TimelineRow row = row_of(std::vector<double>(12, 1), "\x1b[2J");
  EXPECT_EQ(timeline_cells(row), "█\\x1b[2J████");
  row.blocks = {{0, 11, "a\nb", false}};
  EXPECT_EQ(timeline_cells(row), "[a\\nb██████]");
}

TEST(TimelineTextTest, AxisHasRoundTimesThatDoNotTouch) {
  EXPECT_EQ(timeline_axis(0, 100'000'000, {2, 40}),
            "  0 ms                50 ms\n  |-------------------|-------------------\n");
  EXPECT_EQ(timeline_axis(151'000'000, 201'000'000, {0, 60}),
            "          160 ms      170 ms      180 ms      190 ms\n"
            "----------|-----------|-----------|-----------|-------------\n");
  EXPECT_EQ(timeline_axis(2'000'000'000, 2'000'000'000, {0, 12}), "\n------------\n");
}

TEST(TimelineTextTest, AxisHasEnoughDigitsForAShortTimeLateInTheTrace) {
  EXPECT_EQ(timeline_axis(10'000'000'000, 10'001'000'000, {0, 40}),
            "10.0000 s           10.0005 s\n|-------------------|-------------------\n");
}

TEST(TimelineTextTest, AxisOfAnyTimesHasTwoLines) {
  for (const uint64_t from : {uint64_t{0}, uint64_t{1} << 40, UINT64_MAX - 3}) {
    for (const uint64_t length : {uint64_t{0}, uint64_t{1}, uint64_t{3}}) {
      const std::string text = timeline_axis(from, from + length, {0, 40});
      EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
    }
  }
}

TEST(TimelineTextTest, LinesFitTheWidth) {
  for (const size_t width : {40u, 80u, 133u}) {
    for (const size_t longest : {0u, 4u, 300u}) {
      const TimelineLayout layout = timeline_layout(width, longest);
      EXPECT_EQ(layout.label + layout.columns + 6, width);
      views::Timeline timeline;
      timeline.rows = {row_of(std::vector<double>(layout.columns, 0.4))};
      timeline.rows[0].track = std::string(longest, 'x');
      timeline.rows[0].busy = 1;
      views::TimelineOptions options;
      options.to_ns = 1'234'567;
      const std::string text = timeline_text(timeline, options, layout, 40);
      for (size_t begin = 0, end; (end = text.find('\n', begin)) != text.npos; begin = end + 1)
        EXPECT_LE(base::display_width(text.substr(begin, end - begin)), width) << text;
    }
  }
}

TEST(TimelineTextTest, OnlyTheBusiestTracksAreShown) {
  views::Timeline timeline;
  for (int i = 0; i < 5; ++i) {
    timeline.rows.push_back(row_of({1}));
    timeline.rows.back().track = "thread " + std::to_string(i);
    timeline.rows.back().busy = i % 2;
  }
  const std::string text = timeline_text(timeline, {.columns = 1}, {12, 1}, 2);
  EXPECT_EQ(text.find("thread 0"), std::string::npos);
  EXPECT_NE(text.find("thread 1"), std::string::npos);
  EXPECT_NE(text.find("thread 3"), std::string::npos);
  EXPECT_NE(text.find("(3 more tracks not shown"), std::string::npos);
}

}  // namespace
}  // namespace kymo::cli
