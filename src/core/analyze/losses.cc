#include "analyze/losses.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "base/units.h"
#include "trace/loss_words.h"

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

LossTexts::LossTexts(const Summary& summary)
    : begin_realtime_ns_(summary.begin_realtime_ns), one_process_(summary.processes.size() < 2) {}

std::string LossTexts::text(const LossSummary& loss) const {
  if (loss.cause == trace::LossCause::Unrecorded) {
    return base::format("all events of {}: {}", base::count_of(loss.count, "process", "processes"),
                        base::printable(loss.detail));
  }
  const trace::LossWords& words = trace::loss_words(loss.cause);
  std::string text = base::count_of(loss.count, words.thing);
  const char* const where = loss.track_kind == trace::TrackKind::DeviceQueue ? "queue" : "thread";
  if (!loss.track.empty()) text += base::format(" on {} '{}'", where, base::printable(loss.track));
  if (loss.tracks > 1) text += base::format(" on {}", base::count_of(loss.tracks, where));
  if (!one_process_ && loss.pid != 0) text += base::format(" of process {}", loss.pid);
  text += base::format(" {}", loss.tracks > 1 ? words.reason_of_several : words.reason);
  if (!loss.detail.empty()) text += base::format(": {}", base::printable(loss.detail));
  return text + time_text(loss);
}

std::string LossTexts::time_text(const LossSummary& loss) const {
  if (!is_placed(loss)) return "";
  if (loss.last_realtime_ns < begin_realtime_ns_) return ", before the first event";
  const std::string last = base::offset_text(loss.last_realtime_ns - begin_realtime_ns_);
  if (loss.first_realtime_ns < begin_realtime_ns_) return base::format(", from before the first event to {}", last);
  const std::string first = base::offset_text(loss.first_realtime_ns - begin_realtime_ns_);
  return first == last ? base::format(", at {}", first) : base::format(", between {} and {}", first, last);
}

bool LossTexts::is_placed(const LossSummary& loss) const {
  return begin_realtime_ns_ != 0 && loss.last_realtime_ns != 0;
}

std::string missing_text(const MissingEnd& missing) {
  if (missing.pid == 0)
    return "the recording was not completed ('kymo record' was killed, or could not write: a full disk, a limit of the "
           "file size): some of it, or some recorded programs, may be missing";
  if (!missing.unrecovered.empty())
    return base::format(
        "the last events of process {} ({}): they are still in shared memory, and could not be added: {}", missing.pid,
        base::printable(missing.executable), base::printable(missing.unrecovered));
  return base::format(
      "the last events of process {} ({}): it did not close the trace, and its shared memory is not available here "
      "(removed, or of another user or machine)",
      missing.pid, base::printable(missing.executable));
}

std::vector<std::string> loss_lines(const Summary& summary) {
  const LossTexts texts(summary);
  std::vector<std::string> lines;
  for (const LossSummary& loss : group_losses(summary.losses, LossGroups::ByProcess)) lines.push_back(texts.text(loss));
  for (const MissingEnd& missing : summary.missing) lines.push_back(missing_text(missing));
  return lines;
}

}  // namespace kymo::analyze
