#include "analyze/memory/changes.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <utility>

#include "analyze/memory/track_changes.h"
#include "kymo/error.h"
#include "trace/clock.h"
#include "trace/program_name.h"

namespace kymo::memory {

namespace {

constexpr uint32_t kHostClock = 1;  // of every writer: docs/format.md

}  // namespace

struct Changes::Impl {
  // A track and its current position.
  struct Lane {
    TrackChanges changes;
    const trace::ClockMap* clock;
    struct Chunk {
      const trace::EventChunk* chunk;
      uint64_t first_point;  // convert::Event::number
    };
    std::vector<Chunk> chunks;  // chunks with points, in order
    size_t next_chunk = 0;
    std::vector<MemoryChange> loaded;
    size_t at = 0;

    bool is_loaded() const { return at < loaded.size(); }
    // The time of its next change, or a time that is not later than it.
    int64_t next_ns() const {
      return is_loaded() ? loaded[at].time_ns : clock->to_realtime_ns(chunks[next_chunk].chunk->first);
    }
  };

  const trace::Reader& reader;
  const std::string device;
  Tables tables;
  std::vector<trace::Problem> problems;
  int64_t begin_ns = std::numeric_limits<int64_t>::max(), end_ns = std::numeric_limits<int64_t>::min();

  uint32_t next_outermost = 0;
  std::map<trace::WriterId, std::unique_ptr<ProcessTables>> processes;
  std::map<std::pair<trace::WriterId, uint32_t>, std::unique_ptr<trace::ClockMap>> clocks;
  std::vector<std::unique_ptr<Lane>> lanes;
  using Waiting = std::pair<int64_t, uint32_t>;  // time and index of the lane
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting;
  std::vector<MemoryChange> moment;
  int64_t last_ns = std::numeric_limits<int64_t>::min();  // a chunk may contain events earlier than its stated begin

  Impl(const trace::Reader& from, std::string only) : reader(from), device(std::move(only)) {
    std::map<std::pair<trace::WriterId, uint32_t>, Lane*> by_track;
    uint64_t points_before = 0;
    for (const trace::EventChunk& chunk : reader.event_chunks()) {
      const uint64_t first_point = points_before + 1;
      points_before += chunk.point_count;
      if (chunk.point_count == 0) continue;
      const auto [entry, is_new] = by_track.try_emplace({chunk.writer, chunk.track}, nullptr);
      if (is_new) entry->second = add_lane(chunk);
      Lane* const lane = entry->second;
      if (lane == nullptr) continue;  // the reader has reported it
      lane->chunks.push_back({&chunk, first_point});
      begin_ns = std::min(begin_ns, lane->clock->to_realtime_ns(chunk.first));
      const int64_t last = lane->clock->to_realtime_ns(chunk.last);
      end_ns = std::max(end_ns, last);
      int64_t& process_end = tables.processes[processes.at(chunk.writer)->number].end_ns;
      process_end = std::max(process_end, last);
    }
    extend_parents();
    for (uint32_t i = 0; i < lanes.size(); ++i) waiting.emplace(lanes[i]->next_ns(), i);
  }

  // A process was seen alive, but its end was not seen: it came a moment later. Most parents wait for their children,
  // so one that was alive a moment before the end of a child has not ended before it.
  void extend_parents() {
    constexpr int64_t kMomentNs = 100'000'000;  // longer than the time between two looks at a process
    std::map<uint64_t, ProcessInfo*> by_pid;
    for (ProcessInfo& process : tables.processes) by_pid[process.pid] = &process;
    for (const ProcessInfo& process : tables.processes) {
      if (process.end_ns == ProcessInfo{}.end_ns) continue;  // not known
      for (const ProcessInfo* child = &process;;) {
        const auto parent = by_pid.find(child->parent_pid);
        if (parent == by_pid.end() || parent->second->end_ns >= child->end_ns ||
            static_cast<uint64_t>(child->end_ns) - static_cast<uint64_t>(parent->second->end_ns) > kMomentNs)
          break;
        parent->second->end_ns = child->end_ns;
        child = parent->second;
      }
    }
  }

