#include "edge/result.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "analyze/memory/profile.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "edge/inputs.h"
#include "kymo/error.h"

namespace kymo::edge {

std::vector<std::string_view> ResultData::options() const {
  std::vector<std::string_view> names;
  for (const auto& [name, wanted] :
       std::initializer_list<std::pair<std::string_view, bool>>{{"record_shapes", inputs_wanted},
                                                                {"profile_memory", memory_wanted},
                                                                {"with_stack", stack_wanted},
                                                                {"with_flops", flops_wanted},
                                                                {"with_modules", modules_wanted},
                                                                {"adjust_vulkan_timestamps", adjusted}})
    if (wanted) names.push_back(name);
  return names;
}

void link_tree(std::span<EdgeEvent> events) {
  struct Open {
    uint64_t covered_until = 0;  // time that is covered by the children so far
    uint32_t last_child = EdgeEvent::kNone;
  };
  std::vector<Open> open(events.size());
  for (uint32_t at = 0; at < events.size(); ++at) {
    EdgeEvent& event = events[at];
    event.first_child = event.next_sibling = EdgeEvent::kNone;
    event.self_ns = event.end_ns > event.start_ns ? event.end_ns - event.start_ns : 0;
    open[at].covered_until = event.start_ns;
    if (event.parent >= at) {  // no parent, because a parent never comes later
      event.parent = EdgeEvent::kNone;
      event.depth = 0;
      continue;
    }
    EdgeEvent& parent = events[event.parent];
    Open& above = open[event.parent];
    event.depth = parent.depth + 1;
    (above.last_child == EdgeEvent::kNone ? parent.first_child : events[above.last_child].next_sibling) = at;
    above.last_child = at;
    // Siblings are in the order of their begin, with few exceptions. Time that an earlier sibling already covers does
    // not count twice.
    const uint64_t from = std::max(event.start_ns, above.covered_until);
    const uint64_t until = std::min(event.end_ns, parent.end_ns);
    if (until <= from) continue;
    parent.self_ns -= std::min(parent.self_ns, until - from);
    above.covered_until = until;
  }
}

}  // namespace kymo::edge

