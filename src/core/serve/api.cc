#include "serve/api.h"

#include <algorithm>
#include <charconv>

#include "analyze/memory/profile.h"
#include "analyze/memory/stacks.h"
#include "base/hex.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/version.h"
#include "serve/event_reader.h"
#include "serve/tiles.h"
#include "symbols/short_name.h"

namespace kymo::serve {

namespace {

// For a message: a request may have anything.
std::string shown(std::string_view value) {
  constexpr size_t kLongest = 60;
  return base::printable(std::string(value.substr(0, kLongest))) + (value.size() > kLongest ? "…" : "");
}

uint64_t parse_number(const std::string& name, std::string_view value, uint64_t most) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (value.empty() || error != std::errc{} || end != value.data() + value.size() || number > most)
    throw BadRequest(base::format("{}: '{}' is not a number from 0 to {}", name, shown(value), most));
  return number;
}

std::string decode(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      decoded.push_back(' ');
    } else if (uint8_t byte = 0;
               text[i] == '%' && i + 2 < text.size() && base::read_hex(text.data() + i + 1, &byte, 1)) {
      decoded.push_back(static_cast<char>(byte));
      i += 2;
    } else {
      decoded.push_back(text[i]);
    }
  }
  return decoded;
}

}  // namespace

Query Query::parse(std::string_view text) {
  std::multimap<std::string, std::string> parameters;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const size_t equals = std::min(part.find('='), part.size());
    parameters.emplace(decode(part.substr(0, equals)),
                       equals < part.size() ? decode(part.substr(equals + 1)) : std::string());
  }
  return Query(std::move(parameters));
}

std::optional<std::string_view> Query::find(const std::string& name) const {
  const auto found = parameters_.lower_bound(name);
  if (found == parameters_.end() || found->first != name) return {};
  return std::string_view(found->second);
}

uint64_t Query::number(const std::string& name, uint64_t most) const {
  const std::optional<std::string_view> value = find(name);
  if (!value) throw BadRequest(base::format("{} is missing: give a number from 0 to {}", name, most));
  return parse_number(name, *value, most);
}

uint64_t Query::number_or(const std::string& name, uint64_t most, uint64_t otherwise) const {
  return find(name) ? number(name, most) : otherwise;
}

std::vector<uint32_t> Query::numbers(const std::string& name, uint64_t most, size_t count) const {
  std::vector<uint32_t> numbers;
  std::string_view rest = find(name).value_or("");
  while (!rest.empty()) {
    if (numbers.size() == count)
      throw BadRequest(base::format("{}: more than {} numbers; ask for fewer at a time", name, count), 422);
    const std::string_view part = rest.substr(0, rest.find(','));
    numbers.push_back(static_cast<uint32_t>(parse_number(name, part, std::min<uint64_t>(most, UINT32_MAX))));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  }
  return numbers;
}

std::string Query::text(const std::string& name, size_t longest) const {
  const std::optional<std::string_view> value = find(name);
  if (!value || value->empty()) throw BadRequest(base::format("{} is missing: give a text", name));
  if (value->size() > longest)
    throw BadRequest(base::format("{}: the text has {} bytes; at most {} are allowed", name, value->size(), longest));
  return std::string(*value);
}

namespace {

Answer json(std::string body) { return {200, "application/json", std::move(body)}; }

Answer failure(int status, std::string_view message) {
  base::JsonWriter writer(base::JsonWriter::Layout::OneLine);
  writer.begin_object();
  writer.field("error", message);
  writer.end_object();
  return {status, "application/json", writer.text()};
}

uint32_t file_number(View& view, const Query& query, const std::string& name, uint32_t otherwise) {
  const size_t files = view.sources().size();  // files are not added later
  const uint64_t file = query.number_or(name, UINT32_MAX, otherwise);
  if (file >= files)
    throw BadRequest(base::format("{}: there is no file {}; this viewer shows {} files", name, file, files), 404);
  return static_cast<uint32_t>(file);
}

template <typename Call, typename... Arguments>
Answer analysis(const Call& call, const Arguments&... arguments) {
  if (!call) throw BadRequest("this viewer has no such analysis", 404);
  return json(call(arguments...));
}

}  // namespace

