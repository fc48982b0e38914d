#include <algorithm>
#include <initializer_list>
#include <span>
#include <unordered_map>

#include "analyze/memory/changes.h"
#include "base/printable.h"
#include "kymo/error.h"
#include "query/event_texts.h"
#include "query/range_facts.h"
#include "query/table.h"

namespace kymo::query {
namespace {

using trace::PointKind;

uint32_t kind_number(PointKind kind) {
  static const std::vector<uint32_t> numbers = [] {
    std::vector<uint32_t> all;
    const auto& texts = point_kinds();
    for (const std::string_view name : trace::kPointKindNames)
      all.push_back(static_cast<uint32_t>(std::lower_bound(texts.begin(), texts.end(), name) - texts.begin()));
    return all;
  }();
  const auto index = static_cast<size_t>(kind);
  return index == 0 || index >= numbers.size() ? Dictionary::kNull : numbers[index];
}

// What a column shows. A table has some of them, in its own order.
enum class Shows : uint8_t {
  Kind,
  Name,
  FullName,
  Category,
  Time,
  Id,
  Address,
  Value,
  Bytes,
  Memory,
  Args,
  Function,
  Stack
};

struct PointColumn {
  Column column;
  Shows shows;
};

constexpr PointColumn kKind{{"kind", ColumnType::PointKind, ""}, Shows::Kind};
constexpr PointColumn kName{{"name", ColumnType::Name, "without values: 'step {}'"}, Shows::Name};
constexpr PointColumn kFullName{{"full_name", ColumnType::Text, "with values: 'step 7'"}, Shows::FullName};
constexpr PointColumn kCategory{{"category", ColumnType::Category, "NULL if it has none"}, Shows::Category};
constexpr PointColumn kTime{{"time_ns", ColumnType::Int64, "nanoseconds since 1970"}, Shows::Time};
constexpr PointColumn kId{{"id", ColumnType::UInt64, "of a flow, handle, address or stack; NULL if none"}, Shows::Id};
constexpr PointColumn kFlowId{{"id", ColumnType::UInt64, "the same for all points of a flow; unique in a process"},
                              Shows::Id};
constexpr PointColumn kAddress{{"address", ColumnType::UInt64, ""}, Shows::Address};
constexpr PointColumn kValue{{"value", ColumnType::Double, ""}, Shows::Value};
constexpr PointColumn kBytes{{"bytes", ColumnType::UInt64, "0 for a free whose size was not recorded"}, Shows::Bytes};
constexpr PointColumn kMemory{{"memory", ColumnType::Text, "the device or 'heap', as in kymo memory"}, Shows::Memory};
constexpr PointColumn kArgs{{"args", ColumnType::Text, "the values, as JSON"}, Shows::Args};

constexpr PointColumn kFunction{{"function", ColumnType::Text, "of a CPU sample: the one that ran; NULL if none"},
                                Shows::Function};
constexpr PointColumn kStack{{"stack", ColumnType::Text, "of a CPU sample: 'main;load;read', the outermost first"},
                             Shows::Stack};

struct PointTable {
  std::string_view name, help;
  std::vector<PointKind> kinds;  // empty: all
  std::vector<PointColumn> columns;
};

const std::vector<PointTable>& descriptions() {
  static const std::vector<PointTable> all = {
      {"events",
       "points in time: instants, counters, flows, allocations, frees, samples, ends of ranges across threads",
       {},
       {kKind, kName, kFullName, kCategory, kTime, kId, kFunction, kStack, kArgs}},
      {"counters", "values of counters", {PointKind::Counter}, {kName, kCategory, kTime, kValue}},
      {"allocations",
       "allocations and frees of memory",
       {PointKind::Allocation, PointKind::Free},
       {kKind, kName, kTime, kAddress, kBytes, kMemory, kArgs}},
      {"flows",
       "the points of arrows between ranges",
       {PointKind::FlowBegin, PointKind::FlowStep, PointKind::FlowEnd},
       {kKind, kName, kCategory, kTime, kFlowId}},
  };
  return all;
}

class PointScan : public Scan {
 public:
  PointScan(const PointTable& table, LoadedTraces& traces, const std::vector<bool>& wanted)
      : table_(table),
        traces_(traces),
        chunks_(traces, [](const trace::EventChunk& chunk) { return chunk.point_count != 0; }) {
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (!wanted[i]) continue;
      wants_names_ |= table.columns[i].shows == Shows::Name;
      switch (table.columns[i].shows) {
        case Shows::FullName:
        case Shows::Value:
        case Shows::Bytes:
        case Shows::Memory:
        case Shows::Args:
          wants_values_ = true;
          break;
        default:
          break;
      }
    }
  }
  std::unique_ptr<Cursor> cursor() override;

