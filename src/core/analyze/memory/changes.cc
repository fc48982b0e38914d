#include "analyze/memory/changes.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "convert/chunk_order.h"
#include "convert/events.h"
#include "convert/kineto.h"
#include "kymo/error.h"
#include "trace/clock.h"
#include "trace/model.h"
#include "trace/reader.h"

namespace kymo::memory {

namespace {

using trace::FieldType;

constexpr std::string_view kCategoryNames[kCategories] = {
    "PARAMETER", "OPTIMIZER_STATE", "INPUT", "TEMPORARY", "ACTIVATION", "GRADIENT", "AUTOGRAD_DETAIL", "unknown",
};

constexpr std::string_view kCategoryLabels[kCategories] = {
    "parameter", "optimizer state", "input", "temporary", "activation", "gradient", "autograd detail", "unknown",
};

char plain_letter(char letter) {
  if (letter >= 'a' && letter <= 'z') return static_cast<char>(letter - 'a' + 'A');
  return letter == '-' || letter == ' ' ? '_' : letter;
}

}  // namespace

std::string_view category_name(Category category) {
  return kCategoryNames[std::min(static_cast<size_t>(category), kCategories - 1)];
}

std::string_view category_label(Category category) {
  return kCategoryLabels[std::min(static_cast<size_t>(category), kCategories - 1)];
}

Category category_named(std::string_view name) {
  for (size_t i = 0; i + 1 < kCategories; ++i)
    if (std::ranges::equal(name, kCategoryNames[i], {}, plain_letter)) return static_cast<Category>(i);
  return Category::Unknown;
}

PointFields::PointFields(const trace::EventClass& event_class) {
  const auto find = [&](std::initializer_list<std::string_view> names, bool is_text) {
    for (size_t i = 0; i < event_class.fields.size(); ++i) {
      const trace::Field& field = event_class.fields[i];
      if ((field.type == FieldType::String) != is_text || field.type == FieldType::Double) continue;
      for (const std::string_view name : names)
        if (field.name == name) return static_cast<int>(i);
    }
    return -1;
  };
  is_stack_ = trace::is_definition(event_class) && (event_class.name == "stack node" || event_class.name == "module" ||
                                                    event_class.name == "symbol" || event_class.name == "python stack");
  bytes_ = find({"bytes", "Bytes"}, false);
  weight_ = find({"weight"}, false);
  node_ = find({"node"}, false);
  stack_ = find({"stack_id"}, false);
  parent_ = find({"parent"}, false);
  address_ = find({"address"}, false);
  base_ = find({"base"}, false);
  size_ = find({"size"}, false);
  name_ = find({"name"}, true);
  file_ = find({"file"}, true);
  line_ = find({"line"}, false);
  path_ = find({"path"}, true);
  build_id_ = find({"build_id"}, true);
  category_ = find({"category", "Category"}, true);
  device_ = find({"device", "Device"}, true);
  device_type_ = find({"Device Type"}, false);
  device_id_ = find({"Device Id"}, false);
  for (size_t i = 0; bytes_ < 0 && i < event_class.fields.size(); ++i)
    if (event_class.fields[i].type == FieldType::ByteCount) bytes_ = static_cast<int>(i);
  // An import has stacks of its own in place of the nodes, and none for an allocation without a stack.
  is_heap_ =
      event_class.category == "memory" && device_ < 0 && device_type_ < 0 &&
      ((event_class.name == "malloc" && bytes_ >= 0) || (event_class.name == "free" && event_class.fields.empty()));
}

uint64_t PointFields::number(std::span<const Value> row, int field) {
  return field >= 0 && static_cast<size_t>(field) < row.size() ? row[static_cast<size_t>(field)].bits : 0;
}

std::string_view PointFields::text(std::span<const Value> row, int field) {
  return field >= 0 && static_cast<size_t>(field) < row.size() ? row[static_cast<size_t>(field)].text
                                                               : std::string_view{};
}

uint64_t PointFields::bytes(std::span<const Value> row) const {
  const uint64_t bits = number(row, bytes_);
  if (bytes_ < 0 || static_cast<size_t>(bytes_) >= row.size()) return 0;
  const bool negative = row[static_cast<size_t>(bytes_)].type == FieldType::Int && static_cast<int64_t>(bits) < 0;
  return negative ? uint64_t{0} - bits : bits;
}

symbols::Frame PointFields::python_line(std::span<const Value> row) const {
  const std::string file(text(row, file_));
  return {std::string(text(row, name_)), file, static_cast<uint32_t>(number(row, line_)), file, false};
}

std::optional<uint64_t> PointFields::node(std::span<const Value> row) const {
  if (node_ < 0 || static_cast<size_t>(node_) >= row.size()) return std::nullopt;
  return row[static_cast<size_t>(node_)].bits;
}

std::string PointFields::device(std::span<const Value> row) const {
  if (is_heap_) return std::string(kHeap);
  if (const std::string_view name = text(row, device_); !name.empty()) return std::string(name);
  if (device_type_ >= 0)
    return convert::device_key({static_cast<int64_t>(number(row, device_type_)),
                                device_id_ < 0 ? -1 : static_cast<int64_t>(number(row, device_id_))});
  return std::string(kUnnamedMemory);
}

namespace {

// The memory changes of one track, one chunk at a time, with the open ranges and the stacks of each.

// What the tracks of one process share.
class ProcessTables {
 public:
  ProcessTables(const trace::WriterInfo& writer, uint32_t number, std::string device, Tables& tables);

