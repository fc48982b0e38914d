#include "serve/api.h"

#include "base/json_writer.h"
#include "base/text.h"
#include "serve/tiles.h"

namespace kymo::serve {

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

std::string analysis(const std::function<std::string(uint32_t, const IsGone&)>& call, uint32_t file,
                     const IsGone& is_gone) {
  if (!call) throw BadRequest("this viewer has no such analysis", 404);
  return call(file, is_gone);
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
    if (path == "links") return json(links_json(view, query));
    if (path == "memory") return json(memory_json(view, analyses, query, is_gone));
    if (path == "report") return json(analysis(analyses.report, file_number(view, query, "file", 0), is_gone));
    if (path == "idle") return json(analysis(analyses.idle, file_number(view, query, "file", 0), is_gone));
    if (path == "diff") {
      if (!analyses.diff) throw BadRequest("this viewer has no such analysis", 404);
      const uint32_t base = file_number(view, query, "base", 0);
      return json(analyses.diff(base, file_number(view, query, "other", 1), is_gone));
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

}  // namespace kymo::serve
