// Traces that no recorder wrote. Reports and paths must handle them, and never count a time twice.
#include <gtest/gtest.h>

#include "analyze/path/path.h"
#include "analyze/path/what_if.h"
#include "analyze/report/iterations.h"
#include "analyze/report/report.h"
#include "trace/test_wild_trace.h"

namespace kymo::analyze {
namespace {

using trace::testing::TemporaryFolder;

TEST(HostilePathTest, ReportAndPathHandleAnyTrace) {
  const TemporaryFolder folder;
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(seed);
    trace::testing::write_wild_trace(folder / "t.kymo", seed);
    const trace::Reader reader(folder / "t.kymo");
    const Report report = make_report(reader);
    uint64_t self = report.host.outside_ns;
    for (const HostRow& row : report.host.rows) self += row.self_ns;
    if (!report.main_thread.empty()) {
      EXPECT_EQ(self, report.window_ns);
    }

    EventWalk walk(reader);
    DeviceWork work = read_device_work(walk);
    const Iterations iterations = find_iterations(walk, launching_track(work));
    if (iterations.list.empty() || !iterations.track) continue;
    const Interval window = iterations.list[iterations.median()];
    const Activity activity = read_activity(walk, std::move(work), window);
    int64_t at = window.begin;
    const std::vector<PathSegment> path = critical_path(activity, *iterations.track);
    for (const PathSegment& segment : path) {
      EXPECT_EQ(segment.begin, at);
      at = segment.end;
    }
    if (window.begin < window.end) {
      EXPECT_EQ(at, window.end);
    }
    what_if(walk, activity, *iterations.track, path, [](std::string_view) { return 0.5; });
  }
}

}  // namespace
}  // namespace kymo::analyze
