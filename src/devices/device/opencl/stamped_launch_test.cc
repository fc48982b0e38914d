// Kernels that report their times themselves, on a driver like NVIDIA's, and the fallback to events.
#include <gtest/gtest.h>

#include "device/opencl/program.h"
#include "device/opencl/queue.h"
#include "device/opencl/test_opencl.h"
#include "kymo/error.h"

namespace kymo::device::opencl {
namespace {

class StampedLaunchTest : public ::testing::Test {
 protected:
  // Of a translated kernel without parameters.
  std::unique_ptr<OpenClProgram> compile() {
    KernelInfo kernel;
    kernel.name = kernel.symbol = "f";
    kernel.is_translated = true;
    kernel.max_threads_per_group = 1024;
    Source source;
    source.text = "kernel void f() {}";
    source.kernels = {&kernel, 1};
    return OpenClProgram::compile(context_, source);
  }

  Ticket launch(const Program& program, Extent threads = {256, 1, 1}, Extent group = {256, 1, 1}) {
    Ticket ticket = 0;
    queue_.launch({&program, 0, threads, group, {}, {}}, &ticket);
    return ticket;
  }

  Redeemed settle(Ticket ticket, Timing& timing) {
    Redeemed redeemed = Redeemed::Pending;
    for (int i = 0; i < 3 && redeemed == Redeemed::Pending; ++i) redeemed = queue_.redeem(ticket, timing);
    return redeemed;
  }

