// The layer in its process: other runtimes, threads, forks, and loaders.
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/host.h"
#include "inject/opencl/layer_test_support.h"
#include "kymo/annotate.h"
#include "kymo/session.h"

namespace kymo::inject::opencl {
namespace {

TEST_F(LayerTest, AnExcludedContextIsNotRecorded) {
  using Exclude = void(CL_API_CALL*)(cl_context);
  const auto exclude = reinterpret_cast<Exclude>(
      cl.clGetExtensionFunctionAddressForPlatform(&TestDriver::platform, base::kExcludeContext));
  ASSERT_NE(exclude, nullptr);
  exclude(context);
  cl_command_queue queue = make_queue();
  EXPECT_FALSE(TestDriver::has_profiling(queue));
  Session session(file());
  EXPECT_EQ(launch(queue), CL_SUCCESS);
  cl_mem memory = cl.clCreateBuffer(context, 0, 1000, nullptr, nullptr);
  TestDriver::complete_all();
  cl.clReleaseMemObject(memory);
  session.close();
  const Seen seen = look();
  EXPECT_TRUE(seen.on_queues.empty());
  EXPECT_TRUE(seen.on_threads.empty());
  EXPECT_EQ(seen.points, 0u);
  cl.clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, MemoryObjectsAreAllocations) {
  Session session(file());
  cl_mem first = cl.clCreateBuffer(context, 0, 1000, nullptr, nullptr);
  cl_mem second = cl.clCreateBuffer(context, 0, 2000, nullptr, nullptr);
  cl.clReleaseMemObject(first);
  cl.clReleaseMemObject(second);
  session.close();
  EXPECT_EQ(look().points, 4u);
}

TEST_F(LayerTest, OnlyKnownExtensionFunctionsAreReplaced) {
  const auto find = [&](const char* name) {
    return cl.clGetExtensionFunctionAddressForPlatform(&TestDriver::platform, name);
  };
  EXPECT_EQ(find("clEnqueueMemcpyINTEL"), nullptr) << "the driver does not have it";
  EXPECT_EQ(find("clUnknownXYZ"), &TestDriver::platform) << "the driver's own";
  EXPECT_NE(find("clMemFreeINTEL"), nullptr);
  EXPECT_NE(find("clMemFreeINTEL"), &TestDriver::platform) << "the layer's";
}

TEST_F(LayerTest, ManyThreadsMayEnqueueWhileTheDriverCompletes) {
  constexpr int kWorkers = 4, kEach = 500;
  cl_command_queue queue = make_queue();
  Session session(file());
  std::atomic<bool> done{false};
  std::thread driver([&] {
    while (!done) TestDriver::complete_all();
  });
  std::vector<std::thread> workers;
  for (int i = 0; i < kWorkers; ++i)
    workers.emplace_back([&] {
      for (int k = 0; k < kEach; ++k) EXPECT_EQ(launch(queue), CL_SUCCESS);
    });
  for (std::thread& worker : workers) worker.join();
  done = true;
  driver.join();
  TestDriver::complete_all();
  session.close();
  const Seen seen = look();
  EXPECT_EQ(seen.on_queues.at("scale"), kWorkers * kEach);
  EXPECT_EQ(seen.queue_correlations, seen.thread_correlations);
  EXPECT_EQ(seen.lost, 0u);
  cl.clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, AForkedChildUsesOnlyItsOwnQueues) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer allows no new thread in a forked child";
#endif
  cl_command_queue queue = make_queue();
  Session session(file());
  EXPECT_EQ(launch(queue), CL_SUCCESS);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool right = launch(queue) == CL_SUCCESS && TestDriver::pending.back()->callback == nullptr;
    cl_command_queue own = make_queue();
    right = right && launch(own) == CL_SUCCESS && TestDriver::pending.back()->callback != nullptr;
    TestDriver::complete(TestDriver::pending.back());
    recorder().flush(0);
    _exit(right ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  TestDriver::complete_all();
  session.close();
  EXPECT_GE(look().on_queues.at("scale"), 1);
  cl.clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, TheLayerIsInAChainOnlyOnce) {
  const cl_icd_dispatch* layer = nullptr;
  cl_uint count = 0;
  EXPECT_EQ(clInitLayer(kEntries, &cl, &count, &layer), CL_SUCCESS) << "the library is twice in OPENCL_LAYERS";
  EXPECT_EQ(layer->clEnqueueNDRangeKernel, nullptr);
  cl_icd_dispatch other = TestDriver::table();
  other.clReleaseCommandQueue = [](cl_command_queue) { return CL_SUCCESS; };
  EXPECT_EQ(clInitLayerWithProperties(kEntries, &other, &count, &layer, nullptr), CL_SUCCESS) << "a second loader";
  EXPECT_EQ(layer->clEnqueueNDRangeKernel, nullptr);
  EXPECT_EQ(clInitLayer(3, &other, &count, &layer), CL_SUCCESS) << "a loader with a short table";
  EXPECT_EQ(layer->clEnqueueNDRangeKernel, nullptr);
  EXPECT_EQ(clInitLayer(kEntries, nullptr, &count, &layer), CL_INVALID_VALUE);
}

TEST_F(LayerTest, FunctionsThatTheLoaderDoesNotHaveAreNotReplaced) {
  EXPECT_EQ(cl.clEnqueueSVMMemcpy, nullptr);
  EXPECT_EQ(cl.clCreateCommandQueue, nullptr);
  EXPECT_NE(cl.clEnqueueReadBuffer, TestDriver::table().clEnqueueReadBuffer);
}

TEST_F(LayerTest, TheLayerSaysWhatItIs) {
  cl_uint version = 0;
  size_t size = 0;
  EXPECT_EQ(clGetLayerInfo(0x4240, sizeof version, &version, &size), CL_SUCCESS);
  EXPECT_EQ(version, 100u);
  EXPECT_EQ(size, sizeof version);
  char name[5] = {};
  EXPECT_EQ(clGetLayerInfo(0x4241, sizeof name, name, nullptr), CL_SUCCESS);
  EXPECT_STREQ(name, "Kymo");
  EXPECT_EQ(clGetLayerInfo(0x4241, 4, name, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(clGetLayerInfo(7, sizeof name, name, nullptr), CL_INVALID_VALUE);
}

}  // namespace
}  // namespace kymo::inject::opencl
