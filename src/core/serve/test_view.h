// Random traces for the tests of this component, and a computation of tiles that is simple enough to be right.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "serve/tiles.h"
#include "trace/test_recorder.h"

namespace kymo::serve::testing {

using trace::testing::TemporaryFolder;
using trace::testing::TestRecorder;

inline void add_queue(TestRecorder& recorder, uint32_t id) {
  trace::Track queue;
  queue.id = id;
  queue.kind = trace::TrackKind::DeviceQueue;
  queue.clock = TestRecorder::kClock;
  queue.device_uuid = "device";
  queue.name = "queue";
  recorder.add_track(queue);
}

// Classes 1 to 4 of a recording with CPU samples: "sample", "stack node", "module" and "off CPU".
inline void add_sample_classes(TestRecorder& recorder) {
  using trace::FieldType;
  recorder.add_class(1, "sample", "cpu", {{"node", FieldType::UInt}});
  recorder.add_class(2, "stack node", "kymo.stack",
                     {{"node", FieldType::UInt}, {"parent", FieldType::UInt}, {"address", FieldType::Pointer}});
  recorder.add_class(3, "module", "kymo.stack",
                     {{"path", FieldType::String},
                      {"base", FieldType::Pointer},
                      {"size", FieldType::ByteCount},
                      {"build_id", FieldType::String}});
  recorder.add_class(4, "off CPU", "cpu",
                     {{"ns", FieldType::UInt}, {"preempted", FieldType::Bool}, {"node", FieldType::UInt}});
}

// The nodes of one stack of addresses in /gone/lib.so, from 0x1000 to 0x2000, outermost first. The first node is 16.
inline void add_stack(TestRecorder& recorder, uint32_t track, const std::vector<int64_t>& addresses) {
  recorder.point(track, 0, trace::PointKind::Instant, 3, 0,
                 {std::string("/gone/lib.so"), int64_t{0x1000}, int64_t{0x1000}, std::string()});
  int64_t node = 16, parent = 1;
  for (const int64_t address : addresses) {
    recorder.point(track, 0, trace::PointKind::Instant, 2, 0, {node, parent, address});
    parent = node++;
  }
}

// Nested ranges of all lengths on three tracks, ranges on lanes of a queue, points and counters, in chunks of any size.
inline void write_random_trace(const std::string& path, uint64_t seed, size_t steps) {
  std::mt19937_64 random(seed);
  TestRecorder recorder(path);
  recorder.add_class(1, "alpha", "one");
  recorder.add_class(2, "beta");
  recorder.add_class(3, "step {}", "", {{"", trace::FieldType::Int}});
  recorder.add_class(4, "mark");
  recorder.add_class(5, "queue length", "", {{"value", trace::FieldType::Int}});
  recorder.add_class(6, "load", "", {{"value", trace::FieldType::Double}});
  for (uint32_t track = 1; track <= 3; ++track) recorder.add_thread(track, 100 + track, "thread");
  add_queue(recorder, 4);
  for (uint32_t track = 1; track <= 3; ++track) {
    uint64_t now = 1000 + random() % 100;
    size_t depth = 0;
    const auto pass = [&] { now += random() >> (44 + random() % 20); };
    for (size_t i = 0; i < steps; ++i) {
      pass();
      switch (random() % 8) {
        case 0:
        case 1:
        case 2: {
          if (depth == 6) break;
          const uint32_t class_id = 1 + random() % 3;
          recorder.begin(track, now, class_id,
                         class_id == 3 ? TestRecorder::Arguments{int64_t(i)} : TestRecorder::Arguments{});
          ++depth;
          break;
        }
        case 3:
        case 4:
        case 5:
          if (depth == 0) break;
          recorder.end(track, now);
          --depth;
          break;
        case 6:
          recorder.point(track, now, trace::PointKind::Instant, 4);
          break;
        default:
          if (random() % 2 != 0)
            recorder.point(track, now, trace::PointKind::Counter, 5, 0, {int64_t(random() % 100) - 50});
          else
            recorder.point(track, now, trace::PointKind::Counter, 6, 0, {double(random() % 100) / 7});
      }
      if (random() % 97 == 0) recorder.cut(track);
    }
    if (random() % 2 != 0)
      for (; depth > 0; --depth) recorder.end(track, now += 10);
  }
  uint64_t free_at[3] = {1000, 1000, 1000};
  for (size_t i = 0; i < steps; ++i) {
    const uint16_t lane = random() % 3;
    const uint64_t start = free_at[lane] + (random() >> (46 + random() % 18));
    const uint64_t end = start + (random() >> (46 + random() % 18));
    recorder.complete(4, start, end, 1 + random() % 2, 0, lane);
    free_at[lane] = end;
    if (random() % 50 == 0) recorder.cut(4);
  }
  recorder.close();
}

inline std::unique_ptr<View> open_view(const std::string& path, const ViewLimits& limits = {}) {
  std::vector<trace::Reader> readers;
  readers.emplace_back(path);
  return std::make_unique<View>(std::move(readers), limits);
}

}  // namespace kymo::serve::testing
