#include "questions/incomplete.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kymo/error.h"

namespace kymo::fleet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Row = std::vector<std::string>;

const Row kWhole{"1", "whole", "1", "node1", "train", "job", "3", "1000", "500", "90", "8000"};
const Row kHalf{"2", "half", "0", "node1", "train", "job", "3", "1000", "200", "40", "4000"};

Parts parts_of(std::vector<Row> rows, std::vector<Row> totals = {}) {
  push::Rows marks, answer;
  marks.columns.resize(kWhole.size());
  marks.rows = std::move(rows);
  answer.columns.resize(3);
  answer.rows = std::move(totals);
  return find_parts(marks, [&](const std::vector<uint64_t>&) { return answer; });
}

Row changed(Row row, size_t column, const char* value) {
  row[column] = value;
  return row;
}

TEST(PartsTest, AnIncompleteTraceOfACompleteRecordingIsAPart) {
  const Parts parts = parts_of({kHalf, kWhole});
  EXPECT_THAT(parts.of_others.rows, ElementsAre(Row{"2", "half"}));
  EXPECT_THAT(parts.alone.rows, IsEmpty());
}

TEST(PartsTest, AnotherRecordingHasNoParts) {
  for (size_t column = 3; column < 8; ++column) {
    const Parts parts = parts_of({changed(kHalf, column, "7"), kWhole});
    EXPECT_THAT(parts.of_others.rows, IsEmpty()) << column;
    EXPECT_EQ(parts.alone.rows.size(), 1u) << column;
  }
}

TEST(PartsTest, ATraceThatHasMoreOfSomethingIsNotAPart) {
  for (size_t column = 8; column < 11; ++column)
    EXPECT_THAT(parts_of({changed(kHalf, column, "9000"), kWhole}).of_others.rows, IsEmpty()) << column;
}

TEST(PartsTest, WithoutHostOrProgramTheRecordingIsNotCertain) {
  for (const size_t column : {3u, 4u})
    EXPECT_THAT(parts_of({changed(kHalf, column, ""), changed(kWhole, column, "")}).of_others.rows, IsEmpty());
}

TEST(PartsTest, TwoIncompleteTracesStay) {
  EXPECT_EQ(parts_of({kHalf, changed(kWhole, 2, "0")}).alone.rows.size(), 2u);
}

TEST(PartsTest, AllButOneOfTheSameLengthAndEventsAreCopies) {
  const Row first{"1", "a.json", "1", "", "", "job", "3", "1700000000000000000", "500", "90", "8000"};
  const Row second = changed(changed(changed(first, 0, "2"), 1, "b.json.gz"), 10, "700");
  const Row third = changed(second, 0, "3");
  const Parts parts = parts_of({first, second, third});
  EXPECT_THAT(parts.copies.rows, ElementsAre(Row{"2", "b.json.gz"}, Row{"3", "b.json.gz"}));
  EXPECT_THAT(parts.of_others.rows, IsEmpty());
  for (size_t column = 2; column < 10; ++column)
    EXPECT_THAT(parts_of({first, changed(second, column, "0")}).copies.rows, IsEmpty()) << column;
  // Of damaged ones, too.
  const Parts damaged = parts_of({changed(first, 2, "0"), changed(second, 2, "0")});
  EXPECT_THAT(damaged.copies.rows, ElementsAre(Row{"2", "b.json.gz"}));
  EXPECT_THAT(damaged.alone.rows, ElementsAre(Row{"1", "a.json"}));
}

TEST(PartsTest, TracesWithOtherTotalsAreOtherRecordings) {
  const Row first{"1", "a.json", "1", "", "", "job", "3", "1700000000000000000", "500", "90", "8000"};
  const Row second = changed(changed(first, 0, "2"), 1, "b.json");
  EXPECT_EQ(parts_of({first, second}, {{"1", "80", "4000"}, {"2", "80", "4000"}}).copies.rows.size(), 1u);
  EXPECT_THAT(parts_of({first, second}, {{"1", "80", "4000"}, {"2", "80", "4001"}}).copies.rows, IsEmpty());
  EXPECT_THAT(parts_of({first, second}, {{"1", "80", "4000"}, {"2", "81", "4000"}}).copies.rows, IsEmpty());
}

TEST(PartsTest, TotalsAreAskedOnlyOfTracesThatMayBeCopies) {
  push::Rows marks;
  marks.columns.resize(kWhole.size());
  const Row first{"1", "a.json", "1", "", "", "job", "3", "1700000000000000000", "500", "90", "8000"};
  marks.rows = {kWhole, kHalf, first, changed(first, 0, "2"), changed(changed(first, 0, "3"), 8, "501")};
  std::vector<uint64_t> asked;
  find_parts(marks, [&](const std::vector<uint64_t>& traces) {
    asked.insert(asked.end(), traces.begin(), traces.end());
    push::Rows answer;
    answer.columns.resize(3);
    return answer;
  });
  EXPECT_THAT(asked, ElementsAre(1, 2));
}

TEST(PartsTest, WithoutATimeTheyMayBeOfDifferentRecordings) {
  EXPECT_THAT(parts_of({kWhole, changed(kWhole, 0, "5")}).copies.rows, IsEmpty());
}

TEST(PartsTest, RowsOfAnotherStatementAreRefused) { EXPECT_THROW(find_parts({}, {}), Error); }

}  // namespace
}  // namespace kymo::fleet
