#include "analyze/report/ranges_backwards.h"

#include <algorithm>

namespace kymo::analyze {

TrackRange RangesBackwards::range_of(const TrackOfTrace& track, const trace::Ranges& ranges, size_t i) {
  TrackRange range;
  range.end = track.ns(ranges.end[i]);
  range.begin = track.ns(ranges.end[i] - ranges.duration[i]);
  range.correlation = ranges.correlation.empty() ? 0 : ranges.correlation[i];
  range.class_id = ranges.class_id[i];
  range.lane = ranges.lane.empty() ? uint16_t{0} : ranges.lane[i];
  range.depth = ranges.depth[i];
  return range;
}

bool RangesBackwards::is_other_lanes(const trace::Ranges& ranges) {
  return std::find(ranges.lane.begin(), ranges.lane.end(), uint16_t{0}) == ranges.lane.end();
}

}  // namespace kymo::analyze
