#include "analyze/report/events.h"

#include <gtest/gtest.h>

namespace kymo::analyze {
namespace {

TEST(TrackOfTraceTest, AProcessThatIsNamedByACommandLineKeepsThisName) {
  trace::WriterInfo writer;
  trace::Track thread;
  thread.tid = 7;
  TrackOfTrace track;
  track.writer = &writer;
  track.track = &thread;
  writer.origin.executable = "/usr/bin/python3";
  EXPECT_EQ(track.name(), "python3 thread 7");
  writer.origin.executable = "python train.py --data /mnt/x";
  EXPECT_EQ(track.name(), "python train.py --data /mnt/x thread 7");
}

}  // namespace
}  // namespace kymo::analyze
