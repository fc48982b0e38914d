#include "import/builder/trace_builder.h"

#include <algorithm>
#include <limits>

#include "base/version.h"
#include "import/builder/chunk_queue.h"

namespace kymo::import {
namespace {

using Kind = ImportedRecord::Kind;

using Kind = ImportedRecord::Kind;

constexpr size_t kEventsPerChunk = 32'768;
constexpr size_t kTextPerChunk = 8 << 20;
constexpr size_t kTextOfOpen = 2 << 20;  // max size of the texts of open ranges; they are written again at their ends
constexpr size_t kMostOpen = 60'000;
constexpr uint16_t kMostLanes = 1024;  // if a track needs more, the last lane takes the rest
constexpr int64_t kNever = ImportedRecord::kNever;
constexpr uint8_t kOnLane = 1;  // in ImportedRecord::point of a range: it is not in lane 0

// Writes the events of one track: nests the ranges, and cuts the events into chunks.
//
// Ranges that overlap without one being inside the other go to different lanes, as in every Kymo trace. The chunks of
// lane 0 have the points, and list what is open at their ends. The other lanes have chunks of their own.

// The events of one track in order, while they are written.
//
// Readers mostly add events in order. Then the blocks stay as they are. Otherwise all records move into one list, which
// is sorted.
class TrackRecords {
 public:
  explicit TrackRecords(std::vector<EventBlock> blocks) : blocks_(std::move(blocks)) {
    const ImportedRecord* last = nullptr;
    for (EventBlock& block : blocks_) {
      if (block.records.empty()) continue;
      if (!block.is_sorted) block.check_order();
      is_sorted_ = is_sorted_ && block.is_sorted && (last == nullptr || !comes_first(block.records.front(), *last));
      last = &block.records.back();
    }
  }

  // Makes ranges of begins and ends, and removes what was dropped. A begin without an end becomes a range that never
  // ends. Returns the number of ends without a begin.
  uint64_t pair_ends() {
    if (std::none_of(blocks_.begin(), blocks_.end(), [](const EventBlock& block) { return block.has_parts; })) return 0;
    flatten();
    std::vector<uint32_t> parts;
    for (uint32_t i = 0; i < flat_.size(); ++i)
      if (flat_[i].kind == Kind::Begin || flat_[i].kind == Kind::End) parts.push_back(i);
    std::stable_sort(parts.begin(), parts.end(),
                     [&](uint32_t a, uint32_t b) { return flat_[a].start < flat_[b].start; });
    std::vector<uint32_t> open;
    uint64_t unmatched = 0;
    for (const uint32_t part : parts) {
      ImportedRecord& record = flat_[part];
      if (record.kind == Kind::Begin) {
        record.kind = Kind::Range;
        record.end = ImportedRecord::kNever;
        open.push_back(part);
      } else if (!open.empty()) {
        flat_[open.back()].end = record.start;
        open.pop_back();
      } else {
        ++unmatched;
      }
    }
    std::erase_if(
        flat_, [](const ImportedRecord& record) { return record.kind == Kind::End || record.kind == Kind::Dropped; });
    return unmatched;
  }

  // by comes_first()
  void sort() {
    if (is_flat_) is_sorted_ = std::is_sorted(flat_.begin(), flat_.end(), comes_first);
    if (std::exchange(is_sorted_, true)) return;
    flatten();
    std::stable_sort(flat_.begin(), flat_.end(), comes_first);
  }

  // The blocks again, with all records.
  std::vector<EventBlock> take_blocks() {
    for (const ImportedRecord& record : flat_) blocks_[record.block].records.push_back(record);
    flat_ = {};
    is_flat_ = false;
    for (EventBlock& block : blocks_) block.has_parts = false;
    return std::move(blocks_);
  }

  // Calls visit(record) in order.
  template <typename Visit>
  void for_each(Visit&& visit) {
    if (is_flat_) {
      for (ImportedRecord& record : flat_) visit(record);
      return;
    }
    for (uint32_t i = 0; i < blocks_.size(); ++i) {
      for (ImportedRecord& record : blocks_[i].records) {
        record.block = i;
        visit(record);
      }
    }
  }
  // Of a record that for_each() has visited.
  const EventTables& tables(const ImportedRecord& record) const { return *blocks_[record.block].tables; }
  const char* values(const ImportedRecord& record) const { return blocks_[record.block].bytes.data() + record.values; }

