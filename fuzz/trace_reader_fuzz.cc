// Opens whatever bytes as a trace and reads everything in it.
//
// Random changes alone would never get past the hashes, so the mutator puts them right again after most changes.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "base/file.h"
#include "base/hash.h"
#include "kymo/error.h"
#include "trace/clock.h"
#include "trace/event_head.h"
#include "trace/format.h"
#include "trace/reader.h"

namespace {

using namespace kymo;
using namespace kymo::trace;

// A few bytes may stand for millions of equal values: that is allowed, but a fuzzer has better things to do.
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
      // A damaged chunk: the next one may be whole.
    }
  }
  for (const auto& [id, writer] : reader.writers()) {
    for (const auto& [clock_id, clock] : writer.clocks) {
      const ClockMap map(clock);
      for (const ClockPair& pair : clock.pairs) map.to_realtime_ns(pair.ticks + 1);
    }
  }
}

// Makes every hash right where there is something like a chunk.
void seal(std::byte* data, size_t size) {
  for (size_t at = 0; at + kHeaderBytes <= size; ++at) {
    if (std::memcmp(data + at, kMagic.data(), kMagic.size()) != 0) continue;
    std::byte* fields = data + at + kMagic.size();
    const auto header = load_fields(fields);
    if (!header || header->chunk_length() > size - at) continue;
    std::byte* payload = data + at + header->header_length;
    if (header->type == ChunkType::Events && header->payload_length >= kEventPrefixBytes) {
      const auto head_length = base::load<uint32_t>(payload + 8);
      const auto directory_length = base::load<uint32_t>(payload + 12);
      if (head_length <= header->payload_length - kEventPrefixBytes)
        store_prefix(payload, head_length, directory_length);
    }
    ChunkHeader sealed = *header;
    sealed.payload_hash = base::hash({payload, header->payload_length});
    store_header(sealed, data + at);
    at += kHeaderBytes - 1;
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  constexpr unsigned kLeaveDamaged = 8;  // one in
  const size_t changed = LLVMFuzzerMutate(data, size, max_size);
  if (seed % kLeaveDamaged != 0) seal(reinterpret_cast<std::byte*>(data), changed);
  return changed;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const base::FileDescriptor file(::memfd_create("trace", MFD_CLOEXEC));
  size_t written = 0;
  if (!file || base::write_all(file.get(), std::as_bytes(std::span(data, size)), written) != 0) return 0;
  try {
    read_everything("/proc/self/fd/" + std::to_string(file.get()));
  } catch (const Error&) {
    // Refused with a reason, as it should be.
  }
  return 0;
}
