// Programs that communicate with NCCL, under `kymo record`. A small program plays NCCL: one GPU produces no events.
#include "readback.h"
#include "support.h"

namespace kymo::e2e {
namespace {

class NcclTest : public EndToEnd {
 protected:
  void SetUp() override {
    if (!have_kymo()) GTEST_SKIP() << "the kymo command is not built";
  }
  Ending record(const Words& words, const Words& options = {}) {
    Words all{program("kymo"), "record", "-o", file("run.kymo")};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", program("nccl_client")});
    all.insert(all.end(), words.begin(), words.end());
    return run(all);
  }
  static const Argument* argument(const EventDetail& detail, const std::string& name) {
    for (const Argument& found : detail.arguments)
      if (found.name == name) return &found;
    return nullptr;
  }
};

TEST_F(NcclTest, CollectivesAndTheStatesOfTheirSteps) {
  const Ending ending = record({"collectives"});
  EXPECT_EQ(ending.code, 0) << ending.err;
  EXPECT_EQ(ending.out, "mask 94\n");
  const Readback trace = read_back(file("run.kymo"), Detail::Arguments);
  EXPECT_TRUE(sound_and_complete(trace));
  ASSERT_EQ(trace.points_count("AllReduce"), 1u) << trace.summary();
  const EventDetail& all = trace.detail_of(*trace.points_named("AllReduce")[0]);
  EXPECT_EQ(all.category, "nccl");
  ASSERT_NE(argument(all, "bytes"), nullptr);
  EXPECT_EQ(argument(all, "bytes")->bits, 4000u);
  EXPECT_EQ(argument(all, "communicator")->text, "world");
  ASSERT_NE(argument(all, "communicator id"), nullptr);
  EXPECT_EQ(argument(all, "communicator id")->text, "abc");
  EXPECT_EQ(argument(all, "ranks")->bits, 2u);
  EXPECT_EQ(argument(all, "rank")->bits, 1u);
  EXPECT_EQ(argument(all, "sequence")->bits, 5u);
  EXPECT_EQ(argument(all, "algorithm")->text, "RING");
  EXPECT_EQ(argument(all, "protocol")->text, "LL128");
  for (const char* state : {"wait for GPU", "wait for peer", "send"}) {
    ASSERT_EQ(trace.points_count(state), 1u) << state;
    const EventDetail& step = trace.detail_of(*trace.points_named(state)[0]);
    EXPECT_EQ(argument(step, "peer")->bits, 3u);
    EXPECT_EQ(argument(step, "channel")->bits, 1u);
  }
  EXPECT_EQ(trace.points_count("Send"), 1u);
}

TEST_F(NcclTest, OperationsWhoseEndIsNeverReportedAreCountedAndNothingGrows) {
  record({"many", "40000"});
  const Readback trace = read_back(file("run.kymo"));
  EXPECT_TRUE(sound(trace));
  EXPECT_EQ(trace.points_count("AllGather"), 40'000u) << trace.summary();
}

TEST_F(NcclTest, HandlesOfFinishedEventsAreIgnored) {
  EXPECT_EQ(record({"late"}).code, 0);
  const Readback trace = read_back(file("run.kymo"));
  EXPECT_TRUE(sound_and_complete(trace));
  EXPECT_EQ(trace.points_count("ReduceScatter"), 1u);
}

TEST_F(NcclTest, UnknownEventsGetNoHandle) {
  EXPECT_EQ(record({"unknown"}).out, "mask 94\nhandle 0\nhandle 0\n");
  const Readback trace = read_back(file("run.kymo"), Detail::Arguments);
  size_t nameless = 0;
  for (const Event* event : trace.points_named("?")) nameless += trace.detail_of(*event).category == "nccl" ? 1 : 0;
  EXPECT_EQ(nameless, 1u) << "a collective without any text";
}

TEST_F(NcclTest, Version4HasTheKindInOneByte) {
  EXPECT_EQ(record({"version4"}).code, 0);
  EXPECT_EQ(read_back(file("run.kymo")).points_count("Broadcast"), 1u);
}

TEST_F(NcclTest, AnExcludedInterfaceRecordsNothing) {
  EXPECT_EQ(record({"collectives"}, {"--without", "nccl"}).out, "no plugin is configured\n");
}

}  // namespace
}  // namespace kymo::e2e