  // Null if the trace does not describe the track, or if the track has no usable clock.
  Lane* add_lane(const trace::EventChunk& chunk) {
    const auto writer = reader.writers().find(chunk.writer);
    if (writer == reader.writers().end()) return nullptr;
    const auto track = writer->second.tracks.find(chunk.track);
    if (track == writer->second.tracks.end()) return nullptr;
    const auto domain = writer->second.clocks.find(track->second.clock);
    if (domain == writer->second.clocks.end()) return nullptr;
    std::unique_ptr<trace::ClockMap>& clock = clocks[{chunk.writer, domain->first}];
    if (clock == nullptr) clock = std::make_unique<trace::ClockMap>(trace::clock_map(domain->second));
    if (!clock->usable()) return nullptr;

    std::unique_ptr<ProcessTables>& process = processes[chunk.writer];
    if (process == nullptr) {
      const auto number = static_cast<uint32_t>(tables.processes.size());
      process = std::make_unique<ProcessTables>(writer->second, number, device, tables);
      const trace::Origin& origin = writer->second.origin;
      tables.processes.push_back({origin.pid, origin.parent_pid, trace::program_name(origin)});
      if (writer->second.ending && writer->second.ending->alive_until != 0)
        if (const auto host = writer->second.clocks.find(kHostClock); host != writer->second.clocks.end())
          if (const trace::ClockMap map = trace::clock_map(host->second); map.usable())
            tables.processes.back().end_ns = map.to_realtime_ns(writer->second.ending->alive_until);
    }
    const auto thread = static_cast<uint32_t>(tables.threads.size());
    tables.threads.push_back({process->number, track->second.tid, track->second.name});
    lanes.push_back(
        std::make_unique<Lane>(Lane{{*process, *clock, thread, next_outermost}, clock.get(), {}, 0, {}, 0}));
    return lanes.back().get();
  }

  void load(Lane& lane) {
    const auto [read, first_point] = lane.chunks[lane.next_chunk++];
    const trace::EventChunk& chunk = *read;
    lane.at = 0;
    try {
      lane.changes.read(reader, chunk, first_point, lane.loaded);
    } catch (const Error& error) {
      lane.loaded.clear();
      problems.push_back({chunk.offset, chunk.length, error.what()});
    }
    if (lane.loaded.empty()) std::vector<MemoryChange>().swap(lane.loaded);
  }

  void put_back(Lane& lane, uint32_t index) {
    if (lane.is_loaded() || lane.next_chunk < lane.chunks.size()) waiting.emplace(lane.next_ns(), index);
  }
};

Changes::Changes(const trace::Reader& reader, std::string device)
    : impl_(std::make_unique<Impl>(reader, std::move(device))) {}
Changes::~Changes() = default;

std::span<const MemoryChange> Changes::next() {
  Impl& all = *impl_;
  all.moment.clear();
  while (!all.waiting.empty() && (all.moment.empty() || all.waiting.top().first <= all.moment.front().time_ns)) {
    const uint32_t index = all.waiting.top().second;
    all.waiting.pop();
    Impl::Lane& lane = *all.lanes[index];
    if (!lane.is_loaded()) {
      all.load(lane);
    } else {
      const int64_t now = all.moment.empty() ? lane.next_ns() : all.moment.front().time_ns;
      for (; lane.is_loaded() && lane.loaded[lane.at].time_ns <= now; ++lane.at) {
        all.moment.push_back(lane.loaded[lane.at]);
        all.moment.back().time_ns = all.last_ns = std::max(all.last_ns, all.moment.back().time_ns);
      }
    }
    all.put_back(lane, index);
  }
  return all.moment;
}

int64_t Changes::begin_ns() const { return impl_->lanes.empty() ? 0 : impl_->begin_ns; }
int64_t Changes::end_ns() const { return impl_->lanes.empty() ? 0 : impl_->end_ns; }
uint64_t Changes::most_alive() const { return (1 << 16) + 64 * impl_->reader.file_size(); }
Tables& Changes::tables() { return impl_->tables; }
const std::vector<trace::Problem>& Changes::problems() const { return impl_->problems; }

}  // namespace kymo::memory
