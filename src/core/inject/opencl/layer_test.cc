// What the layer writes into a trace, and what the program sees of it.
#include "inject/opencl/layer_test_support.h"
#include "kymo/annotate.h"
#include "kymo/session.h"

namespace kymo::inject::opencl {
namespace {

TEST_F(LayerTest, AKernelIsRecordedOnItsQueueAndItsLaunchOnItsThread) {
  cl_command_queue queue = make_queue();
  const uint64_t before = base::monotonic_ns();
  Session session(file());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(launch(queue), CL_SUCCESS);
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
  session.close();
  const uint64_t after = base::monotonic_ns();
  cl.clReleaseCommandQueue(queue);
  const Seen seen = look();
  EXPECT_EQ(seen.on_queues, (std::map<std::string, int>{{"scale", 3}}));
  EXPECT_EQ(seen.on_threads, (std::map<std::string, int>{{"launch {}", 3}, {"wait for queue", 1}}));
  EXPECT_EQ(seen.queue_correlations.size(), 3u);
  EXPECT_EQ(seen.queue_correlations, seen.thread_correlations);
  EXPECT_EQ(seen.lost, 0u);
  ASSERT_EQ(seen.tracks.size(), 1u);
  EXPECT_EQ(seen.tracks.begin()->second.device_name, "Test device");
  EXPECT_EQ(seen.tracks.begin()->second.device_uuid.size(), 32u);
  for (const auto& [end, duration] : seen.times) {
    EXPECT_EQ(duration, TestDriver::kDuration);
    EXPECT_GE(end + static_cast<int64_t>(seen.clock_error), static_cast<int64_t>(before + duration));
    EXPECT_LE(end - static_cast<int64_t>(seen.clock_error), static_cast<int64_t>(after));
  }
}

TEST_F(LayerTest, BracesInTheNameOfAKernelAreNotPlaces) {
  cl_command_queue queue = make_queue();
  const cl_kernel odd = cl.clCreateKernel(nullptr, "scale{0}{x", nullptr);
  Session session(file());
  EXPECT_EQ(cl.clEnqueueNDRangeKernel(queue, odd, 1, nullptr, kThreads, nullptr, 0, nullptr, nullptr), CL_SUCCESS);
  TestDriver::complete_all();
  session.close();
  EXPECT_EQ(look().on_queues, (std::map<std::string, int>{{"scale{{0}}{{x", 1}}));
  cl.clReleaseCommandQueue(queue);
  delete odd;
}

TEST_F(LayerTest, NothingIsAddedWhileNothingRecords) {
  cl_command_queue queue = make_queue();
  EXPECT_EQ(launch(queue), CL_SUCCESS);
  ASSERT_EQ(TestDriver::pending.size(), 1u);
  EXPECT_EQ(TestDriver::pending[0]->references, 1) << "only the driver's own";
  EXPECT_EQ(TestDriver::pending[0]->callback, nullptr);
  cl.clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, TheProgramDoesNotSeeThatProfilingIsOn) {
  cl_command_queue queue = make_queue({CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE});
  EXPECT_TRUE(TestDriver::has_profiling(queue));
  cl_command_queue_properties bits = 0;
  EXPECT_EQ(cl.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof bits, &bits, nullptr), CL_SUCCESS);
  EXPECT_EQ(bits, cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE});
  cl_queue_properties list[8] = {};
  size_t size = 0;
  EXPECT_EQ(cl.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof list, list, &size), CL_SUCCESS);
  EXPECT_EQ(size, 3 * sizeof(cl_queue_properties));
  EXPECT_EQ(list[1], cl_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE});
  EXPECT_EQ(cl.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, 8, list, &size), CL_INVALID_VALUE);
  cl_event event = nullptr;
  EXPECT_EQ(launch(queue, &event), CL_SUCCESS);
  TestDriver::complete_all();
  cl_ulong time = 0;
  EXPECT_EQ(cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof time, &time, nullptr),
            CL_PROFILING_INFO_NOT_AVAILABLE);
  cl.clReleaseEvent(event);
  cl.clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, AProgramsOwnProfilingStaysVisible) {
  cl_command_queue queue = make_queue({CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE});
  cl_command_queue_properties bits = 0;
  EXPECT_EQ(cl.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof bits, &bits, nullptr), CL_SUCCESS);
  EXPECT_EQ(bits, cl_command_queue_properties{CL_QUEUE_PROFILING_ENABLE});
  cl_event event = nullptr;
  EXPECT_EQ(launch(queue, &event), CL_SUCCESS);
  TestDriver::complete_all();
  cl_ulong time = 0;
  EXPECT_EQ(cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof time, &time, nullptr), CL_SUCCESS);
  cl.clReleaseEvent(event);
  cl.clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, AQueueThatRefusesProfilingIsMadeWithoutIt) {
  TestDriver::refuses_profiling = true;
  cl_command_queue queue = make_queue();
  ASSERT_NE(queue, nullptr);
  Session session(file());
  EXPECT_EQ(launch(queue), CL_SUCCESS);
  TestDriver::complete_all();
  session.close();
  const Seen seen = look();
  EXPECT_EQ(seen.on_threads, (std::map<std::string, int>{{"launch {}", 1}})) << "the call is recorded";
  EXPECT_TRUE(seen.on_queues.empty());
  cl.clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, AnEventOfTheProgramIsRecordedAndStaysItsOwn) {
  cl_command_queue queue = make_queue();
  Session session(file());
  cl_event event = nullptr;
  EXPECT_EQ(launch(queue, &event), CL_SUCCESS);
  ASSERT_NE(event, nullptr);
  TestDriver::complete_all();
  EXPECT_EQ(event->references, 1);
  cl.clReleaseEvent(event);
  session.close();
  EXPECT_EQ(look().on_queues.at("scale"), 1);
  cl.clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, CommandsMayCompleteInAnyOrderAndInsideTheCall) {
  cl_command_queue queue = make_queue();
  Session session(file());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(launch(queue), CL_SUCCESS);
  EXPECT_EQ(cl.clEnqueueReadBuffer(queue, nullptr, CL_TRUE, 0, 100, nullptr, 0, nullptr, nullptr), CL_SUCCESS);
  while (!TestDriver::pending.empty()) TestDriver::complete(TestDriver::pending.back());
  session.close();
  const Seen seen = look();
  EXPECT_EQ(seen.on_queues, (std::map<std::string, int>{{"scale", 4}, {"copy device to host", 1}}));
  EXPECT_EQ(seen.lost, 0u);
  cl.clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, ACommandThatNeverCompletesIsCountedOnce) {
  cl_command_queue queue = make_queue();
  {
    Session session(file());
    EXPECT_EQ(launch(queue), CL_SUCCESS);
    EXPECT_EQ(launch(queue), CL_SUCCESS);
    TestDriver::complete(TestDriver::pending.front());
    session.close();
    const Seen seen = look();
    EXPECT_EQ(seen.on_queues.at("scale"), 1);
    EXPECT_EQ(seen.lost, 1u);
  }
  Session session(file());
  TestDriver::complete_all();  // of the first session
  EXPECT_EQ(launch(queue), CL_SUCCESS);
  TestDriver::complete_all();
  session.close();
  const Seen seen = look();
  EXPECT_EQ(seen.on_queues.at("scale"), 1);
  EXPECT_EQ(seen.lost, 0u);
  cl.clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, CommandsWithoutTimesAreCountedAsLost) {
  cl_command_queue queue = make_queue();
  Session session(file());
  EXPECT_EQ(launch(queue), CL_SUCCESS);
  TestDriver::complete(TestDriver::pending.front(), CL_OUT_OF_RESOURCES);
  TestDriver::refuses_callbacks = true;
  EXPECT_EQ(launch(queue), CL_SUCCESS);
  TestDriver::complete_all();
  session.close();
  const Seen seen = look();
  EXPECT_TRUE(seen.on_queues.empty());
  EXPECT_EQ(seen.lost, 2u);
  cl.clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, AnEnqueueThatFailsIsNotRecorded) {
  cl_command_queue queue = make_queue();
  Session session(file());
  EXPECT_EQ(cl.clEnqueueNDRangeKernel(queue, kernel, 4'000'000'000, nullptr, kThreads, kGroup, 0, nullptr, nullptr),
            CL_INVALID_WORK_DIMENSION);
  EXPECT_EQ(cl.clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, nullptr, nullptr, 0, nullptr, nullptr), CL_SUCCESS);
  TestDriver::complete_all();
  session.close();
  EXPECT_EQ(look().on_queues, (std::map<std::string, int>{{"scale", 1}}));
  cl.clReleaseCommandQueue(queue);
}

TEST_F(LayerTest, AQueueThatIsReleasedWithPendingWorkIsStillRecorded) {
  Session session(file());
  for (int i = 0; i < 300; ++i) {
    cl_command_queue queue = make_queue();
    cl.clRetainCommandQueue(queue);
    EXPECT_EQ(launch(queue), CL_SUCCESS);
    cl.clReleaseCommandQueue(queue);
    EXPECT_NE(recorder().objects().queue(queue), nullptr);
    ++queue->references;  // as a driver does while commands are pending
    cl.clReleaseCommandQueue(queue);
    EXPECT_EQ(recorder().objects().queue(queue), nullptr);
    TestDriver::complete_all();
    delete queue;
    if (i % 100 == 99) recorder().drain();
  }
  session.close();
  const Seen seen = look();
  EXPECT_EQ(seen.on_queues.at("scale"), 300);
  EXPECT_EQ(seen.tracks.size(), 300u);
  EXPECT_EQ(seen.lost, 0u);
  recorder().drain();
  EXPECT_TRUE(recorder().objects().all_queues().empty()) << "released queues are closed";
}

}  // namespace
}  // namespace kymo::inject::opencl
