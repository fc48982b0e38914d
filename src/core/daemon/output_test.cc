#include "daemon/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/proc.h"

namespace kymo::daemon {
namespace {

using ::testing::HasSubstr;

TEST(OutputTest, PathWithDotDotOrAnUnknownPlaceholderIsRefused) {
  EXPECT_TRUE(check_output("/data/{name}.kymo", {}));
  EXPECT_THAT(check_output("/data/../etc/x", {}).reason(), HasSubstr("must not contain \"..\""));
  EXPECT_THAT(check_output("/data/x/..", {}).reason(), HasSubstr("must not contain \"..\""));
  EXPECT_THAT(check_output("/data/{what}", {}).reason(), HasSubstr("is no place"));
  EXPECT_TRUE(check_output("/data/a..b.kymo", {}));
}

TEST(OutputTest, PathMustBeBelowAnAllowedFolder) {
  EXPECT_TRUE(check_output("/data/x.kymo", {"/tmp", "/data/"}));
  EXPECT_THAT(check_output("/database/x.kymo", {"/data"}).reason(),
              HasSubstr("traces are allowed only below /data, not at /database"));
  EXPECT_FALSE(check_output("/{host}/x.kymo", {"/data"}));
}

TEST(OutputTest, TimeIsFilledInAndEscapedBracesStay) {
  EXPECT_EQ(with_time("/{{time}}/{time}{pid}", 1'000'000'000'007'654'321), "/{{time}}/20010909-014640.007{pid}");
}

TEST(OutputTest, ARecordingEndsAtAKnownTimeUnlessItCountsIterations) {
  EXPECT_EQ(end_of({.start_at_ns = 1000, .duration_ns = 500}), 1500u);
  EXPECT_EQ(end_of({.iterations = 5}), 0u);
  const uint64_t now = base::realtime_ns();
  EXPECT_GE(end_of({.duration_ns = 500}), now + 500);
}

TEST(FileLookTest, ReturnsTheStatusOfThePathWithoutFollowingLinks) {
  const std::string folder = ::testing::TempDir() + "kymod-look-" + std::to_string(getpid());
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  ASSERT_EQ(symlink("/", (folder + "/link").c_str()), 0);
  EXPECT_TRUE(S_ISDIR(look_at(folder)->st_mode));
  EXPECT_TRUE(S_ISLNK(look_at(folder + "/link")->st_mode));
  EXPECT_FALSE(look_at(folder + "/none"));
  unlink((folder + "/link").c_str());
  rmdir(folder.c_str());
}

}  // namespace
}  // namespace kymo::daemon
