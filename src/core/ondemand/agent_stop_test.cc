// Requests that end before their time, names of files, and how late a recording begins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <new>

#include "base/clock.h"
#include "base/test_wait.h"
#include "ondemand/test_program.h"

namespace kymo::ondemand {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kMs;
using testing::names_in_trace;
using testing::Program;
using testing::work_in_ranges;
using wire::RequestState;

constexpr uint64_t kHourMs = 3'600'000;

using AgentStopTest = testing::WithDaemon;

TEST_F(AgentStopTest, StoppedRecordingIsKeptAndSaysThatItIsShorter) {
  // Shared with the program: how many ranges it has ended.
  void* const page =
      mmap(nullptr, sizeof(std::atomic<uint64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* const ended = new (page) std::atomic<uint64_t>(0);
  Program program(socket, [ended](const std::atomic<bool>& over) {
    for (; !over; ++*ended) {
      KYMO_RANGE("work");
      usleep(200);
    }
  });
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(start_for(kHourMs));
  ASSERT_TRUE(agent->reaches(RequestState::Recording));
  const uint64_t before = *ended;
  base::wait_until("three ranges", [&] { return *ended >= before + 3; });
  agent->send(wire::Cancel{7, true});
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->state, RequestState::Finished) << done->text;
  EXPECT_EQ(done->text, "it is shorter than asked for: it was stopped");
  EXPECT_GT(names_in_trace(done->path).at("work"), 0u);
  EXPECT_LT(done->took_ns, kHourMs * kMs);
  EXPECT_EQ(program.end(), 0);
  munmap(page, sizeof(std::atomic<uint64_t>));
}

TEST_F(AgentStopTest, StopBeforeTheRecordingBeginsLeavesNoFile) {
  Program program(socket, work_in_ranges);
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  wire::Start start = start_for(10);
  start.options.start_at_ns = base::realtime_ns() + kHourMs * kMs;
  agent->send(start);
  ASSERT_TRUE(agent->reaches(RequestState::Waiting));
  agent->send(wire::Cancel{7, true});
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->state, RequestState::Cancelled);
  EXPECT_THAT(files_there(), IsEmpty());
}

TEST_F(AgentStopTest, UnknownRequestCannotBeStopped) {
  Program program(socket, work_in_ranges);
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(wire::Cancel{8, true}, 5);
  const auto refused = agent->next_of<wire::Refused>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->message_type, static_cast<uint32_t>(wire::MessageType::Cancel));
  EXPECT_THAT(refused->text, HasSubstr("request not found"));
}

TEST_F(AgentStopTest, PidInTheFileNameIsTheOneThatTheDaemonSees) {
  Program program(socket, work_in_ranges);
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  wire::Start start = start_for(10);
  start.pid = 123'456;
  agent->send(start);
  auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->path, file("a-123456.kymo"));
  start.options.output = file("b.kymo");
  agent->send(start);
  done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->path, file("b_123456.kymo"));
}

TEST_F(AgentStopTest, RequestThatArrivesLateIsReportedAsLate) {
  Program program(socket, work_in_ranges);
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  wire::Start start = start_for(10);
  start.asked_at_ns = base::realtime_ns() - 5'000 * kMs;  // as if the program had been stopped since then
  agent->send(start);
  auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->state, RequestState::Finished) << done->text;
  EXPECT_GE(done->late_ns, static_cast<int64_t>(5'000 * kMs));
  start.asked_at_ns = base::realtime_ns() + kHourMs * kMs;  // the clock was set meanwhile
  agent->send(start);
  done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_GE(done->late_ns, 0);
  EXPECT_LT(done->late_ns, static_cast<int64_t>(kHourMs * kMs));
}

}  // namespace
}  // namespace kymo::ondemand
