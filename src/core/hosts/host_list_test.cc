#include "hosts/host_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kymo/error.h"

namespace kymo::hosts {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(HostListTest, NamesRangesAndBoth) {
  EXPECT_THAT(expand("login"), ElementsAre("login"));
  EXPECT_THAT(expand("node[008-011],login"), ElementsAre("node008", "node009", "node010", "node011", "login"));
  EXPECT_THAT(expand("r[1-2]n[7,9]"), ElementsAre("r1n7", "r1n9", "r2n7", "r2n9"));
  EXPECT_THAT(expand("a[9-11]"), ElementsAre("a9", "a10", "a11"));
  EXPECT_THAT(expand("root@10.0.0.[1-2]"), ElementsAre("root@10.0.0.1", "root@10.0.0.2"));
  EXPECT_THAT(expand("a, b ,a"), ElementsAre("a", "b")) << "each once, spaces are allowed";
}

TEST(HostListTest, FilesHaveCommentsAndEmptyLines) {
  EXPECT_THAT(expand_lines("# the nodes\nn[1-2]  # rack 1\n\n  n3\r\nn1\n"), ElementsAre("n1", "n2", "n3"));
  EXPECT_THAT(expand_lines(""), ElementsAre());
}

TEST(HostListTest, WhatIsNoListIsRefusedWithTheReason) {
  const auto reason = [](std::string_view list) -> std::string {
    try {
      expand(list);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(reason(""), HasSubstr("empty"));
  EXPECT_THAT(reason("a,,b"), HasSubstr("empty"));
  EXPECT_THAT(reason("n[1-3"), HasSubstr("not closed"));
  EXPECT_THAT(reason("n1-3]"), HasSubstr("not opened"));
  EXPECT_THAT(reason("n[[1]]"), HasSubstr("inside"));
  EXPECT_THAT(reason("n[a-b]"), HasSubstr("'a' is not a number"));
  EXPECT_THAT(reason("n[]"), HasSubstr("not a number"));
  EXPECT_THAT(reason("n[3-1]"), HasSubstr("after"));
  EXPECT_THAT(reason("n[0-99999999]"), HasSubstr("more than"));
  EXPECT_THAT(reason("n[1-99999999999]"), HasSubstr("99999999999 is larger than 4294967295"));
  EXPECT_THAT(reason("n[1-99999999999999999999999]"), HasSubstr("is larger than"));
  EXPECT_THAT(reason("a@b@c"), HasSubstr("'a@b@c' is not a name"));
  EXPECT_THAT(reason("@b"), HasSubstr("not a name"));
  EXPECT_THAT(reason("a@"), HasSubstr("not a name"));
  EXPECT_THAT(reason("n[1-1000][1-1000]"), HasSubstr("more than"));
  EXPECT_THAT(reason("-oProxyCommand=evil"), HasSubstr("dash"));
  EXPECT_THAT(reason("a b"), HasSubstr("not a name"));
  EXPECT_THAT(reason("a\nb"), HasSubstr("not a name"));
}

TEST(HostListTest, ASlurmJobIsANumber) {
  EXPECT_THROW(hosts_of_slurm_job("12; rm"), InvalidArgument);
  EXPECT_THROW(hosts_of_slurm_job(""), InvalidArgument);
}

}  // namespace
}  // namespace kymo::hosts
