// Shared by the tests of this component: a temporary file, and batches of events.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <bit>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "trace/model.h"

namespace kymo::trace::testing {

// A temporary path. The file is removed at the end.
class TemporaryPath {
 public:
  TemporaryPath() {
    char name[] = "/tmp/kymo-trace-test-XXXXXX";
    const int fd = ::mkstemp(name);
    if (fd >= 0) ::close(fd);
    path_ = name;
  }
  ~TemporaryPath() { ::unlink(path_.c_str()); }
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;

  operator const std::string&() const { return path_; }
  const std::string& string() const { return path_; }

  std::string contents() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& contents) const {
    ::unlink(path_.c_str());  // overwriting a file waits for the disk
    std::ofstream(path_, std::ios::binary) << contents;
  }
  void append(const std::string& contents) const { std::ofstream(path_, std::ios::binary | std::ios::app) << contents; }

 private:
  std::string path_;
};

inline WriterId writer_id(uint8_t number) {
  WriterId id;
  id.bytes.fill(number);
  return id;
}

// A recorded loop: `count` ranges of one class, 7 ticks long and 3 ticks apart.
inline EventBatch loop_batch(size_t count, uint64_t start = 1000, uint32_t track = 1) {
  EventBatch batch;
  batch.track = track;
  for (size_t i = 0; i < count; ++i) {
    batch.ranges.end.push_back(start + 10 * i + 7);
    batch.ranges.duration.push_back(7);
    batch.ranges.class_id.push_back(1);
    batch.ranges.depth.push_back(0);
  }
  return batch;
}

// Random numbers of all sizes, often the extremes.
inline uint64_t wild(std::mt19937_64& random) {
  switch (random() % 8) {
    case 0:
      return 0;
    case 1:
      return ~uint64_t{0};
    default:
      return random() >> (random() % 64);
  }
}

inline Values wild_values(std::mt19937_64& random) {
  Values values;
  for (size_t i = random() % 50; i > 0; --i) values.ints.push_back(wild(random));
  for (size_t i = random() % 50; i > 0; --i) values.doubles.push_back(static_cast<double>(wild(random)) / 3);
  for (size_t i = random() % 200; i > 0; --i) values.text.push_back(static_cast<char>(random()));
  return values;
}

inline std::vector<OpenRange> wild_stack(std::mt19937_64& random) {
  std::vector<OpenRange> stack(random() % 5);
  for (OpenRange& range : stack) {
    range.start = wild(random);
    range.class_id = static_cast<uint32_t>(wild(random));
    range.correlation = wild(random);
    Values values = wild_values(random);
    range.ints = values.ints;
    range.doubles = values.doubles;
    range.text = values.text;
  }
  return stack;
}

// A batch that no program would record: any times, depths, lanes and values in any order.
inline EventBatch wild_batch(std::mt19937_64& random, size_t most = 300) {
  EventBatch batch;
  batch.track = static_cast<uint32_t>(wild(random));
  batch.ring = static_cast<uint32_t>(wild(random));
  batch.sequence_begin = wild(random);
  batch.sequence_end = wild(random);
  batch.opening = wild_stack(random);
  batch.closing = wild_stack(random);
  const bool lanes = random() % 2, correlations = random() % 2;
  for (size_t i = random() % most; i > 0; --i) {
    batch.ranges.end.push_back(wild(random));
    batch.ranges.duration.push_back(wild(random));
    batch.ranges.class_id.push_back(static_cast<uint32_t>(wild(random)));
    batch.ranges.depth.push_back(static_cast<uint16_t>(wild(random)));
    if (lanes) batch.ranges.lane.push_back(static_cast<uint16_t>(random() % 3));
    if (correlations) batch.ranges.correlation.push_back(wild(random));
  }
  batch.ranges.values = wild_values(random);
  for (size_t i = random() % most; i > 0; --i) {
    batch.points.time.push_back(wild(random));
    batch.points.kind.push_back(static_cast<PointKind>(1 + random() % 10));
    batch.points.class_id.push_back(static_cast<uint32_t>(random() % 5));
    batch.points.id.push_back(wild(random));
  }
  batch.points.values = wild_values(random);
  return batch;
}

inline bool same(const Ranges& a, const Ranges& b) {
  return a.end == b.end && a.duration == b.duration && a.class_id == b.class_id && a.depth == b.depth &&
         a.lane == b.lane && a.correlation == b.correlation && a.values == b.values;
}

inline bool same(const Points& a, const Points& b) {
  return a.time == b.time && a.kind == b.kind && a.class_id == b.class_id && a.id == b.id && a.values == b.values;
}

inline bool same(const EventBatch& a, const EventBatch& b) {
  return a.track == b.track && a.ring == b.ring && a.sequence_begin == b.sequence_begin &&
         a.sequence_end == b.sequence_end && a.opening == b.opening && a.closing == b.closing &&
         same(a.ranges, b.ranges) && same(a.points, b.points);
}

}  // namespace kymo::trace::testing
