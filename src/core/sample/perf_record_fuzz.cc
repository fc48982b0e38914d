// The ring of a performance event with arbitrary bytes: every record in it is decoded, and every part is read.
#include <linux/perf_event.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "sample/perf_record.h"
#include "sample/perf_ring.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kymo::sample;
  if (size < 16) return 0;
  uint64_t sample_type = 0;
  std::memcpy(&sample_type, data, sizeof sample_type);
  const RecordLayout layout{sample_type, data[8] % 8u, {{1, Cause::Wait}, {3, Cause::WakeUp}}, {1, 2, 24}};
  const size_t bytes = std::bit_floor(size - 9);
  // Separate memory, so that a read past its end is detected
  const std::vector<std::byte> ring(reinterpret_cast<const std::byte*>(data) + 9,
                                    reinterpret_cast<const std::byte*>(data) + 9 + bytes);
  RingReader reader(ring.data(), bytes);
  reader.extend(bytes);
  uint64_t sum = 0;
  for (kymo::base::Bytes record = reader.front(); !record.empty(); reader.pop(), record = reader.front()) {
    const auto decoded = decode_record(record, layout);
    if (!decoded) continue;
    sum += decoded->woken;
    for (size_t i = 0; i < decoded->chain.size(); ++i) sum += decoded->chain[i];
    for (size_t i = 0; i < decoded->registers.size(); ++i) sum += decoded->registers[i];
    for (const std::byte byte : decoded->stack) sum += static_cast<uint64_t>(byte);
    for (const std::byte byte : decoded->build_id) sum += static_cast<uint64_t>(byte);
    for (const char character : decoded->text) sum += static_cast<uint64_t>(character);
  }
  return sum == 1 && reader.tail() > bytes ? 1 : 0;
}
