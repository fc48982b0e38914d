// A large trace for the benchmarks of reading: ranges of 16 names, with pseudo-random bodies and gaps of 20 ns to 1 us,
// as bytes.cc records them. It is written at once, because recording a hundred million of them would take minutes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/writer.h"

namespace bench {

inline void write_random_trace(const std::string& path, uint64_t range_count, unsigned tracks = 2) {
  using namespace kymo::trace;
  constexpr uint64_t kTicksPerSecond = 2'500'000'000, kBatch = 1 << 16;
  constexpr uint64_t kShortest = 50, kSpread = 2450;  // ticks
  constexpr const char* kNames[] = {"parse",  "lookup",    "hash",    "insert", "compare",  "copy",
                                    "encode", "send",      "receive", "decode", "allocate", "release",
                                    "sort",   "partition", "merge",   "reduce"};
  Writer writer(path, Writer::Mode::Create);
  WriterId id;
  id.bytes.fill(1);
  Origin origin;
  origin.pid = 1;
  origin.host = "bench";
  origin.executable = "/usr/bin/bench";
  writer.origin(id, origin);
  ClockDomain clock;
  clock.id = 1;
  clock.kind = ClockKind::Tsc;
  clock.period_numerator = 0;  // computed from the pairs, one for each second, as in a recording
  for (uint64_t second = 0; second <= range_count / 1'000'000; ++second)
    clock.pairs.push_back(
        {second * kTicksPerSecond, (second + 1) * 1'000'000'000, (1'700'000'000 + second) * 1'000'000'000, 20});
  writer.clock(id, clock);
  std::vector<EventClass> classes;
  for (const char* name : kNames) {
    EventClass event_class;
    event_class.id = static_cast<uint32_t>(classes.size() + 1);
    event_class.name = name;
    classes.push_back(event_class);
  }
  writer.classes(id, classes);
  std::vector<Track> threads(tracks);
  for (uint32_t i = 0; i < tracks; ++i) {
    threads[i].id = i + 1;
    threads[i].clock = 1;
    threads[i].tid = i + 1;
  }
  writer.tracks(id, threads);

  uint64_t state = 0x9e3779b97f4a7c15u;
  std::vector<uint64_t> now(tracks, 1000);
  EventBatch batch;
  for (uint64_t done = 0; done < range_count;) {
    const unsigned track = static_cast<unsigned>(done / kBatch % tracks);
    const uint64_t count = std::min(kBatch, range_count - done);
    batch.track = track + 1;
    batch.sequence_begin = batch.sequence_end;
    batch.sequence_end += count;
    batch.ranges = {};
    for (uint64_t i = 0; i < count; ++i) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      const uint64_t duration = kShortest + (state >> 32) % kSpread;
      now[track] += kShortest + (state >> 8) % kSpread + duration;
      batch.ranges.end.push_back(now[track]);
      batch.ranges.duration.push_back(duration);
      batch.ranges.class_id.push_back(static_cast<uint32_t>(1 + state % 16));
      batch.ranges.depth.push_back(0);
    }
    writer.events(id, batch);
    done += count;
  }
  writer.close();
}

}  // namespace bench