 private:
  friend class PointCursor;
  const PointTable& table_;
  LoadedTraces& traces_;
  ChunkQueue chunks_;
  bool wants_names_ = false, wants_values_ = false;
};

class PointCursor : public Cursor {
 public:
  explicit PointCursor(PointScan& scan) : scan_(scan) {}

  size_t next(Output& output) override {
    while (position_ == rows_.size())
      if (!load()) return 0;
    const size_t count = std::min(rows_.size() - position_, output.capacity());
    for (size_t column = 0; column < scan_.table_.columns.size(); ++column)
      if (output.wants(column)) write(output, column, scan_.table_.columns[column].shows, count);
    fill_track(output, scan_.table_.columns.size(), 0, count, *track_);
    position_ += count;
    return count;
  }

 private:
  bool load() {
    position_ = 0;
    rows_.clear();
    const auto at = scan_.chunks_.take();
    if (!at) return false;
    const trace::EventChunk& chunk = at->chunk();
    at_ = *at;
    track_ = at->trace->find(chunk);
    if (track_ == nullptr) return true;  // the reader has reported it
    has_inline_names_ = scan_.wants_names_ && at->trace->has_inline_names[at->index];
    const bool values = scan_.wants_values_ || has_inline_names_;
    try {
      at->trace->reader.read(chunk, batch_, trace::kPoints | (values ? trace::kPointValues : 0u));
    } catch (const Error& error) {
      scan_.traces_.add_problem(*at->trace, chunk, error.what());
      return true;
    }
    const trace::Points& points = batch_.points;
    if (values) texts_.load(*track_->place->writer, points.values, points.class_id);
    const std::vector<PointKind>& kinds = scan_.table_.kinds;
    for (uint32_t i = 0; i < points.size(); ++i) {
      const bool is_shown = kinds.empty() || std::find(kinds.begin(), kinds.end(), points.kind[i]) != kinds.end();
      if (is_shown && !track_->classes->find(points.class_id[i]).is_definition) rows_.push_back(i);
    }
    return true;
  }

  void write(Output& output, size_t column, Shows shows, size_t count) {
    const trace::Points& points = batch_.points;
    const uint32_t* const rows = rows_.data() + position_;
    const ClassNumbers& classes = *track_->classes;
    switch (shows) {
      case Shows::Kind:
        return output.set_enums(column, 0, count, [&](size_t i) { return kind_number(points.kind[rows[i]]); });
      case Shows::Category:
        return output.set_enums(column, 0, count,
                                [&](size_t i) { return classes.find(points.class_id[rows[i]]).category; });
      case Shows::Name:
        if (!has_inline_names_)
          return output.set_enums(column, 0, count,
                                  [&](size_t i) { return classes.find(points.class_id[rows[i]]).name; });
        break;
      case Shows::Time:
        for (size_t i = 0; i < count; ++i)
          output.values<int64_t>(column)[i] = track_->clock->to_realtime_ns(points.time[rows[i]]);
        return;
      case Shows::Address:
        for (size_t i = 0; i < count; ++i) output.values<uint64_t>(column)[i] = points.id[rows[i]];
        return;
      case Shows::Id:
        for (size_t i = 0; i < count; ++i) {
          output.values<uint64_t>(column)[i] = points.id[rows[i]];
          if (points.id[rows[i]] == 0) output.set_null(column, i);
        }
        return;
      case Shows::Function:
      case Shows::Stack:
        for (size_t i = 0; i < count; ++i) {
          const SampleFunctions::Names* const names = at_.trace->sample_functions().find(at_.index, rows[i]);
          if (names == nullptr)
            output.set_null(column, i);
          else
            output.set_text(column, i, shows == Shows::Stack ? names->stack : names->function);
        }
        return;
      default:
        break;
    }
    for (size_t i = 0; i < count; ++i) write_value(output, column, shows, i, rows[i]);
  }

