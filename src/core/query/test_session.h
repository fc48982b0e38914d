// For the tests of this component: sessions over small traces, and results as text.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "query/duckdb.h"
#include "query/session.h"
#include "trace/reader.h"
#include "trace/test_recorder.h"

namespace kymo::query::testing {

// The tests of a suite are skipped if DuckDB is not installed.
class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string problem = duckdb_problem(); !problem.empty()) GTEST_SKIP() << problem;
  }

  static SessionOptions options(std::vector<std::string> files) {
    return {.files = std::move(files), .open = [](const std::string& path) { return trace::Reader(path); }};
  }

  // The rows of a statement: cells separated by "|", rows by line feeds.
  static std::string rows(Session& session, const std::string& sql) {
    Result result = session.run(sql);
    std::string text;
    while (result.next()) {
      for (size_t i = 0; i < result.columns().size(); ++i)
        text += (i == 0 ? "" : "|") + (result.is_null(i) ? std::string("NULL") : result.text(i));
      text += '\n';
    }
    return text;
  }

  // DuckDB's message.
  static std::string error(Session& session, const std::string& sql) {
    try {
      rows(session, sql);
      return "no error";
    } catch (const QueryError& error) {
      return error.what();
    }
  }

  trace::testing::TemporaryFolder folder_;
};

}  // namespace kymo::query::testing
