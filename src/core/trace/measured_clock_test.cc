#include "trace/measured_clock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "trace/reader.h"
#include "trace/writer.h"

namespace kymo::trace {
namespace {

TEST(MeasuredClockTest, IsAddedToATraceAndReadAgain) {
  const std::string path = std::filesystem::temp_directory_path() / ("kymo-clock-" + std::to_string(::getpid()));
  Origin origin;
  origin.pid = 7;
  origin.host = "a";
  origin.metadata = {{"job", "12"}};
  {
    Writer writer(path, Writer::Mode::Create);
    writer.origin(WriterId{}, origin);
    writer.close();
  }
  EXPECT_FALSE(measured_clock(Reader(path).writers().begin()->second.origin));
  add_measured_clock(path, {"here", -3'600'000'000'000, 42});
  const Reader reader(path);
  ASSERT_EQ(reader.writers().size(), 1u);
  const Origin& found = reader.writers().begin()->second.origin;
  EXPECT_EQ(found.pid, 7u);
  EXPECT_EQ(found.metadata.front().second, "12") << "what was there stays";
  const auto clock = measured_clock(found);
  ASSERT_TRUE(clock);
  EXPECT_EQ(clock->reference, "here");
  EXPECT_EQ(clock->offset_ns, -3'600'000'000'000);
  EXPECT_EQ(clock->error_ns, 42u);
  std::filesystem::remove(path);
}

TEST(MeasuredClockTest, ADamagedOneIsNone) {
  Origin origin;
  origin.metadata = {{"clock.reference", "x"}, {"clock.offset_ns", "12 h"}, {"clock.error_ns", "1"}};
  EXPECT_FALSE(measured_clock(origin));
}

TEST(MeasuredClockTest, ErrorsOfSeveralMergesAddUp) {
  Origin origin;
  origin.metadata = {{"job", "12"}};
  EXPECT_EQ(alignment_error(origin), 0u);
  add_alignment_error(origin, 40);
  add_alignment_error(origin, 2);
  EXPECT_EQ(alignment_error(origin), 42u);
  EXPECT_EQ(origin.metadata.size(), 2u);
  origin.metadata.back().second = "much";
  EXPECT_EQ(alignment_error(origin), 0u);
}

}  // namespace
}  // namespace kymo::trace
