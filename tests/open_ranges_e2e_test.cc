// Ranges that are open for long, or for ever: they cost no other thread its records, and the trace shows them.

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "readback.h"
#include "record/layout.h"
#include "support.h"

namespace kymo::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

class OpenRangesTest : public EitherCollector {};
INSTANTIATE_TEST_SUITE_P(, OpenRangesTest, ::testing::Values(Collector::InProgram, Collector::KymoRecord),
                         collector_name);

class OpenRangesOfATraceTest : public CommandTest {
 protected:
  // The ticks in the only segment at which a collector last saw the process alive.
  uint64_t last_seen_alive() const {
    uint64_t ticks = 0;
    for (const auto& entry : fs::recursive_directory_iterator(memory())) {
      if (!entry.is_regular_file()) continue;
      std::ifstream segment(entry.path(), std::ios::binary);
      segment.seekg(offsetof(record::SegmentHeader, alive_until));
      segment.read(reinterpret_cast<char*>(&ticks), sizeof ticks);
    }
    return ticks;
  }
};

TEST_P(OpenRangesTest, AThreadThatNeverEndsItsRangesDoesNotBlockOthers) {
  const Ending ending = run_recorded(GetParam(), file("a.kymo"), {program("open"), "many", "200000"});
  ASSERT_EQ(ending.code, 0) << ending.err;
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_EQ(trace.count("other"), 1000u) << trace.summary();
  const Ending stats = run({program("kymo"), "stats", file("a.kymo"), "--json", "--strict"});
  EXPECT_EQ(stats.code, 0) << stats.err;
  EXPECT_THAT(stats.out, HasSubstr("\"unfinished\": 200000")) << stats.out;
  EXPECT_THAT(left_in_memory(), IsEmpty());
}

TEST_P(OpenRangesTest, OpenRangesWithManyValuesDoNotBlockOthers) {
  const Ending ending = run_recorded(GetParam(), file("a.kymo"), {program("open"), "texts", "20000"});
  ASSERT_EQ(ending.code, 0) << ending.err;
  const Readback trace = read_back(file("a.kymo"));
  EXPECT_EQ(trace.count("other"), 1000u) << trace.summary();
  EXPECT_EQ(trace.lost(), 0u) << trace.summary();
}

TEST_P(OpenRangesTest, RangesAboveTheLimitEndToo) {
  const Ending ending = run_recorded(GetParam(), file("a.kymo"), {program("open"), "pops", "100000"});
  ASSERT_EQ(ending.code, 0) << ending.err;
  const Ending stats = run({program("kymo"), "stats", file("a.kymo"), "--json", "--strict"});
  EXPECT_EQ(stats.code, 0) << stats.err;
  EXPECT_THAT(stats.out,
              AllOf(HasSubstr("\"count\": 8192"), HasSubstr("\"count\": 91808"), HasSubstr("\"unfinished\": 0")));
}

TEST_F(OpenRangesOfATraceTest, TheOpenRangesOfAKilledProgramAreShownByName) {
  Process process = start({program("kymo"), "record", "-o", file("a.kymo"), "--", program("open"), "hang"});
  ASSERT_TRUE(wait_until("the open ranges", [&] { return process.output() == "stuck\n"; }));
  const uint64_t seen = last_seen_alive();
  ASSERT_TRUE(wait_until("the collector to see it alive", [&] { return last_seen_alive() > seen; }));
  ASSERT_EQ(run({"/bin/sh", "-c", "pkill -KILL -P " + std::to_string(process.pid())}).code, 0);
  const Ending ending = process.wait();
  EXPECT_THAT(ending.err, HasSubstr("2 unfinished ranges from 1 process"));
  const Ending stats = kymo({"stats", file("a.kymo")});
  EXPECT_THAT(stats.out, AllOf(HasSubstr("outer (unfinished)"), HasSubstr("stuck {} (unfinished)")));
  EXPECT_THAT(kymo({"info", file("a.kymo")}).out, HasSubstr(": outer > stuck 7"));
  ASSERT_EQ(kymo({"export", file("a.kymo"), "-o", file("a.json")}).code, 0);
  const std::string json = contents_of(file("a.json"));
  EXPECT_THAT(json, AllOf(HasSubstr("\"stuck 7\""), HasSubstr("\"finished\":false")));
  // They last until the program was last seen alive; their duration is not zero.
  ASSERT_EQ(kymo({"export", file("a.kymo"), "-o", file("a.csv")}).code, 0);
  const std::string csv = contents_of(file("a.csv"));
  const size_t row = csv.find("range,outer,");
  ASSERT_NE(row, std::string::npos) << csv;
  std::vector<std::string> cells;
  std::stringstream line(csv.substr(row, csv.find('\n', row) - row));
  for (std::string cell; std::getline(line, cell, ',');) cells.push_back(cell);
  EXPECT_GT(std::stoull(cells.at(8)), 0u) << csv;
}

TEST_F(OpenRangesOfATraceTest, OpenRangesOfARunningProgramLastUntilNow) {
  Process process = start_recorded(Collector::InProgram, file("a.kymo"), {program("open"), "hang"});
  ASSERT_TRUE(wait_until("the open ranges", [&] { return process.output() == "stuck\n"; }));
  wait_until("a range that has lasted for more than a second", [&] {
    const Ending stats = kymo({"stats", file("a.kymo"), "--json"});
    const size_t row = stats.out.find("\"outer\"");
    if (row == std::string::npos) return false;
    const std::string total = "\"total_ns\": ";
    return std::stoull(stats.out.substr(stats.out.find(total, row) + total.size())) > 1'000'000'000;
  });
}

}  // namespace
}  // namespace kymo::e2e
