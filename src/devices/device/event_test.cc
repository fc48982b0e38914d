// Streams and events, on every device.
#include <atomic>
#include <thread>

#include "device/test_device.h"

namespace kymo::device::tests {
namespace {

using ::testing::Each;

class EventTest : public OnEveryDevice {
 protected:
  // Some milliseconds of work on the current stream.
  void work(const Tensor& x) const {
    const Kernel kernel = compile(kScale)["scale"];
    for (int i = 0; i < 20; ++i) kernel(x, 1);
  }
};
KYMO_ON_EVERY_DEVICE(EventTest);

TEST_P(EventTest, EventThatWasNeverRecordedIsNotReachedAndDoesNotBlock) {
  Event event(true);
  EXPECT_FALSE(event.query());
  event.synchronize();
  event.wait();
}

TEST_P(EventTest, MovedFromEventThrows) {
  Event event(true);
  Event other = std::move(event);
  // NOLINTBEGIN(bugprone-use-after-move): the test needs it
  EXPECT_THROW(event.record(), Error);
  EXPECT_THROW(event.wait(), Error);
  EXPECT_THROW((void)event.query(), Error);
  EXPECT_THROW(event.synchronize(), Error);
  EXPECT_THROW((void)other.elapsed_time(event), Error);
  // NOLINTEND(bugprone-use-after-move)
  other.record();
  other.synchronize();
}

TEST_P(EventTest, WorkTakesTime) {
  const Tensor x = zeros({1 << 18});
  Event begin(true), end(true);
  begin.record();
  work(x);
  end.record();
  EXPECT_GT(begin.elapsed_time(end), 0.0);
  EXPECT_TRUE(end.query());
  EXPECT_THROW(end.elapsed_time(begin), Error);
}

TEST_P(EventTest, ElapsedTimeThrowsWithoutTimingOrRecord) {
  Event plain, timed(true), other(true);
  plain.record();
  timed.record();
  EXPECT_THROW(plain.elapsed_time(timed), Error);
  EXPECT_THROW(timed.elapsed_time(other), Error);
  timed.elapsed_time(timed);
}

TEST_P(EventTest, RecycledMarkerDoesNotKeepItsOldState) {
  for (int i = 0; i < 20; ++i) {
    Event first(true);
    first.record();
    first.synchronize();
    EXPECT_TRUE(first.query());
  }
  Event second(true);
  EXPECT_FALSE(second.query());
  Event third(true);
  third.record();
  EXPECT_THROW(second.elapsed_time(third), Error);
}

TEST_P(EventTest, EventRecordedAgainHasTheTimeOfTheLastRecord) {
  const Tensor x = zeros({1 << 16});
  Event begin(true), end(true);
  begin.record();
  end.record();
  const double nothing = begin.elapsed_time(end);
  for (int i = 0; i < 5; ++i) work(x);
  end.record();
  EXPECT_GT(begin.elapsed_time(end), nothing);
}

TEST_P(EventTest, OneStreamWaitsForAnother) {
  const Kernel scale = compile(kScale)["scale"];
  for (int repeat = 0; repeat < 20; ++repeat) {
    const Stream one, two;
    const Tensor x = full({1 << 16}, 1);
    Event filled, doubled;
    filled.record();
    filled.wait(one);
    for (int i = 0; i < 4; ++i) scale.on(one)(x, 2);
    doubled.record(one);
    doubled.wait(two);
    for (int i = 0; i < 4; ++i) scale.on(two)(x, 3);
    doubled.record(two);
    doubled.wait();
    ASSERT_THAT(x.to_host<float>(), Each(1296.0f));
  }
}

// PoCL 5 dies if a launch needs new code while another runs, unless Kymo waits in between.
TEST_P(EventTest, LaunchesOfOneKernelGrowWhileOthersRun) {
  const Kernel scale = compile(kScale)["scale"];
  const Stream one, two;
  for (int64_t size = 64; size <= 1 << 16; size *= 2) {
    const Tensor x = full({size}, 1), y = full({size}, 1);
    synchronize();
    for (int i = 0; i < 4; ++i) {
      scale.on(one).group(64)(x, 2);
      scale.on(two).group(64)(y, 3);
    }
    synchronize();
    ASSERT_THAT(x.to_host<float>(), Each(16.0f));
    ASSERT_THAT(y.to_host<float>(), Each(81.0f));
  }
}

TEST_P(EventTest, CurrentStreamIsPerThread) {
  const Stream side;
  EXPECT_NE(side.id(), 0u);
  const StreamGuard guard(side);
  EXPECT_EQ(current_stream(), side);
  std::thread([&] { EXPECT_EQ(current_stream(), default_stream()); }).join();
}

TEST_P(EventTest, GuardRestoresTheStream) {
  const Stream side;
  { const StreamGuard guard(side); }
  EXPECT_EQ(current_stream(), default_stream());
}

TEST_P(EventTest, RepeatedSynchronizeDoesNotHang) {
  for (int i = 0; i < 3; ++i) synchronize();
  work(zeros({1000}));
  for (int i = 0; i < 3; ++i) synchronize();
  EXPECT_TRUE(default_stream().query());
}

TEST_P(EventTest, SynchronizeWaitsForEveryStream) {
  std::vector<Tensor> tensors;
  const Kernel scale = compile(kScale)["scale"];
  for (int i = 0; i < 4; ++i) {
    const Stream stream;
    const StreamGuard guard(stream);
    tensors.push_back(full({1 << 16}, 1));
    for (int repeat = 0; repeat < 5; ++repeat) scale(tensors.back(), 2);
  }
  synchronize();
  for (const Tensor& tensor : tensors) EXPECT_THAT(tensor.to_host<float>(), Each(32.0f));
}

TEST_P(EventTest, AnyFunctionCanBeCalledFromAnyThread) {
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      const Stream stream;
      const StreamGuard guard(t % 2 == 0 ? stream : default_stream());
      const Kernel scale = compile(kScale)["scale"];
      for (int i = 0; i < 20; ++i) {
        Event begin(true), end(true);
        const Tensor x = full({1000 + i}, 1);
        begin.record();
        scale(x, t + 2);
        end.record();
        if (i % 5 == 0) synchronize();
        if (begin.elapsed_time(end) >= 0 && x.to_host<float>()[999] == static_cast<float>(t + 2)) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 120);
}

}  // namespace
}  // namespace kymo::device::tests
