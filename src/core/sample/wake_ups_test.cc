#include "sample/wake_ups.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace kymo::sample {
namespace {

// Of Linux 6.18.
constexpr std::string_view kFormat =
    "name: sched_waking\nID: 247\nformat:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
    "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n";

TEST(WakeUpsTest, FieldsAreWhereTheKernelSaysTheyAre) {
  const auto event = parse_wake_up_event(kFormat);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->number, 247u);
  EXPECT_EQ(event->flags_offset, 2u);
  EXPECT_EQ(event->tid_offset, 24u);
  EXPECT_FALSE(parse_wake_up_event(kFormat.substr(0, kFormat.find("pid_t pid"))));
  EXPECT_FALSE(parse_wake_up_event("ID: x"));
  EXPECT_FALSE(parse_wake_up_event(""));
}

TEST(WakeUpsTest, InterruptIsNotTheThreadThatItInterrupted) {
  const WakeUpEvent event{1, 2, 24};
  std::vector<std::byte> data(28);
  data[24] = std::byte{77};
  EXPECT_EQ(woken_thread(data, event).tid, 77u);
  EXPECT_FALSE(woken_thread(data, event).is_by_interrupt);
  data[2] = std::byte{0x08};
  EXPECT_EQ(woken_thread(data, event).tid, 77u);
  EXPECT_TRUE(woken_thread(data, event).is_by_interrupt);
  data[2] = std::byte{0x01};  // the kernel has only forbidden interrupts
  EXPECT_FALSE(woken_thread(data, event).is_by_interrupt);
  data.pop_back();
  EXPECT_EQ(woken_thread(data, event).tid, 0u);
  EXPECT_EQ(woken_thread({}, event).tid, 0u);
}

TEST(WakeUpsTest, ManyWakeUpsAreRecordedAtTheRateOfTheLimit) {
  constexpr uint64_t kStepNs = 50'000'000, kSeconds = 20, kSteps = kSeconds * 1'000'000'000 / kStepNs;
  constexpr uint64_t kProcessors = 2, kEachStep = 10 * WakeUpLimit::kRate * kProcessors / 20;
  WakeUpLimit limit(kProcessors, 0);
  uint64_t recorded = 0;
  bool is_on = true;
  for (uint64_t i = 1; i <= kSteps; ++i) {
    const uint64_t now = is_on ? kEachStep : 0;
    recorded += now;
    is_on = limit.go_on(now, i * kStepNs);
  }
  const uint64_t permitted = WakeUpLimit::kRate * kProcessors * kSeconds;
  EXPECT_LT(recorded, permitted + permitted / 5);
  EXPECT_GT(recorded, permitted / 2);
  EXPECT_GT(limit.paused_ns(), kSeconds * 1'000'000'000 / 2);
}

TEST(WakeUpsTest, FewWakeUpsHaveNoPauses) {
  WakeUpLimit limit(1, 0);
  for (uint64_t i = 1; i <= 100; ++i) EXPECT_TRUE(limit.go_on(WakeUpLimit::kRate / 10, i * 100'000'000));
  EXPECT_EQ(limit.paused_ns(), 0u);
}

}  // namespace
}  // namespace kymo::sample