  convert::Classes& classes() { return classes_; }
  const PointFields& fields_of(const convert::ClassInfo& info);
  std::optional<uint32_t> memory_named(std::string device);  // nothing if it is not selected
  uint32_t range_named(std::string_view name);

  const trace::WriterInfo& writer;
  const uint32_t number;
  Tables& tables;

 private:
  uint32_t next_class_ = 0;
  convert::Classes classes_;
  std::vector<std::optional<PointFields>> fields_;  // by ClassInfo::index
  std::string device_;
  std::map<std::string, uint32_t> memories_;
  std::unordered_map<std::string, uint32_t> ranges_;
};

class TrackChanges {
 public:
  TrackChanges(ProcessTables& process, const trace::ClockMap& clock, uint32_t thread, uint32_t& next_outermost)
      : process_(process), clock_(clock), thread_(thread), next_outermost_(next_outermost) {}

  // Reads a chunk, whose first point has this number. Chunks must come in order. `into` is replaced. Throws kymo::Error
  // if the chunk is damaged.
  void read(const trace::Reader& reader, const trace::EventChunk& chunk, uint64_t first_point,
            std::vector<MemoryChange>& into);

 private:
  struct Open {
    uint64_t start;
    uint32_t range;
    StackId stack;  // at its start, if the trace has it
  };

  void begin(uint64_t start, uint32_t range);
  void take_point(uint32_t index, std::vector<MemoryChange>& into);
  uint32_t range_of(uint32_t class_id, std::span<const Value> row);
  uint32_t range_of(const trace::OpenRange& open);
  void add_node(const PointFields& fields, std::span<const Value> row);
  StackId stack_at(uint64_t node);

  ProcessTables& process_;
  const trace::ClockMap& clock_;
  const uint32_t thread_;
  uint32_t& next_outermost_;
  uint64_t outermost_start_ = 0;
  uint32_t outermost_ = 0;
  int64_t last_ns_ = INT64_MIN;
  StackId python_stack_ = 0;  // the last one that the thread stated
  uint64_t seen_nodes_ = 0;
  std::vector<StackId> nodes_;  // by the track's own numbers
  std::unordered_map<uint64_t, StackId, base::SeededHash> far_nodes_;

