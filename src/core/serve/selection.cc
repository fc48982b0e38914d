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

// The totals of a part of tracks of ranges across threads, or of states (derived.h).
struct ItemTotals {
  analyze::Statistics statistics;
  views::Paths paths;
  std::map<std::string, EventRef> longest;  // by name
};

// A sum for each name of a class, or for each text: of waits, the function is in the text.
enum class SumsOf : uint8_t { Classes, Texts };

// A frame of the tree of paths while it grows.
struct PathNode {
  views::FrameKind kind = views::FrameKind::All;
  uint64_t count = 0, self_ns = 0;
  std::map<std::string, PathNode> inside;

  PathNode& child(const std::string& name, views::FrameKind of_kind) {
    PathNode& node = inside[name];
    node.kind = of_kind;
    return node;
  }
};

uint64_t add_frames(const std::string& name, const PathNode& node, uint32_t depth, views::Paths& paths) {
  const size_t at = paths.frames.size();
  paths.frames.push_back({paths.names.emplace_back(name), node.kind, depth, node.count, 0, node.self_ns});
  uint64_t total = node.self_ns;
  for (const auto& [child_name, child] : node.inside) total += add_frames(child_name, child, depth + 1, paths);
  return paths.frames[at].total_ns = total;
}

struct NameRow {
  analyze::RangeRow row;
  EventRef longest;
  std::vector<uint64_t> durations;
};

class ItemSums {
 public:
  ItemSums(const NameTable& names, int64_t from, int64_t to, SumsOf of)
      : names_(names), from_(from), to_(to), of_(of) {}

  void add(const DerivedTrack& track) {
    struct Open {
      uint16_t depth;
      int64_t end;
      PathNode* node;
      NameRow* row;
    };
    std::vector<Open> open;
    for (const Item& item : track.items) {  // by start and depth
      if (item.start >= to_ || item.end < from_ || (item.end == from_ && item.start < from_)) continue;
      const auto length = static_cast<uint64_t>(std::min(item.end, to_) - std::max(item.start, from_));
      while (!open.empty() && (open.back().depth >= item.depth || open.back().end <= item.start)) open.pop_back();
      NameRow& row = row_of(item.name);
      PathNode& parent = open.empty() ? root_.child(track.name, views::FrameKind::Track) : *open.back().node;
      PathNode& node = parent.child(row.row.name, views::FrameKind::Range);
      ++row.row.count;
      row.row.total_ns += length;
      row.row.self_ns += length;
      row.durations.push_back(length);
      if (row.row.count == 1 || item.end - item.start > row.longest.end_ns - row.longest.start_ns)
        row.longest = {track.id,
                       item.chunk,
                       item.index,
                       names_.entry(item.name).text,
                       item.start,
                       item.end,
                       EventRef::Row{item.depth, item.lane}};
      ++node.count;
      node.self_ns += length;
      if (!open.empty()) {
        open.back().row->row.self_ns -= std::min(length, open.back().row->row.self_ns);
        open.back().node->self_ns -= std::min(length, open.back().node->self_ns);
      }
      open.push_back({item.depth, item.end, &node, &row});
    }
  }

  ItemTotals take() {
    ItemTotals totals;
    for (auto& entry : rows_) {
      NameRow& sum = entry.second;
      std::sort(sum.durations.begin(), sum.durations.end());
      sum.row.min_ns = sum.durations.front();
      sum.row.median_ns = base::round_ns(base::quantile_of_sorted(sum.durations, 0.5));
      sum.row.p99_ns = base::round_ns(base::quantile_of_sorted(sum.durations, 0.99));
      sum.row.max_ns = sum.durations.back();
      totals.longest.emplace(sum.row.name, std::move(sum.longest));
      totals.statistics.ranges.push_back(std::move(sum.row));
    }
    std::sort(totals.statistics.ranges.begin(), totals.statistics.ranges.end(), [](const auto& a, const auto& b) {
      return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.name < b.name;
    });
    add_frames("all", root_, 0, totals.paths);
    return totals;
  }

