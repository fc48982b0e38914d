#include "commands/view/view_query.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "commands/read/query.h"
#include "query/duckdb.h"
#include "query/schema.h"
#include "query/session.h"

namespace kymo::cli {
namespace {

using namespace std::chrono_literals;
using Json = base::JsonWriter;

constexpr auto kLongest = 30s;
constexpr auto kWaitForOther = 2s;  // a statement that the page has cancelled ends in this time
constexpr size_t kMaxRows = 500, kMaxBytes = 4 << 20, kMaxCellBytes = 4096;
constexpr uint64_t kMemory = uint64_t{512} << 20;

// Interrupts a session while `stop` says so: an interrupt that comes before a statement starts has no effect.
class Interrupter {
 public:
  Interrupter(query::Session& session, const serve::IsGone& stop)
      : thread_([this, &session, &stop] {
          for (; !ended_; std::this_thread::sleep_for(20ms))
            if (stop()) session.interrupt();
        }) {}
  ~Interrupter() {
    ended_ = true;
    thread_.join();
  }
  Interrupter(const Interrupter&) = delete;
  Interrupter& operator=(const Interrupter&) = delete;

 private:
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

std::optional<int64_t> number_in(const std::string& cell) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (error != std::errc{} || end != cell.data() + cell.size()) return {};
  return number;
}

// Where rows are on the timeline: on the track of the column "track", at the time of the columns that have one.
class Places {
 public:
  Places(serve::View& view, const query::Session& session, const std::vector<query::Result::ColumnInfo>& columns)
      : view_(view) {
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::string& name = columns[i].name;
      const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
      if (columns[i].kind != query::CellKind::Number) continue;
      if (name == "track") track_ = i;
      // Also min(start_ns), and arg_max(start_ns, duration_ns).
      if (!from_ && (has("start_ns") || has("time_ns") || has("first_ns"))) from_ = i;
      if (name == "end_ns" || name == "last_ns") to_ = i;
      if (name == "duration_ns") length_ = i;
    }
    const serve::View::Lock lock = view.lock();
    const auto& traces = session.traces().front()->all();
    for (uint32_t file = 0; file < traces.size(); ++file)
      for (const auto& [key, track] : traces[file].tracks)
        if (const auto position = view.sources()[file]->find_track(key.first, key.second))
          tracks_[track.number] = {file, *position};
  }

  void write(Json& json, const std::vector<std::string>& cells) const {
    const auto cell = [&](std::optional<size_t> column) {
      return column ? number_in(cells[*column]) : std::optional<int64_t>();
    };
    const auto from = cell(from_), track = cell(track_);
    if (!from || (!track && view_.sources().size() != 1)) return;
    Place place;
    if (track) {
      const auto found = tracks_.find(static_cast<uint64_t>(*track));
      if (found == tracks_.end()) return;
      place = found->second;
    }
    const serve::View::Lock lock = view_.lock();
    const serve::Source& source = *view_.sources()[place.file];
    const int64_t start = *from - source.start_realtime_ns();
    if (start < 0 || start > source.duration_ns()) return;  // it is not a time, although its name says so
    const auto to = cell(to_), length = cell(length_);
    const int64_t end = std::clamp(to ? *to - source.start_realtime_ns() : start + length.value_or(0), start,
                                   std::max(start, source.duration_ns()));
    if (track) json.field("track", view_.track_id(place.file, place.position));
    json.field("start_ns", start);
    json.field("end_ns", end);
  }

 private:
  struct Place {
    uint32_t file = 0;
    size_t position = 0;
  };
  serve::View& view_;
  std::optional<size_t> track_, from_, to_, length_;
  std::map<uint64_t, Place> tracks_;  // by the number of SQL
};

std::string tables_json() {
  Json json(Json::Layout::OneLine);
  json.begin_object();
  if (const std::string problem = query::duckdb_problem(); !problem.empty()) {
    json.field("problem", problem);
  } else {
    json.field("schema", query::schema_text());
    json.objects("examples", query::examples(), [&](const query::Example& example) {
      json.field("question", example.question);
      json.field("sql", example.sql);
    });
  }
  json.end_object();
  return json.text();
}

std::string rows_json(query::Result& result, const Places& places) {
  Json json(Json::Layout::OneLine);
  json.begin_object();
  json.objects("columns", result.columns(), [&](const query::Result::ColumnInfo& column) {
    json.field("name", column.name);
    json.field("is_number", column.kind == query::CellKind::Number);
  });
  json.begin_array("rows");
  size_t bytes = 0;
  const bool has_more = each_row(result, kMaxRows, [&](std::vector<std::string> cells) {
    if (bytes > kMaxBytes) return;
    json.object([&] {
      places.write(json, cells);
      for (std::string& cell : cells) {
        cell = base::shorten(cell, kMaxCellBytes);
        bytes += cell.size();
      }
      json.values("cells", cells);
    });
  });
  json.end_array();
  json.field("complete", !has_more && bytes <= kMaxBytes);
  json.end_object();
  return json.text();
}

}  // namespace

std::string ViewQuery::answer(const std::string& statements, const serve::IsGone& is_gone) {
  if (statements.empty()) return tables_json();
  const auto end = std::chrono::steady_clock::now() + kLongest;
  const std::unique_lock alone(running_, kWaitForOther);
  if (!alone) throw serve::BadRequest("another statement is still running; try again when it has ended", 422);
  const auto is_late = [end] { return std::chrono::steady_clock::now() > end; };
  const serve::IsGone stop = [&] { return is_late() || is_gone(); };
  try {
    query::SessionOptions options;
    options.memory_limit = kMemory;
    {
      const serve::View::Lock lock = view_.lock();
      for (const auto& source : view_.sources()) options.files.push_back(source->reader().path());
    }
    // The session opens its files first, in their order; whatever SQL names later is another file.
    uint32_t next = 0;
    options.open = [&, count = options.files.size()](const std::string&) {
      if (next < count) return reopen_(next++, stop);
      throw Error("the page reads only the traces that it shows: FROM ranges WHERE file = '...'");
    };
    query::Session session(std::move(options));
    const Interrupter interrupter(session, stop);
    std::string answer = "{\"columns\": [], \"rows\": [], \"complete\": true}\n";
    for (const std::string& statement : query::split_statements(statements)) {
      query::Result result = session.run(statement);
      if (!result.columns().empty()) answer = rows_json(result, Places(view_, session, result.columns()));
    }
    return answer;
  } catch (const std::exception& error) {
    if (is_gone()) throw serve::Abandoned();
    if (is_late())
      throw serve::BadRequest(
          base::format("the statement was ended after {} s: kymo query has no limit", kLongest.count()), 422);
    if (dynamic_cast<const query::QueryError*>(&error) != nullptr) throw serve::BadRequest(error.what());
    throw;
  }
}

}  // namespace kymo::cli
