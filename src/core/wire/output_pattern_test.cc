#include "wire/output_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/message.h"

namespace kymo::wire {
namespace {

using ::testing::HasSubstr;

const OutputNames kNames{77, 9, "train.py", "node-1", "", "20260131-142530"};

std::string expanded(std::string_view pattern, const OutputNames& names = kNames) {
  const auto path = output_from_pattern(pattern, names);
  return path ? *path : "refused: " + path.reason();
}

TEST(OutputPatternTest, PlaceholdersAreFilledIn) {
  EXPECT_EQ(expanded("/data/{host}/{name}-{pid}-{request}.kymo"), "/data/node-1/train.py-77-9.kymo");
  EXPECT_EQ(expanded("/data/{job}/{time}_{pid}"), "/data/none/20260131-142530_77");
  EXPECT_EQ(expanded("/data/{{{pid}}}.kymo"), "/data/{77}.kymo");
}

TEST(OutputPatternTest, PathWithoutAUniquePlaceholderGetsThePid) {
  EXPECT_EQ(expanded("/data/a.kymo"), "/data/a_77.kymo");
  EXPECT_EQ(expanded("/data/a.json.gz"), "/data/a_77.json.gz");
  EXPECT_EQ(expanded("/data/run-v1.2.json"), "/data/run-v1.2_77.json");
  EXPECT_EQ(expanded("/data/run-v1.2.pt.trace.json.gz"), "/data/run-v1.2_77.pt.trace.json.gz");
  EXPECT_EQ(expanded("/data.d/a"), "/data.d/a_77");
  EXPECT_EQ(expanded("/data/.hidden"), "/data/.hidden_77");
  EXPECT_EQ(expanded("/data/"), "/data/_77");
  EXPECT_EQ(expanded(""), "_77");
}

TEST(OutputPatternTest, ValuesCannotLeaveTheFolder) {
  OutputNames names = kNames;
  names.name = "../../etc/passwd";
  names.host = "..";
  names.job = std::string("a\0b\n", 4) + std::string(1000, 'x');
  EXPECT_EQ(expanded("/data/{name}-{pid}", names), "/data/_._.._etc_passwd-77");
  EXPECT_EQ(expanded("/data/{host}/{pid}", names), "/data/_./77");
  EXPECT_EQ(expanded("/data/{job}{pid}", names), "/data/a_b_" + std::string(124, 'x') + "77");
}

TEST(OutputPatternTest, UnknownPlaceholdersAreRefused) {
  for (const char* pattern : {"/data/{rank}", "/data/{", "/data/{pid", "/data/}", "/data/{}", "/data/{pid}}"}) {
    EXPECT_THAT(expanded(pattern), HasSubstr("refused: ")) << pattern;
  }
  EXPECT_THAT(expanded("/data/{rank}"), HasSubstr("\"{rank}\" in an output is no place"));
  EXPECT_THAT(expanded(std::string(kLongestText + 1, 'x')), HasSubstr("too long"));
  EXPECT_THAT(expanded(std::string(kLongestText, 'x')), HasSubstr("too long"));  // because of the pid
}

}  // namespace
}  // namespace kymo::wire
