#include "commands/record/libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kymo::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(PythonFunctionsTest, OptionsThatDisableTheStartOfTheRecordingAreFound) {
  EXPECT_THAT(python_obstacle({"/usr/bin/python3.11", "-I", "a.py"}), HasSubstr("python3.11 -I does not load"));
  EXPECT_THAT(python_obstacle({"python3", "-uE", "-c", "pass"}), HasSubstr("-E"));
  EXPECT_THAT(python_obstacle({"python3", "-X", "dev", "-S", "a.py"}), HasSubstr("-S"));
  EXPECT_THAT(python_obstacle({"python3", "a.py", "-I"}), IsEmpty()) << "of the script";
  EXPECT_THAT(python_obstacle({"python3", "-W", "-I", "a.py"}), IsEmpty()) << "of -W";
  EXPECT_THAT(python_obstacle({"python3", "-WI", "-c", "-I"}), IsEmpty());
  EXPECT_THAT(python_obstacle({"python3", "-m", "x", "-S"}), IsEmpty());
  EXPECT_THAT(python_obstacle({"make", "-I", "x"}), IsEmpty());
  EXPECT_THAT(python_obstacle({"python3"}), IsEmpty());
}

}  // namespace
}  // namespace kymo::cli