 private:
  void flatten() {
    if (std::exchange(is_flat_, true)) return;
    size_t count = 0;
    for (const EventBlock& block : blocks_) count += block.records.size();
    flat_.reserve(count);
    number_blocks();
    for (EventBlock& block : blocks_) {
      flat_.insert(flat_.end(), block.records.begin(), block.records.end());
      block.records = {};
    }
  }

  void number_blocks() {
    for (uint32_t i = 0; i < blocks_.size(); ++i)
      for (ImportedRecord& record : blocks_[i].records) record.block = i;
  }

  std::vector<EventBlock> blocks_;
  std::vector<ImportedRecord> flat_;
  bool is_flat_ = false, is_sorted_ = true;
};

class TrackWriter {
 public:
  static constexpr uint32_t kClock = 1;

  // What all tracks of a process share.
  struct Target {
    ChunkQueue& queue;
    trace::WriterId id;
    uint32_t process = 0;  // its number, from 1 on
    ClassNumbers& classes;
    int64_t shift = 0;          // ticks are times plus this
    std::vector<bool> written;  // classes that this writer has written
  };

  TrackWriter(Target& target, uint32_t track) : target_(target) { batch_.track = batch_.ring = track; }

  // The records are sorted, and have no begins and ends.
  void write(TrackRecords& records) {
    records_ = &records;
    place_ranges();
    write_row();
    write_lanes();
  }

 private:
  struct Placed {  // a range of a lane above 0
    const ImportedRecord* record;
    uint16_t lane, depth;
  };

  // Finds the ranges that do not nest in lane 0, and their lanes.
  void place_ranges() {
    std::vector<std::vector<int64_t>> open(1);  // by lane: the ends of what is open, outermost first
    records_->for_each([&](ImportedRecord& record) {
      if (record.kind != Kind::Range) return;
      uint16_t lane = record.point;
      record.point = 0;
      for (;; ++lane) {
        if (lane >= open.size()) open.resize(lane + size_t{1});
        std::vector<int64_t>& ends = open[lane];
        while (!ends.empty() && ends.back() <= record.start) ends.pop_back();
        const bool fits = ends.empty() || record.end <= ends.back();
        // Only what nests in lane 0 can stay open.
        if ((!fits || lane > 0) && record.end == kNever) record.end = last_end();
        if (!fits && lane + 1 < kMostLanes) continue;
        if (lane > 0) {
          record.point = kOnLane;
          lanes_.push_back({&record, lane, static_cast<uint16_t>(std::min<size_t>(ends.size(), UINT16_MAX))});
        }
        ends.push_back(record.end);
        break;
      }
    });
  }

  int64_t last_end() {
    if (last_end_) return *last_end_;
    int64_t last = 0;
    records_->for_each([&](const ImportedRecord& record) {
      last = std::max(last, record.start);
      if (record.kind == Kind::Range && record.end != kNever) last = std::max(last, record.end);
    });
    last_end_ = last;
    return last;
  }

  void write_row() {
    records_->for_each([&](const ImportedRecord& record) {
      if (record.kind == Kind::Point) {
        end_before(record.start, false);
        append_point(record);
      } else if (record.point != kOnLane) {
        end_before(record.start, true);
        open_.push_back(&record);
      }
      flush_if_large();
    });
    end_before(kNever, false);
    if (batch_.ranges.size() + batch_.points.size() != 0 || batch_.opening.size() != open_.size()) flush();
  }

  // What is still open stays open: the last chunk of a track says what never ended.
  void write_lanes() {
    if (lanes_.empty()) return;
    // By their ends; what is inside another range comes first.
    std::stable_sort(lanes_.begin(), lanes_.end(), [](const Placed& a, const Placed& b) {
      return a.record->end != b.record->end ? a.record->end < b.record->end : a.depth > b.depth;
    });
    for (const Placed& placed : lanes_) {
      append_range(*placed.record, placed.depth, placed.lane);
      flush_if_large();
    }
    if (batch_.ranges.size() != 0) flush();
  }

