#include "analyze/memory/track_changes.h"

#include <algorithm>
#include <string_view>

namespace kymo::memory {

namespace {

constexpr size_t kMostRangeNames = 65'536;  // per process; further names are combined
constexpr std::string_view kOtherNames = "(other names)";
constexpr uint64_t kFirstStackNode = 16;  // smaller numbers tell how a stack ends
constexpr uint64_t kNodesAhead = 65'536;
constexpr size_t kMostMemories = 4'096;

bool carries_its_name(const convert::ClassInfo& info) { return info.event_class.name == "{}"; }

}  // namespace

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
    if (told != open_.rend()) change.stack = told->stack;
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

}  // namespace kymo::memory
