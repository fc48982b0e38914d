// The layer between a program and a driver, and what it writes into a trace.
#include "inject/opencl/layer.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "base/opencl_layer.h"
#include "inject/opencl/recorder.h"
#include "inject/opencl/test_driver.h"
#include "kymo/annotate.h"
#include "kymo/session.h"
#include "trace/clock.h"
#include "trace/reader.h"

namespace kymo::inject::opencl {
namespace {

constexpr cl_uint kEntries = sizeof(cl_icd_dispatch) / sizeof(void*);
constexpr size_t kThreads[3] = {64, 8, 2}, kGroup[3] = {16, 2, 1};

// The program's view: the layer's functions, and the driver's where the layer has none.
const cl_icd_dispatch& program() {
  static const cl_icd_dispatch merged = [] {
    static cl_icd_dispatch driver;
    driver = TestDriver::table();
    cl_uint count = 0;
    const cl_icd_dispatch* layer = nullptr;
    EXPECT_EQ(clInitLayer(kEntries, &driver, &count, &layer), CL_SUCCESS);
    void *own[kEntries], *below[kEntries];
    memcpy(own, layer, sizeof own);
    memcpy(below, &driver, sizeof below);
    for (cl_uint i = 0; i < kEntries; ++i) own[i] = own[i] != nullptr ? own[i] : below[i];
    cl_icd_dispatch table;
    memcpy(&table, own, sizeof table);
    return table;
  }();
  return merged;
}

class LayerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/kymo-opencl-test-XXXXXX";
    folder = mkdtemp(pattern);
    cl = program();
    context = cl.clCreateContext(nullptr, 1, nullptr, nullptr, nullptr, nullptr);
    kernel = cl.clCreateKernel(nullptr, "scale", nullptr);
  }
  void TearDown() override {
    TestDriver::complete_all();
    TestDriver::refuses_profiling = TestDriver::refuses_callbacks = false;
    recorder().drain();
    EXPECT_EQ(TestDriver::events, 0) << "an event has references left";
    std::filesystem::remove_all(folder);
    delete kernel;
    delete context;
  }
  std::string file() const { return folder + "/a.kymo"; }

  cl_command_queue make_queue(std::vector<cl_queue_properties> properties = {}) {
    properties.push_back(0);
    cl_int code = -1;
    cl_command_queue made =
        cl.clCreateCommandQueueWithProperties(context, &TestDriver::device, properties.data(), &code);
    EXPECT_EQ(code, CL_SUCCESS);
    return made;
  }
  cl_int launch(cl_command_queue queue, cl_event* event = nullptr) {
    return cl.clEnqueueNDRangeKernel(queue, kernel, 2, nullptr, kThreads, kGroup, 0, nullptr, event);
  }

  // What a trace has of queues and threads, by the name of the class.
  struct Seen {
    std::map<std::string, int> on_queues, on_threads;
    std::multiset<uint64_t> queue_correlations, thread_correlations;
    std::vector<std::pair<int64_t, uint64_t>> times;  // end on CLOCK_MONOTONIC, and duration
    std::map<std::string, trace::Track> tracks;
    uint64_t clock_error = 0, lost = 0, points = 0;
  };
  Seen look() const {
    Seen seen;
    const trace::Reader reader(file());
    EXPECT_TRUE(reader.problems().empty());
    for (const auto& [id, writer] : reader.writers()) {
      for (const auto& [track_id, track] : writer.tracks)
        if (track.kind == trace::TrackKind::DeviceQueue) seen.tracks[track.name] = track;
      for (const trace::Loss& loss : writer.losses) seen.lost += loss.count;
    }
    trace::EventBatch batch;
    for (const trace::EventChunk& chunk : reader.event_chunks()) {
      const auto& writer = reader.writers().at(chunk.writer);
      const trace::Track& track = writer.tracks.at(chunk.track);
      const bool on_queue = track.kind == trace::TrackKind::DeviceQueue;
      const trace::ClockMap clock = trace::clock_map(writer.clocks.at(track.clock));
      if (on_queue) {
        EXPECT_TRUE(clock.usable());
        seen.clock_error = clock.error_ns();
      }
      reader.read(chunk, batch);
      seen.points += batch.points.size();
      for (size_t i = 0; i < batch.ranges.size(); ++i) {
        const std::string& name = writer.classes.at(batch.ranges.class_id[i]).name;
        ++(on_queue ? seen.on_queues : seen.on_threads)[name];
        if (!batch.ranges.correlation.empty() && batch.ranges.correlation[i] != 0)
          (on_queue ? seen.queue_correlations : seen.thread_correlations).insert(batch.ranges.correlation[i]);
        if (on_queue)
          seen.times.emplace_back(clock.to_monotonic_ns(batch.ranges.end[i]),
                                  clock.duration_ns(batch.ranges.duration[i]));
      }
    }
    return seen;
  }

  std::string folder;
  cl_icd_dispatch cl{};
  cl_context context = nullptr;
  cl_kernel kernel = nullptr;
};

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