  // Ends the innermost open ranges that end before `time`, or at it.
  void end_before(int64_t time, bool also_at) {
    while (!open_.empty()) {
      const ImportedRecord& record = *open_.back();
      if (record.end == kNever || record.end > time || (record.end == time && !also_at)) return;
      open_.pop_back();
      append_range(record, static_cast<uint16_t>(std::min<size_t>(open_.size(), UINT16_MAX)), 0);
      flush_if_large();
    }
  }

  void append_range(const ImportedRecord& record, uint16_t depth, uint16_t lane) {
    trace::Ranges& ranges = batch_.ranges;
    const ClassNumbers::Known& of = class_of(record);
    ranges.end.push_back(ticks(record.end));
    ranges.duration.push_back(static_cast<uint64_t>(record.end - record.start));
    ranges.class_id.push_back(of.id);
    ranges.depth.push_back(depth);
    if (lane != 0) ranges.lane.push_back(lane);  // lane 0 has chunks of its own
    const uint64_t correlation = append_values(record, of, ranges.values);
    if (correlation != 0 && ranges.correlation.empty()) ranges.correlation.resize(ranges.size() - 1);
    if (!ranges.correlation.empty() || correlation != 0) ranges.correlation.push_back(correlation);
  }

  void append_point(const ImportedRecord& record) {
    const ClassNumbers::Known& of = class_of(record);
    batch_.points.time.push_back(ticks(record.start));
    batch_.points.kind.push_back(static_cast<trace::PointKind>(record.point));
    batch_.points.class_id.push_back(of.id);
    batch_.points.id.push_back(static_cast<uint64_t>(record.end));
    append_values(record, of, batch_.points.values);
  }

  // Returns the correlation.
  uint64_t append_values(const ImportedRecord& record, const ClassNumbers::Known& of, trace::Values& to) {
    const EventTables& tables = records_->tables(record);
    const char* at = records_->values(record);
    const uint64_t correlation = record.has_correlation ? take_varint(at) : 0;
    const auto add_text = [&](std::string_view text) {
      to.ints.push_back(text.size());
      to.text += text;
    };
    if (of.has_name_in_value) add_text(tables.texts[tables.at(record.class_id).name]);
    for (const trace::FieldType type : *of.types) {
      switch (type) {
        case trace::FieldType::Double:
          to.doubles.push_back(take_double(at));
          break;
        case trace::FieldType::String:
          add_text(tables.texts[static_cast<uint32_t>(take_varint(at))]);
          break;
        case trace::FieldType::Int:
          to.ints.push_back(from_zigzag(take_varint(at)));
          break;
        default:
          to.ints.push_back(take_varint(at));
      }
    }
    return correlation;
  }

  // Its first event comes after the class.
  const ClassNumbers::Known& class_of(const ImportedRecord& record) {
    ClassNumbers::Known& known = target_.classes.of(records_->tables(record), record.class_id);
    if (known.written_by == target_.process) return known;
    known.written_by = target_.process;
    std::vector<bool>& written = target_.written;
    if (known.id >= written.size()) written.resize(std::max<size_t>(target_.classes.size(), known.id) + 1);
    if (!written[known.id]) {
      written[known.id] = true;
      new_classes_.push_back(target_.classes.at(known.id));
    }
    return known;
  }

  trace::OpenRange open_range(const ImportedRecord& record, size_t& text_left) {
    trace::Values values;
    trace::OpenRange open;
    const ClassNumbers::Known& of = class_of(record);
    open.start = ticks(record.start);
    open.class_id = of.id;
    open.correlation = append_values(record, of, values);
    if (values.text.size() <= text_left) {
      text_left -= values.text.size();
      open.ints = std::move(values.ints);
      open.doubles = std::move(values.doubles);
      open.text = std::move(values.text);
    }
    return open;
  }

  uint64_t ticks(int64_t time) const { return static_cast<uint64_t>(time + target_.shift); }
  void flush_if_large() {
    if (batch_.ranges.size() + batch_.points.size() >= kEventsPerChunk ||
        batch_.ranges.values.text.size() + batch_.points.values.text.size() >= kTextPerChunk)
      flush();
  }

