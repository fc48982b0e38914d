// A program above the layer and a driver below it, for the tests of the layer.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "inject/opencl/layer.h"
#include "inject/opencl/recorder.h"
#include "inject/opencl/test_driver.h"
#include "trace/clock.h"
#include "trace/reader.h"

namespace kymo::inject::opencl {

inline constexpr cl_uint kEntries = sizeof(cl_icd_dispatch) / sizeof(void*);
inline constexpr size_t kThreads[3] = {64, 8, 2}, kGroup[3] = {16, 2, 1};

// The program's view: the layer's functions, and the driver's where the layer has none.
inline const cl_icd_dispatch& program() {
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

}  // namespace kymo::inject::opencl
