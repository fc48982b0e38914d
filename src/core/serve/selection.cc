// api/selection and api/flame: statistics, functions and flame graphs of a part of a file.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "analyze/functions/flame_paths.h"
#include "analyze/functions/functions.h"
#include "analyze/stats.h"
#include "analyze/views/paths.h"
#include "base/clock_map.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/quantile.h"
#include "base/temporary_file.h"
#include "base/text.h"
#include "convert/copy.h"
#include "serve/api.h"
#include "serve/derived.h"
#include "serve/event_reader.h"
#include "serve/names.h"
#include "symbols/short_name.h"
#include "trace/writer.h"

namespace kymo::serve {

namespace {

using Tracks = std::vector<std::shared_ptr<const DerivedTrack>>;

// The totals of a name in a part of tracks of ranges across threads, or of states (derived.h). None is inside another.
struct ItemTotals {
  analyze::RangeRow row;
  EventRef longest;
  std::vector<uint64_t> durations;
};

// A sum for each name of a class, or for each text: of waits, the function is in the text.
enum class SumsOf : uint8_t { Classes, Texts };

// Calls visit(item, length) for the items between two times, which cut them.
template <typename Visit>
void each_item(const DerivedTrack& track, int64_t from, int64_t to, Visit&& visit) {
  for (const Item& item : track.items)
    if (item.start < to && item.end >= from && (item.end > from || item.start == from))
      visit(item, static_cast<uint64_t>(std::min(item.end, to) - std::max(item.start, from)));
}

// The longest first.
std::vector<ItemTotals> total_items(const Tracks& tracks, const NameTable& names, int64_t from, int64_t to, SumsOf of) {
  std::unordered_map<uint32_t, ItemTotals> sums;
  for (const auto& track : tracks) {
    each_item(*track, from, to, [&](const Item& item, uint64_t length) {
      ItemTotals& sum = sums[of == SumsOf::Texts ? item.name : names.entry(item.name).base];
      sum.durations.push_back(length);
      sum.row.total_ns += length;
      if (sum.durations.size() == 1 || item.end - item.start > sum.longest.end_ns - sum.longest.start_ns)
        sum.longest = {track->id,
                       item.chunk,
                       item.index,
                       names.entry(item.name).text,
                       item.start,
                       item.end,
                       EventRef::Row{item.depth, item.lane}};
    });
  }
  std::vector<ItemTotals> totals;
  for (auto& [name, sum] : sums) {
    const NameTable::Entry entry = names.entry(name);
    std::sort(sum.durations.begin(), sum.durations.end());
    analyze::RangeRow& row = sum.row;
    row.name = entry.text;
    row.category = entry.category;
    row.across_threads = true;
    row.count = sum.durations.size();
    row.self_ns = row.total_ns;
    row.min_ns = sum.durations.front();
    row.median_ns = base::round_ns(base::quantile_of_sorted(sum.durations, 0.5));
    row.p99_ns = base::round_ns(base::quantile_of_sorted(sum.durations, 0.99));
    row.max_ns = sum.durations.back();
    totals.push_back(std::move(sum));
  }
  std::sort(totals.begin(), totals.end(), [](const ItemTotals& a, const ItemTotals& b) {
    return a.row.total_ns != b.row.total_ns ? a.row.total_ns > b.row.total_ns : a.row.name < b.row.name;
  });
  return totals;
}

// A flame graph: all, the tracks, and their names.
views::Paths paths_of_items(const Tracks& tracks, const NameTable& names, int64_t from, int64_t to) {
  views::MergedPaths merged;
  for (const auto& track : tracks) {
    const uint32_t of_track = merged.child(views::PathTrie::kRoot, track->name, views::FrameKind::Track);
    each_item(*track, from, to, [&](const Item& item, uint64_t length) {
      const std::string name = names.entry(names.entry(item.name).base).text;
      merged.count(merged.child(of_track, name, views::FrameKind::Range), 1, length);
    });
  }
  views::Paths paths;
  merged.finish(paths);
  return paths;
}

using Json = base::JsonWriter;
constexpr size_t kMaxFrames = 20'000, kMaxRows = 10'000;

void write_ranges(Json& json, const std::vector<analyze::RangeRow>& rows) {
  json.objects("ranges", std::min(rows.size(), kMaxRows), [&](size_t i) {
    const analyze::RangeRow& row = rows[i];
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
  });
}

void write_points(Json& json, const analyze::Statistics& statistics) {
  json.objects("instants", statistics.instants, [&](const analyze::InstantRow& row) {
    json.field("name", row.name);
    json.field("count", row.count);
  });
  json.objects("counters", statistics.counters, [&](const analyze::CounterRow& row) {
    json.field("name", row.name);
    json.field("count", row.count);
    json.field("min", row.min);
    json.field("max", row.max);
    json.field("last", row.last);
    json.field("mean", row.mean);
  });
}

// A frame is at most as long as the frame around it, so the longest frames are a tree.
void write_flame(Json& json, const char* field, const views::Paths& paths) {
  uint64_t shortest = 0;
  if (paths.frames.size() > kMaxFrames) {
    std::vector<uint64_t> times;
    for (const views::PathFrame& frame : paths.frames) times.push_back(frame.total_ns);
    std::nth_element(times.begin(), times.begin() + kMaxFrames, times.end(), std::greater<>());
    shortest = times[kMaxFrames] + 1;
  }
  static constexpr const char* kKinds[] = {"all", "process", "track", "range", "work", "function", "unfinished"};
  symbols::ShortNames names;
  json.array(field, paths.frames, [&](const views::PathFrame& frame) {
    if (frame.total_ns < shortest) return;
    json.begin_object();
    const std::string name(frame.name);
    json.field("name", frame.kind == views::FrameKind::Function ? names.of(name) : name);
    json.field("kind", kKinds[static_cast<size_t>(frame.kind)]);
    json.field("depth", frame.depth);
    json.field("count", frame.count);
    json.field("total_ns", frame.total_ns);
    json.field("self_ns", frame.self_ns);
    json.end_object();
  });
}

// As `kymo stats --by function` counts them, with the names that the lanes of functions have.
void write_functions(Json& json, const functions::FunctionTable& table) {
  symbols::ShortNames names;
  json.objects("functions", std::min(table.rows.size(), kMaxRows), [&](size_t i) {
    const functions::FunctionRow& row = table.rows[i];
    json.field("function", names.of(row.function));
    json.field("module", row.module);
    json.field("self_samples", row.self_samples);
    json.field("total_samples", row.total_samples);
    json.field("self_ns", row.self_ns);
    json.field("total_ns", row.total_ns);
  });
  json.field("samples", table.samples);
  json.field("sampled_ns", table.time_ns);
}

// The part that a request asks for.
struct Part {
  int64_t from = 0, to = 0;
  uint32_t file = 0;
  std::set<std::pair<trace::WriterId, uint32_t>> tracks;  // empty and nothing across threads: all
  Tracks across;                                          // of ranges across threads
  Tracks states;                                          // of the chosen threads
  std::map<trace::WriterId, trace::Window> windows;
};

Part part_of(View& view, const Analyses& analyses, const Query& query) {
  constexpr uint64_t kLatest = INT64_MAX / 2;
  Part part;
  part.from = static_cast<int64_t>(query.number("from", kLatest));
  part.to = static_cast<int64_t>(query.number("to", kLatest));
  if (part.from >= part.to) throw BadRequest(base::format("from: {} is not before {}", part.from, part.to));
  if (!analyses.reopen) throw BadRequest("this viewer cannot read its files again", 404);
  const std::vector<uint32_t> ids = query.numbers("tracks", UINT32_MAX, 100'000);
  const View::Lock lock = view.lock();
  // All of a thread: its ranges and its samples.
  const auto add_thread = [&](const Source& source, size_t position) {
    for (const size_t track : source.same_thread(position))
      part.tracks.insert({source.tracks()[track].writer, source.tracks()[track].track});
  };
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::optional<TrackRef> ref = view.find_track(ids[i]);
    if (!ref) throw BadRequest(base::format("tracks: there is no track {}", ids[i]), 404);
    if (i == 0) part.file = ref->file;
    if (ref->file != part.file) throw BadRequest("tracks: all tracks of a selection must be of one file");
    const Source& source = *view.sources()[ref->file];
    if (ref->kind == TrackRef::Kind::Track) add_thread(source, ref->position);
    if (ref->kind != TrackRef::Kind::Derived) continue;
    std::shared_ptr<const DerivedTrack> derived = view.derived(ref->position);
    if (derived->kind == DerivedTrack::Kind::Functions || derived->kind == DerivedTrack::Kind::States)
      add_thread(source, derived->of_track);
    if (derived->kind == DerivedTrack::Kind::Rank)
      for (const SourceTrack& track : source.tracks())
        if (derived->writers.contains(track.writer)) part.tracks.insert({track.writer, track.track});
    if (derived->kind == DerivedTrack::Kind::AcrossThreads) part.across.push_back(std::move(derived));
  }
  if (!ids.empty() && part.tracks.empty() && part.across.empty())
    throw BadRequest("tracks: a selection needs a track with ranges, functions or samples");
  const Source& source = *view.sources().at(part.file);
  for (auto& derived : view.derived()) {
    if (derived->kind != DerivedTrack::Kind::States || derived->file != part.file) continue;
    const SourceTrack& track = source.tracks()[derived->of_track];
    if (ids.empty() || part.tracks.contains({track.writer, track.track})) part.states.push_back(std::move(derived));
  }
  // All of it has the last event.
  part.windows = source.between(part.from, part.to == source.duration_ns() ? part.to + 1 : part.to);
  return part;
}

// Writes everything that is read from the file again.
void write_file_part(Json& json, const trace::Reader& reader, const std::vector<ItemTotals>& across) {
  analyze::Statistics statistics = analyze::compute_statistics(reader);
  if (!across.empty()) {
    // Ranges across threads whose tracks are chosen are counted there, whichever thread they begin on.
    std::erase_if(statistics.ranges, [](const analyze::RangeRow& row) { return row.across_threads; });
    for (const ItemTotals& one : across) statistics.ranges.push_back(one.row);
    std::ranges::stable_sort(statistics.ranges, std::ranges::greater(), &analyze::RangeRow::total_ns);
  }
  write_ranges(json, statistics.ranges);
  write_points(json, statistics);
  write_flame(json, "flame", views::collect_paths(reader));
  if (!functions::has_samples(reader)) return;
  functions::Samples samples = functions::read_samples(reader);
  if (samples.samples == 0) return;
  write_functions(json, functions::count_functions(samples));
  write_flame(json, "function_flame", functions::paths_of_samples(samples));
}

// What the chosen threads did meanwhile, the longest first.
void write_states(Json& json, const std::vector<ItemTotals>& totals) {
  if (totals.empty()) return;
  json.objects("states", std::min(totals.size(), kMaxRows), [&](size_t i) {
    const auto& [row, longest, durations] = totals[i];
    json.field("name", row.name);
    json.field("count", row.count);
    json.field("total_ns", row.total_ns);
    json.field("max_ns", row.max_ns);
    write_event(json, "longest", longest);
  });
}

// A copy of the chosen tracks.
trace::Reader copy_of(const trace::Reader& reader, const Part& chosen) {
  const base::TemporaryFile part;
  trace::Writer writer(part.path(), trace::Writer::Mode::Append, part.name());
  convert::copy_trace(reader, convert::TrackChoice(chosen.tracks), writer);
  writer.close();
  return trace::Reader(part.path());  // it keeps the file open
}

}  // namespace

std::string selection_json(View& view, const Analyses& analyses, const Query& query, const IsGone& is_gone) {
  const Part part = part_of(view, analyses, query);
  const auto totals = [&](const Tracks& tracks, SumsOf of) {
    return total_items(tracks, view.names(), part.from, part.to, of);
  };
  Json json(Json::Layout::OneLine);
  json.begin_object();
  json.field("from_ns", part.from);
  json.field("to_ns", part.to);
  json.field("file", part.file);
  const std::vector<ItemTotals> across = totals(part.across, SumsOf::Classes);
  if (!part.across.empty() && part.tracks.empty()) {
    std::vector<analyze::RangeRow> rows;
    for (const ItemTotals& one : across) rows.push_back(one.row);
    write_ranges(json, rows);
    write_flame(json, "flame", paths_of_items(part.across, view.names(), part.from, part.to));
  } else {
    trace::Reader reader = analyses.reopen(part.file, is_gone);
    reader.narrow(part.windows);
    if (!part.tracks.empty()) reader = copy_of(reader, part);
    write_file_part(json, reader, across);
  }
  write_states(json, totals(part.states, SumsOf::Texts));
  json.end_object();
  return json.text();
}

// What `kymo flame --by` shows, of a part of a file. The launches of the work of a device may be on any thread, so by
// device, all threads and queues count.
std::string flame_json(View& view, const Analyses& analyses, const Query& query, const IsGone& is_gone) {
  static const std::map<std::string, functions::FlameBy> kBy = {{"wait", functions::FlameBy::Wait},
                                                                {"device", functions::FlameBy::Device}};
  const std::string text = query.text("by", 20);
  const auto by = kBy.find(text);
  if (by == kBy.end()) throw BadRequest(base::format("by: '{}' is not wait or device", base::printable(text)));
  const Part part = part_of(view, analyses, query);
  trace::Reader reader = analyses.reopen(part.file, is_gone);
  views::Paths paths;
  if (by->second == functions::FlameBy::Device) {
    // The launches may be before the part.
    auto until = part.windows;
    for (auto& [writer, window] : until) window.from_ns = 0;
    reader.narrow(until);
    paths = functions::device_paths_in(part.windows, reader);
  } else {
    reader.narrow(part.windows);
    if (!part.tracks.empty()) reader = copy_of(reader, part);
    paths = functions::flame_paths(by->second, reader);
  }
  Json json(Json::Layout::OneLine);
  json.begin_object();
  write_flame(json, "flame", paths);
  json.end_object();
  return json.text();
}

}  // namespace kymo::serve
