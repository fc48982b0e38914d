#include "import/xplane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "import/import.h"
#include "import/test_import.h"
#include "kymo/error.h"
#include "trace/test_support.h"

namespace kymo::import {
namespace {

using protozero::pbf_writer;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::Shown;

constexpr int64_t kStart = 1'700'000'000'000'000'000;

std::string map_entry(uint64_t id, const std::string& name, const std::string& display_name = {}) {
  std::string value, entry;
  pbf_writer of_value(value);
  of_value.add_uint64(1, id);
  of_value.add_string(2, name);
  if (!display_name.empty()) of_value.add_string(4, display_name);
  pbf_writer of_entry(entry);
  of_entry.add_uint64(1, id);
  of_entry.add_message(2, value);
  return entry;
}

std::string event(uint64_t metadata, int64_t offset_ps, int64_t duration_ps,
                  const std::vector<std::string>& stats = {}) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_uint64(1, metadata);
  writer.add_int64(2, offset_ps);
  writer.add_int64(3, duration_ps);
  for (const std::string& stat : stats) writer.add_message(4, stat);
  return bytes;
}

std::string number_stat(uint64_t metadata, uint64_t value) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_uint64(1, metadata);
  writer.add_uint64(3, value);
  return bytes;
}

std::string line(int64_t id, const std::string& name, int64_t timestamp_ns, const std::vector<std::string>& events) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_int64(1, id);
  writer.add_string(2, name);
  writer.add_int64(3, timestamp_ns);
  for (const std::string& one : events) writer.add_message(4, one);
  return bytes;
}

// The numbers of names: 1 is an event, 5 a stat.
std::string plane(const std::string& name, const std::vector<std::string>& lines) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_string(2, name);
  for (const std::string& one : lines) writer.add_message(3, one);
  writer.add_message(4, map_entry(1, "fusion = f32[8] fusion(x)", "fusion.1"));
  writer.add_message(4, map_entry(2, "MemcpyH2D"));
  writer.add_message(5, map_entry(5, "correlation_id"));
  writer.add_message(5, map_entry(6, "bytes"));
  return bytes;
}

std::string space(const std::vector<std::string>& planes) {
  std::string bytes;
  pbf_writer writer(bytes);
  for (const std::string& one : planes) writer.add_message(1, one);
  return bytes;
}

std::vector<std::string> example_planes() {
  const std::string launch = event(1, 2'000'500, 1'000'000, {number_stat(5, 42)});
  const std::string work = event(1, 500'000, 3'000'499, {number_stat(5, 42), number_stat(6, 64)});
  return {plane("/device:GPU:0", {line(14, "Stream #14(Compute)", kStart + 5'000, {work, event(2, 9'000'000, 1'000)}),
                                  line(2, "Steps", kStart + 5'000, {event(1, 0, 9'000'000)})}),
          plane("/host:CPU", {line(77, "python", kStart, {launch, event(2, 8'000'000, 0)})})};
}

std::string example() { return space(example_planes()); }

TEST(XPlaneTest, LinesAreThreadsAndQueues) {
  const Shown shown(example(), read_xplane);
  EXPECT_EQ(shown.base_ns, kStart + 5'000) << "of the first line";
  EXPECT_THAT(shown.lines, Contains("host/python range fusion.1 [] 0+1000 d0 c42 {}"));
  EXPECT_THAT(shown.lines, Contains(HasSubstr("host/python point")));
  EXPECT_THAT(shown.lines, Contains("host/Stream #14(Compute) range fusion.1 [kernel] 3500+3000 d0 c42 {bytes=64}"));
  EXPECT_THAT(shown.lines, Contains("host/Stream #14(Compute) range MemcpyH2D [gpu_memcpy] 12000+1 d0 {}"));
  EXPECT_THAT(shown.lines, Contains("host/Steps range fusion.1 [gpu_user_annotation] 3000+9000 d0 {}"));
  EXPECT_EQ(shown.lost, 0u);
}

TEST(XPlaneTest, FileIsNotTakenForAPerfettoTrace) {
  const trace::testing::TemporaryPath path;
  std::ofstream(path.string(), std::ios::binary) << example();
  EXPECT_EQ(format_of(path.string()), Format::XPlane);
  EXPECT_FALSE(looks_like_xplane("\x0a\x04\x12\x02\x0a\x00"));
  EXPECT_FALSE(looks_like_xplane(""));
}

TEST(XPlaneTest, EveryTruncationIsReported) {
  const std::string whole = example();
  const size_t first = space({example_planes().front()}).size();
  for (size_t size = 1; size < whole.size(); ++size) {
    if (size == first) continue;  // a file with one plane
    try {
      const Shown shown(std::string_view(whole).substr(0, size), read_xplane);
      EXPECT_GT(shown.lost, 0u) << size;
    } catch (const Error&) {
      continue;  // nothing can be read
    }
  }
}

TEST(XPlaneTest, HugeTimesAndCountedEventsAreNotTrusted) {
  std::string counted;
  pbf_writer writer(counted);
  writer.add_uint64(1, 1);
  writer.add_int64(5, 1000);
  const std::string wild = event(1, INT64_MAX, INT64_MAX);
  const Shown shown(
      space({plane("/host:CPU", {line(1, "a", INT64_MAX, {wild, counted}), line(1, "a", INT64_MIN, {wild})})}),
      read_xplane);
  EXPECT_EQ(shown.events, 2u);
  EXPECT_THAT(shown.losses, Contains("1 events that only count occurrences, and have no time"));
}

}  // namespace
}  // namespace kymo::import