  // What depends on the values of the event.
  void write_value(Output& output, size_t column, Shows shows, size_t row, uint32_t event) {
    convert::Point point;
    texts_.describe(event, *track_->place, point);
    point.kind = batch_.points.kind[event];
    point.id = batch_.points.id[event];
    switch (shows) {
      case Shows::Name:
        return output.set_enum(column, row, name_number(point, scan_.traces_));
      case Shows::FullName:
        return output.set_text(column, row, base::readable_text(point.name));
      case Shows::Args:
        return output.set_text(column, row, texts_.args(point));
      case Shows::Value:
        if (point.values.empty()) return output.set_null(column, row);
        output.values<double>(column)[row] = point.values.front().number();
        return;
      case Shows::Bytes:
        output.values<uint64_t>(column)[row] = fields(*point.event_class).bytes(point.values);
        return;
      case Shows::Memory:
        return output.set_text(column, row, base::readable_text(fields(*point.event_class).device(point.values)));
      default:
        return;
    }
  }

  const memory::PointFields& fields(const convert::ClassInfo& info) {
    return fields_.try_emplace(&info, info.event_class).first->second;
  }

  PointScan& scan_;
  ChunkQueue::Item at_{};
  const TrackInfo* track_ = nullptr;
  trace::EventBatch batch_;
  std::vector<uint32_t> rows_;  // the points of the chunk that belong to the table
  size_t position_ = 0;
  bool has_inline_names_ = false;
  EventTexts texts_;
  std::unordered_map<const convert::ClassInfo*, memory::PointFields> fields_;
};

std::unique_ptr<Cursor> PointScan::cursor() { return std::make_unique<PointCursor>(*this); }

uint64_t count_points(const LoadedTraces& traces) {
  uint64_t count = 0;
  for (const LoadedTrace& trace : traces.all())
    for (const trace::EventChunk& chunk : trace.reader.event_chunks()) count += chunk.point_count;
  return count;
}

std::unique_ptr<Scan> scan_points(const Table& table, LoadedTraces& traces, const std::vector<bool>& wanted) {
  const auto& all = descriptions();
  const auto description =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == table.name; });
  return std::make_unique<PointScan>(*description, traces, wanted);
}

}  // namespace

const std::vector<std::string>& point_kinds() {
  static const std::vector<std::string> sorted = [] {
    std::vector<std::string> names;
    for (const std::string_view name : std::span(trace::kPointKindNames).subspan(1)) names.emplace_back(name);
    std::sort(names.begin(), names.end());
    return names;
  }();
  return sorted;
}

std::vector<Table> point_tables() {
  std::vector<Table> tables;
  for (const PointTable& description : descriptions()) {
    Table table{.name = description.name,
                .help = description.help,
                .columns = {},
                .scan = scan_points,
                .estimate = count_points,
                .max_threads = 0};
    for (const PointColumn& column : description.columns) table.columns.push_back(column.column);
    table.columns.insert(table.columns.end(), std::begin(kTrackColumns), std::end(kTrackColumns));
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace kymo::query
