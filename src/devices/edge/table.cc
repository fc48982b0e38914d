
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>

#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "edge/result_data.h"
#include "kymo/edge_result.h"
#include "kymo/error.h"

namespace kymo {

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

std::vector<std::string> without_controls(std::vector<std::string> cells) {
  for (std::string& cell : cells)
    for (char& byte : cell)
      if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f) byte = ' ';
  return cells;
}

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
  for (uint32_t at = 0; data_ && data_->adjusted && at < data_->first_device_event; ++at)
    if (data_->events[at].kind == EdgeKind::Device) whole_ns += data_->events[at].self_ns;
  columns.memory = data_ && data_->memory_wanted;
  columns.flops = data_ && data_->flops_wanted;
  columns.shapes = by == EdgeGroup::Shape || by == EdgeGroup::ShapeAndModule;
  columns.module = by == EdgeGroup::Module || by == EdgeGroup::ShapeAndModule;
  columns.flop_unit = flop_unit(max_flops);

  std::vector<const TableRow*> sorted;
  for (const TableRow& row : rows) sorted.push_back(&row);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const TableRow* one, const TableRow* other) { return order(*one, *other); });
  TextTable table = make_table(columns, event_names());
  for (size_t at = 0; at < std::min(top, sorted.size()); ++at)
    table.add(without_controls(table_cells(*sorted[at], columns, whole_ns)));

  std::string text = table.text({.rules = true, .ellipsis = "..."});
  if (sorted.size() > top) text += base::format("({} more)\n", sorted.size() - top);
  text += base::format("Self CPU time total: {}\n", table_time(static_cast<double>(all_self_ns)));
  if (columns.device) text += base::format("Device time total: {}\n", table_time(static_cast<double>(all_device_ns)));
  if (!without_flops().empty()) text += uncounted_text(without_flops());
  for (const std::string& loss : losses()) text += base::format("Not complete: {}\n", loss);
  return text;
}

}  // namespace kymo
