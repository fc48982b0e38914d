// The clocks of a Perfetto trace: converts the times of all of them to one, the trace's own.
//
// Snapshots say what several clocks showed at one moment. A time is converted with the last snapshot before it, over as
// many clocks as needed. Clocks 64 to 127 belong to a sequence. Their times may be differences to the time before.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace kymo::import {

class PerfettoClocks {
 public:
  struct Reading {
    uint32_t clock = 0;
    uint64_t value = 0;
    bool is_incremental = false;
    uint64_t multiplier = 1;  // nanoseconds of a unit
  };

  // `primary`: the trace's clock; 0: the snapshot does not say.
  void snapshot(uint32_t sequence, std::span<const Reading> readings, uint32_t primary);

  // Nanoseconds of the trace's clock. Nothing if the clock is not known, or the time is out of range. Must be called
  // for each time of a sequence, in order. `clock` 0: the packet does not say.
  std::optional<int64_t> trace_time(uint32_t sequence, uint32_t clock, uint64_t value);

  // When the trace's clock was 0, in nanoseconds since 1970; 0: not known.
  int64_t realtime_base();

 private:
  using Key = uint64_t;  // the clock, and its sequence above
  struct OfSequence {
    uint64_t last = 0;
    bool is_incremental = false;
    uint64_t multiplier = 1;
  };
  struct Pair {
    int64_t from = 0, to = 0;
  };
  using Edges = std::map<std::pair<Key, Key>, std::vector<Pair>>;  // sorted by `from`

  static Key key_of(uint32_t sequence, uint32_t clock);
  Key trace_clock() const;
  bool relate(Key from, Key to, int64_t from_ns, int64_t to_ns);
  const std::vector<Key>* route(Key from, Key to);
  std::optional<int64_t> convert(Key from, Key to, int64_t ns);

  std::map<Key, OfSequence> clocks_;
  Edges edges_;
  std::map<std::pair<Key, Key>, std::vector<Key>> routes_;  // empty: there is none
  uint32_t primary_ = 0;
  bool has_snapshots_ = false;
};

}  // namespace kymo::import
