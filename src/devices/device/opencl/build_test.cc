#include "device/opencl/build.h"

#include <gtest/gtest.h>

namespace kymo::device::opencl {
namespace {

TEST(BuildLogTest, FirstErrorInClangsFormIsFound) {
  const FirstError error = first_error(
      "a.cl:2:1: warning: unused\n"
      "a.cl:3:8: error: use of undeclared identifier 'x'\n"
      "  o[0]=x;\n"
      "       ^\n"
      "a.cl:4:2: error: another\n");
  EXPECT_EQ(error.file, "a.cl");
  EXPECT_EQ(error.line, 3u);
  EXPECT_EQ(error.column, 8u);
  EXPECT_EQ(error.text, "use of undeclared identifier 'x'");
}

TEST(BuildLogTest, PoclsFormIsParsed) {
  const FirstError error = first_error("error: my file.cl:30:12: expected ';' after: x\nDevice x failed to build\n");
  EXPECT_EQ(error.file, "my file.cl");
  EXPECT_EQ(error.line, 30u);
  EXPECT_EQ(error.column, 12u);
  EXPECT_EQ(error.text, "expected ';' after: x");
}

TEST(BuildLogTest, FatalErrorIsAnError) {
  const FirstError error = first_error("a.cl:1:10: fatal error: 'b.h' file not found\n");
  EXPECT_EQ(error.line, 1u);
  EXPECT_EQ(error.text, "'b.h' file not found");
}

TEST(BuildLogTest, LineWithoutAColumnIsParsed) {
  const FirstError error = first_error("a.cl:7: error: bad\n");
  EXPECT_EQ(error.file, "a.cl");
  EXPECT_EQ(error.line, 7u);
  EXPECT_EQ(error.column, 0u);
}

TEST(BuildLogTest, ErrorWithAPositionIsPreferredToAnEarlierOneWithout) {
  EXPECT_EQ(first_error("error: it went wrong\na.cl:5:1: error: here\n").line, 5u);
  EXPECT_EQ(first_error("error: it went wrong\n").text, "it went wrong");
}

TEST(BuildLogTest, LogInAnUnknownFormHasNoPosition) {
  const CompileError error = compile_error("ptxas exploded", "a.cl");
  EXPECT_STREQ(error.what(), "ptxas exploded");
  EXPECT_EQ(error.file(), "a.cl");
  EXPECT_EQ(error.line(), 0u);
  EXPECT_EQ(error.text(), "");
}

TEST(BuildLogTest, TemporaryFileNamesAreReplacedByTheUsersName) {
  EXPECT_EQ(
      cleaned_log("\nerror: /root/.cache/pocl/kcache/tempfile_Eeo1Fk.cl:5:2: no\n<kernel>:6:1: error: no\n\n", "a.cl"),
      "error: a.cl:5:2: no\na.cl:6:1: error: no");
  EXPECT_EQ(cleaned_log("b.h:5:2: error: no", "a.cl"), "b.h:5:2: error: no");
}

TEST(BuildLogTest, TooLargeNumbersAndEmptyLogsAreHandled) {
  EXPECT_EQ(first_error("").line, 0u);
  EXPECT_EQ(first_error("a:99999999999999999999:1: error: x").line, 1u);  // the next valid number
  EXPECT_EQ(cleaned_log(":::", "a"), ":::");
}

}  // namespace
}  // namespace kymo::device::opencl
