// Reads arbitrary bytes as a trace and makes every form of a memory profile of it.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "analyze/memory/export.h"
#include "analyze/memory/profile.h"
#include "analyze/memory/snapshot.h"
#include "convert/export_stream.h"
#include "kymo/error.h"
#include "trace/test_trace_fuzz.h"

namespace {

using namespace kymo;

// A few bytes may stand for millions of equal values. For many points only the profile itself is made, which must stay
// small. With more points, the input is skipped, because it would take too much of the fuzzer's time.
constexpr uint64_t kManyPoints = 200'000, kMostPoints = 1'000'000;

// Discards its input.
class NoSink : public convert::ExportStream {
 public:
  void write(std::string_view) override {}
  void finish() override {}
};

void expect(bool holds) {
  if (!holds) std::abort();
}

// What must hold for every profile, whatever the trace contains.
void check(const memory::Profile& profile) {
  expect(profile.end_bytes <= profile.peak_bytes);
  expect(profile.left.count <= profile.counts.allocations);
  expect(profile.memories.size() == profile.tables.memories.size());
  uint64_t sum = 0;
  for (const uint64_t bytes : profile.at_peak) sum += std::min(bytes, UINT64_MAX - sum);
  expect(sum == profile.peak_bytes);
  for (size_t i = 1; i < profile.timeline.size(); ++i)
    expect(profile.timeline[i - 1].time_ns <= profile.timeline[i].time_ns);
}

void profile_everything(const std::string& path) {
  const trace::Reader reader(path);
  uint64_t points = 0;
  for (const trace::EventChunk& chunk : reader.event_chunks())
    points += std::min<uint64_t>(chunk.point_count + chunk.range_count, kMostPoints + 1);
  if (points > kMostPoints) return;
  if (points > kManyPoints) return check(memory::read_profile(reader, {"", 0}));
  memory::Profile profile = memory::read_profile(reader, {"", 50});
  check(profile);
  for (const auto by : {memory::GroupBy::Stack, memory::GroupBy::Range, memory::GroupBy::Size})
    for (const memory::Group& group : memory::distinct(profile, by, &memory::Group::left, 10))
      memory::describe(profile, group, by);
  NoSink sink;
  memory::write_page(profile, path, sink);
  memory::write_timeline_json(reader, "", profile.temporaries, sink);
  memory::write_raw_json(reader, "", profile.temporaries, sink);
  if (profile.memories.size() <= 16) memory::write_snapshot(reader, "", sink);  // reads the trace once per memory
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return trace::testing::read_as_file(data, size, profile_everything);
}
