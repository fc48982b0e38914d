#include "base/shell_word.h"

#include <gtest/gtest.h>

namespace kymo::base {
namespace {

TEST(ShellWordTest, OnlyWhatNeedsQuotesHasThem) {
  EXPECT_EQ(shell_word("run.kymo"), "run.kymo");
  EXPECT_EQ(shell_word("/tmp/a-b_c:1.json.gz"), "/tmp/a-b_c:1.json.gz");
  EXPECT_EQ(shell_word("my run.kymo"), "'my run.kymo'");
  EXPECT_EQ(shell_word("step*"), "'step*'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
}

}  // namespace
}  // namespace kymo::base
