#include "questions/target.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "kymo/error.h"

namespace kymo::fleet {
namespace {

TEST(TargetTest, AFolderIsAbsoluteAndAServerIsAnAddress) {
  EXPECT_EQ(parse_target("parquet:/data/kymo/").folder, "/data/kymo");
  EXPECT_EQ(parse_target("parquet:///data/./kymo").folder, "/data/kymo");
  EXPECT_EQ(parse_target("parquet:x y").folder, (std::filesystem::current_path() / "x y").string());
  EXPECT_FALSE(parse_target("parquet:/").server);
  ASSERT_TRUE(parse_target("clickhouse://h/d").server);
  EXPECT_EQ(parse_target("clickhouse://h/d").server->host, "h");
}

TEST(TargetTest, WrongTargetsAreRefusedWithTheForms) {
  for (const char* const text :
       {"", "traces", "parquet:", "parquet://host/x", "parquet:a*b", "parquet:a[1]", "s3://x/y"}) {
    try {
      parse_target(text);
      ADD_FAILURE() << text;
    } catch (const InvalidArgument& error) {
      const std::string what = error.what();
      EXPECT_TRUE(what.find("parquet:") != what.npos || what.find("clickhouse://") != what.npos) << what;
    }
  }
}

}  // namespace
}  // namespace kymo::fleet
