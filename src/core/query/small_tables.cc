#include <algorithm>
#include <set>
#include <variant>

#include "analyze/summary.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "query/table.h"
#include "trace/loss_words.h"

namespace kymo::query {
namespace {

using Cell = std::variant<std::monostate, uint64_t, int64_t, std::string>;  // the first is NULL
using Row = std::vector<Cell>;

class SmallScan : public Scan {
 public:
  SmallScan(const std::vector<Column>& columns, std::vector<Row> rows, const LoadedTraces& traces)
      : columns_(columns), rows_(std::move(rows)), traces_(traces) {}

  std::unique_ptr<Cursor> cursor() override { return std::make_unique<SmallCursor>(*this); }

 private:
  class SmallCursor : public Cursor {
   public:
    explicit SmallCursor(SmallScan& scan) : scan_(scan) {}
    size_t next(Output& output) override { return scan_.next(output); }

   private:
    SmallScan& scan_;
  };

  size_t next(Output& output) {  // DuckDB uses one thread for these
    const size_t count = std::min(output.capacity(), rows_.size() - position_);
    for (size_t row = 0; row < count; ++row)
      for (size_t column = 0; column < columns_.size(); ++column)
        if (output.wants(column)) write(output, column, row, rows_[position_ + row][column]);
    position_ += count;
    return count;
  }

  void write(Output& output, size_t column, size_t row, const Cell& cell) const {
    if (const auto* text = std::get_if<std::string>(&cell)) {
      if (columns_[column].type == ColumnType::Name)
        output.set_enum(column, row, traces_.names.find(*text));
      else
        output.set_text(column, row, base::readable_text(*text));
    } else if (const auto* number = std::get_if<uint64_t>(&cell)) {
      output.values<uint64_t>(column)[row] = *number;
    } else if (const auto* signed_number = std::get_if<int64_t>(&cell)) {
      output.values<int64_t>(column)[row] = *signed_number;
    } else {
      output.set_null(column, row);
    }
  }