  uint64_t first_point_ = 1;
  trace::EventBatch batch_;
  convert::ChunkOrder order_;
  convert::ValueRows range_rows_, point_rows_;
  std::vector<Open> open_;
};

constexpr size_t kMostRangeNames = 65'536;  // per process; further names are combined
constexpr std::string_view kOtherNames = "(other names)";
constexpr uint64_t kFirstStackNode = 16;  // smaller numbers tell how a stack ends
constexpr uint64_t kNodesAhead = 65'536;
constexpr size_t kMostMemories = 4'096;
constexpr uint64_t kEventsOfAByte = 64;  // more than any recorded trace has

bool carries_its_name(const convert::ClassInfo& info) { return info.event_class.name == "{}"; }

ProcessTables::ProcessTables(const trace::WriterInfo& from, uint32_t index, std::string device, Tables& all)
    : writer(from), number(index), tables(all), classes_(from, next_class_), device_(std::move(device)) {}

const PointFields& ProcessTables::fields_of(const convert::ClassInfo& info) {
  if (info.index >= fields_.size()) fields_.resize(info.index + size_t{1});
  std::optional<PointFields>& fields = fields_[info.index];
  if (!fields) fields.emplace(info.event_class);
  return *fields;
}

std::optional<uint32_t> ProcessTables::memory_named(std::string device) {
  if (!device_.empty() && device != device_) {
    if (tables.other_devices.size() < kMostMemories) tables.other_devices.insert(std::move(device));
    return std::nullopt;
  }
  if (memories_.size() >= kMostMemories && !memories_.contains(device)) device = kUnnamedMemory;
  const auto [found, is_new] = memories_.try_emplace(device, static_cast<uint32_t>(tables.memories.size()));
  if (is_new) tables.memories.push_back({number, std::move(device)});
  return found->second;
}

uint32_t ProcessTables::range_named(std::string_view name) {
  std::string text(ranges_.size() < kMostRangeNames || ranges_.contains(std::string(name)) ? name : kOtherNames);
  const auto [found, is_new] = ranges_.try_emplace(text, static_cast<uint32_t>(tables.ranges.size()));
  if (is_new) tables.ranges.push_back(std::move(text));
  return found->second;
}

void TrackChanges::read(const trace::Reader& reader, const trace::EventChunk& chunk, uint64_t first_point,
                        std::vector<MemoryChange>& into) {
  into.clear();
  first_point_ = first_point;
  reader.read(chunk, batch_);
  convert::Classes& classes = process_.classes();
  point_rows_.load(batch_.points.values, batch_.points.class_id, classes);
  range_rows_.load(batch_.ranges.values, batch_.ranges.class_id, classes);

  order_.arrange(batch_, batch_.opening);
  if (order_.kept_open() < order_.still_open()) {
    // The chunk contradicts itself: a range is open before the chunk, does not end in it and is not open after it.
    batch_.opening.resize(order_.kept_open());
    order_.arrange(batch_, batch_.opening);
  }
  open_.clear();
  for (const trace::OpenRange& range : batch_.opening) begin(range.start, range_of(range));
  for (const convert::Step& step : order_.steps()) {
    switch (step.kind) {
      case convert::Step::Kind::Begin:
        if (step.index < batch_.ranges.size()) {
          begin(batch_.ranges.end[step.index] - batch_.ranges.duration[step.index],
                range_of(batch_.ranges.class_id[step.index], range_rows_.row(step.index)));
        } else {
          const trace::OpenRange& range = batch_.closing[step.index - batch_.ranges.size()];
          begin(range.start, range_of(range));
        }
        break;
      case convert::Step::Kind::End:
        if (!open_.empty()) open_.pop_back();
        break;
      case convert::Step::Kind::Point:
        take_point(step.index, into);
        break;
    }
  }
}

void TrackChanges::begin(uint64_t start, uint32_t range) {
  // A range that continues from the previous chunk keeps its number.
  if (open_.empty() && (outermost_ == 0 || start != outermost_start_)) {
    outermost_ = ++next_outermost_;
    outermost_start_ = start;
  }
  open_.push_back({start, range, 0});
}

uint32_t TrackChanges::range_of(uint32_t class_id, std::span<const Value> row) {
  const convert::ClassInfo& info = process_.classes().find(class_id);
  if (!carries_its_name(info) || row.empty()) return process_.range_named(info.event_class.name);
  return process_.range_named(trace::full_name(&info.event_class, {row.begin(), row.end()}));
}

uint32_t TrackChanges::range_of(const trace::OpenRange& open) {
  const convert::ClassInfo& info = process_.classes().find(open.class_id);
  if (!carries_its_name(info)) return process_.range_named(info.event_class.name);
  const trace::Values values{open.ints, open.doubles, open.text};
  return process_.range_named(trace::full_name(&info.event_class, trace::ValueCursor(values).next(&info.event_class)));
}

void TrackChanges::take_point(uint32_t index, std::vector<MemoryChange>& into) {
  using trace::PointKind;
  const trace::Points& points = batch_.points;
  const PointKind kind = points.kind[index];
  if (kind == PointKind::Sample) {
    if (open_.empty() || points.id[index] > UINT32_MAX) return;
    open_.back().stack =
        process_.tables.stacks.listed(process_.number, process_.writer, static_cast<uint32_t>(points.id[index]));
    return;
  }
  if (kind != PointKind::Instant && kind != PointKind::Allocation && kind != PointKind::Free) return;
  const convert::ClassInfo& info = process_.classes().find(points.class_id[index]);
  const PointFields& fields = process_.fields_of(info);
  const std::span<const Value> row = point_rows_.row(index);
  if (kind == PointKind::Instant) {
    if (fields.is_stack_node()) add_node(fields, row);
    if (fields.is_python_line())
      process_.tables.stacks.named(process_.number, fields.address(row), fields.python_line(row));
    if (fields.is_python_stack()) python_stack_ = stack_at(fields.node(row).value_or(0));
    if (fields.is_loaded_file())
      process_.tables.stacks.loaded(process_.number, std::string(fields.path(row)), std::string(fields.build_id(row)),
                                    fields.base(row), fields.size(row));
    return;
  }

  const std::optional<uint32_t> memory = process_.memory_named(fields.device(row));
  if (!memory) return;
  MemoryChange& change = into.emplace_back();
  change.time_ns = last_ns_ = std::max(last_ns_, clock_.to_realtime_ns(points.time[index]));
  change.point = first_point_ + index;
  change.address = points.id[index];
  change.is_return = kind == PointKind::Free;
  change.memory = *memory;
  change.thread = thread_;
  const uint64_t weight = fields.weight(row);
  change.sampled = weight != 0;
  change.bytes = change.sampled ? weight : fields.bytes(row);
  change.category = category_named(fields.category(row));
  if (!open_.empty()) {
    change.range = open_.back().range;
    change.outermost = outermost_;
  }
  if (const std::optional<uint64_t> node = fields.node(row)) {
    change.stack = stack_at(*node);
  } else if (const uint64_t stack = fields.stack(row); stack != 0 && stack <= UINT32_MAX) {
    change.stack = process_.tables.stacks.listed(process_.number, process_.writer, static_cast<uint32_t>(stack));
  } else {
    const auto told = std::find_if(open_.rbegin(), open_.rend(), [](const Open& one) { return one.stack != 0; });
    if (told != open_.rend())
      change.stack = told->stack;
    else if (!fields.is_heap())
      change.stack = python_stack_;
  }
}

void TrackChanges::add_node(const PointFields& fields, std::span<const Value> row) {
  const uint64_t node = fields.node(row).value_or(0);  // a row may be shorter than its class states
  if (node < kFirstStackNode) return;
  const StackId stack =
      process_.tables.stacks.called(stack_at(fields.parent(row)), process_.number, fields.address(row));
  if (node >= 2 * ++seen_nodes_ + kNodesAhead) {  // numbers are assigned in order, but may be forged
    far_nodes_[node] = stack;
    return;
  }
  if (node >= nodes_.size()) nodes_.resize(std::max<size_t>(node + 1, nodes_.size() + nodes_.size() / 2));
  nodes_[node] = stack;
}

StackId TrackChanges::stack_at(uint64_t node) {
  if (node < kFirstStackNode) {
    const auto why = static_cast<Stacks::Cut>(node);
    const bool is_cut = why == Stacks::Cut::NoTables || why == Stacks::Cut::OtherStack || why == Stacks::Cut::TooDeep;
    return is_cut ? process_.tables.stacks.cut(why) : 0;
  }
  if (node < nodes_.size() && nodes_[node] != 0) return nodes_[node];
  const auto far = far_nodes_.find(node);
  return far == far_nodes_.end() ? 0 : far->second;
}

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
    uint64_t points_before = 0, events = 0;
    for (const trace::EventChunk& chunk : reader.event_chunks()) {
      const uint64_t first_point = points_before + 1;
      points_before += chunk.point_count;
      if (chunk.point_count == 0) continue;
      const auto [entry, is_new] = by_track.try_emplace({chunk.writer, chunk.track}, nullptr);
      if (is_new) entry->second = add_lane(chunk);
      Lane* const lane = entry->second;
      if (lane == nullptr) continue;  // the reader has reported it
      // A few bytes can stand for millions of equal events.
      const uint64_t in_chunk = uint64_t{chunk.point_count} + chunk.range_count;
      if (events + in_chunk > (1 << 18) + kEventsOfAByte * reader.file_size()) {
        problems.push_back({chunk.offset, chunk.length,
                            base::format("{} events were left out: a file of {} bytes cannot mean so many", in_chunk,
                                         reader.file_size())});
        continue;
      }
      events += in_chunk;
      lane->chunks.push_back({&chunk, first_point});
      begin_ns = std::min(begin_ns, lane->clock->to_realtime_ns(chunk.first));
      const int64_t last = lane->clock->to_realtime_ns(chunk.last);
      end_ns = std::max(end_ns, last);
      ProcessInfo& process = tables.processes[processes.at(chunk.writer)->number];
      process.end_ns = std::max(process.end_ns, last);
      process.begin_ns = std::min(process.begin_ns, lane->clock->to_realtime_ns(chunk.first));
    }
    extend_parents();
    end_by_exec();
    for (uint32_t i = 0; i < lanes.size(); ++i)
      if (!lanes[i]->chunks.empty()) waiting.emplace(lanes[i]->next_ns(), i);
  }

