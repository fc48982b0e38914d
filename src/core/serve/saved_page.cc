#include "serve/saved_page.h"

#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "base/text.h"
#include "convert/export_stream.h"
#include "kymo/error.h"
#include "serve/embedded.h"
#include "serve/page_files.h"
#include "serve/saved_content.h"
#include "serve/tiles.h"

namespace kymo::serve {

namespace {

constexpr int kGzip = 16;  // added to zlib's window bits

std::string unpack(std::string_view packed) {
  z_stream stream{};
  if (inflateInit2(&stream, MAX_WBITS + kGzip) != Z_OK) throw Error("zlib cannot unpack the page");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  char part[65'536];
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(part);
    stream.avail_out = sizeof part;
    state = inflate(&stream, Z_NO_FLUSH);
    text.append(part, sizeof part - stream.avail_out);
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END) throw Error("the page inside this program is damaged: install Kymo again");
  return text;
}

std::string pack(std::string_view bytes) {
  convert::StringStream packed;
  convert::GzipStream gzip(packed);
  gzip.write(bytes);
  gzip.finish();
  return packed.text();
}

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve(bytes.size() / 3 * 4 + 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    const size_t have = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < have ? static_cast<uint8_t>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) text.push_back(k <= have ? kDigits[group >> (18 - 6 * k) & 63] : '=');
  }
  return text;
}

void replace(std::string& text, std::string_view what, const std::string& by) {
  const size_t at = text.find(what);
  if (at == text.npos) throw Error(base::format("the page inside this program has no {}: it is damaged", what));
  text.replace(at, what.size(), by);
}

// A script ends where "</script" is, also inside of a text.
std::string inside_script(std::string text) {
  for (size_t at = 0; (at = text.find("</script", at)) != text.npos; at += 2) text.insert(at + 1, 1, '\\');
  return text;
}

void check_size(View& view) {
  uint64_t events = 0;
  for (const auto& source : view.sources())
    for (const trace::EventChunk& chunk : source->reader().event_chunks())
      events += uint64_t{chunk.range_count} + chunk.point_count;
  if (events <= kMaxSavedEvents) return;
  // A part that probably fits: events are seldom spread evenly.
  const double share = 0.5 * static_cast<double>(kMaxSavedEvents) / static_cast<double>(events);
  const auto part_us = static_cast<uint64_t>(static_cast<double>(view.sources()[0]->duration_ns()) / 1000 * share);
  const std::string& path = view.sources()[0]->reader().path();
  throw Error(
      base::format("{} has {} events, and a page holds at most {}: save a part of it, for example\n"
                   "kymo cut {} -o {}-part.kymo --from 0us --to {}us",
                   path, events, kMaxSavedEvents, path, std::filesystem::path(path).stem().string(),
                   std::max<uint64_t>(part_us, 1)));
}