  const std::vector<Column>& columns_;
  const std::vector<Row> rows_;
  const LoadedTraces& traces_;
  size_t position_ = 0;
};

template <std::vector<Row> (*make)(const LoadedTraces&)>
std::unique_ptr<Scan> scan_rows(const Table& table, LoadedTraces& traces, const std::vector<bool>&) {
  return std::make_unique<SmallScan>(table.columns, make(traces), traces);
}

Cell time_cell(int64_t ns) { return ns == 0 ? Cell() : Cell(ns); }
Cell text_cell(std::string text) { return text.empty() ? Cell() : Cell(std::move(text)); }

std::string_view kind_text(trace::TrackKind kind) {
  switch (kind) {
    case trace::TrackKind::DeviceQueue:
      return "queue";
    case trace::TrackKind::Process:
      return "process";
    default:
      return "thread";
  }
}

std::string process_name(const LoadedTraces& traces, const TrackInfo& track) {
  return track.process == Dictionary::kNull ? std::string() : traces.processes.texts()[track.process];
}

// Calls visit(trace, process, track of the summary, track of the trace) for each.
template <typename Visit>
void for_each_track(const LoadedTraces& traces, Visit&& visit) {
  for (const LoadedTrace& trace : traces.all()) {
    const analyze::Summary summary = analyze::summarise(trace.reader);
    for (const analyze::ProcessSummary& process : summary.processes) {
      for (const analyze::TrackSummary& track : process.tracks) {
        const auto found = trace.tracks.find({process.writer, track.id});
        if (found != trace.tracks.end()) visit(trace, process, track, found->second);
      }
    }
  }
}

std::vector<Row> make_threads(const LoadedTraces& traces) {
  std::vector<Row> rows;
  for_each_track(traces, [&](const auto& trace, const auto& process, const auto& track, const TrackInfo& info) {
    const bool on_device = info.on_device();
    rows.push_back({uint64_t{info.number}, info.place->name, std::string(kind_text(track.kind)),
                    process_name(traces, info), process.origin.pid, on_device ? Cell() : Cell(track.tid),
                    on_device ? Cell(info.place->group->name) : Cell(), on_device ? Cell(track.context) : Cell(),
                    on_device ? Cell(track.queue) : Cell(), track.ranges, track.points,
                    time_cell(track.first_realtime_ns), time_cell(track.last_realtime_ns), track.cost_ns,
                    track.blocked_ns, trace.path});
  });
  return rows;
}

std::vector<Row> make_devices(const LoadedTraces& traces) {
  struct Device {
    std::string uuid, file;
    std::set<std::pair<uint64_t, uint64_t>> queues;
    uint64_t ranges = 0;
    int64_t first_ns = 0, last_ns = 0;
  };
  std::map<std::pair<std::string, std::string>, Device> devices;  // by file and name
  for_each_track(traces, [&](const auto& trace, const auto&, const auto& track, const TrackInfo& info) {
    if (!info.on_device()) return;
    Device& device = devices[{trace.path, info.place->group->name}];
    device.uuid = track.device_uuid;
    device.file = trace.path;
    device.queues.insert({track.context, track.queue});
    device.ranges += track.ranges;
    if (track.first_realtime_ns == 0) return;
    device.first_ns =
        device.first_ns == 0 ? track.first_realtime_ns : std::min(device.first_ns, track.first_realtime_ns);
    device.last_ns = std::max(device.last_ns, track.last_realtime_ns);
  });
  std::vector<Row> rows;
  for (const auto& [key, device] : devices)
    rows.push_back({key.second, text_cell(device.uuid), uint64_t{device.queues.size()}, device.ranges,
                    time_cell(device.first_ns), time_cell(device.last_ns), device.file});
  return rows;
}

std::vector<Row> make_processes(const LoadedTraces& traces) {
  std::vector<Row> rows;
  for (const LoadedTrace& trace : traces.all()) {
    std::map<trace::WriterId, std::string> names;
    for (const auto& [key, track] : trace.tracks) names[key.first] = process_name(traces, track);
    const analyze::Summary summary = analyze::summarise(trace.reader);
    for (const analyze::ProcessSummary& process : summary.processes) {
      const trace::Origin& origin = process.origin;
      base::TextBuffer text;
      base::JsonObject metadata(text);
      for (const auto& [key, value] : origin.metadata)
        append_json_string(metadata.escaped_key(base::json_string(key) + ":"), value);
      metadata.close();
      rows.push_back({names[process.writer], origin.pid, origin.parent_pid, text_cell(origin.host),
                      text_cell(origin.executable), text_cell(base::join(origin.command_line, " ")),
                      time_cell(static_cast<int64_t>(origin.start_realtime_ns)), text_cell(origin.session),
                      text_cell(origin.kymo_version), text.string(), process.ranges, process.points, process.cost_ns,
                      process.blocked_ns, trace.path});
    }
  }
  return rows;
}

std::vector<Row> make_losses(const LoadedTraces& traces) {
  std::vector<Row> rows;
  for (const LoadedTrace& trace : traces.all()) {
    const analyze::Summary summary = analyze::summarise(trace.reader);
    for (const analyze::LossSummary& loss : summary.losses)
      rows.push_back({std::string(trace::loss_words(loss.cause).key), loss.count, loss.pid, text_cell(loss.track),
                      time_cell(loss.first_realtime_ns), time_cell(loss.last_realtime_ns), text_cell(loss.detail),
                      trace.path});
  }
  return rows;
}

std::vector<Row> make_names(const LoadedTraces& traces) {
  std::vector<Row> rows;
  for (const std::string& name : traces.names.texts())
    if (!name.empty() && name != kUnknownClass && name != kOtherNames) rows.push_back({name});
  return rows;
}

constexpr Column kFile{"file", ColumnType::Text, "the file of the trace"};
constexpr Column kFirst{"first_ns", ColumnType::Int64, "time of its first event"};
constexpr Column kLast{"last_ns", ColumnType::Int64, "time of its last event"};
constexpr Column kRanges{"ranges", ColumnType::UInt64, "number of ended ranges"};
constexpr Column kPoints{"points", ColumnType::UInt64, "number of other records"};
constexpr Column kCost{"cost_ns", ColumnType::UInt64, "measured cost of recording"};
constexpr Column kBlocked{"blocked_ns", ColumnType::UInt64, "time in which the program waited for the collector"};

uint64_t a_few(const LoadedTraces&) { return 100; }
uint64_t count_names(const LoadedTraces& traces) { return traces.names.texts().size(); }

}  // namespace

std::vector<Table> small_tables() {
  using enum ColumnType;
  return {
      {"threads",
       "the threads of programs and the queues of devices",
       {{"track", UInt64, "its number in all tables"},
        {"name", Text, ""},
        {"kind", Text, "thread, queue or process"},
        {"process", Text, "the name of the program"},
        {"pid", UInt64, ""},
        {"tid", UInt64, "NULL for a queue"},
        {"device", Text, "of a queue"},
        {"context", UInt64, "of a queue"},
        {"queue", UInt64, "the number of a queue"},
        kRanges,
        kPoints,
        kFirst,
        kLast,
        kCost,
        kBlocked,
        kFile},
       scan_rows<make_threads>,
       a_few,
       1},
      {"devices",
       "the devices with recorded work",
       {{"device", Text, "its name in all tables"},
        {"uuid", Text, ""},
        {"queues", UInt64, "number of queues"},
        kRanges,
        kFirst,
        kLast,
        kFile},
       scan_rows<make_devices>,
       a_few,
       1},
      {"processes",
       "the recorded processes",
       {{"name", Text, "of the program"},
        {"pid", UInt64, ""},
        {"parent_pid", UInt64, ""},
        {"host", Text, ""},
        {"executable", Text, ""},
        {"command_line", Text, ""},
        {"start_ns", Int64, "nanoseconds since 1970"},
        {"session", Text, "the same for all processes of one recording"},
        {"kymo_version", Text, ""},
        {"metadata", Text, "JSON: metadata->>'RANK'"},
        kRanges,
        kPoints,
        kCost,
        kBlocked,
        kFile},
       scan_rows<make_processes>,
       a_few,
       1},
      {"losses",
       "what is missing in the trace",
       {{"cause", Text, "as in kymo info --json: ring_full, ..."},
        {"count", UInt64, "number of lost events; bytes if the file was truncated"},
        {"pid", UInt64, ""},
        {"thread", Text, "NULL if not of one thread"},
        {"first_ns", Int64, "NULL if unknown"},
        {"last_ns", Int64, "NULL if unknown"},
        {"detail", Text, ""},
        kFile},
       scan_rows<make_losses>,
       a_few,
       1},
      {"names",
       "all names of ranges and events, to select many of them quickly",
       {{"name", Name, "the same type as ranges.name"}},
       scan_rows<make_names>,
       count_names,
       1},
  };
}

}  // namespace kymo::query
