#include "analyze/loss_text.h"

#include "analyze/loss_groups.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/units.h"
#include "trace/loss_words.h"

namespace kymo::analyze {

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
