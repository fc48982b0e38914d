#include "questions/statements.h"

#include <gtest/gtest.h>

#include "kymo/error.h"
#include "questions/stragglers.h"

namespace kymo::fleet {
namespace {

Selection selection(const std::string& address, const std::string& job) {
  return {parse_target(address), job, 1'000, 2'000, 5};
}

std::vector<std::string> all(const Selection& chosen, const std::string& operation) {
  return {top_statement(chosen),
          diff_statement(chosen, 1'500),
          stragglers_statement(chosen, 0),
          members_statement(chosen, 0),
          history_statement(chosen, Operation{operation}),
          history_statement(chosen, std::nullopt)};
}

TEST(StatementsTest, NamesInBracesAreReplacedOnce) {
  EXPECT_EQ(sql("a {b c} {d}{b c}", {{"b c", "{d}"}, {"d", ""}}), "a {d} {d}");
  EXPECT_THROW(sql("{x}", {}), Error);
  EXPECT_THROW(sql("{", {}), Error);
}

TEST(StatementsTest, OnlyCompleteAttemptsCount) {
  for (const std::string& statement : all(selection("clickhouse://h/d", "train"), "gemm")) {
    EXPECT_NE(statement.find("AND complete = 1 GROUP BY recording"), std::string::npos) << statement;
    EXPECT_NE(statement.find("job = 'train'"), std::string::npos) << statement;
    EXPECT_EQ(statement.find(';'), std::string::npos) << statement;
  }
}

TEST(StatementsTest, ACaseOfInjectionStaysAText) {
  const std::string evil = "x'; DROP TABLE traces; --\\";
  for (const std::string& statement : all(selection("clickhouse://h/d", evil), evil)) {
    EXPECT_NE(statement.find("'x\\'; DROP TABLE traces; --\\\\'"), std::string::npos) << statement;
    EXPECT_EQ(statement.find("'x';"), std::string::npos) << statement;
  }
}

TEST(StatementsTest, AFolderIsReadByDuckDb) {
  const std::string evil = "x'; DROP TABLE traces; --\\\xff";
  for (const std::string& statement : all(selection("parquet:/it's", evil), evil)) {
    EXPECT_NE(statement.find("FROM read_parquet('/it''s/kymo-8/*/traces.parquet', hive_partitioning = false)"),
              std::string::npos)
        << statement;
    EXPECT_NE(statement.find("'x''; DROP TABLE traces; --\\\\xFF'"), std::string::npos) << statement;
    for (const char* const foreign : {"GLOBAL", "quantileExact", "`"})
      EXPECT_EQ(statement.find(foreign), std::string::npos) << statement;
  }
}

TEST(StatementsTest, AClusterIsReadOnAllItsServers) {
  for (const std::string& statement : all(selection("clickhouse://h/d?cluster=two", ""), "x")) {
    EXPECT_NE(statement.find("cluster('two', `d`, `"), std::string::npos) << statement;
    EXPECT_EQ(statement.find("FROM `d`"), std::string::npos) << statement;
  }
}

}  // namespace
}  // namespace kymo::fleet