  void flush() {
    size_t text_left = kTextOfOpen;
    batch_.closing.clear();
    for (const ImportedRecord* const record : open_)
      if (batch_.closing.size() < kMostOpen) batch_.closing.push_back(open_range(*record, text_left));
    batch_.sequence_end = batch_.sequence_begin + batch_.ranges.size() + batch_.points.size();
    target_.queue.put(target_.id, new_classes_, batch_);
  }

  Target& target_;
  TrackRecords* records_ = nullptr;
  std::optional<int64_t> last_end_;
  std::vector<Placed> lanes_;
  std::vector<const ImportedRecord*> open_;  // of lane 0, outermost first
  std::vector<trace::EventClass> new_classes_;
  trace::EventBatch batch_;
};

constexpr size_t kRecordsPerBlock = 8192;
constexpr size_t kBytesPerBlock = 1 << 20;
constexpr size_t kMostAsyncAround = 1024;  // so many open ranges of one id may have the name of an end
constexpr int64_t kLatestBase = std::numeric_limits<int64_t>::max() / 4;

}  // namespace

// What all processes share.
struct TraceBuilder::Output {
  trace::Writer& writer;
  int64_t realtime_base_ns = 0;
  int64_t shift = 0;  // ticks are times plus this, because ticks are not negative
  ClassNumbers classes;
  uint64_t ends_without_begin = 0;
  std::optional<trace::WriterId> first;
};

uint32_t TraceBuilder::add_process(ImportedProcess process) {
  processes_.push_back(std::move(process));
  return static_cast<uint32_t>(processes_.size() - 1);
}

uint32_t TraceBuilder::add_track(ImportedTrack track) {
  tracks_.push_back(std::move(track));
  events_.emplace_back();
  return static_cast<uint32_t>(tracks_.size() - 1);
}

EventBlock& TraceBuilder::last_block(uint32_t track) {
  std::vector<EventBlock>& blocks = events_[track];
  if (blocks.empty() || blocks.back().tables != &tables_[0] || blocks.back().records.size() >= kRecordsPerBlock ||
      blocks.back().bytes.size() >= kBytesPerBlock) {
    if (!blocks.empty()) {
      blocks.back().check_order();
      blocks.back().bytes.shrink_to_fit();
    }
    blocks.emplace_back().tables = &tables_[0];
  }
  return blocks.back();
}

void TraceBuilder::lose(trace::LossCause cause, std::string detail, uint64_t count) {
  if (count == 0) return;
  losses_[{cause, std::move(detail)}] += count;
  lost_count_ += count;
}

// Returns the earliest time, if it is negative.
int64_t TraceBuilder::count_events() {
  int64_t earliest = 0;
  uint64_t reversed = 0, beyond = 0;
  for (const std::vector<EventBlock>& blocks : events_) {
    for (const EventBlock& block : blocks) {
      event_count_ += block.events;
      reversed += block.reversed;
      beyond += block.beyond;
      earliest = std::min(earliest, block.earliest);
    }
  }
  lose(kReversed, reversed);
  lose("times that are more than 73 years away; the nearest possible time is used", beyond);
  return earliest;
}

void TraceBuilder::write(trace::Writer& writer, int64_t realtime_base_ns, const std::string& source) {
  Output output{writer, std::clamp(realtime_base_ns, -kLatestBase, kLatestBase), -count_events(), {}, 0, {}};
  if (processes_.empty()) add_process({});
  merge_lanes();
  std::vector<std::vector<uint32_t>> tracks(processes_.size());  // by process
  for (uint32_t track = 0; track < tracks_.size(); ++track)
    if (!events_[track].empty()) tracks[tracks_[track].process].push_back(track);
  for (const std::vector<uint32_t>& own : tracks) number_async_ranges(own);
  for (uint32_t process = 0; process < processes_.size(); ++process)
    write_process(output, process, tracks[process], source);
  lose("ends of ranges that did not begin", output.ends_without_begin);
  if (losses_.empty()) return;
  std::vector<trace::Loss> losses;
  for (const auto& [loss, count] : losses_) losses.push_back({loss.first, 0, count, 0, 0, loss.second});
  writer.losses(*output.first, losses);
}

// Gives the ranges of lanes to the tracks that they are lanes of.
void TraceBuilder::merge_lanes() {
  for (uint32_t track = 0; track < tracks_.size(); ++track) {
    const std::optional<uint32_t> of = tracks_[track].lane_of;
    if (!of || *of == track || tracks_[*of].lane_of) continue;
    TrackRecords lane(std::exchange(events_[track], {}));
    lose("ends of ranges that did not begin", lane.pair_ends());
    for (EventBlock& block : lane.take_blocks()) {
      for (ImportedRecord& record : block.records)
        if (record.kind == ImportedRecord::Kind::Range) record.point = tracks_[track].lane;
      events_[*of].push_back(std::move(block));
    }
  }
}

// Ranges across threads may be inside of others with the same id, and ids are used again. In a Kymo trace each range
// has a number of its own. An end belongs to the innermost range of its name, or to the innermost one if none has its
// name.
void TraceBuilder::number_async_ranges(const std::vector<uint32_t>& tracks) {
  struct Part {
    ImportedRecord* record;
    std::string_view name;
  };
  std::vector<Part> parts;
  for (const uint32_t track : tracks) {
    for (EventBlock& block : events_[track]) {
      if (!block.has_async) continue;
      for (ImportedRecord& record : block.records) {
        const auto kind = static_cast<trace::PointKind>(record.point);
        if (record.kind == ImportedRecord::Kind::Point &&
            (kind == trace::PointKind::AsyncBegin || kind == trace::PointKind::AsyncEnd))
          parts.push_back({&record, block.tables->texts[block.tables->at(record.class_id).name]});
      }
    }
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.record->start < b.record->start; });
  struct Open {
    int64_t number;
    std::string_view name;
  };
  std::unordered_map<int64_t, std::vector<Open>> open;  // by id
  int64_t number = 0;
  for (const Part& part : parts) {
    std::vector<Open>& around = open[part.record->end];
    if (static_cast<trace::PointKind>(part.record->point) == trace::PointKind::AsyncBegin) {
      around.push_back({part.record->end = ++number, part.name});
      continue;
    }
    const auto outermost = around.rbegin() + static_cast<ptrdiff_t>(std::min(around.size(), kMostAsyncAround));
    auto of = std::find_if(around.rbegin(), outermost, [&](const Open& one) { return one.name == part.name; });
    if (of == outermost) of = around.rbegin();
    part.record->end = of == around.rend() ? ++number : of->number;
    if (of != around.rend()) around.erase(std::next(of).base());
  }
}

