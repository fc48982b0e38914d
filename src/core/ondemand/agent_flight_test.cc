// Which past events a flight recorder keeps, and traces that are requested while it runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/test_wait.h"
#include "kymo/session.h"
#include "ondemand/test_program.h"

namespace kymo::ondemand {
namespace {

using testing::kMs;
using testing::names_in_trace;
using testing::Program;
using testing::work_in_ranges;
using wire::RequestState;

class AgentFlightTest : public testing::WithDaemon {
 protected:
  std::map<std::string, std::string> flight(const std::string& size) const {
    return {{"KYMO_FLIGHT", size}, {"KYMO_TRACE_DIR", folder}};
  }
  // Times of a clock with an unknown rate can be converted only between two pairs.
  static bool clocks_can_be_read(const std::string& path) {
    const trace::Reader reader(path);
    for (const auto& [id, writer] : reader.writers())
      for (const auto& [number, clock] : writer.clocks)
        if (clock.pairs.size() < 2) return false;
    return !reader.writers().empty();
  }
  wire::Start last(uint64_t ms) const { return {2, {.last_ns = ms * kMs, .output = file("last-{pid}.kymo")}}; }
};

TEST_F(AgentFlightTest, FlightRecorderKeepsPastEventsAcrossARequestedTrace) {
  Program program(
      socket,
      [this](const std::atomic<bool>& over) {
        base::wait_until("the recording", is_recording);
        { Range first{"first"}; }
        std::filesystem::create_directory(file("ready"));
        work_in_ranges(over);
      },
      flight("4MB"));
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  wait_for_file("ready");
  agent->send(start_for(100, 1));
  const auto trace = agent->next_of<wire::Done>();
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->state, RequestState::Finished) << trace->text;
  EXPECT_EQ(trace->took_ns, 100 * kMs);
  EXPECT_TRUE(clocks_can_be_read(trace->path));
  EXPECT_FALSE(names_in_trace(trace->path).contains("first"));
  EXPECT_EQ(trace->events, names_in_trace(trace->path)["work"]);
  agent->send(last(600'000));
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  ASSERT_EQ(done->state, RequestState::Finished) << done->text;
  EXPECT_TRUE(clocks_can_be_read(done->path));
  auto names = names_in_trace(done->path);
  EXPECT_EQ(names["first"], 1u);
  EXPECT_GE(names["work"], trace->events);
  EXPECT_EQ(program.end(), 0);
  EXPECT_EQ(files_there().size(), 3u) << "the flight recorder's own file is gone";
}

TEST_F(AgentFlightTest, LinksAreNotFollowed) {
  Program program(socket, work_in_ranges, flight("1MB"));
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  std::ofstream(file("precious")) << "mine";
  const std::string path = file("last-" + std::to_string(program.pid()) + ".kymo");
  std::filesystem::create_symlink(file("precious"), path + ".part.part");
  agent->send(last(1000));
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->state, RequestState::Finished) << done->text;
  EXPECT_EQ(std::filesystem::file_size(file("precious")), 4u);
}

TEST_F(AgentFlightTest, RequestedTraceCanBeLongerThanTheFlightRecorder) {
  Program program(
      socket,
      [](const std::atomic<bool>& over) {
        for (uint64_t i = 0; !over; ++i) {
          for (uint64_t k = 0; k < 100; ++k) {
            KYMO_RANGE("work", arg("number", i * 0x9e3779b97f4a7c15 + k * i * i));
          }
          Range number{"{}", i};
          usleep(100);
        }
      },
      flight("1MB"));
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(start_for(500));
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  ASSERT_EQ(done->state, RequestState::Finished) << done->text;
  uint64_t least = ~uint64_t{0}, max = 0, count = 0;
  for (const auto& [name, times] : names_in_trace(done->path)) {
    if (name == "work") continue;
    EXPECT_EQ(times, 1u) << name;
    least = std::min<uint64_t>(least, std::stoull(name));
    max = std::max<uint64_t>(max, std::stoull(name));
    ++count;
  }
  ASSERT_GT(count, 0u);
  EXPECT_GE(count + done->losses, max - least + 1) << "nothing is missing that is not said";
  if (done->losses == 0) {
    EXPECT_EQ(count, max - least + 1);
  }
}

TEST_F(AgentFlightTest, ProgramsOwnSessionEndsBothAndTheFlightRecorderRestarts) {
  Program program(
      socket,
      [this](const std::atomic<bool>& over) {
        wait_for_file("go");
        Session(file("own.kymo")).close();
        work_in_ranges(over);
      },
      flight("1MB"));
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(start_for(60'000, 1));
  ASSERT_TRUE(agent->reaches(RequestState::Recording));
  std::filesystem::create_directory(file("go"));
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->state, RequestState::Finished) << done->text;
  EXPECT_NE(done->text.find("a recording of its own"), std::string::npos) << done->text;
  RequestState state = RequestState::Failed;
  const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  // Until the program's own session has ended.
  while (state == RequestState::Failed && std::chrono::steady_clock::now() < patience) {
    agent->send(last(60'000));
    const auto again = agent->next_of<wire::Done>();
    ASSERT_TRUE(again);
    state = again->state;
    usleep(10'000);
  }
  EXPECT_EQ(state, RequestState::Finished);
}

TEST_F(AgentFlightTest, LastWithoutAFlightRecorderIsRefusedWithARemedy) {
  Program program(socket, work_in_ranges);
  auto agent = daemon->accept_agent();
  ASSERT_TRUE(agent);
  agent->send(wire::Start{2, {.last_ns = 50 * kMs, .output = file("last.kymo")}});
  const auto done = agent->next_of<wire::Done>();
  ASSERT_TRUE(done);
  EXPECT_NE(done->text.find("KYMO_FLIGHT="), std::string::npos) << done->text;
}

}  // namespace
}  // namespace kymo::ondemand
