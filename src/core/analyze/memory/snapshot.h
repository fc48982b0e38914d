// Writes the allocations of a trace as a snapshot of PyTorch's allocator, for memory_viz: a pickled dictionary.
//
//   segments              the areas of addresses, each with its live blocks at the end and the gaps between
//   device_traces         for each memory, sorted by time: "segment_alloc" when an area is first used, "alloc"
//                         (with frames; user_metadata is the range around it), "free_requested", "free_completed"
//   allocator_settings    empty
//   external_annotations  empty
//
// The snapshot is consistent: events are inside areas, frees have their allocations, blocks fill their area.
// Allocations without an address, or with one beyond 2^63, are omitted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyze/memory/profile.h"
#include "convert/export_stream.h"
#include "trace/reader.h"

namespace kymo::memory {

// Reads the trace once, and once again for each memory. Does not finish the sink.
void write_snapshot(const trace::Reader& reader, const std::string& device, convert::ExportStream& sink);

// Writes Python's pickle format, protocol 2: only the value types that snapshots need.
//
//   PickleWriter pickle(sink);
//   pickle.begin_dict();
//   pickle.key("segments");
//   pickle.begin_list();
//   pickle.end_list();
//   pickle.end_dict();
//   pickle.finish();
//
// The output never makes a reader run code. Memory does not grow with the output, except for shared values.
class PickleWriter {
 public:
  explicit PickleWriter(convert::ExportStream& sink);

  // A value is the whole document, an item of a list, or the value of a key.
  void begin_dict();
  void end_dict();
  void begin_list();
  void end_list();
  void number(uint64_t value);
  void number(int64_t value);
  void boolean(bool value);
  void none();
  void pair(uint64_t first, uint64_t second);  // a tuple
  void text(std::string_view untrusted);       // bytes that are not UTF-8 are replaced; equal texts are written once

  void key(std::string_view name);

  // share() gives the value that was just ended a number. shared() writes the same value again by this number; the
  // reader gets the same object.
  uint32_t share();
  void shared(uint32_t number);

  void finish();

 private:
  struct Container {
    bool is_dict;
    uint32_t in_batch = 0;
  };
  void before_value();
  void byte(unsigned char one) { out_.push_back(static_cast<char>(one)); }
  void little_endian(uint64_t value, size_t bytes);
  void put_text(std::string_view untrusted);
  void get(uint32_t number);
  void flush_if_large();

  convert::ExportStream& sink_;
  std::string out_, room_;
  std::vector<Container> open_;
  std::unordered_map<std::string, uint32_t> texts_;
  uint32_t next_share_ = 0;
};

}  // namespace kymo::memory