std::string tiles_bytes(View& view, const Query& query) {
  TileRequest request;
  request.level = static_cast<unsigned>(query.number("w", TileSpan::kMaxLevel));
  const uint64_t last = TileSpan::last_tile(request.level);
  request.from = query.number("from", last);
  request.to = query.number("to", last);
  if (request.to < request.from || request.to - request.from >= TileRequest::kMaxTiles)
    throw BadRequest(base::format("tiles {} to {}: give at most {} tiles, the first one first", request.from,
                                  request.to, TileRequest::kMaxTiles),
                     request.to < request.from ? 400 : 422);
  request.tracks = query.numbers("tracks", UINT32_MAX, TileRequest::kMaxTracks);
  const uint64_t total = (request.to - request.from + 1) * request.tracks.size();
  if (total > TileRequest::kMaxTotal)
    throw BadRequest(base::format("{} tiles at a time: at most {} are allowed", total, TileRequest::kMaxTotal), 422);
  for (const uint32_t track : request.tracks)
    if (!view.find_track(track)) throw BadRequest(base::format("tracks: there is no track {}", track), 404);
  const std::vector<Tile> tiles = make_tiles(view, request);
  return encode_tiles(tiles, view.names().size());
}

Answer answer(View& view, const Analyses& analyses, std::string_view path, const Query& query, const IsGone& is_gone) {
  constexpr int kClientClosed = 499;  // nobody reads it
  if (is_gone && is_gone()) return failure(kClientClosed, "the client is gone");
  try {
    if (path == "trace") return json(trace_json(view));
    if (path == "names") return json(names_json(view, query));
    if (path == "tiles") return {200, "application/octet-stream", tiles_bytes(view, query)};
    if (path == "event") return json(event_json(view, query));
    if (path == "search") return json(search_json(view, query, is_gone));
    if (path == "selection") return json(selection_json(view, analyses, query, is_gone));
    if (path == "flame") return json(flame_json(view, analyses, query, is_gone));
    if (path == "launched") return json(launched_json(view, query, is_gone));
    if (path == "links") return json(links_json(view, query));
    if (path == "memory") return json(memory_json(view, analyses, query, is_gone));
    const auto file = [&](const char* name, uint32_t otherwise) { return file_number(view, query, name, otherwise); };
    if (path == "report") return analysis(analyses.report, file("file", 0), is_gone);
    if (path == "idle") return analysis(analyses.idle, file("file", 0), is_gone);
    if (path == "diff") return analysis(analyses.diff, file("base", 0), file("other", 1), is_gone);
    if (path == "query") {
      constexpr size_t kLongestStatement = 20'000;
      return analysis(analyses.query, query.find("q") ? query.text("q", kLongestStatement) : "", is_gone);
    }
    return failure(404, "there is no such request");
  } catch (const BadRequest& error) {
    return failure(error.status(), error.what());
  } catch (const Abandoned& error) {
    return failure(kClientClosed, error.what());
  } catch (const std::exception& error) {
    return failure(500, error.what());
  }
}

// ---- api/trace, api/names and api/live
// -------------------------------------------------------------------------------

