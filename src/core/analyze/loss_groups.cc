#include "analyze/loss_groups.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace kymo::analyze {
namespace {

using TrackKey = std::pair<trace::TrackKind, std::string>;
using LossKey = std::tuple<trace::LossCause, uint64_t, std::string, TrackKey>;

struct LossGroup {
  LossSummary sum;
  std::set<TrackKey> tracks;
};

TrackKey track_of(const LossSummary& loss) { return {loss.track_kind, loss.track}; }

void add_to(LossSummary& sum, const LossSummary& loss) {
  sum.count += loss.count;
  if (loss.last_realtime_ns == 0) return;  // its time is unknown
  const bool has_time = sum.last_realtime_ns != 0;
  sum.first_realtime_ns = has_time ? std::min(sum.first_realtime_ns, loss.first_realtime_ns) : loss.first_realtime_ns;
  sum.last_realtime_ns = std::max(sum.last_realtime_ns, loss.last_realtime_ns);
}

}  // namespace

std::vector<LossSummary> group_losses(const std::vector<LossSummary>& losses, LossGroups by) {
  std::map<LossKey, size_t> places;
  std::vector<LossGroup> groups;  // in the order of the losses
  for (const LossSummary& loss : losses) {
    const TrackKey track = track_of(loss);
    const LossKey key{loss.cause, loss.pid, loss.detail, by == LossGroups::ByTrack ? track : TrackKey{}};
    const auto [place, is_new] = places.try_emplace(key, groups.size());
    if (is_new)
      groups.push_back({loss, {}});
    else
      add_to(groups[place->second].sum, loss);
    groups[place->second].tracks.insert(track);
  }
  std::vector<LossSummary> sums;
  for (LossGroup& group : groups) {
    LossSummary& sum = sums.emplace_back(std::move(group.sum));
    sum.tracks = group.tracks.size();
    if (sum.tracks > 1) sum.track.clear();
  }
  std::stable_sort(sums.begin(), sums.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
  return sums;
}

}  // namespace kymo::analyze
