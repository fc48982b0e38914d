// Tracks that are not in the file as they are shown: the bytes in use of each memory, and ranges across threads.
//
// Both need all points of a file in the order of time: the size of a free is that of its allocation, and a range across
// threads ends in another chunk than it begins. So they are computed once in the background, and kept in a bounded
// form.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "serve/chunk_data.h"
#include "serve/item.h"
#include "serve/source.h"
#include "trace/reader.h"

namespace kymo::serve {

struct DerivedTrack {
  enum class Kind : uint8_t { Memory, AcrossThreads };
  uint32_t id = 0;  // of its track; given by the view
  uint32_t file = 0, group = 0;
  Kind kind = Kind::Memory;
  std::string name;
  // Memory: steps by time. Every change if there are few; beyond kMaxSteps of a file, bins of equal length with the
  // smallest, the largest and the last value.
  std::vector<CounterBin> values;
  // Ranges across threads by start, on lanes. Their chunk and index are those of the point where they begin.
  std::vector<Item> items;
  std::vector<uint32_t> end_tracks;  // of the items: where they end, a position in Source::tracks()
  uint64_t left_out = 0;             // items beyond kMaxAcross

  static constexpr size_t kMaxSteps = 300'000, kMaxAcross = 300'000;
  static constexpr uint16_t kMaxLanes = 100;  // the rest share the last one

  bool same_place(const DerivedTrack& other) const {
    return file == other.file && group == other.group && kind == other.kind && name == other.name;
  }
};

// True: the caller wants to end, so the result is of no use.
using ShouldStop = std::function<bool()>;

// The clocks and places of a file, copied so that a long computation does not keep the file locked.
struct FilePlaces {
  struct Place {
    uint32_t track = 0, group = 0;  // a position in Source::tracks()
    FileClock clock;
  };
  std::map<std::pair<trace::WriterId, uint32_t>, Place> tracks;
  std::map<uint64_t, Place> processes;  // by pid: any track of it
  int64_t duration_ns = 0;

  static FilePlaces of(const Source& source);
};

// One track for each memory of the file. Linear in the number of allocations; memory for those that live at a time.
std::vector<DerivedTrack> memory_tracks(const trace::Reader& reader, const FilePlaces& places,
                                        const ShouldStop& should_stop);
// One track for each process. `is_wanted` says which chunks may have such ranges. `name_of` gives the id of a name.
using NameOf = std::function<uint32_t(const trace::WriterId&, uint32_t class_id, const std::string& stored)>;
std::vector<DerivedTrack> across_threads_tracks(const trace::Reader& reader, const FilePlaces& places,
                                                const std::function<bool(uint32_t chunk)>& is_wanted,
                                                const NameOf& name_of, const ShouldStop& should_stop);

}  // namespace kymo::serve
