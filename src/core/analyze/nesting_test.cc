#include "analyze/nesting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace kymo::analyze {
namespace {

// The path and the self time of each range, by its number.
struct Found {
  using Owner = std::string;
  std::map<uint32_t, std::string> paths = {};
  std::map<uint32_t, uint64_t> self = {};

  Owner outside() const { return {}; }
  Owner visit(const Owner& around, const TimedRange& range, size_t depth) {
    const std::string path = around + "/" + std::to_string(range.number);
    EXPECT_EQ(static_cast<size_t>(std::count(path.begin(), path.end(), '/')), depth + 1);
    return paths[range.number] = path;
  }
  void take(const Owner&, const TimedRange& range, TickSpan part) { self[range.number] += part.ticks(); }
};

Found nest(const std::vector<TimedRange>& ranges) {
  AllRanges all;
  for (const TimedRange& range : ranges) all.add(range);
  Found found;
  nest_by_time(all, found);
  return found;
}

TEST(NestByTimeTest, ARangeIsInsideTheOneThatHasMostOfIt) {
  const Found found = nest({{0, 1001, 1}, {1000, 2000, 2}, {1000, 1500, 3}, {1700, 2001, 4}, {1900, 2900, 5}});
  EXPECT_EQ(found.paths, (std::map<uint32_t, std::string>{{1, "/1"}, {2, "/2"}, {3, "/2/3"}, {4, "/2/4"}, {5, "/5"}}));
  EXPECT_EQ(found.self, (std::map<uint32_t, uint64_t>{{1, 1000}, {2, 200}, {3, 500}, {4, 200}, {5, 1000}}));
}

// Times alone do not say whether a range without a length is before or inside another one.
TEST(NestByTimeTest, DepthsDecideIfTimesDoNot) {
  const Found found = nest({{10, 20, 1, 0, false, true},
                            {10, 10, 2, 0, false, true},
                            {10, 10, 3, 1, false, true},
                            {12, 18, 4, 1, false, true},
                            {20, 20, 5, 0, false, true}});
  EXPECT_EQ(found.paths.at(2), "/2");
  EXPECT_EQ(found.paths.at(4), "/1/4");
  EXPECT_EQ(found.paths.at(5), "/5");
}

// All inside of one range: steps that end after the next one has begun, with ranges that begin where others end.
TEST(NestByTimeTest, ManyRangesAreInsideOfOne) {
  constexpr uint32_t kSteps = 600, kParts = 600;
  std::vector<TimedRange> ranges = {{0, 1'000 * kSteps + 10, 0, 0, false, true}};
  for (uint32_t step = 0; step < kSteps; ++step)
    ranges.push_back({1'000 * step, 1'000 * step + 1'001, 1, 1, false, step % 2 == 0});
  for (uint32_t part = 0; part < kParts; ++part) ranges.push_back({2'000 + part, 2'001 + part, 2, 2, false, true});
  const Found found = nest(ranges);
  EXPECT_EQ(found.paths.at(1), "/0/1");  // of the last one
  EXPECT_EQ(found.paths.at(2), "/0/1/2");
  EXPECT_EQ(found.self.at(0), 9u);
  EXPECT_EQ(found.self.at(2), kParts);
}

TEST(NestByTimeTest, ManyEqualRangesTakeLittleTime) {
  std::vector<TimedRange> ranges;
  for (uint32_t i = 0; i < 50'000; ++i) ranges.push_back({i % 2 * 5, 10, i, 0, false, true});
  EXPECT_EQ(nest(ranges).paths.size(), ranges.size());
}

}  // namespace
}  // namespace kymo::analyze
