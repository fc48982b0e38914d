// The tracks of a trace that patterns choose.
//
// A pattern (base/wildcard.h) describes the name of a thread or queue as viewers show it ("main", "thread 4713",
// "queue 1"), or the name with its process or device: "train/main", "train (4711)/main", "GPU 0*/compute".
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "convert/places.h"
#include "trace/reader.h"

namespace kymo::convert {

class TrackChoice {
 public:
  // Without a pattern, all tracks are chosen. Throws kymo::Error with the tracks that there are if a pattern describes
  // none.
  TrackChoice(const trace::Reader& reader, const std::vector<std::string>& patterns);
  // Exactly these tracks.
  explicit TrackChoice(std::set<std::pair<trace::WriterId, uint32_t>> tracks);

  bool contains(const trace::WriterId& writer, uint32_t track) const {
    return all_ || chosen_.contains({writer, track});
  }
  // True if a track of the writer is chosen.
  bool contains(const trace::WriterId& writer) const { return all_ || writers_.contains(writer); }
  bool all() const { return all_; }

 private:
  bool all_;
  std::set<std::pair<trace::WriterId, uint32_t>> chosen_;
  std::set<trace::WriterId> writers_;
};

}  // namespace kymo::convert
