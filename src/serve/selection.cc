// api/selection: statistics and flame graph of a part of a file.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "analyze/stats.h"
#include "analyze/views/paths.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "convert/copy.h"
#include "serve/api.h"
#include "serve/selection_items.h"
#include "trace/writer.h"

namespace kymo::serve {

namespace {

using Json = base::JsonWriter;
constexpr size_t kMaxFrames = 20'000, kMaxRows = 10'000;

// A file that exists as long as this object.
class TemporaryFile {
 public:
  TemporaryFile() : path_((std::filesystem::temp_directory_path() / "kymo-view-XXXXXX").string()) {
    const base::FileDescriptor made(::mkostemp(path_.data(), O_CLOEXEC));
    if (!made) throw base::file_error("write", path_, errno);
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void write_statistics(Json& json, const analyze::Statistics& statistics) {
  json.begin_array("ranges");
  for (size_t i = 0; i < std::min(statistics.ranges.size(), kMaxRows); ++i) {
    const analyze::RangeRow& row = statistics.ranges[i];
    json.begin_object();
    json.field("name", row.name);
    json.field("category", row.category);
    json.field("on_device", row.on_device);
    json.field("across_threads", row.across_threads);
    json.field("unfinished", row.unfinished);
    json.field("count", row.count);
    json.field("total_ns", row.total_ns);
    json.field("self_ns", row.self_ns);
    if (!row.unfinished) {
      json.field("min_ns", row.min_ns);
      json.field("median_ns", row.median_ns);
      json.field("p99_ns", row.p99_ns);
      json.field("max_ns", row.max_ns);
    }
    json.end_object();
  }
  json.end_array();
  json.begin_array("instants");
  for (const analyze::InstantRow& row : statistics.instants) {
    json.begin_object();
    json.field("name", row.name);
    json.field("count", row.count);
    json.end_object();
  }
  json.end_array();
  json.begin_array("counters");
  for (const analyze::CounterRow& row : statistics.counters) {
    json.begin_object();
    json.field("name", row.name);
    json.field("count", row.count);
    json.field("min", row.min);
    json.field("max", row.max);
    json.field("last", row.last);
    json.field("mean", row.mean);
    json.end_object();
  }
  json.end_array();
}

const char* kind_name(views::FrameKind kind) {
  switch (kind) {
    case views::FrameKind::All:
      return "all";
    case views::FrameKind::Process:
      return "process";
    case views::FrameKind::Track:
      return "track";
    case views::FrameKind::Work:
      return "work";
    case views::FrameKind::Unfinished:
      return "unfinished";
    case views::FrameKind::Function:
      return "function";
    case views::FrameKind::Range:
      break;
  }
  return "range";
}

// A frame is at most as long as the frame around it, so the longest frames are a tree.
void write_flame(Json& json, const views::Paths& paths) {
  uint64_t shortest = 0;
  if (paths.frames.size() > kMaxFrames) {
    std::vector<uint64_t> times;
    for (const views::PathFrame& frame : paths.frames) times.push_back(frame.total_ns);
    std::nth_element(times.begin(), times.begin() + kMaxFrames, times.end(), std::greater<>());
    shortest = times[kMaxFrames] + 1;
  }
  json.begin_array("flame");
  for (const views::PathFrame& frame : paths.frames) {
    if (frame.total_ns < shortest) continue;
    json.begin_object();
    json.field("name", frame.name);
    json.field("kind", kind_name(frame.kind));
    json.field("depth", frame.depth);
    json.field("count", frame.count);
    json.field("total_ns", frame.total_ns);
    json.field("self_ns", frame.self_ns);
    json.end_object();
  }
  json.end_array();
}

struct Chosen {
  uint32_t file = 0;
  std::set<std::pair<trace::WriterId, uint32_t>> tracks;  // empty: all
  std::map<trace::WriterId, trace::Window> windows;
  std::vector<std::shared_ptr<const DerivedTrack>> derived;  // of ranges; they are used if there are no `tracks`
};

Chosen choose(View& view, int64_t from, int64_t to, const std::vector<uint32_t>& ids) {
  const View::Lock lock = view.lock();
  Chosen chosen;
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::optional<TrackRef> ref = view.find_track(ids[i]);
    if (!ref) throw BadRequest(base::format("tracks: there is no track {}", ids[i]), 404);
    if (i == 0) chosen.file = ref->file;
    if (ref->file != chosen.file) throw BadRequest("tracks: all tracks of a selection must be of one file");
    if (ref->kind == TrackRef::Kind::Derived) {
      const auto derived = view.derived(ref->position);
      if (derived->kind != DerivedTrack::Kind::Memory) chosen.derived.push_back(derived);
    }
    if (ref->kind != TrackRef::Kind::Track) continue;
    const SourceTrack& track = view.sources()[ref->file]->tracks()[ref->position];
    chosen.tracks.insert({track.writer, track.track});
  }
  if (!ids.empty() && chosen.tracks.empty() && chosen.derived.empty())
    throw BadRequest("tracks: a selection needs a track with ranges");
  if (chosen.file < view.sources().size()) chosen.windows = view.sources()[chosen.file]->between(from, to);
  return chosen;
}

}  // namespace

std::string selection_json(View& view, const Analyses& analyses, const Query& query, const IsGone& is_gone) {
  constexpr uint64_t kLatest = INT64_MAX / 2;
  const int64_t from = static_cast<int64_t>(query.number("from", kLatest));
  const int64_t to = static_cast<int64_t>(query.number("to", kLatest));
  if (from >= to) throw BadRequest(base::format("from: {} is not before {}", from, to));
  const std::vector<uint32_t> ids = query.numbers("tracks", UINT32_MAX, 100'000);
  const Chosen chosen = choose(view, from, to, ids);
  Json json(Json::Layout::OneLine);
  json.begin_object();
  json.field("from_ns", from);
  json.field("to_ns", to);
  json.field("file", chosen.file);
  if (chosen.tracks.empty() && !chosen.derived.empty()) {
    const ItemTotals totals = total_items(chosen.derived, view.names(), from, to);
    write_statistics(json, totals.statistics);
    write_flame(json, totals.paths);
    json.end_object();
    return json.text();
  }
  if (!analyses.reopen) throw BadRequest("this viewer cannot read its files again", 404);
  trace::Reader reader = analyses.reopen(chosen.file, is_gone);
  reader.narrow(chosen.windows);
  if (!chosen.tracks.empty()) {
    const TemporaryFile part;
    trace::Writer writer(part.path(), trace::Writer::Mode::Append, part.path());
    convert::copy_trace(reader, convert::TrackChoice(chosen.tracks), writer);
    writer.close();
    reader = trace::Reader(part.path());  // it keeps the file open
  }
  write_statistics(json, analyze::compute_statistics(reader));
  write_flame(json, views::collect_paths(reader));
  json.end_object();
  return json.text();
}

}  // namespace kymo::serve
