// Drains any bytes as the segment of a dead process: its classes, its rings, and what signal handlers stored
// separately.
//
// The input overwrites a small part of each: the entries and offsets of the registry, a slot, its cells. Half of the
// inputs are read as the ring of a queue, continued from an earlier collector or from its beginning.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "collect/source.h"
#include "kymo/error.h"
#include "record/segment.h"
#include "trace/writer.h"

namespace {

using namespace kymo;

constexpr uint64_t kRingBytes = record::kMinRingBytes;
constexpr uint32_t kClasses = 16, kArenaInput = 512;

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  void fill(void* to, size_t bytes) {
    const size_t taken = std::min(bytes, left_);
    std::memcpy(to, data_, taken);
    data_ += taken;
    left_ -= taken;
  }
  size_t left() const { return left_; }

 private:
  const uint8_t* data_;
  size_t left_;
};

struct Unmap {
  void operator()(record::SegmentHeader* header) const { munmap(header, header->segment_bytes); }
};

// A segment with one slot, as create_segment() would leave it.
std::unique_ptr<record::SegmentHeader, Unmap> make_segment() {
  const uint64_t header_bytes = record::round_up(sizeof(record::SegmentHeader), record::kPage);
  const uint64_t bytes = header_bytes + record::kPage + kRingBytes;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  auto* header = static_cast<record::SegmentHeader*>(memory);
  header->segment_bytes = bytes;
  header->slots_offset = header_bytes;
  header->slot_bytes = record::kPage + kRingBytes;
  header->slot_capacity = 1;
  header->ring_cells = kRingBytes / sizeof(record::Cell);
  header->tick_kind = record::TickKind::Monotonic;
  header->ticks_per_second = 1'000'000'000;
  return std::unique_ptr<record::SegmentHeader, Unmap>(header);
}

// A file that ends with chunks of a queue whose counter wraps.
collect::Resume queue_state(uint64_t sequence_end) {
  collect::Resume state;
  state.next_track = 2;
  collect::Resume::Ring& ring = state.rings[0];
  ring.sequence_end = sequence_end;
  ring.track.id = 1;
  ring.track.kind = trace::TrackKind::DeviceQueue;
  ring.track.clock = 2;
  ring.track.device_uuid = "GPU";
  trace::ClockDomain& domain = state.clocks[2];
  domain.id = 2;
  domain.kind = trace::ClockKind::Device;
  domain.pairs = {{1000, 1000, 1000, 10}};
  return state;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto header = make_segment();
  Input input(data, size);
  uint8_t choices[4] = {};
  input.fill(choices, sizeof choices);
  header->policy = choices[0] % 3;
  header->slots_used = 1;
  header->slot_state[0] = choices[1] % 4;
  header->registry.class_count = kClasses;
  uint16_t offsets[kClasses] = {};
  input.fill(offsets, sizeof offsets);
  for (uint32_t i = 0; i < kClasses; ++i) header->registry.offsets[i + 1] = offsets[i];
  input.fill(header->registry.arena, kArenaInput);
  record::SlotPage& page = *record::slot_page(header.get(), 0);
  input.fill(static_cast<void*>(page.side), sizeof page.side / 4);
  page.slot.side_count = choices[2];
  page.slot.lost_ends = choices[3];
  page.slot.wrap_bits = choices[2] % 80;
  const size_t cells = std::min<size_t>(input.left() / sizeof(record::Cell), header->ring_cells);
  input.fill(static_cast<void*>(record::slot_cells(header.get(), 0)), cells * sizeof(record::Cell));
  page.slot.head = choices[3] == 255 ? ~uint64_t{0} / 2 : cells;  // also a position that no thread can have reached

  static const std::string path = "/proc/self/fd/" + std::to_string(memfd_create("segment_fuzz", MFD_CLOEXEC));
  try {
    trace::Writer writer(path, trace::Writer::Mode::Create);
    collect::Source source(*header, {}, collect::Source::From::Beginning);
    if (choices[0] >= 128) source.resume(queue_state(choices[1] & 0x80 ? cells / 2 : 0));
    source.introduce(writer);
    source.drain(writer, true);
    source.finish(writer, 0);
  } catch (const Error&) {
    // Data that cannot be a chunk is refused; the segment is kept.
  }
  return 0;
}
