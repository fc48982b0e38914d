// The arrows between the points of flows, found before anything is written, so that no exporter draws half an arrow.
//
// Viewers show wrong results for an arrow with one end, and a trace may have lost the other end. So the points are read
// once. A point counts if it is inside a range of its track, because an arrow is attached to ranges. A flow's number
// may be used again, for example if it is an address: the points of a number are put in the order of time, and each end
// belongs to the oldest beginning that has no end yet. Further ends are further arrows from the same beginning. A step
// belongs to the oldest arrow that has no end yet.
//
// Arrows are numbered from 1 over all processes, because the numbers of flows are unique only within a process.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "trace/reader.h"

namespace kymo::convert {

class Flows {
 public:
  // Reads the points of all chunks that have some. Damaged chunks are skipped. Uses 24 bytes for each point of a flow.
  explicit Flows(const trace::Reader& reader);

  // The part of a point in arrows; `number` is Event::number of a point.
  struct Part {
    uint32_t first = 0, count = 0;      // the arrows; a beginning may have several, other points have one or none
    const std::string* name = nullptr;  // the name of their beginning
  };
  Part part(uint64_t number) const;

  uint32_t arrows() const { return arrows_; }
  // Points that begin or end a flow but are not part of an arrow.
  uint64_t incomplete() const { return incomplete_; }

 private:
  struct Found;
  struct Point {
    uint64_t number = 0;
    uint32_t first = 0, count = 0, name = 0;
  };
  void collect(const trace::Reader& reader, std::vector<Found>& found);
  void connect(std::span<const Found> of_one_flow);
  uint32_t name_of(const trace::WriterInfo& writer, uint32_t class_id);

  std::vector<Point> points_;  // by number
  std::vector<std::string> names_;
  std::map<std::string, uint32_t> name_numbers_;
  uint32_t arrows_ = 0;
  uint64_t incomplete_ = 0;
};

}  // namespace kymo::convert
