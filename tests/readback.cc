#include "readback.h"

#include <algorithm>
#include <limits>
#include <map>
#include <sstream>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "kymo/error.h"

namespace kymo::e2e {
namespace {

constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
constexpr size_t kMaxFaults = 20;

// The ranges of one track in the order of the file: children before parents.
class Nesting {
 public:
  // Null: it fits.
  const char* add(uint64_t start, uint64_t end, size_t depth) {
    if (depth + 2 > levels_.size()) levels_.resize(depth + 2);
    const char* fault = nullptr;
    if (end < start) fault = "ends before it begins";
    if (end < last_end_) fault = "ends before the one before it in the file";
    for (size_t outer = 0; outer <= depth; ++outer)
      if (start < levels_[outer].last_end) fault = "begins before a neighbour ended";
    if (levels_[depth + 1].first_start < start) fault = "begins after its child did";
    for (size_t inner = depth + 2; inner < levels_.size(); ++inner)
      if (levels_[inner].first_start != kNever) fault = "ends before its grandchild's parent";
    for (size_t inner = depth + 1; inner < levels_.size(); ++inner) levels_[inner] = {};
    Level& level = levels_[depth];
    level.first_start = std::min(level.first_start, start);
    level.last_end = end;
    last_end_ = end;
    return fault;
  }
  void forget() { levels_.clear(); }

 private:
  struct Level {
    uint64_t first_start = kNever;  // of the ranges here whose parent has not ended yet
    uint64_t last_end = 0;
  };
  std::vector<Level> levels_;
  uint64_t last_end_ = 0;
};

class Reading {
 public:
  Reading(const trace::Reader& reader, Detail detail) : reader_(reader), detailed_(detail == Detail::Arguments) {}

  Readback read() {
    for (const trace::Problem& problem : reader_.problems()) fault(problem.what);
    for (const auto& [id, writer] : reader_.writers()) {
      made_.origins.push_back(writer.origin);
      for (const trace::Loss& loss : writer.losses) {
        made_.losses.push_back(loss);
        if (loss.cause == trace::LossCause::Overwritten) overwritten_[{id, loss.track}] = true;
      }
    }
    for (const trace::EventChunk& chunk : reader_.event_chunks()) read_chunk(chunk);
    return std::move(made_);
  }

 private:
  struct State {
    uint32_t index;
    std::map<uint16_t, Nesting> nesting;  // by lane
    std::vector<trace::OpenRange> closing;
    bool started = false;
  };

  void fault(std::string what) {
    if (made_.faults.size() < kMaxFaults) made_.faults.push_back(std::move(what));
  }

  uint32_t intern(const std::string& name) {
    const auto [at, fresh] = name_ids_.emplace(name, static_cast<uint32_t>(made_.names.size()));
    if (fresh) made_.names.push_back(name);
    return at->second;
  }

  State& state_of(const trace::EventChunk& chunk, const trace::WriterInfo& writer) {
    const auto [at, fresh] = states_.try_emplace({chunk.writer, chunk.track});
    if (fresh) {
      at->second.index = static_cast<uint32_t>(made_.tracks.size());
      TrackInfo info;
      info.pid = writer.origin.pid;
      if (const auto found = writer.tracks.find(chunk.track); found != writer.tracks.end())
        info.track = found->second;
      else
        fault("track " + std::to_string(chunk.track) + " has events, and nothing says what it is");
      made_.tracks.push_back(std::move(info));
    }
    return at->second;
  }