namespace kymo {

namespace {

// An EdgeResult that no profiler made is empty.
const edge::ResultData& data_of(const std::shared_ptr<const edge::ResultData>& data) {
  static const auto& empty = *new edge::ResultData;
  return data ? *data : empty;
}

}  // namespace

std::span<const EdgeEvent> EdgeResult::events() const { return data_of(data_).events; }

std::vector<EdgeInput> EdgeResult::inputs(const EdgeEvent& event) const {
  return edge::decode_inputs(data_of(data_).inputs_of(event));
}

std::vector<EdgeFrame> EdgeResult::stack(const EdgeEvent& event) const {
  const auto& stacks = data_of(data_).stacks;
  return event.stack < stacks.size() ? stacks[event.stack] : std::vector<EdgeFrame>{};
}

std::span<const EdgeCount> EdgeResult::counts(const EdgeEvent& event) const { return data_of(data_).counts_of(event); }
std::span<const std::string> EdgeResult::event_names() const { return data_of(data_).event_names; }
std::span<const EdgeAllocation> EdgeResult::allocations() const { return data_of(data_).allocations; }
std::span<const EdgeUncounted> EdgeResult::without_flops() const { return data_of(data_).without_flops; }
std::vector<std::string> EdgeResult::losses() const { return data_of(data_).losses; }
uint64_t EdgeResult::start_ns() const { return data_of(data_).start_ns; }
uint64_t EdgeResult::end_ns() const { return data_of(data_).end_ns; }

std::vector<EdgeMemory> EdgeResult::memory() const {
  struct OfDevice {
    std::vector<memory::Change> changes;
    std::vector<uint32_t> of;  // the allocation of each change
  };
  std::map<edge::DeviceId, OfDevice, edge::DeviceOrder> devices;
  const std::span<const EdgeAllocation> all = allocations();
  for (uint32_t at = 0; at < all.size(); ++at) {
    if (all[at].out_of_memory) continue;
    OfDevice& device = devices[all[at].device];
    device.changes.push_back({all[at].time_ns, all[at].address, all[at].bytes});
    device.of.push_back(at);
  }
  std::vector<EdgeMemory> result;
  for (const auto& [id, device] : devices) {
    const memory::Timeline timeline = memory::make_timeline(device.changes);
    EdgeMemory& made = result.emplace_back();
    made.device = id;
    made.timeline.reserve(device.changes.size());
    for (size_t at = 0; at < device.changes.size(); ++at)
      made.timeline.push_back({device.changes[at].time_ns, timeline.in_use[at]});
    made.peak_bytes = timeline.peak_bytes;
    made.peak_time_ns = device.changes[timeline.peak_at].time_ns;
    for (const size_t at : timeline.alive_at_peak) made.alive_at_peak.push_back(device.of[at]);
    for (const size_t at : timeline.never_freed) made.never_freed.push_back(device.of[at]);
    made.unknown_frees = timeline.unknown_frees;
  }
  return result;
}

// ---- Averages -------------------------------------------------------------------------------------------------------

namespace {

// The key by which events are combined. Texts are compared by content: two results do not share texts.
struct AverageKey {
  std::string_view name, backend, module_hierarchy;
  uint32_t shapes = 0;  // a number for the text
  EdgeKind kind = EdgeKind::Operator;
  bool operator==(const AverageKey&) const = default;
};
struct AverageKeyHash {
  size_t operator()(const AverageKey& key) const {
    const std::hash<std::string_view> hash;
    constexpr size_t kOdd = 0x9e3779b97f4a7c15u;
    size_t mixed = hash(key.name) * kOdd + static_cast<size_t>(key.kind) + (size_t{key.shapes} << 8);
    if (!key.backend.empty()) mixed = mixed * kOdd + hash(key.backend);
    if (!key.module_hierarchy.empty()) mixed = mixed * kOdd + hash(key.module_hierarchy);
    return mixed * kOdd >> 8;
  }
};

// The shapes of inputs as text, and a number for each text. Equal inputs have the same position, which is looked up
// first.
class ShapeNumbers {
 public:
  explicit ShapeNumbers(const edge::ResultData& data) : data_(data) { number_of_text("[]"); }

  uint32_t of(const EdgeEvent& event) {
    if (event.inputs_size == 0) return 0;
    const auto [found, is_new] = by_place_.try_emplace(event.inputs_at);
    if (is_new) found->second = number_of_text(edge::input_texts(data_.inputs_of(event)).sizes);
    return found->second;
  }
  const std::string& text(uint32_t number) const { return *texts_[number]; }

 private:
  uint32_t number_of_text(std::string text) {
    const auto [found, is_new] = by_text_.try_emplace(std::move(text), static_cast<uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(&found->first);
    return found->second;
  }

  const edge::ResultData& data_;
  std::unordered_map<uint32_t, uint32_t> by_place_;
  std::unordered_map<std::string, uint32_t> by_text_;
  std::vector<const std::string*> texts_;
};

class AverageMaker {
 public:
  AverageMaker(const edge::ResultData& data, EdgeGroup by)
      : data_(data),
        by_shape_((static_cast<uint8_t>(by) & static_cast<uint8_t>(EdgeGroup::Shape)) != 0),
        by_module_((static_cast<uint8_t>(by) & static_cast<uint8_t>(EdgeGroup::Module)) != 0),
        shapes_(data),
        group_of_(data.events.size()) {}

  std::vector<EdgeAverage> make() {
    for (uint32_t at = 0; at < data_.events.size(); ++at) group_of_[at] = group(data_.events[at]);
    open_.resize(averages_.size());
    for (uint32_t root = 0; root < data_.events.size(); ++root) {
      if (data_.events[root].parent != EdgeEvent::kNone) continue;
      for (uint32_t at = root; at != EdgeEvent::kNone;) {
        enter(at);
        at = edge::next_in_tree(data_.events, at, [&](uint32_t done) { --open_[group_of_[done]]; });
      }
    }
    std::stable_sort(averages_.begin(), averages_.end(),
                     [](const EdgeAverage& one, const EdgeAverage& other) { return one.self_ns > other.self_ns; });
    return std::move(averages_);
  }

