// The operators of an unmodified program of libtorch, under `kymo record`.
#include <algorithm>
#include <filesystem>
#include <map>

#include "base/test_size.h"
#include "readback.h"
#include "support.h"

namespace kymo::e2e {
namespace {

class OperatorsTest : public EndToEnd {
 protected:
  void SetUp() override {
    if (base::kIsSanitized) GTEST_SKIP() << "libtorch is not built with a sanitizer";
    if (!have_kymo()) GTEST_SKIP() << "the kymo command is not built";
    if (!std::filesystem::exists(program("network"))) GTEST_SKIP() << "NVTX's headers were not found";
  }
  Readback record(Words options, Environment environment = {}) {
    Words words{program("kymo"), "record", "-o", file("a.kymo")};
    std::ranges::move(options, std::back_inserter(words));
    words.insert(words.end(), {"--", program("network")});
    const Ending ending = run(words, {.environment = std::move(environment)});
    EXPECT_EQ(ending.code, 0) << ending.err;
    return read_back(file("a.kymo"), Detail::Arguments);
  }
};

TEST_F(OperatorsTest, OperatorsBackwardFunctionsAndScopesAreRanges) {
  const Readback seen = record({});
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  ASSERT_EQ(seen.count("step {}"), 20u) << seen.summary();  // the braces are the program's: no place for a value
  EXPECT_EQ(seen.detail_of(*seen.ranges_named("step {}")[0]).text, "step {}");
  EXPECT_EQ(seen.detail_of(*seen.ranges_named("step {}")[0]).category, "user_annotation");
  EXPECT_EQ(seen.count("aten::addmm"), 40u) << seen.summary();  // two layers, 10 steps, two threads
  EXPECT_EQ(seen.count("AddmmBackward0"), 40u);
  EXPECT_EQ(seen.count("ReluBackward0"), 20u);
  EXPECT_EQ(seen.detail_of(*seen.ranges_named("aten::addmm")[0]).category, "cpu_op");
}

// Sequence numbers are those of a thread, and both threads use the same ones.
TEST_F(OperatorsTest, AnArrowLeadsFromEachOperatorToItsBackwardFunction) {
  const Readback seen = record({});
  std::map<uint64_t, std::pair<size_t, size_t>> flows;  // begins and ends
  for (const Event* flow : seen.points_named("fwdbwd")) {
    if (flow->kind == trace::PointKind::FlowBegin) ++flows[flow->id].first;
    if (flow->kind == trace::PointKind::FlowEnd) ++flows[flow->id].second;
  }
  size_t complete = 0;
  for (const auto& [id, ends] : flows) {
    EXPECT_EQ(ends.first, 1u) << "flow " << id;
    if (ends.second == 1) ++complete;
  }
  // linear, relu, linear, sum of each step. A linear layer has a node for the transposed weight too.
  EXPECT_EQ(complete, 2u * 10u * 6u) << flows.size() << " flows\n" << seen.summary();
}

TEST_F(OperatorsTest, TheyAreLeftOutOnRequest) {
  const Readback seen = record({"--without", "torch"});
  EXPECT_TRUE(sound_and_complete(seen)) << seen.summary();
  EXPECT_EQ(seen.count("aten::addmm"), 0u);
  EXPECT_EQ(seen.points_count("begins"), 1u);
}

}  // namespace
}  // namespace kymo::e2e
