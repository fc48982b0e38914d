#include "convert/track_choice.h"

#include "base/text.h"
#include "base/wildcard.h"
#include "kymo/error.h"

namespace kymo::convert {
namespace {

std::string full_track_name(const Place& place) { return base::format("{}/{}", place.group->name, place.name); }

bool describes(const std::string& pattern, const Place& place) {
  const auto fits = [&](const std::string& name) { return pattern == name || base::matches(pattern, name); };
  return fits(place.name) || fits(full_track_name(place)) ||
         fits(base::format("{}/{}", group_label(*place.group), place.name));
}

// Each name once: many threads may have the same.
std::string known_tracks(const Places& places) {
  constexpr size_t kShown = 20;
  std::set<std::string> names;
  for (const Place& place : places.all()) names.insert(full_track_name(place));
  std::string text;
  size_t shown = 0;
  for (const std::string& name : names) {
    if (shown++ == kShown) return text + base::format(" and {} more", names.size() - kShown);
    text += base::format("{}'{}'", text.empty() ? "" : ", ", name);
  }
  return text;
}

}  // namespace

TrackChoice::TrackChoice(const trace::Reader& reader, const std::vector<std::string>& patterns)
    : all_(patterns.empty()) {
  if (all_) return;
  const Places places(reader);
  for (const std::string& pattern : patterns) {
    bool is_used = false;
    for (const Place& place : places.all()) {
      if (!describes(pattern, place)) continue;
      is_used = true;
      chosen_.insert({place.writer->id, place.track->id});
      writers_.insert(place.writer->id);
    }
    if (is_used) continue;
    if (places.all().empty())
      throw Error(base::format("{} has no tracks, so none is named '{}'", reader.path(), pattern));
    throw Error(
        base::format("no track in {} is named '{}'; its tracks are {}", reader.path(), pattern, known_tracks(places)));
  }
}

TrackChoice::TrackChoice(std::set<std::pair<trace::WriterId, uint32_t>> tracks)
    : all_(false), chosen_(std::move(tracks)) {
  for (const auto& [writer, track] : chosen_) writers_.insert(writer);
}

}  // namespace kymo::convert
