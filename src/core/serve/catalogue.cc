// api/trace, api/names and api/live.

#include <algorithm>

#include "analyze/memory/sample_stacks.h"
#include "base/json_writer.h"
#include "base/version.h"
#include "serve/api.h"

namespace kymo::serve {

namespace {

using Json = base::JsonWriter;

void write_files(Json& json, View& view) {
  json.begin_array("files");
  const std::vector<std::string> troubles = view.troubles();
  for (size_t file = 0; file < view.sources().size(); ++file) {
    const auto& source = view.sources()[file];
    uint64_t events = 0;
    for (const trace::EventChunk& chunk : source->reader().event_chunks())
      events += uint64_t{chunk.range_count} + chunk.point_count;
    json.begin_object();
    json.field("name", source->reader().path());
    json.field("duration_ns", source->duration_ns());
    json.field("wall_clock_ns", std::to_string(source->start_realtime_ns()));
    json.field("events", events);
    json.field("bytes", source->reader().file_size());
    json.field("clock_error_ns", source->clock_error_ns());
    if (!troubles[file].empty()) json.field("trouble", troubles[file]);
    json.begin_array("problems");
    const std::vector<trace::Problem>& problems = source->reader().problems();
    for (size_t i = 0; i < std::min(problems.size(), View::kMaxProblems); ++i) json.value(problems[i].what);
    for (const trace::Problem& problem : view.problems(static_cast<uint32_t>(file))) json.value(problem.what);
    json.end_array();
    json.end_object();
  }
  json.end_array();
}

// The number of the first process of each file. The distance leaves room for the processes of files that grow.
std::vector<uint32_t> first_processes(View& view) {
  constexpr uint32_t kDistance = 1'000'000;
  std::vector<uint32_t> first;
  for (uint32_t file = 0; file < view.sources().size(); ++file) first.push_back(file * kDistance);
  return first;
}

void write_processes(Json& json, View& view, const std::vector<uint32_t>& first) {
  json.begin_array("processes");
  for (uint32_t file = 0; file < view.sources().size(); ++file) {
    const std::vector<SourceGroup>& groups = view.sources()[file]->groups();
    for (uint32_t i = 0; i < groups.size(); ++i) {
      json.begin_object();
      json.field("id", first[file] + i);
      json.field("file", file);
      json.field("pid", groups[i].pid);
      json.field("name", groups[i].name);
      json.field("label", groups[i].label);
      json.field("host", groups[i].host);
      json.field("device", groups[i].is_device);
      json.end_object();
    }
  }
  json.end_array();
}

// The samples of a thread that also has ranges are below these ranges: the position of their track. Otherwise its own.
size_t shown_below(const Source& source, size_t track) {
  const auto writer = source.reader().writers().find(source.tracks()[track].writer);
  const bool is_sampled = writer != source.reader().writers().end() && memory::SampleStacks::are_in(writer->second);
  return is_sampled ? source.main_track(track) : track;
}

std::string thread_name(const SourceTrack& track) { return track.name.empty() ? "thread" : track.name; }

void write_tracks(Json& json, View& view, const std::vector<uint32_t>& first) {
  json.begin_array("tracks");
  for (uint32_t file = 0; file < view.sources().size(); ++file) {
    const std::deque<SourceTrack>& tracks = view.sources()[file]->tracks();
    for (size_t i = 0; i < tracks.size(); ++i) {
      const SourceTrack& track = tracks[i];
      const std::vector<Item> unfinished = view.unfinished(file, i);
      if (track.ranges + track.points == 0 && unfinished.empty()) continue;
      int64_t start = track.start_ns, end = track.end_ns;
      for (const Item& item : unfinished) {
        start = std::min(start, item.start);
        end = std::max(end, item.end);
      }
      json.begin_object();
      json.field("id", view.track_id(file, i));
      json.field("file", file);
      json.field("process", first[file] + track.group);
      json.field("kind", track.is_queue ? "queue" : "thread");
      const size_t below = shown_below(*view.sources()[file], i);
      json.field("name", below == i ? track.name : thread_name(tracks[below]) + ": samples");
      if (below != i) json.field("thread", view.track_id(file, below));
      json.field("tid", track.tid);
      json.field("device", track.device);
      json.field("rows", std::max<size_t>(track.rows, unfinished.size()));
      json.field("ranges", track.ranges + unfinished.size());
      json.field("points", track.points);
      json.field("start_ns", start);
      json.field("end_ns", end);
      json.end_object();
    }
  }
  for (const Counter& counter : view.counters()) {
    if (counter.chunks.empty()) continue;
    json.begin_object();
    json.field("id", counter.id);
    json.field("file", counter.file);
    json.field("process", first[counter.file] + counter.group);
    json.field("kind", "counter");
    json.field("name", counter.name);
    json.field("unit", "");
    json.field("values", counter.values);
    json.end_object();
  }
  for (const auto& track : view.derived()) {
    const bool is_memory = track->kind == DerivedTrack::Kind::Memory;
    json.begin_object();
    json.field("id", track->id);
    json.field("file", track->file);
    json.field("process", first[track->file] + track->group);
    const bool is_functions = track->kind == DerivedTrack::Kind::Functions;
    json.field("kind", is_memory ? "memory" : is_functions ? "functions" : "across");
    const Source& source = *view.sources()[track->file];
    const size_t below = is_functions ? shown_below(source, track->of_track) : 0;
    json.field("name", is_functions ? thread_name(source.tracks()[below]) + ": functions" : track->name);
    if (is_memory) {
      json.field("unit", "bytes");
      json.field("values", track->values.size());
    } else {
      uint32_t rows = 0;
      for (const Item& item : track->items) rows = std::max({rows, item.lane + 1u, item.depth + 1u});
      json.field("rows", rows);
      json.field("ranges", track->items.size());
      if (is_functions) {
        json.field("thread", view.track_id(track->file, below));
        json.field("shared", track->shared);
      }
      json.field("left_out", track->left_out);
    }
    json.end_object();
  }
  json.end_array();
}

void write_losses(Json& json, View& view, const std::vector<uint32_t>& first) {
  json.begin_array("losses");
  for (uint32_t file = 0; file < view.sources().size(); ++file) {
    for (const SourceLoss& loss : view.sources()[file]->losses()) {
      json.begin_object();
      json.field("file", file);
      json.field("process", first[file] + loss.group);
      if (loss.track) json.field("track", view.track_id(file, *loss.track));
      json.field("cause", loss.key);
      json.field("text", loss.text);
      json.field("count", loss.count);
      if (loss.time) {
        json.field("from_ns", loss.time->first);
        json.field("to_ns", loss.time->second);
      }
      json.end_object();
    }
  }
  json.end_array();
}

bool is_live(View& view) {
  return std::any_of(view.sources().begin(), view.sources().end(),
                     [](const auto& source) { return source->reader().is_being_written(); });
}

}  // namespace

std::string trace_json(View& view) {
  const View::Busy busy(view);
  const View::Lock lock = view.lock();
  Json json(Json::Layout::OneLine);
  json.begin_object();
  json.field("kymo", base::kVersion);
  json.field("names_version", view.names().size());
  json.field("tracks_version", view.version());
  json.field("live", is_live(view));
  json.field("scanned", view.is_scanned());
  const std::vector<uint32_t> first = first_processes(view);
  write_files(json, view);
  write_processes(json, view, first);
  write_tracks(json, view, first);
  write_losses(json, view, first);
  json.begin_array("left_out");
  for (const std::string& reason : view.left_out()) json.value(reason);
  json.end_array();
  json.end_object();
  return json.text();
}

namespace {

std::string some_names_json(View& view, uint32_t from, size_t most) {
  const std::vector<NameTable::Entry> entries = view.names().entries(from, most);
  Json json(Json::Layout::OneLine);
  json.begin_object();
  json.field("version", view.names().size());
  json.field("from", from);
  json.begin_array("names");
  for (const NameTable::Entry& entry : entries) json.value(entry.text);
  json.end_array();
  json.begin_array("bases");
  for (const NameTable::Entry& entry : entries) json.value(entry.base);
  json.end_array();
  json.begin_array("categories");
  for (const NameTable::Entry& entry : entries) json.value(entry.category);
  json.end_array();
  json.end_object();
  return json.text();
}

}  // namespace

std::string names_json(View& view, const Query& query) {
  constexpr size_t kMaxNames = 65'536;
  return some_names_json(view, static_cast<uint32_t>(query.number_or("from", UINT32_MAX, 0)), kMaxNames);
}

std::string all_names_json(View& view) { return some_names_json(view, 0, SIZE_MAX); }

std::string live_json(View& view) {
  const View::Lock lock = view.lock();
  Json json(Json::Layout::OneLine);
  json.begin_object();
  json.begin_array("duration_ns");
  for (const auto& source : view.sources()) json.value(source->duration_ns());
  json.end_array();
  json.field("names_version", view.names().size());
  json.field("tracks_version", view.version());
  json.field("live", is_live(view));
  json.end_object();
  return json.text();
}

}  // namespace kymo::serve