  void read_chunk(const trace::EventChunk& chunk) {
    const trace::WriterInfo& writer = reader_.writers().at(chunk.writer);
    uint64_t& sequence = sequences_[{chunk.writer, chunk.ring}];
    if (chunk.sequence_begin < sequence || chunk.sequence_end < chunk.sequence_begin)
      fault("records " + std::to_string(chunk.sequence_begin) + " to " + std::to_string(chunk.sequence_end) +
            " of ring " + std::to_string(chunk.ring) + " are there, after those up to " + std::to_string(sequence));
    sequence = std::max(sequence, chunk.sequence_end);

    trace::EventBatch batch;
    try {
      reader_.read(chunk, batch);
    } catch (const Error& error) {
      return fault(error.what());
    }
    State& state = state_of(chunk, writer);
    if (state.started && batch.opening != state.closing) {
      if (!overwritten_.contains({chunk.writer, chunk.track}))
        fault("track " + std::to_string(chunk.track) + ": a piece begins with " + std::to_string(batch.opening.size()) +
              " open ranges, the one before ended with " + std::to_string(state.closing.size()) + " or others");
      for (auto& [lane, nesting] : state.nesting) nesting.forget();
    }
    state.started = true;
    state.closing = batch.closing;
    take_ranges(batch, writer, state);
    take_points(batch, writer, state);
    auto& open = made_.tracks[state.index].open;
    open.clear();
    for (const trace::OpenRange& range : batch.closing) open.push_back(open_name(writer, range));
  }

  std::string open_name(const trace::WriterInfo& writer, const trace::OpenRange& range) {
    const trace::EventClass* event_class = find_class(writer, range.class_id);
    const trace::Values values{range.ints, range.doubles, range.text};
    trace::ValueCursor cursor(values);
    const auto& row = cursor.next(event_class);
    return carries_its_name(event_class) ? trace::full_name(event_class, row) : event_class->name;
  }

  const trace::EventClass* find_class(const trace::WriterInfo& writer, uint32_t id) {
    if (id == trace::kInlineName) return nullptr;
    const auto found = writer.classes.find(id);
    if (found != writer.classes.end()) return &found->second;
    fault("class " + std::to_string(id) + " has events, and nothing says what it is");
    return nullptr;
  }

  static bool carries_its_name(const trace::EventClass* event_class) {
    return event_class == nullptr || event_class->name == "{}";
  }

  // The name, the number and, if requested, everything else that the next event of a batch carries.
  void describe(Event& event, const trace::EventClass* event_class, trace::ValueCursor& cursor) {
    const auto& row = cursor.next(event_class);
    event.name = intern(carries_its_name(event_class) ? trace::full_name(event_class, row) : event_class->name);
    for (const auto& value : row) {
      if (value.type == trace::FieldType::String || value.type == trace::FieldType::Double) continue;
      event.number = value.bits;
      break;
    }
    if (!detailed_) return;
    EventDetail detail;
    detail.text = trace::full_name(event_class, row);
    if (event_class != nullptr) {
      detail.category = event_class->category;
      detail.colour = event_class->colour;
      for (size_t i = 0; i < row.size() && i < event_class->fields.size(); ++i)
        detail.arguments.push_back(
            {event_class->fields[i].name, row[i].type, row[i].bits, row[i].real, std::string(row[i].text)});
    }
    event.detail = static_cast<uint32_t>(made_.details.size());
    made_.details.push_back(std::move(detail));
  }

  void take_ranges(const trace::EventBatch& batch, const trace::WriterInfo& writer, State& state) {
    const trace::Ranges& ranges = batch.ranges;
    trace::ValueCursor cursor(ranges.values);
    for (size_t i = 0; i < ranges.size(); ++i) {
      Event event;
      event.end = ranges.end[i];
      event.start = ranges.end[i] - ranges.duration[i];
      event.depth = ranges.depth[i];
      if (!ranges.lane.empty()) event.lane = ranges.lane[i];
      if (!ranges.correlation.empty()) event.correlation = ranges.correlation[i];
      event.track = state.index;
      describe(event, find_class(writer, ranges.class_id[i]), cursor);
      if (const char* wrong = state.nesting[event.lane].add(event.start, event.end, event.depth); wrong != nullptr)
        fault("range " + std::to_string(made_.ranges.size()) + " (" + made_.names[event.name] + ", depth " +
              std::to_string(event.depth) + ") " + wrong);
      made_.ranges.push_back(event);
    }
  }

