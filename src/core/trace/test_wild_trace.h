// For tests: a trace that no recorder wrote, with any times, depths, lanes, classes and values in any order.
#pragma once

#include <random>
#include <string>

#include "trace/test_recorder.h"
#include "trace/test_support.h"

namespace kymo::trace::testing {

inline void write_wild_trace(const std::string& path, uint64_t seed) {
  std::mt19937_64 random(seed);
  TestRecorder recorder(path);
  recorder.add_thread(1, 101, "main;\n<&>\"'");
  recorder.add_thread(2, UINT64_MAX, "\xff\"]]>");
  Track queue;
  queue.id = 3;
  queue.kind = TrackKind::DeviceQueue;
  queue.clock = random() % 2 == 0 ? TestRecorder::kClock : 9;
  recorder.add_track(queue);
  for (uint32_t id = 1; id < 4; ++id) {
    EventClass event_class{id, "{} and {}", "c", 0xFFFFFFFF, {}};
    for (size_t field = random() % 5; field > 0; --field)
      event_class.fields.push_back({random() % 2 == 0 ? "" : "colour", static_cast<FieldType>(1 + random() % 8)});
    recorder.add_class(event_class);
  }
  for (int chunk = 0; chunk < 20; ++chunk) {
    EventBatch batch = wild_batch(random, 60);
    batch.track = 1 + random() % 4;
    for (uint32_t& class_id : batch.ranges.class_id) class_id = random() % 8 == 0 ? class_id : random() % 4;
    for (OpenRange& open : batch.closing) open.class_id = random() % 4;
    if (random() % 2 == 0) {
      for (uint16_t& depth : batch.ranges.depth) depth %= 4;
    }
    recorder.file().events(recorder.id(), batch);
  }
  recorder.close();
}

}  // namespace kymo::trace::testing
