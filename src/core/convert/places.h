// The places of a trace's tracks in a viewer: a process or device, and in it a row with a name.
//
// Viewers identify a row by a pid and a tid. Kymo's tracks keep the system's numbers, unless two different things would
// have the same: the same pid on two hosts, a thread id that was reused, queues of two processes on one device. Those
// get a free number. Devices are separate processes (0, 1, …), so that all work on one device is together, from all
// processes.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trace/reader.h"

namespace kymo::convert {

// The numbers of rows in a viewer: its pids, or the tids of one pid. Each is given out once.
class RowNumbers {
 public:
  // Viewers store numbers in 32 bits, signed.
  static constexpr uint64_t kLargest = std::numeric_limits<int32_t>::max();
  // Linux uses no ids above 2^22, so invented ones start well above that.
  static constexpr uint64_t kFirstInvented = 10'000'000;

  // The system's own number; an invented one if that is taken or too large.
  uint64_t claim(uint64_t wanted) { return wanted <= kLargest && taken_.insert(wanted).second ? wanted : invent(); }
  // The first free number from here on.
  uint64_t claim_from(uint64_t lowest) {
    while (!taken_.insert(lowest).second) ++lowest;
    return lowest;
  }
  uint64_t invent() { return next_ = claim_from(next_); }

 private:
  std::set<uint64_t> taken_;
  uint64_t next_ = kFirstInvented;
};

// The place of the first device among the processes of a viewer, after all processes; as in Kineto.
inline constexpr uint64_t kFirstDeviceOrder = 5'000'000;

// A process, or a device.
struct Group {
  uint32_t index = 0;
  uint64_t pid = 0;
  std::string name;   // of the program; "GPU 0 (NVIDIA H200)"
  std::string label;  // "CPU" or "GPU 0"
  uint64_t sort_index = 0;
  const trace::WriterInfo* writer = nullptr;  // null: a device; the first one if a process has several (after exec)
  std::string device_uuid;
};

// A track in its group.
struct Place {
  uint32_t index = 0;
  const trace::WriterInfo* writer = nullptr;
  const trace::Track* track = nullptr;
  const Group* group = nullptr;
  const Group* process = nullptr;  // of its writer; the group itself if that is not a device
  uint64_t tid = 0;
  std::string name;  // never empty
};

class Places {
 public:
  explicit Places(const trace::Reader& reader);
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  // Null if the trace does not describe the track. The pointer stays valid.
  const Place* find(const trace::WriterId& writer, uint32_t track) const;
  const std::deque<Group>& groups() const { return groups_; }
  // Of a writer of the trace.
  const Group& process(const trace::WriterInfo& writer) const { return *processes_.at(key_of(writer)); }
  const std::deque<Place>& all() const { return places_; }

  // The row for ranges that overlap others of their track: one tid for each lane above 0.
  uint64_t lane_tid(const Place& place, uint16_t lane);

 private:
  struct Rows {
    RowNumbers tids;
    std::map<uint64_t, const trace::WriterInfo*> threads;  // by tid, the writer that had it last
  };
  static std::string key_of(const trace::WriterInfo& writer);
  Group& process_of(const trace::WriterInfo& writer);
  Group& device_of(const trace::Track& track);
  uint64_t claim_tid(Rows& rows, const trace::WriterInfo& writer, const trace::Track& track);

  std::deque<Group> groups_;
  std::deque<Place> places_;
  std::map<std::pair<trace::WriterId, uint32_t>, const Place*> by_track_;
  std::map<std::string, Group*> processes_, devices_;
  RowNumbers pids_;
  std::map<const Group*, Rows> rows_;
  std::map<std::pair<const Place*, uint16_t>, uint64_t> lanes_;
};

// "train (4711)", or the name of a device: different for each group.
std::string group_label(const Group& group);

// "name (lane 2)"
std::string lane_name(const Place& place, uint16_t lane);

// The tracks of a trace that patterns choose.
//
// A pattern (base/wildcard.h) describes the name of a thread or queue as viewers show it ("main", "thread 4713",
// "queue 1"), or the name with its process or device: "train/main", "train (4711)/main", "GPU 0*/compute".
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
