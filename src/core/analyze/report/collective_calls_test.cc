#include "analyze/report/collective_calls.h"

#include <gtest/gtest.h>

#include "analyze/report/iteration_operations.h"
#include "trace/test_recorder.h"

namespace kymo::analyze {
namespace {

using trace::FieldType;
using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

constexpr uint32_t kMain = 1, kStream = 2;
enum Class : uint32_t { kStep = 1, kKernel, kReduce, kUnnamed, kSend, kNumbered, kOperator, kLaunch, kNcclCall };

class CollectiveCallsTest : public ::testing::Test {
 protected:
  CollectiveCallsTest() : recorder_(folder_ / "trace.kymo") {
    const std::vector<trace::Field> fields = {{"Collective name", FieldType::String},
                                              {"Process Group Ranks", FieldType::String},
                                              {"Process Group Name", FieldType::String}};
    recorder_.add_class(kStep, "ProfilerStep#{}", "user_annotation", {{"", FieldType::Int}});
    recorder_.add_class(kKernel, "gemm", "kernel", {{"grid", FieldType::Int}});
    recorder_.add_class(kReduce, "ncclDevKernel_AllReduce", "kernel", fields);
    recorder_.add_class(kUnnamed, "ncclDevKernel_AllGather", "kernel");
    recorder_.add_class(kSend, "ncclDevKernel_SendRecv", "kernel", fields);
    recorder_.add_class(
        kNumbered, "ncclDevKernel_Broadcast", "kernel",
        {{"Process Group Name", FieldType::String}, {"Group size", FieldType::Int}, {"Seq", FieldType::Int}});
    recorder_.add_class(kOperator, "record_param_comms", "cpu_op",
                        {{"Process Group Name", FieldType::String},
                         {"Process Group Ranks", FieldType::String},
                         {"Seq", FieldType::Int}});
    recorder_.add_class(kLaunch, "cudaLaunchKernel", "cuda_runtime");
    recorder_.add_class(kNcclCall, "AllGather", "nccl",
                        {{"communicator", FieldType::String},
                         {"communicator id", FieldType::String},
                         {"ranks", FieldType::Int},
                         {"sequence", FieldType::Int}});
    recorder_.add_thread(kMain, 7, "main");
    recorder_.add_queue(kStream, "GPU 0", "stream");
  }

