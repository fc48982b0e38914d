// The bytes in use of each memory over time.

#include <map>

#include "analyze/memory/replay.h"
#include "serve/client_watch.h"
#include "serve/derived.h"

namespace kymo::serve {

namespace {

class InUse : public memory::BlockVisitor {
 public:
  InUse(const memory::Tables& tables, const FilePlaces& places, const ShouldStop& should_stop)
      : tables_(tables), places_(places), should_stop_(should_stop) {}

  void taken(const memory::Block& block) override { step(block.memory, block.taken_ns, block.bytes, 0); }
  void returned(const memory::Block& block, const memory::MemoryChange& by) override {
    step(block.memory, by.time_ns, 0, block.bytes);
  }
  void ended(const memory::Block& block, int64_t end_ns) override { step(block.memory, end_ns, 0, block.bytes); }

  std::vector<DerivedTrack> take() {
    std::vector<DerivedTrack> tracks;
    for (auto& [number, memory] : memories_) {
      DerivedTrack& track = tracks.emplace_back();
      track.group = memory.place->group;
      track.name = tables_.memories[number].device;
      track.values = std::move(memory.steps);
    }
    return tracks;
  }

 private:
  struct Memory {
    const FilePlaces::Place* place = nullptr;
    uint64_t bytes = 0;
    std::vector<CounterBin> steps;
  };

  void step(uint32_t number, int64_t realtime_ns, uint64_t more, uint64_t less) {
    if (++changes_ % 4096 == 0 && should_stop_()) throw Abandoned();
    const auto [entry, is_new] = memories_.try_emplace(number);
    Memory& memory = entry->second;
    if (is_new) {
      const uint64_t pid = tables_.processes[tables_.memories[number].process].pid;
      const auto place = places_.processes.find(pid);
      if (place != places_.processes.end()) memory.place = &place->second;
    }
    if (memory.place == nullptr) {
      memories_.erase(entry);
      return;
    }
    memory.bytes = more > UINT64_MAX - memory.bytes ? UINT64_MAX : memory.bytes + more;
    memory.bytes -= std::min(less, memory.bytes);
    const int64_t time = memory.place->clock.of_realtime(realtime_ns);
    const double value = static_cast<double>(memory.bytes);
    add(memory.steps, {time, time, value, value, value});
  }

  void add(std::vector<CounterBin>& steps, const CounterBin& value) {
    if (!steps.empty() && bin_of(steps.back().time, level_) == bin_of(value.time, level_))
      return steps.back().merge(value);
    steps.push_back(value);
    if (++count_ > DerivedTrack::kMaxSteps) coarsen();
  }

  // Bins that are twice as long, for all memories, until half of the room is free.
  void coarsen() {
    while (count_ > DerivedTrack::kMaxSteps / 2) {
      ++level_;
      count_ = 0;
      for (auto& [number, memory] : memories_) {
        size_t kept = 0;
        for (const CounterBin& step : memory.steps) {
          if (kept > 0 && bin_of(memory.steps[kept - 1].time, level_) == bin_of(step.time, level_))
            memory.steps[kept - 1].merge(step);
          else
            memory.steps[kept++] = step;
        }
        memory.steps.resize(kept);
        count_ += kept;
      }
    }
  }

  const memory::Tables& tables_;
  const FilePlaces& places_;
  const ShouldStop& should_stop_;
  std::map<uint32_t, Memory> memories_;
  unsigned level_ = 0;
  size_t count_ = 0;
  uint64_t changes_ = 0;
};

}  // namespace

std::vector<DerivedTrack> memory_tracks(const trace::Reader& reader, const FilePlaces& places,
                                        const ShouldStop& should_stop) {
  memory::Changes changes(reader);
  InUse in_use(changes.tables(), places, should_stop);
  try {
    memory::replay(changes, in_use);
  } catch (const Abandoned&) {
    return {};
  }
  return in_use.take();
}

}  // namespace kymo::serve
