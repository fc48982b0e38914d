#include "convert/launches.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/hash.h"
#include "convert/chunk_order.h"
#include "convert/kineto.h"
#include "kymo/error.h"

namespace kymo::convert {

namespace {

bool is_on_device(const trace::Track& track) { return track.kind == trace::TrackKind::DeviceQueue; }

bool has_device(const trace::WriterInfo& writer) {
  return std::any_of(writer.tracks.begin(), writer.tracks.end(),
                     [](const auto& track) { return is_on_device(track.second); });
}

}  // namespace

// Reads the ranges of all chunks of one trace.
class Launches::Collector {
 public:
  struct Found {
    uint64_t operation = 0;
    uint32_t executions = 0;
    bool is_launched = false;
  };
  using PerWriter = std::unordered_map<uint64_t, Found, base::SeededHash>;  // by correlation

  explicit Collector(const trace::Reader& reader) : reader_(reader) {
    std::set<trace::WriterId> with_device;
    for (const auto& [id, writer] : reader.writers())
      if (has_device(writer)) with_device.insert(id);
    if (with_device.empty()) return;
    uint64_t ranges_before = 0;
    for (const trace::EventChunk& chunk : reader.event_chunks()) {
      const uint64_t first_number = ranges_before + 1;
      ranges_before += chunk.range_count;
      const auto writer = reader.writers().find(chunk.writer);
      if (writer == reader.writers().end() || !with_device.contains(chunk.writer)) continue;
      const auto track = writer->second.tracks.find(chunk.track);
      if (track == writer->second.tracks.end()) continue;
      try {
        read(chunk, writer->second, is_on_device(track->second), first_number);
      } catch (const Error&) {
        // the walk that follows reports it
      }
    }
  }

  std::map<trace::WriterId, PerWriter> found;

 private:
  // An operation that is open at the end of a chunk.
  using OpenKey = std::tuple<size_t, uint64_t, uint32_t>;  // depth, start, class
  using Waiting = std::map<OpenKey, std::vector<uint64_t>>;
  struct Operation {
    bool is_one = false;
    uint64_t number = 0;  // 0: it ends in a later chunk
    OpenKey key;
  };

  void read(const trace::EventChunk& chunk, const trace::WriterInfo& writer, bool on_device, uint64_t first_number) {
    PerWriter& all = found[chunk.writer];
    reader_.read(chunk, batch_, trace::kRangeCorrelations | trace::kOpenStacks);
    const std::vector<uint64_t>& correlations = batch_.ranges.correlation;
    if (on_device) {
      for (const uint64_t correlation : correlations)
        if (correlation != 0) ++all[correlation].executions;
      return;
    }
    Waiting& waiting = waiting_[{chunk.writer, chunk.track}];
    const bool has_launches =
        std::any_of(correlations.begin(), correlations.end(), [](uint64_t one) { return one != 0; }) ||
        std::any_of(batch_.closing.begin(), batch_.closing.end(),
                    [](const trace::OpenRange& one) { return one.correlation != 0; });
    if (!has_launches && waiting.empty()) return;
    for (const uint64_t correlation : correlations)
      if (correlation != 0) all[correlation].is_launched = true;
    constexpr unsigned kTree = trace::kRangeTimes | trace::kRangeClasses | trace::kRangeDepths | trace::kOpenStacks;
    reader_.read(chunk, batch_, kTree | trace::kRangeCorrelations);
    find_operations(writer, all, waiting, first_number);
  }

