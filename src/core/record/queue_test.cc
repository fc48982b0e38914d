// Queues while nothing records, numbers, and the flush callbacks.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <thread>
#include <vector>

#include "kymo/queue_track.h"
#include "record/process.h"

namespace kymo::record {
namespace {

kymo_queue_info info() { return {"compute", "GPU-1", 0, 0, 1, 1, 1, 0, 0, nullptr}; }

TEST(QueueTest, NothingIsCreatedWhileNothingRecords) {
  QueueTrack queue(info());
  ASSERT_NE(queue.get(), nullptr);
  queue.span("kernel", 10, 20, 1);
  queue.clock_pair(1, 2, 3, 4);
  queue.lost(1);
  const Label label("range");
  kymo_queue_range_begin(queue.get(), &label, nullptr, 0, 10, kymo_next_handle());
  kymo_queue_range_end(queue.get(), 10, 77);
  kymo_span(&label, nullptr, 0, kymo_ticks(), 1);
  kymo_allocation(&label, nullptr, 0, 0x1000);
  kymo_free(&label, nullptr, 0, 0x1000);
  EXPECT_EQ(process()->segment.load(), nullptr);
}

TEST(QueueTest, ANullQueueIsIgnored) {
  const Label label("kernel");
  EXPECT_EQ(kymo_queue_open(nullptr), nullptr);
  kymo_queue_span(nullptr, &label, nullptr, 0, 1, 2, 0);
  kymo_queue_clock_pair(nullptr, 1, 2, 3, 4);
  kymo_queue_lost(nullptr, 1);
  kymo_queue_close(nullptr);
}

TEST(NumberTest, CorrelationsAreUniqueAmongThreadsAndNeverZero) {
  constexpr int kThreads = 4, kEach = 3000;
  std::vector<std::vector<uint64_t>> taken(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : taken)
    threads.emplace_back([&mine] {
      for (int i = 0; i < kEach; ++i) mine.push_back(kymo_next_correlation());
    });
  for (auto& thread : threads) thread.join();
  std::set<uint64_t> all;
  for (const auto& mine : taken) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), size_t{kThreads} * kEach);
  EXPECT_FALSE(all.contains(0));
}

struct Calls {
  int count = 0;
  bool removes_itself = false;
};

void call(void* context) {
  auto& calls = *static_cast<Calls*>(context);
  ++calls.count;
  run_flush(*process());  // as if a session ended inside the callback: it must not be called again
  if (calls.removes_itself) kymo_remove_flush(call, context);
}

TEST(FlushTest, EachCallbackIsCalledOnceUntilItIsRemoved) {
  Calls first, second{.removes_itself = true};
  ASSERT_TRUE(kymo_on_flush(call, &first));
  ASSERT_TRUE(kymo_on_flush(call, &second));
  run_flush(*process());
  EXPECT_EQ(first.count, 1);
  run_flush(*process());
  EXPECT_EQ(first.count, 2);
  EXPECT_EQ(second.count, 1);
  kymo_remove_flush(call, &first);
  run_flush(*process());
  EXPECT_EQ(first.count, 2);
}

TEST(FlushTest, MaxNumberOfCallbacksIsSixtyFour) {
  std::vector<Calls> calls(kMaxFlushHooks + 1);
  for (uint32_t i = 0; i < kMaxFlushHooks; ++i) EXPECT_TRUE(kymo_on_flush(call, &calls[i]));
  EXPECT_FALSE(kymo_on_flush(call, &calls.back()));
  for (auto& one : calls) kymo_remove_flush(call, &one);
  EXPECT_FALSE(kymo_on_flush(nullptr, nullptr));
}

TEST(FlushTest, AForkedChildHasNoCallbacks) {
  Calls calls;
  ASSERT_TRUE(kymo_on_flush(call, &calls));
  const pid_t child = fork();
  if (child == 0) {
    run_flush(*process());
    _exit(calls.count);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  kymo_remove_flush(call, &calls);
}

}  // namespace
}  // namespace kymo::record
