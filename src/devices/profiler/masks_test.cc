#include "profiler/masks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kymo/error.h"

namespace kymo::profiler {
namespace {

using ::testing::HasSubstr;

template <class Parse>
std::string masks_refusal(Parse&& parse, std::string_view text) {
  try {
    parse(text);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(SignpostMasksTest, ModesIgnoreCaseAndBlanks) {
  EXPECT_EQ(parse_mode("interval"), kIntervals | kTraceAll);
  EXPECT_EQ(parse_mode("event"), kEvents | kTraceAll);
  EXPECT_EQ(parse_mode(" Inter val ,\tEVENT"), kIntervals | kEvents | kTraceAll);
  EXPECT_EQ(parse_mode(",event,,"), kEvents | kTraceAll);
}

TEST(SignpostMasksTest, UnknownModeIsRefusedWithTheListOfModes) {
  EXPECT_EQ(masks_refusal(parse_mode, "interval,evnt"),
            "\"evnt\" is not a mode of the profiler: use interval, event, or interval,event");
  for (const char* empty : {"", "  ", ",", " , "})
    EXPECT_THAT(masks_refusal(parse_mode, empty), HasSubstr("the mode of the profiler is empty")) << empty;
}

TEST(SignpostMasksTest, NumbersAreWrittenAsInC) {
  EXPECT_EQ(parse_log("16"), kOperationStatistics);
  EXPECT_EQ(parse_log("0x10"), kOperationStatistics);
  EXPECT_EQ(parse_log("0X10"), kOperationStatistics);
  EXPECT_EQ(parse_log("020"), kOperationStatistics);
  EXPECT_EQ(parse_log(" 1 , gpu-time"), kLogOperations | kLogGpuTime);
  for (const char* nothing : {"", "0", "0x0", "00", " ", ",,"}) {
    EXPECT_EQ(parse_log(nothing), 0u) << nothing;
    EXPECT_EQ(parse_signposts(nothing), 0u) << nothing;
  }
}

TEST(SignpostMasksTest, EveryWordHasItsBit) {
  EXPECT_EQ(parse_log("operations,copies,fallbacks,gpu-time,call-time,buffers"), 0x387u);
  EXPECT_EQ(parse_log("Statistics"), kStatistics | kAllStatistics);
  EXPECT_EQ(parse_log("copy-statistics,fallback-statistics,operation-statistics"), kAllStatistics);
  EXPECT_EQ(parse_log("1023"), 1023u);
  EXPECT_EQ(parse_signposts("0x7003f"), 0x7003fu);
}

TEST(SignpostMasksTest, InvalidMasksAreRefusedWithTheListOfWords) {
  EXPECT_EQ(masks_refusal(parse_log, "statistic"),
            "KYMO_PROFILE_LOG: \"statistic\" is neither a number nor one of operations, copies, fallbacks, statistics, "
            "operation-statistics, copy-statistics, fallback-statistics, gpu-time, call-time, buffers");
  EXPECT_THAT(masks_refusal(parse_log, "1024"), HasSubstr("1024 has unknown bits (0x400)"));
  EXPECT_THAT(masks_refusal(parse_signposts, "0x80000"), HasSubstr("valid bits: 0x7003f, or all-events"));
  for (const char* bad : {"-1", "0x", "09", "1.5", "99999999999999999999", "operations copies", "0x1g", "\xff"}) {
    EXPECT_THAT(masks_refusal(parse_log, bad), HasSubstr("KYMO_PROFILE_LOG: ")) << bad;
    EXPECT_THAT(masks_refusal(parse_signposts, bad), HasSubstr("KYMO_SIGNPOSTS: ")) << bad;
  }
}

TEST(SignpostMasksTest, ImpliedSignpostBitsAreAdded) {
  EXPECT_EQ(parse_signposts("all-events"), kAllEvents | kEvents | kTraceAll);
  EXPECT_EQ(parse_signposts("all-intervals"), kAllIntervals | kIntervals | kTraceAll);
  EXPECT_EQ(parse_signposts("operations,copies"), kTraceOperations | kTraceCopies | kIntervals);
  EXPECT_EQ(parse_signposts("events,fallbacks"), kTraceFallbacks | kEvents);
  EXPECT_EQ(parse_signposts("events"), kTraceAll | kEvents);
  EXPECT_EQ(parse_signposts("schedule"), kSchedule | kTraceAll | kIntervals);
  EXPECT_EQ(parse_signposts("schedule,copies"), kSchedule | kTraceCopies | kIntervals);
  EXPECT_EQ(parse_signposts("wait"), kWait);
}

TEST(SignpostMasksTest, SchedulingPartOfEventsIsRefused) {
  EXPECT_THAT(masks_refusal(parse_signposts, "schedule,events"), HasSubstr("add intervals, or leave schedule out"));
  EXPECT_THAT(masks_refusal(parse_signposts, "9"), HasSubstr("\"9\" asks for the scheduling part"));
  EXPECT_EQ(parse_signposts("schedule,events,intervals"), kSchedule | kEvents | kIntervals | kTraceAll);
}

}  // namespace
}  // namespace kymo::profiler