void TraceBuilder::write_process(Output& output, uint32_t number, const std::vector<uint32_t>& own,
                                 const std::string& source) {
  if (own.empty() && number != 0) return;

  trace::Writer& writer = output.writer;
  const ImportedProcess& process = processes_[number];
  const trace::WriterId id = trace::random_writer_id();
  if (!output.first) output.first = id;
  trace::Origin origin;
  origin.session = id.hex();
  origin.pid = process.pid;
  origin.parent_pid = process.parent_pid;
  origin.host = process.host;
  origin.boot_id = process.boot_id;
  origin.executable = process.name;
  origin.command_line = process.command_line;
  origin.start_realtime_ns = static_cast<uint64_t>(std::max<int64_t>(output.realtime_base_ns, 0));
  origin.kymo_version = base::kVersion;
  if (!source.empty()) origin.metadata.emplace_back("imported from", source);
  for (const auto& one : process.metadata) origin.metadata.push_back(one);
  writer.origin(id, origin);

  // One clock for all tracks. The times of a file are taken as they are.
  trace::ClockDomain clock;
  clock.id = TrackWriter::kClock;
  const uint64_t zero = static_cast<uint64_t>(std::max<int64_t>(output.realtime_base_ns - output.shift, 0));
  clock.pairs = {{0, 0, zero, 0}, {1'000'000'000, 1'000'000'000, zero + 1'000'000'000, 0}};
  if (process.clock) {
    clock.pairs = {*process.clock};
    clock.pairs[0].ticks += static_cast<uint64_t>(output.shift);
  }
  writer.clock(id, clock);

  std::vector<trace::Track> tracks;
  for (const uint32_t at : own) {
    const ImportedTrack& from = tracks_[at];
    trace::Track& track = tracks.emplace_back();
    track.id = at + 1;
    track.kind = from.kind;
    track.clock = TrackWriter::kClock;
    track.tid = from.tid;
    track.name = from.name;
    track.device_uuid = from.device;
    track.context = from.context;
    track.queue = from.queue;
  }
  constexpr size_t kPerChunk = 512;
  for (size_t at = 0; at < tracks.size(); at += kPerChunk)
    writer.tracks(id, std::span(tracks).subspan(at, std::min(kPerChunk, tracks.size() - at)));

  stacks_.write(writer, id, own);
  ChunkQueue queue(writer);
  TrackWriter::Target target{queue, id, number + 1, output.classes, output.shift, {}};
  for (const uint32_t at : own) {
    TrackRecords records(std::exchange(events_[at], {}));
    output.ends_without_begin += records.pair_ends();
    records.sort();
    TrackWriter(target, at + 1).write(records);
  }
  queue.finish();
  if (process.alive_until) writer.ending(id, {static_cast<uint64_t>(*process.alive_until + output.shift)});
}

namespace {

constexpr size_t kLongestFrameText = 4096;
constexpr size_t kStacksPerChunk = 512;

}  // namespace

uint32_t ImportedStacks::module(std::string_view path) {
  if (path.empty()) return 0;
  const auto [known, is_new] = module_ids_.try_emplace(std::string(path.substr(0, kLongestFrameText)),
                                                       static_cast<uint32_t>(modules_.size() + 1));
  if (is_new) {
    trace::Module& made = modules_.emplace_back();
    made.id = known->second;
    made.path = known->first;
  }
  return known->second;
}

uint32_t ImportedStacks::number_of(uint32_t track, std::span<const ImportedFrame> frames) {
  if (frames.empty()) return 0;
  std::string key;
  trace::Stack stack;
  for (const ImportedFrame& frame : frames) {
    const std::string_view function = frame.function.substr(0, kLongestFrameText),
                           file = frame.file.substr(0, kLongestFrameText);
    const uint32_t of = module(frame.module);
    key_.clear();
    put_varint(key_, of);
    put_varint(key_, frame.line);
    put_varint(key_, function.size());
    key_.append(function).append(file);
    const auto [known, is_new] = frame_ids_.try_emplace(key_, static_cast<uint32_t>(frames_.size() + 1));
    if (is_new) frames_.push_back({known->second, of, 0, std::string(function), std::string(file), frame.line});
    stack.frames.push_back(known->second);
    put_varint(key, known->second);
  }
  const auto [known, is_new] = stack_ids_.try_emplace(key, static_cast<uint32_t>(stacks_.size() + 1));
  if (is_new) {
    stack.id = known->second;
    stacks_.push_back(std::move(stack));
  }
  used_[track].insert(known->second);
  return known->second;
}

void ImportedStacks::write(trace::Writer& writer, const trace::WriterId& id, std::span<const uint32_t> tracks) const {
  std::set<uint32_t> numbers, written, written_modules;
  for (const uint32_t track : tracks)
    if (const auto used = used_.find(track); used != used_.end())
      numbers.insert(used->second.begin(), used->second.end());
  std::vector<trace::Stack> stacks;
  std::vector<trace::Frame> frames;
  std::vector<trace::Module> modules;
  const auto flush = [&] {
    if (!stacks.empty()) writer.stacks(id, modules, frames, stacks);
    stacks.clear();
    frames.clear();
    modules.clear();
  };
  for (const uint32_t number : numbers) {
    stacks.push_back(stacks_[number - 1]);
    for (const uint32_t frame : stacks.back().frames) {
      if (!written.insert(frame).second) continue;
      frames.push_back(frames_[frame - 1]);
      const uint32_t of = frames.back().module;
      if (of != 0 && written_modules.insert(of).second) modules.push_back(modules_[of - 1]);
    }
    if (stacks.size() == kStacksPerChunk) flush();
  }
  flush();
}

}  // namespace kymo::import