 private:
  NameRow& row_of(uint32_t name) {
    const auto [known, is_new] = bases_.try_emplace(name);
    if (is_new) known->second = of_ == SumsOf::Texts ? name : names_.entry(name).base;
    const auto [entry, is_new_row] = rows_.try_emplace(known->second);
    if (is_new_row) {
      const NameTable::Entry described = names_.entry(known->second);
      entry->second.row.name = described.text;
      entry->second.row.category = described.category;
      entry->second.row.across_threads = true;
    }
    return entry->second;
  }

  const NameTable& names_;
  const int64_t from_, to_;
  const SumsOf of_;
  PathNode root_;
  std::unordered_map<uint32_t, uint32_t> bases_;  // by name
  std::unordered_map<uint32_t, NameRow> rows_;    // by base
};

// Items are cut at the two times. Linear in the number of items.
ItemTotals total_items(const std::vector<std::shared_ptr<const DerivedTrack>>& tracks, const NameTable& names,
                       int64_t from_ns, int64_t to_ns, SumsOf of = SumsOf::Classes) {
  ItemSums sums(names, from_ns, to_ns, of);
  for (const auto& track : tracks) sums.add(*track);
  return sums.take();
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
void write_flame(Json& json, const char* field, const views::Paths& paths) {
  uint64_t shortest = 0;
  if (paths.frames.size() > kMaxFrames) {
    std::vector<uint64_t> times;
    for (const views::PathFrame& frame : paths.frames) times.push_back(frame.total_ns);
    std::nth_element(times.begin(), times.begin() + kMaxFrames, times.end(), std::greater<>());
    shortest = times[kMaxFrames] + 1;
  }
  symbols::ShortNames names;
  json.array(field, paths.frames, [&](const views::PathFrame& frame) {
    if (frame.total_ns < shortest) return;
    json.begin_object();
    const std::string name(frame.name);
    json.field("name", frame.kind == views::FrameKind::Function ? names.of(name) : name);
    json.field("kind", kind_name(frame.kind));
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

struct Chosen {
  uint32_t file = 0;
  std::set<std::pair<trace::WriterId, uint32_t>> tracks;    // empty and nothing across threads: all
  std::vector<std::shared_ptr<const DerivedTrack>> across;  // tracks of ranges across threads
  std::vector<std::shared_ptr<const DerivedTrack>> states;  // of the chosen threads
  std::map<trace::WriterId, trace::Window> windows;
};

Chosen choose(View& view, int64_t from, int64_t to, const std::vector<uint32_t>& ids) {
  const View::Lock lock = view.lock();
  Chosen chosen;
  // All of a thread: its ranges and its samples.
  const auto add_thread = [&](const Source& source, size_t position) {
    for (const size_t track : source.same_thread(position))
      chosen.tracks.insert({source.tracks()[track].writer, source.tracks()[track].track});
  };
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::optional<TrackRef> ref = view.find_track(ids[i]);
    if (!ref) throw BadRequest(base::format("tracks: there is no track {}", ids[i]), 404);
    if (i == 0) chosen.file = ref->file;
    if (ref->file != chosen.file) throw BadRequest("tracks: all tracks of a selection must be of one file");
    const Source& source = *view.sources()[ref->file];
    if (ref->kind == TrackRef::Kind::Track) add_thread(source, ref->position);
    if (ref->kind != TrackRef::Kind::Derived) continue;
    std::shared_ptr<const DerivedTrack> derived = view.derived(ref->position);
    if (derived->kind == DerivedTrack::Kind::Functions || derived->kind == DerivedTrack::Kind::States)
      add_thread(source, derived->of_track);
    if (derived->kind == DerivedTrack::Kind::Rank)
      for (const SourceTrack& track : source.tracks())
        if (derived->writers.contains(track.writer)) chosen.tracks.insert({track.writer, track.track});
    if (derived->kind == DerivedTrack::Kind::AcrossThreads) chosen.across.push_back(std::move(derived));
  }
  if (!ids.empty() && chosen.tracks.empty() && chosen.across.empty())
    throw BadRequest("tracks: a selection needs a track with ranges, functions or samples");
  for (auto& derived : view.derived()) {
    if (derived->kind != DerivedTrack::Kind::States || derived->file != chosen.file) continue;
    const SourceTrack& track = view.sources()[chosen.file]->tracks()[derived->of_track];
    if (ids.empty() || chosen.tracks.contains({track.writer, track.track})) chosen.states.push_back(std::move(derived));
  }
  if (chosen.file < view.sources().size()) {
    const Source& source = *view.sources()[chosen.file];
    chosen.windows = source.between(from, to == source.duration_ns() ? to + 1 : to);  // all of it has the last event
  }
  return chosen;
}

// Writes everything that is read from the file again.
void write_file_part(Json& json, const trace::Reader& reader, const std::vector<analyze::RangeRow>& across) {
  analyze::Statistics statistics = analyze::compute_statistics(reader);
  if (!across.empty()) {
    // Ranges across threads whose tracks are chosen are counted there, whichever thread they begin on.
    std::erase_if(statistics.ranges, [](const analyze::RangeRow& row) { return row.across_threads; });
    statistics.ranges.insert(statistics.ranges.end(), across.begin(), across.end());
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
void write_states(Json& json, const ItemTotals& totals) {
  if (totals.statistics.ranges.empty()) return;
  json.objects("states", std::min(totals.statistics.ranges.size(), kMaxRows), [&](size_t i) {
    const analyze::RangeRow& row = totals.statistics.ranges[i];
    json.field("name", row.name);
    json.field("count", row.count);
    json.field("total_ns", row.total_ns);
    json.field("max_ns", row.max_ns);
    write_event(json, "longest", totals.longest.at(row.name));
  });
}

// A copy of the chosen tracks.
trace::Reader copy_of(const trace::Reader& reader, const Chosen& chosen) {
  const base::TemporaryFile part;
  trace::Writer writer(part.path(), trace::Writer::Mode::Append, part.name());
  convert::copy_trace(reader, convert::TrackChoice(chosen.tracks), writer);
  writer.close();
  return trace::Reader(part.path());  // it keeps the file open
}

}  // namespace

namespace {

// The part that a request asks for.
struct Part {
  int64_t from = 0, to = 0;
  std::vector<uint32_t> ids;
  Chosen chosen;
};

Part part_of(View& view, const Analyses& analyses, const Query& query) {
  constexpr uint64_t kLatest = INT64_MAX / 2;
  Part part;
  part.from = static_cast<int64_t>(query.number("from", kLatest));
  part.to = static_cast<int64_t>(query.number("to", kLatest));
  if (part.from >= part.to) throw BadRequest(base::format("from: {} is not before {}", part.from, part.to));
  part.ids = query.numbers("tracks", UINT32_MAX, 100'000);
  part.chosen = choose(view, part.from, part.to, part.ids);
  if (!analyses.reopen) throw BadRequest("this viewer cannot read its files again", 404);
  return part;
}

}  // namespace

std::string selection_json(View& view, const Analyses& analyses, const Query& query, const IsGone& is_gone) {
  const auto [from, to, ids, chosen] = part_of(view, analyses, query);
  Json json(Json::Layout::OneLine);
  json.begin_object();
  json.field("from_ns", from);
  json.field("to_ns", to);
  json.field("file", chosen.file);
  const ItemTotals across = total_items(chosen.across, view.names(), from, to);
  if (!ids.empty() && chosen.tracks.empty()) {
    write_ranges(json, across.statistics.ranges);
    write_flame(json, "flame", across.paths);
  } else {
    trace::Reader reader = analyses.reopen(chosen.file, is_gone);
    reader.narrow(chosen.windows);
    if (!chosen.tracks.empty()) reader = copy_of(reader, chosen);
    write_file_part(json, reader, across.statistics.ranges);
  }
  write_states(json, total_items(chosen.states, view.names(), from, to, SumsOf::Texts));
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
  trace::Reader reader = analyses.reopen(part.chosen.file, is_gone);
  views::Paths paths;
  if (by->second == functions::FlameBy::Device) {
    // The launches may be before the part.
    auto until = part.chosen.windows;
    for (auto& [writer, window] : until) window.from_ns = 0;
    reader.narrow(until);
    paths = functions::device_paths_in(part.chosen.windows, reader);
  } else {
    reader.narrow(part.chosen.windows);
    if (!part.chosen.tracks.empty()) reader = copy_of(reader, part.chosen);
    paths = functions::flame_paths(by->second, reader);
  }
  Json json(Json::Layout::OneLine);
  json.begin_object();
  write_flame(json, "flame", paths);
  json.end_object();
  return json.text();
}

}  // namespace kymo::serve