  // A process that runs another program is another one in the trace, with the same number. The system uses the number
  // for others only much later.
  void end_by_exec() {
    constexpr int64_t kMomentNs = 100'000'000;
    struct Program {
      int64_t begin_ns = 0;
      ProcessInfo* recorded = nullptr;  // null: it allocated nothing
    };
    std::map<uint64_t, std::vector<Program>> by_pid;
    for (ProcessInfo& process : tables.processes)
      if (process.pid != 0 && process.has_memory) by_pid[process.pid].push_back({process.begin_ns, &process});
    for (const auto& [id, writer] : reader.writers())
      if (const auto same = by_pid.find(writer.origin.pid);
          same != by_pid.end() && !processes.contains(id) && !writer.origin.policy.empty())  // a sampler has no policy
        same->second.push_back({static_cast<int64_t>(writer.origin.start_realtime_ns), nullptr});
    for (auto& [pid, programs] : by_pid) {
      std::ranges::sort(programs, {}, &Program::begin_ns);
      for (size_t i = 1; i < programs.size(); ++i) {
        if (programs[i - 1].recorded == nullptr) continue;
        ProcessInfo& before = *programs[i - 1].recorded;
        const int64_t next_ns = programs[i].begin_ns;
        if (next_ns == before.begin_ns || before.end_ns == ProcessInfo{}.end_ns ||
            (next_ns > before.end_ns &&
             static_cast<uint64_t>(next_ns) - static_cast<uint64_t>(before.end_ns) > kMomentNs))
          continue;
        before.ran_another = true;
        before.end_ns = std::min(before.end_ns, next_ns - 1);
      }
    }
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
      tables.processes.back().has_memory = std::ranges::any_of(
          writer->second.classes, [](const auto& known) { return known.second.category == "memory"; });
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
uint64_t Changes::most_alive() const { return (1 << 16) + kEventsOfAByte * impl_->reader.file_size(); }
Tables& Changes::tables() { return impl_->tables; }
const std::vector<trace::Problem>& Changes::problems() const { return impl_->problems; }

}  // namespace kymo::memory