  void find_operations(const trace::WriterInfo& writer, PerWriter& all, Waiting& waiting, uint64_t first_number) {
    const auto operation = [&](const trace::OpenRange& open, size_t depth) {
      return Operation{is_operation(writer, open.class_id), 0, {depth, open.start, open.class_id}};
    };
    open_.clear();
    for (const trace::OpenRange& open : batch_.opening) open_.push_back(operation(open, open_.size()));
    order_.arrange(batch_, batch_.opening);
    const trace::Ranges& ranges = batch_.ranges;
    for (const Step& step : order_.steps()) {
      const bool ends_here = step.index < ranges.size();
      if (step.kind == Step::Kind::Begin) {
        if (ends_here) {
          const bool is_one = is_operation(writer, ranges.class_id[step.index]);
          open_.push_back({is_one, first_number + step.index, {}});
          if (!ranges.correlation.empty()) note(all, waiting, ranges.correlation[step.index]);
        } else {
          const trace::OpenRange& open = batch_.closing[step.index - ranges.size()];
          open_.push_back(operation(open, open_.size()));
          note(all, waiting, open.correlation);
        }
      } else if (step.kind == Step::Kind::End && !open_.empty()) {
        if (order_.began_before(step.index)) resolve(all, waiting, open_.back().key, first_number + step.index);
        open_.pop_back();
      }
    }
    for (uint32_t i = 0; i < ranges.lane.size() && i < ranges.correlation.size(); ++i) {
      if (ranges.lane[i] != 0 && ranges.correlation[i] != 0 && is_operation(writer, ranges.class_id[i]))
        all[ranges.correlation[i]].operation = first_number + i;
    }
  }

  void note(PerWriter& all, Waiting& waiting, uint64_t correlation) {
    if (correlation == 0) return;
    const auto around = std::find_if(open_.rbegin(), open_.rend(), [](const Operation& one) { return one.is_one; });
    if (around == open_.rend()) return;
    if (around->number != 0) {
      all[correlation].operation = around->number;
    } else {
      waiting[around->key].push_back(correlation);
    }
  }

  static void resolve(PerWriter& all, Waiting& waiting, const OpenKey& key, uint64_t number) {
    const auto launches = waiting.find(key);
    if (launches == waiting.end()) return;
    for (const uint64_t correlation : launches->second) all[correlation].operation = number;
    waiting.erase(launches);
  }

  static bool is_operation(const trace::WriterInfo& writer, uint32_t class_id) {
    const trace::EventClass* const known = writer.find_class(class_id);
    return kineto::is_operation(known == nullptr ? std::string_view{} : known->category);
  }

  const trace::Reader& reader_;
  trace::EventBatch batch_;
  ChunkOrder order_;
  std::vector<Operation> open_;
  std::map<std::pair<trace::WriterId, uint32_t>, Waiting> waiting_;  // launches, by track
};

Launches::Launches(const trace::Reader& reader, uint32_t first_arrow) {
  uint32_t next = first_arrow;
  Collector collector(reader);
  for (auto& [writer, found] : collector.found) {
    std::vector<Launch>& launches = launches_[writer];
    for (const auto& [correlation, one] : found) {
      // An operation that never reaches a device is complete without one.
      const uint32_t arrows = one.is_launched ? one.executions : 0;
      if (arrows != 0 || one.operation != 0) launches.push_back({correlation, one.operation, 0, arrows, 0, false});
    }
    std::sort(launches.begin(), launches.end(),
              [](const Launch& a, const Launch& b) { return a.correlation < b.correlation; });
    for (Launch& launch : launches) {
      launch.first = next;
      next += launch.executions;
    }
  }
}

Launches::Launch* Launches::find(const trace::WriterId& writer, uint64_t correlation) {
  const auto of_writer = launches_.find(writer);
  if (of_writer == launches_.end()) return nullptr;
  std::vector<Launch>& sorted = of_writer->second;
  const auto found =
      std::lower_bound(sorted.begin(), sorted.end(), correlation,
                       [](const Launch& launch, uint64_t wanted) { return launch.correlation < wanted; });
  return found == sorted.end() || found->correlation != correlation ? nullptr : &*found;
}

Launches::Arrows Launches::claim_launch(const trace::WriterId& writer, uint64_t correlation) {
  Launch* const launch = find(writer, correlation);
  if (launch == nullptr || std::exchange(launch->started, true)) return {};
  return {launch->first, launch->executions};
}

uint32_t Launches::claim_execution(const trace::WriterId& writer, uint64_t correlation) {
  Launch* const launch = find(writer, correlation);
  if (launch == nullptr || launch->claimed >= launch->executions) return 0;
  return launch->first + launch->claimed++;
}

uint64_t Launches::operation_of(const trace::WriterId& writer, uint64_t correlation) const {
  const Launch* const launch = const_cast<Launches*>(this)->find(writer, correlation);
  return launch == nullptr ? 0 : launch->operation;
}

}  // namespace kymo::convert
