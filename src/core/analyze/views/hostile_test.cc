// Traces that no recorder wrote: any times, depths, lanes, classes and values in any order. The views must handle them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "analyze/views/distribution.h"
#include "analyze/views/flame.h"
#include "analyze/views/timeline.h"
#include "trace/test_wild_trace.h"

namespace kymo::views {
namespace {

using trace::testing::TemporaryFolder;
using trace::testing::write_wild_trace;

std::string flame_of(const Paths& paths, FlameFormat format) {
  convert::StringStream out;
  write_flame(paths, format, "\x1b wild \xff", out);
  return out.text();
}

TEST(HostileViewsTest, EveryViewHandlesAnyTrace) {
  TemporaryFolder folder;
  const std::string path = folder / "t.kymo";
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    write_wild_trace(path, seed);
    const trace::Reader reader(path);
    const PathOptions limits{.full_text = seed % 2 == 0, .max_paths = seed % 3 == 0 ? 50u : 1u << 20};
    const Paths paths = collect_paths(reader, limits);
    ASSERT_FALSE(paths.frames.empty());
    flame_of(paths, FlameFormat::Folded);
    std::ofstream(folder / "t.json", std::ios::app) << flame_of(paths, FlameFormat::Speedscope) << "\x1e";
    std::ofstream(folder / "t.svg", std::ios::app) << flame_of(paths, FlameFormat::Svg) << "\x1e";
    find_durations(reader, "*", 20, 10);
    find_durations(reader, "no such name");
    const convert::TraceTimes times(reader);
    TimelineOptions options;
    options.to_ns = times.length_ns();
    options.depth = static_cast<uint16_t>(seed % 3);
    const Timeline timeline = make_timeline(reader, times, convert::TrackChoice(reader, {}), options);
    for (const TimelineRow& row : timeline.rows) {
      EXPECT_GE(row.busy, 0);
      EXPECT_LE(row.busy, 1.000001);
      size_t next = 0;
      for (const TimelineBlock& block : row.blocks) {
        EXPECT_GE(block.first, next);
        EXPECT_LT(block.last, options.columns);
        next = block.last + 1;
      }
    }
  }
  if (std::system("python3 -c 'import json' 2>/dev/null") != 0) return;
  std::ofstream(folder / "check.py")
      << "import json, sys, xml.dom.minidom\n"
         "def parts(path): return open(path, encoding='utf-8').read().split('\\x1e')[:-1]\n"
         "for text in parts(sys.argv[1]): json.loads(text)\n"
         "for text in parts(sys.argv[2]): xml.dom.minidom.parseString(text.encode())\n";
  const std::string check = "python3 " + (folder / "check.py") + " " + (folder / "t.json") + " " + (folder / "t.svg");
  EXPECT_EQ(std::system(check.c_str()), 0);
}

}  // namespace
}  // namespace kymo::views