 private:
  uint32_t group(const EdgeEvent& event) {
    AverageKey key;
    key.name = event.name;
    key.backend = event.backend;
    key.kind = event.kind;
    if (by_module_) key.module_hierarchy = event.module_hierarchy;
    if (by_shape_) key.shapes = shapes_.of(event);
    const auto [found, is_new] = groups_.try_emplace(key, static_cast<uint32_t>(averages_.size()));
    if (is_new) {
      EdgeAverage& made = averages_.emplace_back();
      made.name = event.name;
      made.kind = event.kind;
      made.backend = event.backend;
      made.module_hierarchy = key.module_hierarchy;
      if (by_shape_) made.shapes = shapes_.text(key.shapes);
      made.counts.resize(data_.event_names.size());
    }
    return found->second;
  }

  void enter(uint32_t at) {
    const EdgeEvent& event = data_.events[at];
    EdgeAverage& average = averages_[group_of_[at]];
    const bool outermost = open_[group_of_[at]]++ == 0;
    ++average.calls;
    average.self_ns += event.self_ns;
    average.self_memory_bytes = edge::wrapping_sum(average.self_memory_bytes, event.self_memory_bytes);
    average.flops += event.flops;
    const std::span<const EdgeCount> counts = data_.counts_of(event);
    for (size_t which = 0; which < counts.size(); ++which) {
      EdgeCount& sum = average.counts[which];
      sum.exclusive += counts[which].exclusive;
      if (outermost) sum.inclusive += counts[which].inclusive;
      sum.scaled = sum.scaled || counts[which].scaled;
      sum.known = sum.known || counts[which].known;
    }
    if (!outermost) return;
    average.total_ns += event.duration_ns();
    average.memory_bytes = edge::wrapping_sum(average.memory_bytes, event.memory_bytes);
  }