namespace {

using Json = base::JsonWriter;

void write_files(Json& json, View& view) {
  const std::vector<std::string> troubles = view.troubles();
  json.objects("files", view.sources().size(), [&](size_t file) {
    const auto& source = view.sources()[file];
    json.field("name", source->reader().path());
    json.field("duration_ns", source->duration_ns());
    json.field("wall_clock_ns", std::to_string(source->start_realtime_ns()));
    json.field("events", source->event_count());
    json.field("bytes", source->reader().file_size());
    json.field("clock_error_ns", source->clock_error_ns());
    uint64_t held_up = 0;
    for (const auto& [id, writer] : source->reader().writers())
      for (const auto& [track, cost] : writer.costs) held_up += std::min(cost.blocked_ns, UINT64_MAX - held_up);
    json.field("held_up_ns", held_up);
    if (!troubles[file].empty()) json.field("trouble", troubles[file]);
    json.begin_array("problems");
    const std::vector<trace::Problem>& problems = source->reader().problems();
    for (size_t i = 0; i < std::min(problems.size(), View::kMaxProblems); ++i) json.value(problems[i].what);
    for (const std::string& problem : view.problems(static_cast<uint32_t>(file))) json.value(problem);
    json.end_array();
  });
}

// The number of a process on the page. The distance leaves room for the processes of files that grow.
uint32_t process_id(uint32_t file, uint32_t group) {
  constexpr uint32_t kDistance = 1'000'000;
  return file * kDistance + group;
}

void write_processes(Json& json, View& view) {
  json.array("processes", view.sources().size(), [&](uint32_t file) {
    const std::vector<SourceGroup>& groups = view.sources()[file]->groups();
    for (uint32_t i = 0; i < groups.size(); ++i) {
      json.begin_object();
      json.field("id", process_id(file, i));
      json.field("file", file);
      json.field("pid", groups[i].pid);
      json.field("name", groups[i].name);
      json.field("label", groups[i].label);
      json.field("host", groups[i].host);
      json.field("device", groups[i].is_device);
      json.end_object();
    }
  });
}

// The samples of a thread that also has ranges are below these ranges: the position of their track. Otherwise its own.
size_t shown_below(const Source& source, size_t track) {
  const auto writer = source.reader().writers().find(source.tracks()[track].writer);
  const bool is_sampled = writer != source.reader().writers().end() && memory::SampleStacks::are_in(writer->second);
  return is_sampled ? source.main_track(track) : track;
}

std::string thread_name(const SourceTrack& track) { return track.name.empty() ? "thread" : track.name; }

// The ranks that tracks belong to, as ids of their tracks: by the process that wrote them, and by their group.
class RanksOfTracks {
 public:
  explicit RanksOfTracks(View& view) {
    for (const auto& derived : view.derived()) {
      if (derived->kind != DerivedTrack::Kind::Rank) continue;
      for (const SourceTrack& track : view.sources()[derived->file]->tracks()) {
        if (!derived->writers.contains(track.writer)) continue;
        by_writer_[{derived->file, track.writer}] = derived->id;
        if (!track.is_queue) by_group_[{derived->file, track.group}] = derived->id;
      }
    }
  }
  void write(Json& json, uint32_t file, const trace::WriterId& writer) const {
    if (const auto rank = by_writer_.find({file, writer}); rank != by_writer_.end()) json.field("rank", rank->second);
  }
  // Devices may be shared, so they have no rank.
  void write(Json& json, uint32_t file, uint32_t group) const {
    if (const auto rank = by_group_.find({file, group}); rank != by_group_.end()) json.field("rank", rank->second);
  }

 private:
  std::map<std::pair<uint32_t, trace::WriterId>, uint32_t> by_writer_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> by_group_;
};

void write_tracks(Json& json, View& view) {
  const RanksOfTracks ranks(view);
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
      json.field("process", process_id(file, track.group));
      json.field("kind", track.is_queue ? "queue" : "thread");
      ranks.write(json, file, track.writer);
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
      json.field("busy_ns", track.busy_ns);
      json.end_object();
    }
  }
  for (const Counter& counter : view.counters()) {
    if (counter.chunks.empty()) continue;
    json.begin_object();
    json.field("id", counter.id);
    json.field("file", counter.file);
    json.field("process", process_id(counter.file, counter.group));
    json.field("kind", "counter");
    ranks.write(json, counter.file, counter.writer);
    json.field("name", counter.name);
    json.field("unit", "");
    json.field("values", counter.values);
    json.end_object();
  }
  for (const auto& track : view.derived()) {
    using Kind = DerivedTrack::Kind;
    constexpr const char* kKinds[] = {"memory", "across", "functions", "states", "rank"};
    const bool is_functions = track->kind == Kind::Functions, is_states = track->kind == Kind::States;
    json.begin_object();
    json.field("id", track->id);
    json.field("file", track->file);
    json.field("process", process_id(track->file, track->group));
    json.field("kind", kKinds[static_cast<size_t>(track->kind)]);
    if (track->kind == Kind::Rank) {
      json.field("calls", track->calls);
      json.field("last_at", track->last_at);
      json.field("waited_ns", track->waited_ns);
      json.field("awaited_ns", track->awaited_ns);
      json.field("straggler", track->is_straggler);
    } else {
      ranks.write(json, track->file, track->group);
    }
    if (is_functions || is_states) {
      const Source& source = *view.sources()[track->file];
      const size_t below = shown_below(source, track->of_track);
      json.field("name", thread_name(source.tracks()[below]) + (is_functions ? ": functions" : ": states"));
      json.field("thread", view.track_id(track->file, below));
    } else {
      json.field("name", track->name);
    }
    if (is_functions) json.field("shared", track->shared);
    if (is_states) {
      int64_t running = 0;
      for (size_t i = 0; i < track->items.size(); ++i)
        if (track->activities[i] == Activity::Running) running += track->items[i].total;
      json.field("busy_ns", running);
    }
    if (track->kind == Kind::Memory) {
      json.field("unit", "bytes");
      json.field("values", track->values.size());
    } else {
      uint32_t rows = 0;
      for (const Item& item : track->items) rows = std::max({rows, item.lane + 1u, item.depth + 1u});
      json.field("rows", rows);
      json.field("ranges", track->items.size());
      json.field("left_out", track->left_out);
    }
    json.end_object();
  }
  json.end_array();
}

