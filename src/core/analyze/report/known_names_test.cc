#include "analyze/report/known_names.h"

#include <gtest/gtest.h>

namespace kymo::analyze {
namespace {

TEST(KnownNamesTest, TheCostOfProfilersIsKnown) {
  EXPECT_TRUE(is_profiler_cost("overhead", "Resource"));
  EXPECT_TRUE(is_profiler_cost("profiler_overhead", "dlopen(libcupti.so.11.8)"));
  EXPECT_TRUE(is_profiler_cost("kymo", "waiting for the collector"));
  EXPECT_TRUE(is_profiler_cost("", "Activity Buffer Request"));
  EXPECT_TRUE(is_profiler_cost("", "OpenACC profiling initialization"));
  EXPECT_TRUE(is_profiler_cost("Trace", "PyTorch Profiler (0)"));
  EXPECT_FALSE(is_profiler_cost("cpu_op", "aten::mm"));
  EXPECT_FALSE(is_profiler_cost("user_annotation", "ProfilerStep#3"));
  EXPECT_FALSE(is_profiler_cost("kymo", "step {}"));
}

TEST(KnownNamesTest, WaitsAreKnownByTheirWords) {
  for (const char* name : {"time.sleep", "sleep 3", "future.get", "std::future<int>::get()", "cudaStreamSynchronize",
                           "hipDeviceSynchronize", "poll", "epoll_wait", "futex", "pthread_cond_wait", "thread.join",
                           "join", "threading.py(1080): join", "pthread_mutex_lock", "waiting for data", "select",
                           "<built-in method acquire of _thread.lock object>", "await reply", "queue.get"})
    EXPECT_TRUE(is_wait(name)) << name;
  for (const char* name : {"aten::select", "aten::index_select", "hash join", "join tables", "get_batch", "compute",
                           "os.path.join", "block", "polling_station", "recover", "locksmith", ""})
    EXPECT_FALSE(is_wait(name)) << name;
}

}  // namespace
}  // namespace kymo::analyze
