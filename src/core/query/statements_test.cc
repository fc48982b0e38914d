#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "query/session.h"

namespace kymo::query {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(StatementsTest, SemicolonsSeparateStatements) {
  EXPECT_THAT(split_statements("SELECT 1; SELECT 2"), ElementsAre("SELECT 1", "SELECT 2"));
  EXPECT_THAT(split_statements(" ; ;\n"), IsEmpty());
}

TEST(StatementsTest, SemicolonsInQuotesAndCommentsDoNotCount) {
  EXPECT_THAT(split_statements("SELECT ';', 'it''s;' AS \"a;b\", $$;$$, $x$;$x$"),
              ElementsAre("SELECT ';', 'it''s;' AS \"a;b\", $$;$$, $x$;$x$"));
  EXPECT_THAT(split_statements("SELECT 1 -- one;\n; /* two; */ SELECT 2"),
              ElementsAre("SELECT 1 -- one;\n", "/* two; */ SELECT 2"));
  EXPECT_THAT(split_statements("-- only a comment;"), IsEmpty());
}

TEST(StatementsTest, AStatementMayHaveSeveralLines) {
  StatementSplitter splitter;
  EXPECT_THAT(splitter.add("SELECT 'a\n"), IsEmpty());
  EXPECT_FALSE(splitter.is_empty());
  EXPECT_THAT(splitter.add(";b';\n"), ElementsAre("SELECT 'a\n;b'"));
  EXPECT_TRUE(splitter.is_empty());
  EXPECT_EQ(splitter.rest(), "");
}

TEST(StatementsTest, AnUnfinishedQuoteIsKept) {
  EXPECT_THAT(split_statements("SELECT 'a; b"), ElementsAre("SELECT 'a; b"));
}

TEST(StatementsTest, StatementsBeginWithTheirFirstLine) {
  StatementSplitter splitter;
  EXPECT_EQ(splitter.add("SELECT 1;\n"), (std::vector<std::string>{"SELECT 1"}));
  EXPECT_EQ(splitter.add("\n  SELECT\n 2;\n"), (std::vector<std::string>{"SELECT\n 2"}));
  EXPECT_TRUE(splitter.add("SELECT 3\n").empty());
  EXPECT_EQ(splitter.rest(), "SELECT 3\n");
}

}  // namespace
}  // namespace kymo::query