void sort_items(Tile& tile) {
  const auto order = [](const Item& item) { return std::tuple(item.lane, item.depth, item.start, item.end); };
  std::sort(tile.items.begin(), tile.items.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
}

// Every event of a track, as one tile without bins.
Tile whole_track(View& view, uint32_t id) {
  Tile tile;
  tile.track = id;
  const TrackRef ref = *view.find_track(id);
  const Source& source = *view.sources()[ref.file];
  if (ref.kind == TrackRef::Kind::Derived) {
    const auto derived = view.derived(ref.position);
    tile.items = derived->items;
    tile.counters = derived->values;
    sort_items(tile);
    return tile;
  }
  const bool is_counter = ref.kind == TrackRef::Kind::Counter;
  const std::optional<Counter> counter = is_counter ? view.counter(ref.position) : std::nullopt;
  for (const uint32_t chunk : counter ? counter->chunks : source.tracks()[ref.position].chunks) {
    const auto decoded = view.decoded(ref.file, chunk);
    if (decoded->damaged) tile.flags |= Tile::kDamaged;
    if (counter) {
      for (const CounterBin& value : decoded->counters)
        if (value.class_id == counter->class_id) tile.counters.push_back(value);
      continue;
    }
    for (size_t i = 0; i < decoded->range_count(); ++i) {
      Item item = decoded->range(i);
      if (item.text != kNoText) item.name = view.names().of_text(decoded->texts[item.text], item.name);
      tile.items.push_back(item);
    }
    tile.instants.insert(tile.instants.end(), decoded->instants.begin(), decoded->instants.end());
  }
  if (!counter)
    for (const Item& item : view.unfinished(ref.file, ref.position)) tile.items.push_back(item);
  sort_items(tile);
  const auto by_time = [](const auto& a, const auto& b) { return a.time < b.time; };
  std::stable_sort(tile.instants.begin(), tile.instants.end(), by_time);
  std::stable_sort(tile.counters.begin(), tile.counters.end(), by_time);
  return tile;
}

std::vector<Tile> all_tracks(View& view) {
  std::vector<Tile> tiles;
  for (uint32_t id = 0; view.find_track(id); ++id) {
    tiles.push_back(whole_track(view, id));
    const Tile& tile = tiles.back();
    if (tile.items.empty() && tile.instants.empty() && tile.counters.empty()) tiles.pop_back();
  }
  return tiles;
}

// An analysis that fails is null: the page says that it does not have it.
std::string result_or_null(const std::function<std::string()>& analysis) {
  try {
    return analysis();
  } catch (const Error&) {
    return "null";
  }
}

// By file.
std::string results_of(const std::function<std::string(uint32_t, const IsGone&)>& analysis, size_t files) {
  std::string all = "[";
  for (uint32_t file = 0; file < files; ++file) {
    if (file > 0) all += ", ";
    all += analysis ? result_or_null([&] { return analysis(file, {}); }) : "null";
  }
  return all + "]";
}

// Of two files, in both directions. Pairs of more files would be many.
std::string comparisons_of(const Analyses& analyses, size_t files) {
  if (!analyses.diff || files != 2) return "{}";
  return base::format(R"({{"0,1": {}, "1,0": {}}})", result_or_null([&] { return analyses.diff(0, 1, {}); }),
                      result_or_null([&] { return analyses.diff(1, 0, {}); }));
}

void append_padded(std::string& data, const std::string& part) {
  data += part;
  data.resize((data.size() + 7) / 8 * 8);
}

// 0   u32   length of the JSON
// 4   u32   length of the tiles
// 8         JSON, then the tiles, then the columns (saved_content.h), each from a multiple of 8 bytes on
std::string page_data(View& view, const Analyses& analyses) {
  std::string tracks, stacks, blocks, arguments;
  SavedColumns columns;
  {
    const View::Lock lock = view.lock();
    const std::vector<Tile> tiles = all_tracks(view);
    save_links(view, tiles, columns);
    stacks = save_stacks(view, tiles, columns);
    save_ends(view, tiles, columns);
    blocks = save_blocks(view, columns);
    arguments = save_arguments(view, tiles, columns);
    tracks = encode_tiles(tiles, view.names().size());
  }
  const size_t files = view.sources().size();
  const std::string answers = base::format(
      R"({{"trace": {}, "names": {}, "reports": {}, "idle": {}, "comparisons": {}, )"
      R"("frames": {}, "memory": {}, "arguments": {}, "columns": {}}})",
      trace_json(view), all_names_json(view), results_of(analyses.report, files), results_of(analyses.idle, files),
      comparisons_of(analyses, files), stacks, blocks, arguments, columns.index());
  const uint32_t lengths[] = {static_cast<uint32_t>(answers.size()), static_cast<uint32_t>(tracks.size())};
  std::string data(reinterpret_cast<const char*>(lengths), sizeof lengths);
  append_padded(data, answers);
  append_padded(data, tracks);
  append_padded(data, columns.bytes());
  return data;
}

std::string page_script_of_data() {
  std::string script = "(() => {\n'use strict';\n";
  for (const std::string_view part : {embedded::saved_tiles_js, embedded::saved_links_js, embedded::saved_memory_js,
                                      embedded::saved_answers_js, embedded::saved_page_js})
    script += part;
  return script + "})();\n";
}

}  // namespace

std::string saved_page(View& view, const Analyses& analyses) {
  check_size(view);
  view.wait_until_built();  // all counters are known then
  std::string page = unpack(page_html());
  // The policy also forbids every connection: the page has all it needs.
  replace(page, "<meta charset=\"utf-8\">",
          "<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">");
  replace(page, "<link rel=\"stylesheet\" href=\"page.css\">", "<style>\n" + unpack(page_style()) + "</style>");
  replace(page, "<script src=\"page.js\"></script>",
          "<script type=\"application/octet-stream\" id=\"kymo-data\">" + base64(pack(page_data(view, analyses))) +
              "</script>\n<script>\n" + inside_script(page_script_of_data()) + "</script>\n<script>\n" +
              inside_script(unpack(page_script())) + "</script>");
  return page;
}

}  // namespace kymo::serve
