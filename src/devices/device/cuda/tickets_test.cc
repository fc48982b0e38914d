#include "device/cuda/tickets.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "device/cuda/fake_driver.h"

namespace kymo::device::cuda {
namespace {

constexpr int64_t kOffset = 1'000;

class CudaTicketsTest : public ::testing::Test {
 protected:
  CudaTicketsTest() { fake_.memory_is_real = true; }

  // Does what a kernel of one group does.
  Ticket run(uint64_t warps, uint64_t start, uint64_t end) {
    const auto stamp = tickets_.take_stamp(warps);
    EXPECT_TRUE(stamp);
    *reinterpret_cast<uint64_t*>(stamp->start) = start;
    if (stamp->ends != 0) *reinterpret_cast<uint64_t*>(stamp->ends) = end;
    return tickets_.stamped(*stamp, warps);
  }

  Redeemed settle(Ticket ticket, Timing& timing) {
    Redeemed redeemed = Redeemed::Pending;
    for (int i = 0; i < 3 && redeemed == Redeemed::Pending; ++i) redeemed = tickets_.redeem(ticket, timing);
    return redeemed;
  }

  long calls(const char* name) const { return std::count(fake_.calls.begin(), fake_.calls.end(), name); }

  FakeDriver fake_;
  Api api_ = fake_.api();
  Context context_{api_, 0, reinterpret_cast<CUcontext>(0x1)};
  EventClock clock_{context_};
  TimerOffset timer_{context_, clock_, kOffset};
  Tickets tickets_{context_, clock_, timer_, reinterpret_cast<CUstream>(0x5)};
};

TEST_F(CudaTicketsTest, ManyKernelsAreReadByOneEventAndOneCopy) {
  std::vector<Ticket> tickets;
  for (uint64_t i = 0; i < 100; ++i) tickets.push_back(run(1, 10'000 + 100 * i, 10'050 + 100 * i));
  const long events = calls("event_record"), copies = calls("copy_to_host");
  for (uint64_t i = 0; i < 100; ++i) {
    Timing timing;
    ASSERT_EQ(settle(tickets[i], timing), Redeemed::Done);
    EXPECT_EQ(timing.start, 9'000 + 100 * i);
    EXPECT_EQ(timing.end, 9'050 + 100 * i);
  }
  EXPECT_EQ(calls("event_record") - events, 2) << "after the launches, and after the copy";
  EXPECT_EQ(calls("copy_to_host") - copies, 1);
}

TEST_F(CudaTicketsTest, KernelThatHasNotRunIsPending) {
  const Ticket ticket = run(1, 10'000, 10'050);
  fake_.busy = true;
  Timing timing;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(tickets_.redeem(ticket, timing), Redeemed::Pending);
  fake_.busy = false;
  EXPECT_EQ(settle(ticket, timing), Redeemed::Done);
}

TEST_F(CudaTicketsTest, EndOfALaunchOfVeryManyWarpsComesFromAnEvent) {
  for (int i = 0; i < 2; ++i) {
    const uint64_t ticks = 1'000'000'000 + 100'000u * static_cast<unsigned>(i);  // the clock starts with 1 s
    fake_.timer_ns += i == 0 ? 64'000 : 100'000;
    const Ticket ticket = run(1'000'000, ticks + kOffset, 0);
    Timing timing;
    ASSERT_EQ(settle(ticket, timing), Redeemed::Done);
    EXPECT_EQ(timing.end - timing.start, 64'000u);
  }
}

TEST_F(CudaTicketsTest, FailedDeviceLosesPendingKernels) {
  const Ticket first = run(1, 10'000, 10'050), second = run(5'000, 20'000, 20'050);
  fake_.failure = CUDA_ERROR_ILLEGAL_ADDRESS;
  Timing timing;
  EXPECT_THROW(tickets_.redeem(first, timing), DeviceError) << "the event cannot be recorded";
  fake_.failure = CUDA_SUCCESS;
  fake_.busy = true;
  EXPECT_EQ(tickets_.redeem(first, timing), Redeemed::Pending);
  fake_.failure = CUDA_ERROR_ILLEGAL_ADDRESS;
  EXPECT_EQ(tickets_.redeem(first, timing), Redeemed::Lost);
  EXPECT_EQ(tickets_.redeem(second, timing), Redeemed::Lost);
}

}  // namespace
}  // namespace kymo::device::cuda