void write_losses(Json& json, View& view) {
  json.array("losses", view.sources().size(), [&](uint32_t file) {
    for (const SourceLoss& loss : view.sources()[file]->losses()) {
      json.begin_object();
      json.field("file", file);
      json.field("process", process_id(file, loss.group));
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
  });
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
  write_files(json, view);
  write_processes(json, view);
  write_tracks(json, view);
  write_losses(json, view);
  json.values("left_out", view.left_out());
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
  json.array("names", entries, [&](const NameTable::Entry& entry) { json.value(entry.text); });
  json.array("bases", entries, [&](const NameTable::Entry& entry) { json.value(entry.base); });
  json.array("categories", entries, [&](const NameTable::Entry& entry) { json.value(entry.category); });
  json.array("colours", entries, [&](const NameTable::Entry& entry) { json.value(entry.colour & 0xffffff); });
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
  json.array("duration_ns", view.sources(), [&](const auto& source) { json.value(source->duration_ns()); });
  json.field("names_version", view.names().size());
  json.field("tracks_version", view.version());
  json.field("live", is_live(view));
  json.end_object();
  return json.text();
}

// ---- api/memory: what is alive at one time
// ---------------------------------------------------------------------------

namespace {

void write_holders(Json& json, std::string_view member, memory::Profile& profile, memory::GroupBy by) {
  constexpr size_t kMaxRows = 50;
  json.objects(member, memory::distinct(profile, by, &memory::Group::left, kMaxRows), [&](const memory::Group& group) {
    const memory::Holder holder = memory::describe(profile, group, by);
    json.field("name", by == memory::GroupBy::Stack ? symbols::short_name(holder.name) : holder.name);
    if (!holder.where.empty()) json.field("where", holder.where);
    json.field("bytes", group.left.bytes);
    json.field("count", group.left.count);
    write_frames(json, holder.frames);
  });
}

}  // namespace

std::string memory_json(View& view, const Analyses& analyses, const Query& query, const IsGone& is_gone) {
  const uint32_t file = file_number(view, query, "file", 0);
  if (!analyses.reopen) throw BadRequest("this viewer cannot read its files again", 404);
  trace::Reader reader = analyses.reopen(file, is_gone);
  const memory::Profile whole = query.find("at") ? memory::Profile() : memory::read_profile(reader);
  if (!query.find("at") && whole.memories.empty()) throw BadRequest("at: the file has no allocations", 404);
  int64_t at = 0;
  {
    const View::Lock lock = view.lock();
    const Source& source = *view.sources()[file];
    at = query.find("at") ? static_cast<int64_t>(query.number("at", INT64_MAX / 2))
                          : peak_of(whole, FilePlaces::of(source));
    reader.narrow(source.between(0, at + 1));
  }
  // What it calls left is what is alive at the end of a window.
  memory::Profile profile = memory::read_profile(reader, {.only_alive = true});
  Json json(Json::Layout::OneLine);
  json.begin_object();
  json.field("file", file);
  json.field("at_ns", at);
  json.field("bytes", profile.end_bytes);
  json.field("blocks", profile.left.count);
  json.field("sampled", profile.sampled);
  json.objects("memories", profile.memories.size(), [&](size_t i) {
    json.field("name", memory::memory_name(profile, i));
    json.field("bytes", profile.memories[i].in_use);
    json.field("peak_bytes", profile.memories[i].peak_bytes);
  });
  write_holders(json, "by_range", profile, memory::GroupBy::Range);
  write_holders(json, "by_stack", profile, memory::GroupBy::Stack);
  write_holders(json, "by_size", profile, memory::GroupBy::Size);
  json.end_object();
  return json.text();
}

}  // namespace kymo::serve