  void take_points(const trace::EventBatch& batch, const trace::WriterInfo& writer, State& state) {
    const trace::Points& points = batch.points;
    trace::ValueCursor cursor(points.values);
    for (size_t i = 0; i < points.size(); ++i) {
      Event event;
      event.start = event.end = points.time[i];
      event.kind = points.kind[i];
      event.id = points.id[i];
      event.track = state.index;
      describe(event, find_class(writer, points.class_id[i]), cursor);
      made_.points.push_back(event);
    }
  }

  using Key = std::pair<trace::WriterId, uint32_t>;
  const trace::Reader& reader_;
  bool detailed_;
  Readback made_;
  std::unordered_map<std::string, uint32_t> name_ids_;
  std::map<Key, State> states_;        // by track
  std::map<Key, uint64_t> sequences_;  // by ring
  std::map<Key, bool> overwritten_;
};

std::vector<const Event*> named(const Readback& trace, const std::vector<Event>& events, const std::string& name,
                                uint64_t pid) {
  std::vector<const Event*> found;
  const auto at = std::find(trace.names.begin(), trace.names.end(), name);
  if (at == trace.names.end()) return found;
  const auto id = static_cast<uint32_t>(at - trace.names.begin());
  for (const Event& event : events)
    if (event.name == id && (pid == 0 || trace.pid_of(event) == pid)) found.push_back(&event);
  return found;
}

}  // namespace

std::vector<const Event*> Readback::ranges_named(const std::string& name, uint64_t pid) const {
  return named(*this, ranges, name, pid);
}
std::vector<const Event*> Readback::points_named(const std::string& name, uint64_t pid) const {
  return named(*this, points, name, pid);
}

size_t Readback::open_count(const std::string& name) const {
  size_t count = 0;
  for (const TrackInfo& info : tracks)
    count += static_cast<size_t>(std::count(info.open.begin(), info.open.end(), name));
  return count;
}

uint64_t Readback::lost() const {
  uint64_t sum = 0;
  for (const trace::Loss& loss : losses) sum += loss.count;
  return sum;
}

uint64_t Readback::lost(trace::LossCause cause) const {
  uint64_t sum = 0;
  for (const trace::Loss& loss : losses)
    if (loss.cause == cause) sum += loss.count;
  return sum;
}

std::string Readback::summary() const {
  std::map<std::string, std::pair<size_t, size_t>> counts;
  for (const Event& event : ranges) ++counts[name_of(event)].first;
  for (const Event& event : points) ++counts[name_of(event)].second;
  std::ostringstream text;
  text << origins.size() << " writers, " << tracks.size() << " tracks\n";
  size_t shown = 0;
  for (const auto& [name, count] : counts) {
    if (++shown > kMaxFaults) break;
    text << "  " << name << ": " << count.first << " ranges, " << count.second << " points\n";
  }
  for (const trace::Loss& loss : losses)
    text << "  lost: cause " << static_cast<int>(loss.cause) << ", track " << loss.track << ", " << loss.count << "\n";
  for (const std::string& fault : faults) text << "  wrong: " << fault << "\n";
  return text.str();
}

Readback read_back(const trace::Reader& reader, Detail detail) { return Reading(reader, detail).read(); }
Readback read_back(const std::string& path, Detail detail) {
  try {
    return read_back(trace::Reader(path), detail);
  } catch (const Error& error) {
    Readback nothing;
    nothing.faults.push_back(error.what());
    return nothing;
  }
}

::testing::AssertionResult sound(const Readback& trace) {
  if (trace.faults.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << trace.summary();
}

::testing::AssertionResult sound_and_complete(const Readback& trace) {
  if (trace.faults.empty() && trace.lost() == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << trace.summary();
}

::testing::AssertionResult numbered_in_order(const Readback& trace, const std::string& name, uint64_t first) {
  uint64_t expected = first;
  for (const Event* event : trace.ranges_named(name))
    if (event->number != expected++)
      return ::testing::AssertionFailure()
             << "'" << name << "' number " << event->number << " where " << expected - 1 << " was expected\n"
             << trace.summary();
  return ::testing::AssertionSuccess();
}

}  // namespace kymo::e2e
