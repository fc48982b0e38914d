#include "edge/rows.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "convert/kineto.h"
#include "convert/places.h"

namespace kymo::edge {
namespace {

// The max number of lanes that are searched for space. An event that overlaps events in all of them gets a new lane.
// This limits the cost per event, even for hostile times.
constexpr uint32_t kLanesTried = 64;

// The open events of one lane, while events come in the order of their begin.
class RowLane {
 public:
  // False: the event would not nest in this lane.
  bool take(uint64_t start, uint64_t end) {
    if (start < reached_) return false;
    reached_ = start;
    while (!ends_.empty() && ends_.back() <= start) ends_.pop_back();
    if (!ends_.empty() && ends_.back() < end) return false;
    ends_.push_back(end);
    return true;
  }

 private:
  std::vector<uint64_t> ends_;  // outermost first
  uint64_t reached_ = 0;        // later events must not begin before this
};

class RowArranger {
 public:
  explicit RowArranger(const ResultData& result) : result_(result) {
    for (const ThreadInfo& thread : result.threads) add_thread(thread.thread, thread.name);
    for (const EdgeAllocation& allocation : result.allocations) track_of_thread(allocation.thread);
  }

  Rows run() {
    rows_.places.resize(result_.events.size());
    const auto count = static_cast<uint32_t>(result_.events.size());
    const uint32_t first_device_event = std::min(result_.first_device_event, count);
    uint32_t track = 0;
    for (uint32_t i = 0; i < first_device_event; ++i) {
      const uint64_t thread = result_.events[i].thread;
      if (i == 0 || rows_.tracks[track].thread != thread) track = track_of_thread(thread);
      place(i, track);
    }
    for (uint32_t i = first_device_event; i < count; ++i) place(i, track_of_queue(result_.events[i]));
    for (size_t i = 0; i < rows_.tracks.size(); ++i) rows_.tracks[i].lanes = std::max(used_[i], 1u);
    return std::move(rows_);
  }

 private:
  using Queue = std::tuple<int32_t, int32_t, uint64_t>;

  uint32_t add_thread(uint64_t thread, const std::string& name) {
    const auto [entry, is_new] = rows_.of_threads.try_emplace(thread, static_cast<uint32_t>(rows_.tracks.size()));
    if (!is_new) return entry->second;
    RowTrack& track = add_track();
    track.thread = thread;
    track.name = name;
    return entry->second;
  }
  uint32_t track_of_thread(uint64_t thread) {
    const auto found = rows_.of_threads.find(thread);
    return found != rows_.of_threads.end() ? found->second : add_thread(thread, {});
  }
  uint32_t track_of_queue(const EdgeEvent& event) {
    const Queue key{event.device.type, event.device.index, event.queue};
    const auto [entry, is_new] = queues_.try_emplace(key, static_cast<uint32_t>(rows_.tracks.size()));
    if (is_new) {
      RowTrack& track = add_track();
      track.on_device = true;
      track.device = event.device;
      track.queue = event.queue;
    }
    return entry->second;
  }
  RowTrack& add_track() {
    lanes_.emplace_back();
    used_.push_back(0);
    return rows_.tracks.emplace_back();
  }

  void place(uint32_t index, uint32_t track) {
    const EdgeEvent& event = result_.events[index];
    RowPlace& place = rows_.places[index];
    place.track = track;
    // The search starts at the lane of its parent.
    uint32_t first = 0;
    if (event.parent < index && rows_.places[event.parent].track == track) first = rows_.places[event.parent].lane;
    if (try_lane(first, event, place)) return;
    for (uint32_t lane = 0; lane < kLanesTried; ++lane)
      if (lane != first && try_lane(lane, event, place)) return;
    place.lane = std::max(used_[track], kLanesTried);
    used_[track] = place.lane + 1;
  }

  bool try_lane(uint32_t lane, const EdgeEvent& event, RowPlace& place) {
    if (lane >= kLanesTried) return false;
    std::vector<RowLane>& lanes = lanes_[place.track];
    if (lane >= lanes.size()) lanes.resize(lane + size_t{1});
    if (!lanes[lane].take(event.start_ns, event.start_ns + length_ns(event))) return false;
    place.lane = lane;
    used_[place.track] = std::max(used_[place.track], lane + 1);
    return true;
  }

  const ResultData& result_;
  Rows rows_;
  std::map<Queue, uint32_t> queues_;
  std::vector<std::vector<RowLane>> lanes_;  // by track
  std::vector<uint32_t> used_;               // number of lanes of each track
};

}  // namespace

std::string device_text(const DeviceId& device) { return convert::device_label({device.type, device.index}); }

Rows arrange_rows(const ResultData& result) { return RowArranger(result).run(); }

}  // namespace kymo::edge