  const edge::ResultData& data_;
  const bool by_shape_, by_module_;
  ShapeNumbers shapes_;
  std::unordered_map<AverageKey, uint32_t, AverageKeyHash> groups_;
  std::vector<EdgeAverage> averages_;
  std::vector<uint32_t> group_of_;  // the group of each event
  std::vector<uint32_t> open_;      // for each group: how many of its events contain the current one
};

}  // namespace

std::vector<EdgeAverage> EdgeResult::key_averages(EdgeGroup by) const {
  return AverageMaker(data_of(data_), by).make();
}

// ---- The table ------------------------------------------------------------------------------------------------------

namespace {

using base::TextTable;

std::string table_time(double ns) {
  if (ns >= 1e9) return base::format("{:.3f}s", ns * 1e-9);
  if (ns >= 1e6) return base::format("{:.3f}ms", ns * 1e-6);
  return base::format("{:.3f}us", ns * 1e-3);
}

std::string table_share(uint64_t part, uint64_t whole) {
  return base::format("{:.2f}%", whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string table_bytes(int64_t bytes) {
  static constexpr std::array<std::string_view, 4> kUnits = {"KB", "MB", "GB", "TB"};
  constexpr double kStep = 1024;
  double value = static_cast<double>(bytes);
  if (std::fabs(value) < kStep) return base::format("{} B", bytes);
  size_t unit = 0;
  for (value /= kStep; std::fabs(value) >= kStep && unit + 1 < kUnits.size(); ++unit) value /= kStep;
  return base::format("{:.2f} {}", value, kUnits[unit]);
}

std::string table_count(double value, const EdgeCount& of) {
  return of.known ? base::format("{}{:.0f}", of.scaled ? "~" : "", value) : "--";
}

// The largest unit that is not larger than the largest number.
struct FlopUnit {
  std::string_view name;
  double size;
};
FlopUnit flop_unit(uint64_t max) {
  static constexpr std::array<FlopUnit, 6> kUnits = {
      {{"FLOPs", 1}, {"KFLOPs", 1e3}, {"MFLOPs", 1e6}, {"GFLOPs", 1e9}, {"TFLOPs", 1e12}, {"PFLOPs", 1e15}}};
  size_t unit = 0;
  while (unit + 1 < kUnits.size() && static_cast<double>(max) >= kUnits[unit + 1].size) ++unit;
  return kUnits[unit];
}

// A row of the table. Device time is separate from CPU time.
struct TableRow {
  explicit TableRow(const EdgeAverage& of) : average(of), on_device(of.kind == EdgeKind::Device) {}
  const EdgeAverage& average;
  bool on_device;
  uint64_t self_ns() const { return on_device ? 0 : average.self_ns; }
  uint64_t total_ns() const { return on_device ? 0 : average.total_ns; }
  uint64_t device_ns() const { return on_device ? average.total_ns : 0; }
  double each(uint64_t ns) const {
    return average.calls == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(average.calls);
  }
};

using TableOrder = std::function<bool(const TableRow&, const TableRow&)>;

template <class Value>
TableOrder most_first(Value value) {
  return [value](const TableRow& one, const TableRow& other) { return value(one) > value(other); };
}

TableOrder table_order(std::string_view sort_by, std::span<const std::string> event_names) {
  if (sort_by == "self_cpu_time_total") return most_first([](const TableRow& row) { return row.self_ns(); });
  if (sort_by == "cpu_time_total") return most_first([](const TableRow& row) { return row.total_ns(); });
  if (sort_by == "cpu_time") return most_first([](const TableRow& row) { return row.each(row.total_ns()); });
  if (sort_by == "device_time_total") return most_first([](const TableRow& row) { return row.device_ns(); });
  if (sort_by == "self_cpu_memory_usage")
    return most_first([](const TableRow& row) { return row.average.self_memory_bytes; });
  if (sort_by == "cpu_memory_usage") return most_first([](const TableRow& row) { return row.average.memory_bytes; });
  if (sort_by == "flops") return most_first([](const TableRow& row) { return row.average.flops; });
  if (sort_by == "count") return most_first([](const TableRow& row) { return row.average.calls; });
  if (sort_by == "name")
    return [](const TableRow& one, const TableRow& other) { return one.average.name < other.average.name; };
  const auto event = std::find(event_names.begin(), event_names.end(), sort_by);
  if (event != event_names.end()) {
    const auto which = static_cast<size_t>(event - event_names.begin());
    return most_first([which](const TableRow& row) { return row.average.counts[which].inclusive; });
  }
  throw InvalidArgument(base::format(
      "cannot sort by \"{}\": use one of self_cpu_time_total, cpu_time_total, cpu_time, device_time_total, "
      "self_cpu_memory_usage, cpu_memory_usage, flops, count, name{}{}",
      sort_by, event_names.empty() ? "" : ", ", base::join(event_names, ", ")));
}

// The columns of the table.
struct TableColumns {
  bool device = false, memory = false, shapes = false, module = false, flops = false;
  FlopUnit flop_unit{};
};

TextTable make_table(const TableColumns& columns, std::span<const std::string> event_names) {
  constexpr size_t kWidestName = 55, kWidestText = 80;
  TextTable table;
  const auto add_number = [&](std::string heading) { table.add_column({std::move(heading), TextTable::Align::Right}); };
  table.add_column({"Name", TextTable::Align::Left, kWidestName});
  for (const char* const heading : {"Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"})
    add_number(heading);
  if (columns.device) add_number("Device total"), add_number("Device time avg");
  if (columns.memory) add_number("CPU Mem"), add_number("Self CPU Mem");
  add_number("# of Calls");
  if (columns.shapes) table.add_column({"Input Shapes", TextTable::Align::Left, kWidestText});
  if (columns.module)
    table.add_column({"Module Hierarchy", TextTable::Align::Left, kWidestText, TextTable::Cut::Begin});
  if (columns.flops) add_number(base::format("Total {}", columns.flop_unit.name));
  for (const std::string& event : event_names) add_number(event), add_number("Self " + event);
  return table;
}

std::vector<std::string> table_cells(const TableRow& row, const TableColumns& columns, uint64_t whole_ns) {
  const EdgeAverage& average = row.average;
  std::vector<std::string> cells = {std::string(average.name),
                                    table_share(row.self_ns(), whole_ns),
                                    table_time(static_cast<double>(row.self_ns())),
                                    table_share(row.total_ns(), whole_ns),
                                    table_time(static_cast<double>(row.total_ns())),
                                    table_time(row.each(row.total_ns()))};
  if (columns.device) {
    cells.push_back(table_time(static_cast<double>(row.device_ns())));
    cells.push_back(table_time(row.each(row.device_ns())));
  }
  if (columns.memory) {
    cells.push_back(table_bytes(average.memory_bytes));
    cells.push_back(table_bytes(average.self_memory_bytes));
  }
  cells.push_back(base::format("{}", average.calls));
  if (columns.shapes) cells.push_back(average.shapes);
  if (columns.module) cells.emplace_back(average.module_hierarchy);
  if (columns.flops)
    cells.push_back(average.flops == 0
                        ? "--"
                        : base::format("{:.3f}", static_cast<double>(average.flops) / columns.flop_unit.size));
  for (const EdgeCount& count : average.counts) {
    cells.push_back(table_count(count.inclusive, count));
    cells.push_back(table_count(count.exclusive, count));
  }
  return cells;
}

// "FLOPs not counted: aten::sort (3 calls), aten::topk (1 call)"
std::string uncounted_text(std::span<const EdgeUncounted> all) {
  constexpr size_t kMaxNames = 5;
  std::vector<std::string> names;
  for (const EdgeUncounted& one : all.first(std::min(all.size(), kMaxNames)))
    names.push_back(base::format("{} ({} call{})", base::printable(one.name), one.calls, one.calls == 1 ? "" : "s"));
  if (all.size() > kMaxNames) names.push_back(base::format("and {} more operators", all.size() - kMaxNames));
  return base::format("FLOPs not counted: {}\n", base::join(names, ", "));
}

}  // namespace

std::string EdgeResult::table(std::string_view sort_by, size_t top, EdgeGroup by) const {
  const TableOrder order = table_order(sort_by, event_names());
  const std::vector<EdgeAverage> averages = key_averages(by);
  std::vector<TableRow> rows;
  uint64_t all_self_ns = 0, all_device_ns = 0, max_flops = 0;
  TableColumns columns;
  for (const EdgeAverage& average : averages) {
    const TableRow& row = rows.emplace_back(average);
    all_self_ns += row.self_ns();
    all_device_ns += row.device_ns();
    max_flops = std::max(max_flops, average.flops);
    columns.device = columns.device || row.on_device;
  }
  // Vulkan operations that were moved into other operations are part of the time of those.
  uint64_t whole_ns = all_self_ns;
  const edge::ResultData& data = data_of(data_);
  for (uint32_t at = 0; data.adjusted && at < data.first_device_event; ++at)
    if (data.events[at].kind == EdgeKind::Device) whole_ns += data.events[at].self_ns;
  columns.memory = data.memory_wanted;
  columns.flops = data.flops_wanted;
  columns.shapes = by == EdgeGroup::Shape || by == EdgeGroup::ShapeAndModule;
  columns.module = by == EdgeGroup::Module || by == EdgeGroup::ShapeAndModule;
  columns.flop_unit = flop_unit(max_flops);

  std::vector<const TableRow*> sorted;
  for (const TableRow& row : rows) sorted.push_back(&row);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const TableRow* one, const TableRow* other) { return order(*one, *other); });
  TextTable table = make_table(columns, event_names());
  for (size_t at = 0; at < std::min(top, sorted.size()); ++at) {
    std::vector<std::string> cells = table_cells(*sorted[at], columns, whole_ns);
    for (std::string& cell : cells) cell = base::without_controls(cell, ' ');
    table.add(std::move(cells));
  }

  std::string text = table.text({.rules = true, .ellipsis = "..."});
  if (sorted.size() > top) text += base::format("({} more)\n", sorted.size() - top);
  text += base::format("Self CPU time total: {}\n", table_time(static_cast<double>(all_self_ns)));
  if (columns.device) text += base::format("Device time total: {}\n", table_time(static_cast<double>(all_device_ns)));
  if (!without_flops().empty()) text += uncounted_text(without_flops());
  for (const std::string& loss : losses()) text += base::format("Not complete: {}\n", loss);
  return text;
}

}  // namespace kymo