  void step(uint64_t at, int64_t number) {
    recorder_.begin(kMain, at, kStep, {number});
    recorder_.end(kMain, at + 1'000);
  }
  void call(uint64_t at, uint32_t class_id, std::string_view collective, std::string_view group) {
    recorder_.begin(kStream, at, class_id, {std::string(collective), std::string("[0, 1]"), std::string(group)});
    recorder_.end(kStream, at + 10);
  }
  CollectiveCalls read() {
    recorder_.close();
    const trace::Reader reader(folder_ / "trace.kymo");
    EventWalk walk(reader);
    const DeviceWork work = read_device_work(walk);
    const Iterations iterations = find_iterations(walk, launching_track(work));
    return collective_calls(walk, work, iterations, iteration_numbers(walk, iterations));
  }

  TemporaryFolder folder_;
  TestRecorder recorder_;
};

std::vector<Waiting> waiting_of(const CollectiveCalls& calls) {
  std::vector<Waiting> all;
  for (const CollectiveCall& one : calls.rows) all.push_back(one.waiting);
  return all;
}

TEST_F(CollectiveCallsTest, CallsAreNumberedByIterationAndGroup) {
  for (const uint64_t at : {0u, 2'000u}) {
    step(at, static_cast<int64_t>(at / 2'000 + 1));
    call(at + 100, kReduce, "allreduce", "tp");
    recorder_.begin(kStream, at + 150, kKernel, {int64_t{3}});
    recorder_.end(kStream, at + 160);
    call(at + 200, kReduce, "allreduce", "dp");
    call(at + 300, kReduce, "allreduce", "tp");
  }
  const CollectiveCalls calls = read();
  ASSERT_EQ(calls.rows.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    const CollectiveCall& one = calls.rows[i];
    EXPECT_EQ(one.iteration, i / 3);
    EXPECT_EQ(calls.groups[one.group].name, i % 3 == 1 ? "dp [0, 1]" : "tp [0, 1]");
    EXPECT_EQ(calls.names[one.name], "ncclDevKernel_AllReduce");
    EXPECT_EQ(one.call, i % 3 == 2 ? 1u : 0u);
    EXPECT_EQ(one.calls, i % 3 == 1 ? 1u : 2u);
    EXPECT_EQ(one.end - one.begin, 10);
    EXPECT_EQ(one.waiting, Waiting::ForAll);
  }
}

TEST_F(CollectiveCallsTest, IterationsWithOneNumberAreOne) {
  for (const uint64_t at : {0u, 2'000u}) {
    step(at, 5);
    recorder_.complete(kStream, at + 100, at + 110, kUnnamed);
  }
  const CollectiveCalls calls = read();
  ASSERT_EQ(calls.rows.size(), 2u);
  EXPECT_EQ(calls.groups[calls.rows[1].group].name, "");
  EXPECT_EQ(calls.rows[1].call, 1u);
  EXPECT_EQ(calls.rows[1].calls, 2u);
}

TEST_F(CollectiveCallsTest, OfKernelsThatSendOnlyAllToAllIsACollective) {
  step(0, 1);
  call(100, kSend, "send", "pp");
  call(200, kSend, "all_to_allv", "ep");
  const CollectiveCalls calls = read();
  ASSERT_EQ(calls.rows.size(), 2u);
  EXPECT_EQ(calls.rows[0].waiting, Waiting::NotForAll);
  EXPECT_EQ(calls.rows[1].waiting, Waiting::ForAll);
}

TEST_F(CollectiveCallsTest, RanksDoNotWaitForEachOtherInCallsWithARoot) {
  enum : uint32_t { kBroadcast = 100, kReduceToOne, kReduceScatter };
  recorder_.add_class(kBroadcast, "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "kernel");
  recorder_.add_class(kReduceToOne, "ncclKernel_Reduce_RING_LL_Sum_float(ncclWorkElem)", "kernel");
  recorder_.add_class(kReduceScatter, "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", "kernel");
  step(0, 1);
  recorder_.complete(kStream, 100, 110, kBroadcast);
  recorder_.complete(kStream, 200, 210, kReduceToOne);
  recorder_.complete(kStream, 300, 310, kReduceScatter);
  call(400, kReduce, "_reduce_oop", "tp");  // a kernel for all collectives, as of RCCL
  call(500, kReduce, "reduce_scatter", "tp");
  const CollectiveCalls calls = read();
  using enum Waiting;
  EXPECT_EQ(waiting_of(calls), (std::vector{NotForAll, NotForAll, ForAll, NotForAll, ForAll}));
}

TEST_F(CollectiveCallsTest, WhatAGenericKernelDoesIsWhatTheHostSays) {
  enum : uint32_t { kGeneric = 100, kGenericOfGroup, kParameters, kOwnRange, kBroadcastCall };
  recorder_.add_class(kGeneric, "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", "kernel");
  recorder_.add_class(kGenericOfGroup, "ncclDevKernel_Generic_4", "kernel",
                      {{"Process Group Name", FieldType::String}, {"Group size", FieldType::Int}});
  recorder_.add_class(kParameters, "record_param_comms", "cpu_op",
                      {{"Process Group Name", FieldType::String}, {"Collective name", FieldType::String}});
  recorder_.add_class(kOwnRange, "all_reduce", "", {{"communicator", FieldType::String}});
  recorder_.add_class(kBroadcastCall, "Broadcast", "nccl", {{"communicator", FieldType::String}});
  recorder_.begin(kMain, 0, kStep, {int64_t{1}});
  const auto launch = [&](uint64_t at) { recorder_.complete(kMain, at + 10, at + 20, kLaunch, 2, 0, at); };
  for (const uint64_t at : {100u, 200u}) {
    recorder_.begin(kMain, at, kParameters, {std::string("tp"), std::string(at == 100 ? "allreduce" : "broadcast")});
    launch(at);
    recorder_.end(kMain, at + 50);
  }
  recorder_.begin(kMain, 300, kOwnRange, {std::string("tp")});
  launch(300);
  recorder_.end(kMain, 350);
  for (const uint64_t at : {400u, 500u, 600u}) launch(at);
  recorder_.point(kMain, 430, trace::PointKind::AsyncBegin, kNcclCall, 400,
                  {std::string("tp"), std::string("a1"), int64_t{4}, int64_t{5}});
  recorder_.point(kMain, 530, trace::PointKind::AsyncBegin, kBroadcastCall, 500, {std::string("dp")});
  recorder_.end(kMain, 1'000);
  for (const uint64_t at : {100u, 200u, 300u, 400u, 600u})
    recorder_.complete(kStream, at + 400, at + 410, kGeneric, 0, 0, at);
  recorder_.begin(kStream, 1'100, kGenericOfGroup, {std::string("own"), int64_t{2}}, 500);
  recorder_.end(kStream, 1'110);
  const CollectiveCalls calls = read();
  using enum Waiting;
  EXPECT_EQ(waiting_of(calls), (std::vector{ForAll, NotForAll, ForAll, ForAll, Unknown, NotForAll}));
  EXPECT_EQ(calls.groups[calls.rows[5].group], (ProcessGroup{"own", 2}));
}

TEST_F(CollectiveCallsTest, CallsWithSequenceNumbersAreNotCountedTogether) {
  step(0, 1);
  for (const int64_t sequence : {41, 42}) {
    recorder_.begin(kStream, static_cast<uint64_t>(sequence * 10), kNumbered,
                    {std::string("tp"), int64_t{8}, sequence});
    recorder_.end(kStream, static_cast<uint64_t>(sequence * 10 + 5));
  }
  const CollectiveCalls calls = read();
  ASSERT_EQ(calls.rows.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(calls.groups[calls.rows[i].group], (ProcessGroup{"tp", 8}));
    EXPECT_EQ(calls.rows[i].sequence, static_cast<int64_t>(41 + i));
    EXPECT_EQ(calls.rows[i].call, 0u);
    EXPECT_EQ(calls.rows[i].calls, 1u);
  }
}

TEST_F(CollectiveCallsTest, TheGroupIsThatOfTheHostRangeIfTheDeviceNamesNone) {
  recorder_.begin(kMain, 0, kStep, {int64_t{1}});
  for (const uint64_t at : {100u, 200u}) {
    recorder_.begin(kMain, at, kOperator,
                    {std::string(at == 100 ? "tp" : "dp"), std::string("[1,0]"), static_cast<int64_t>(at)});
    recorder_.complete(kMain, at + 10, at + 20, kLaunch, 2, 0, at);
    recorder_.end(kMain, at + 50);
  }
  recorder_.complete(kMain, 300, 310, kLaunch, 1, 0, 300);
  recorder_.end(kMain, 1'000);
  for (const uint64_t at : {100u, 200u, 300u}) recorder_.complete(kStream, at + 400, at + 410, kUnnamed, 0, 0, at);
  const CollectiveCalls calls = read();
  ASSERT_EQ(calls.rows.size(), 3u);
  EXPECT_EQ(calls.groups[calls.rows[0].group], (ProcessGroup{"tp [0, 1]", 2}));
  EXPECT_EQ(calls.rows[0].sequence, 100);
  EXPECT_EQ(calls.groups[calls.rows[1].group], (ProcessGroup{"dp [0, 1]", 2}));
  EXPECT_EQ(calls.groups[calls.rows[2].group], ProcessGroup{});
  EXPECT_EQ(calls.rows[2].sequence, -1);
}

TEST_F(CollectiveCallsTest, ACallOfNcclNamesTheCommunicatorOfTheKernelThatWasLaunchedBeforeIt) {
  recorder_.begin(kMain, 0, kStep, {int64_t{1}});
  for (const uint64_t at : {100u, 200u, 300u, 400u, 1'100u}) {
    if (at == 1'100) recorder_.end(kMain, 1'000);  // outside of the iteration
    recorder_.complete(kMain, at, at + 10, kLaunch, at < 1'000 ? 1 : 0, 0, at);
    if (at == 200 || at == 400) continue;  // of a CUDA graph
    recorder_.point(kMain, at + 20, trace::PointKind::AsyncBegin, kNcclCall, at,
                    {std::string("tp"), std::string(at == 100 ? "a1" : "b2"), int64_t{4}, static_cast<int64_t>(at)});
  }
  for (const uint64_t at : {100u, 200u, 300u, 400u, 1'100u})
    recorder_.complete(kStream, at + 400, at + 410, kUnnamed, 0, 0, at);
  const CollectiveCalls calls = read();
  ASSERT_EQ(calls.rows.size(), 4u);
  EXPECT_EQ(calls.groups[calls.rows[3].group], ProcessGroup{});
  EXPECT_EQ(calls.groups[calls.rows[0].group], (ProcessGroup{"tp a1", 4}));
  EXPECT_EQ(calls.rows[0].sequence, 100);
  EXPECT_EQ(calls.groups[calls.rows[1].group], ProcessGroup{});
  EXPECT_EQ(calls.groups[calls.rows[2].group], (ProcessGroup{"tp b2", 4}));
  EXPECT_EQ(calls.rows[2].sequence, 300);
}

TEST_F(CollectiveCallsTest, TheOnlyCommunicatorIsThatOfAllKernelsOfNccl) {
  recorder_.begin(kMain, 0, kStep, {int64_t{1}});
  for (const uint64_t at : {100u, 200u}) recorder_.complete(kMain, at, at + 10, kLaunch, 1, 0, at);
  recorder_.point(kMain, 220, trace::PointKind::AsyncBegin, kNcclCall, 1,
                  {std::string("c0ffee"), std::string("c0ffee"), int64_t{8}, int64_t{5}});
  recorder_.end(kMain, 1'000);
  for (const uint64_t at : {100u, 200u}) recorder_.complete(kStream, at + 400, at + 410, kUnnamed, 0, 0, at);
  const CollectiveCalls calls = read();
  ASSERT_EQ(calls.rows.size(), 2u);
  for (const CollectiveCall& call : calls.rows) EXPECT_EQ(calls.groups[call.group], (ProcessGroup{"c0ffee", 8}));
  EXPECT_EQ(calls.rows[0].sequence, -1);
  EXPECT_EQ(calls.rows[1].sequence, 5);
}

TEST_F(CollectiveCallsTest, OutsideOfIterationsThereIsNone) {
  step(0, 1);
  recorder_.complete(kStream, 1'500, 1'510, kUnnamed);
  EXPECT_TRUE(read().rows.empty());
}

}  // namespace
}  // namespace kymo::analyze
