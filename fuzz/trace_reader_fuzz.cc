// Opens any bytes as a trace and reads everything in it.
#include <string>

#include "kymo/error.h"
#include "trace/clock.h"
#include "trace/reader.h"
#include "trace/test_trace_fuzz.h"

namespace {

using namespace kymo;
using namespace kymo::trace;

// A few bytes may stand for millions of equal values: that is allowed, but it would slow down the fuzzer.
constexpr size_t kValuesPerInput = 32 << 20;

size_t values_in(const EventBatch& batch) {
  return batch.ranges.size() + batch.ranges.values.ints.size() + batch.ranges.values.doubles.size() +
         batch.ranges.values.text.size() + batch.points.size() + batch.points.values.ints.size() +
         batch.points.values.doubles.size() + batch.points.values.text.size();
}

void read_chunk(const Reader& reader, const EventChunk& chunk, EventBatch& batch) {
  const WriterInfo& writer = reader.writers().at(chunk.writer);
  reader.read(chunk, batch);
  ValueCursor cursor(batch.ranges.values);
  constexpr size_t kNamed = 1000;
  for (size_t i = 0; i < std::min(batch.ranges.size(), kNamed); ++i) {
    const auto found = writer.classes.find(batch.ranges.class_id[i]);
    const EventClass* event_class = found == writer.classes.end() ? nullptr : &found->second;
    full_name(event_class, cursor.next(event_class));
  }
}

void read_everything(const std::string& path) {
  Reader reader(path);
  reader.refresh();
  EventBatch batch;
  size_t values = 0;
  for (const EventChunk& chunk : reader.event_chunks()) {
    try {
      reader.summaries(chunk);
      reader.read(chunk, batch, kOpenStacks);
      if (values < kValuesPerInput) read_chunk(reader, chunk, batch);
      values += values_in(batch);
    } catch (const Error&) {
      // The chunk is damaged; the next one may be intact.
    }
  }
  for (const auto& [id, writer] : reader.writers()) {
    for (const auto& [clock_id, clock] : writer.clocks) {
      const ClockMap map = clock_map(clock);
      for (const ClockPair& pair : clock.pairs) map.to_realtime_ns(pair.ticks + 1);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return trace::testing::read_as_file(data, size, read_everything);
}
