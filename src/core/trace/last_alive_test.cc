#include "trace/last_alive.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "trace/test_recorder.h"

namespace kymo::trace {
namespace {

using testing::kMonotonicZero;
using testing::TemporaryFolder;
using testing::TestRecorder;

class LastAliveTest : public ::testing::Test {
 protected:
  TestRecorder make() {
    TestRecorder recorder(path);
    recorder.add_class(1, "load");
    recorder.add_thread(1, 10, "main");
    recorder.add_thread(2, 11, "worker");
    recorder.complete(1, 100, 500, 1);
    recorder.complete(2, 100, 300, 1);
    return recorder;
  }
  TemporaryFolder folder;
  std::string path = folder / "t.kymo";
};

TEST_F(LastAliveTest, LastEventOfAnyTrackCounts) {
  TestRecorder recorder = make();
  recorder.close();
  EXPECT_EQ(last_alive_ns(Reader(path)).at(recorder.id()), int64_t{kMonotonicZero + 500});
}

TEST_F(LastAliveTest, EndingIsLaterThanTheLastEvent) {
  TestRecorder recorder = make();
  recorder.file().ending(recorder.id(), {900});
  recorder.close();
  EXPECT_EQ(last_alive_ns(Reader(path)).at(recorder.id()), int64_t{kMonotonicZero + 900});
}

TEST_F(LastAliveTest, ProcessThatStillRecordsIsAliveNow) {
  TestRecorder recorder = make();
  recorder.close();
  Reader reader(path);
  reader.set_being_written(true);
  const auto now = static_cast<int64_t>(base::monotonic_ns());
  EXPECT_GE(last_alive_ns(reader).at(recorder.id()), now);
}

}  // namespace
}  // namespace kymo::trace
