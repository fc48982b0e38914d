#include <gtest/gtest.h>

#include <string>

#include "record/segment.h"

namespace kymo::record {
namespace {

TEST(OutcomeTest, SuccessHasNoText) {
  const Outcome outcome;
  EXPECT_TRUE(outcome);
  EXPECT_STREQ(outcome.why(), "");
}

TEST(OutcomeTest, AFailureHasAReason) {
  const Outcome outcome = Outcome::failure("%s: error %d", "/dev/shm", 28);
  EXPECT_FALSE(outcome);
  EXPECT_STREQ(outcome.why(), "/dev/shm: error 28");
}

TEST(OutcomeTest, SeveralFailuresAreOneLine) {
  Outcome outcome = Outcome::failure("/dev/shm: full");
  outcome.add(Outcome::failure("/tmp: full"));
  EXPECT_STREQ(outcome.why(), "/dev/shm: full; /tmp: full");
}

TEST(OutcomeTest, ALongTextIsTruncated) {
  const std::string long_text(5000, 'x');
  Outcome outcome = Outcome::failure("%s", long_text.c_str());
  EXPECT_EQ(std::string(outcome.why()), std::string(1023, 'x'));
  outcome.add(Outcome::failure("more"));
  EXPECT_EQ(std::string(outcome.why()), std::string(1023, 'x'));
}

}  // namespace
}  // namespace kymo::record