  TestOpenCl driver_;
  Context context_{driver_.api(), TestOpenCl::device()};
  TimerCheck timer_{context_};
  OpenClQueue queue_{context_, timer_};
};

TEST_F(StampedLaunchTest, TimedKernelsNeedNoEventsAndOneCopy) {
  const auto program = compile();
  ASSERT_TRUE(program->kernel(0).takes_stamp());
  std::vector<Ticket> tickets{launch(*program)};
  const uint64_t first = driver_.timer - TestOpenCl::kKernelTime;
  const int copies = driver_.copies;  // of the check of the timer
  for (int i = 1; i < 1000; ++i) tickets.push_back(launch(*program));
  for (size_t i = 0; i < tickets.size(); ++i) {
    Timing timing;
    ASSERT_EQ(settle(tickets[i], timing), Redeemed::Done);
    ASSERT_EQ(timing.start, first + i * TestOpenCl::kKernelTime);
    ASSERT_EQ(timing.end, timing.start + TestOpenCl::kKernelTime);
  }
  EXPECT_EQ(driver_.kernel_events, 0);
  EXPECT_EQ(driver_.markers, 2) << "after the launches, and after the copy";
  EXPECT_EQ(driver_.copies - copies, 1);
}

TEST_F(StampedLaunchTest, EverythingCanBeRedeemedAfterSynchronize) {
  const auto program = compile();
  const Ticket ticket = launch(*program);
  queue_.synchronize();
  Timing timing;
  EXPECT_EQ(queue_.redeem(ticket, timing), Redeemed::Done);
  EXPECT_EQ(queue_.redeem(ticket, timing), Redeemed::Lost) << "the ticket no longer exists";
}

TEST_F(StampedLaunchTest, KernelThatIsNotTimedGetsAnEmptyStamp) {
  const auto program = compile();
  queue_.launch({program.get(), 0, {256, 1, 1}, {256, 1, 1}, {}, {}}, nullptr);
  launch(*program);
  queue_.launch({program.get(), 0, {256, 1, 1}, {256, 1, 1}, {}, {}}, nullptr);
  ASSERT_EQ(driver_.stamps.size(), 3u);
  EXPECT_EQ(driver_.stamps[0].start + driver_.stamps[0].ends, 0u);
  EXPECT_NE(driver_.stamps[1].start, 0u);
  EXPECT_EQ(driver_.stamps[2].start + driver_.stamps[2].ends, 0u);
}

TEST_F(StampedLaunchTest, OnlyTheFirstPieceOfALaunchStoresTheStart) {
  const auto program = compile();
  const Ticket ticket = launch(*program, {300, 1, 1}, {256, 1, 1});
  ASSERT_GE(driver_.stamps.size(), 2u);
  EXPECT_NE(driver_.stamps[0].start, 0u);
  for (size_t i = 1; i < driver_.stamps.size(); ++i) {
    EXPECT_EQ(driver_.stamps[i].start, 0u);
    EXPECT_EQ(driver_.stamps[i].ends, driver_.stamps[0].ends);
  }
  Timing timing;
  ASSERT_EQ(settle(ticket, timing), Redeemed::Done);
  EXPECT_EQ(timing.end - timing.start, driver_.stamps.size() * TestOpenCl::kKernelTime);
}

TEST_F(StampedLaunchTest, EndOfAVeryLargeLaunchComesFromItsEvent) {
  const auto program = compile();
  const Ticket ticket = launch(*program, {uint64_t{1} << 24, 1, 1}, {256, 1, 1});
  EXPECT_EQ(driver_.kernel_events, 1);
  Timing timing;
  ASSERT_EQ(settle(ticket, timing), Redeemed::Done);
  EXPECT_EQ(timing.end - timing.start, TestOpenCl::kKernelTime + TestOpenCl::kEventDelay);
}

TEST_F(StampedLaunchTest, GridThatTheDriverMaySplitIsTimedByItsEvent) {
  const auto program = compile();
  launch(*program, {1, 70'000, 1}, {1, 1, 1});
  EXPECT_EQ(driver_.kernel_events, 1);
  EXPECT_EQ(driver_.stamps.back().start, 0u);
}

TEST_F(StampedLaunchTest, StoredBinaryKeepsItsStamps) {
  const auto program = compile();
  const std::vector<KernelInfo> kernels(program->kernels().begin(), program->kernels().end());
  const auto loaded = OpenClProgram::load(context_, program->binary(), kernels);
  ASSERT_NE(loaded, nullptr);
  EXPECT_TRUE(loaded->kernel(0).takes_stamp());
  Timing timing;
  EXPECT_EQ(settle(launch(*loaded), timing), Redeemed::Done);
  EXPECT_EQ(driver_.kernel_events, 0);
}

TEST_F(StampedLaunchTest, EventsAreUsedIfTheDriversTimesAreOfAnotherClock) {
  for (const uint64_t offset : {uint64_t{1'000'000}, ~uint64_t{0} - 1'000'000}) {
    driver_.profiling_offset = offset;
    timer_.forget();
    EXPECT_FALSE(timer_.passes());
  }
  const auto program = compile();
  Timing timing;
  EXPECT_EQ(settle(launch(*program), timing), Redeemed::Done);
  EXPECT_EQ(driver_.kernel_events, 1);
  EXPECT_EQ(driver_.stamps.back().start, 0u);
}

TEST_F(StampedLaunchTest, EventsAreUsedIfTheDriverRejectsTheEditedText) {
  driver_.rejects_binaries = true;
  EXPECT_FALSE(timer_.passes());
  const auto program = compile();
  EXPECT_FALSE(program->kernel(0).takes_stamp());
  Timing timing;
  EXPECT_EQ(settle(launch(*program), timing), Redeemed::Done);
  EXPECT_EQ(driver_.kernel_events, 1);
}

TEST_F(StampedLaunchTest, TextThatCannotBeEditedIsUsedAsItIs) {
  for (const char* ptx : {"ELF", "", ".version 9.0\n.target sm_90\n.entry f(", ".version 9.0\n.target sm_90\n",
                          ".version 5.0\n.target sm_35\n.entry f(\n)\n{\n ret;\n}\n"}) {
    driver_.ptx = ptx;
    EXPECT_FALSE(compile()->kernel(0).takes_stamp()) << ptx;
  }
}

TEST_F(StampedLaunchTest, BinariesOfOtherDriversAreNotRead) {
  context_.device.makes_ptx = false;
  EXPECT_FALSE(compile()->kernel(0).takes_stamp());
  EXPECT_EQ(driver_.binaries_read, 0);
}

// Such a driver would compile all kernels to make a binary that launches do not use.
TEST_F(StampedLaunchTest, ProgramOfADriverThatCompilesAtLaunchIsStoredAsItsSource) {
  context_.device.makes_ptx = false;
  context_.device.compiles_at_launch = true;
  const auto program = compile();
  const std::vector<KernelInfo> kernels(program->kernels().begin(), program->kernels().end());
  const std::vector<std::byte> stored = program->binary();
  EXPECT_FALSE(stored.empty());
  EXPECT_EQ(driver_.binaries_read, 0);
  driver_.rejects_binaries = true;
  const auto loaded = OpenClProgram::load(context_, stored, kernels);
  ASSERT_NE(loaded, nullptr);
  Timing timing;
  EXPECT_EQ(settle(launch(*loaded), timing), Redeemed::Done);
}

TEST_F(StampedLaunchTest, WiderLaunchesAndOffsetsNeedOtherCode) {
  const auto program = compile();
  KernelPool& pool = program->kernel(0);
  constexpr Extent kGroup{64}, kOther{32};
  EXPECT_TRUE(pool.needs_other_code(kGroup, {640}, false)) << "no launch before it";
  EXPECT_FALSE(pool.needs_other_code(kGroup, {640}, false));
  EXPECT_FALSE(pool.needs_other_code(kGroup, {64}, false));
  EXPECT_TRUE(pool.needs_other_code(kGroup, {1, 704}, false)) << "wider";
  EXPECT_TRUE(pool.needs_other_code(kOther, {64}, false)) << "another group size";
  EXPECT_FALSE(pool.needs_other_code(kGroup, {704}, false));
  EXPECT_TRUE(pool.needs_other_code(kGroup, {64}, true)) << "an offset";
  EXPECT_FALSE(pool.needs_other_code(kGroup, {64}, false)) << "code with an offset serves launches without";
  EXPECT_TRUE(pool.needs_other_code(kGroup, {704}, false)) << "wider than the code that was used last";
}

TEST_F(StampedLaunchTest, FailedDeviceLosesPendingKernelsAndSynchronizeThrows) {
  const auto program = compile();
  const Ticket ticket = launch(*program);
  driver_.status = CL_OUT_OF_RESOURCES;
  Timing timing;
  EXPECT_EQ(queue_.redeem(ticket, timing), Redeemed::Lost);
  EXPECT_THROW(queue_.synchronize(), DeviceError);
}

}  // namespace
}  // namespace kymo::device::opencl
