#include "cli/ledger.h"

#include "analyze/loss_groups.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "trace/loss_words.h"

namespace kymo::cli {
namespace {

using analyze::LossSummary;
using trace::LossCause;

constexpr size_t kMaxLines = 20;

std::string missing_text(const analyze::MissingEnd& missing) {
  if (missing.pid == 0)
    return "the recording was not completed ('kymo record' was killed): some recorded programs may be missing";
  if (!missing.unrecovered.empty())
    return base::format(
        "the last events of process {} ({}): they are still in shared memory, and could not be added: {}", missing.pid,
        base::printable(missing.executable), base::printable(missing.unrecovered));
  return base::format(
      "the last events of process {} ({}): it did not close the trace, and its shared memory is not available here "
      "(removed, or of another user or machine)",
      missing.pid, base::printable(missing.executable));
}

}  // namespace

Ledger::Ledger(const analyze::Summary& summary) : Ledger(summary, summary.problems) {}

Ledger::Ledger(const analyze::Summary& summary, const std::vector<trace::Problem>& problems)
    : losses_(summary.losses),
      problems_(problems),
      missing_(summary.missing),
      begin_realtime_ns_(summary.begin_realtime_ns),
      one_process_(summary.processes.size() < 2) {}

// "1,024 events on thread 'worker' because its ring was full (policy drop), between +1.20 s and +1.35 s"
std::string Ledger::text(const LossSummary& loss) const {
  if (loss.cause == LossCause::Unrecorded) {
    return base::format("all events of {}: {}", count_of(loss.count, "process", "processes"),
                        base::printable(loss.detail));
  }
  const trace::LossWords& words = trace::loss_words(loss.cause);
  std::string text = count_of(loss.count, words.thing);
  const char* const where = loss.track_kind == trace::TrackKind::DeviceQueue ? "queue" : "thread";
  if (!loss.track.empty()) text += base::format(" on {} '{}'", where, base::printable(loss.track));
  if (loss.tracks > 1) text += base::format(" on {}", count_of(loss.tracks, where));
  if (!one_process_ && loss.pid != 0) text += base::format(" of process {}", loss.pid);
  text += base::format(" {}", loss.tracks > 1 ? words.reason_of_several : words.reason);
  if (!loss.detail.empty()) text += base::format(": {}", base::printable(loss.detail));
  return text + time_text(loss);
}

std::string Ledger::time_text(const LossSummary& loss) const {
  if (!is_placed(loss)) return "";
  if (loss.last_realtime_ns < begin_realtime_ns_) return ", before the first event";
  const std::string last = offset_text(loss.last_realtime_ns - begin_realtime_ns_);
  if (loss.first_realtime_ns < begin_realtime_ns_) return base::format(", from before the first event to {}", last);
  const std::string first = offset_text(loss.first_realtime_ns - begin_realtime_ns_);
  return first == last ? base::format(", at {}", first) : base::format(", between {} and {}", first, last);
}

uint64_t Ledger::count(LossCause cause) const {
  uint64_t count = 0;
  for (const LossSummary& loss : losses_) count += loss.cause == cause ? loss.count : 0;
  return count;
}

void Ledger::show() const {
  std::vector<std::string> lines;
  const std::string lost = coloured("lost:", Colour::Yellow, Stream::Error);
  for (const LossSummary& loss : analyze::group_losses(losses_, analyze::LossGroups::ByProcess))
    lines.push_back(base::format("{} {}\n", lost, text(loss)));
  const std::string damaged = coloured("damaged:", Colour::Red, Stream::Error);
  for (const trace::Problem& problem : problems_)
    lines.push_back(base::format("{} {}\n", damaged, base::printable(problem.what)));

  const std::string absent = coloured("missing:", Colour::Red, Stream::Error);
  for (const analyze::MissingEnd& missing : missing_)
    lines.push_back(base::format("{} {}\n", absent, missing_text(missing)));

  const size_t shown = lines.size() > kMaxLines ? kMaxLines - 1 : lines.size();
  for (size_t i = 0; i < shown; ++i) print_error(lines[i]);
  if (shown < lines.size())
    print_error(base::format("… and {} more; 'kymo info --json' lists them all\n", count_text(lines.size() - shown)));
}

void Ledger::write(base::JsonWriter& json) const {
  json.begin_array("losses");
  for (const LossSummary& loss : losses_) {
    json.begin_object();
    json.field("cause", trace::loss_words(loss.cause).key);
    json.field("count", loss.count);
    json.field("pid", loss.pid);
    if (!loss.track.empty()) json.field("track", loss.track);
    if (is_placed(loss)) {
      json.field("first_ns", loss.first_realtime_ns - begin_realtime_ns_);
      json.field("last_ns", loss.last_realtime_ns - begin_realtime_ns_);
    }
    if (!loss.detail.empty()) json.field("detail", loss.detail);
    json.field("text", text(loss));
    json.end_object();
  }
  json.end_array();
  json.begin_array("problems");
  for (const trace::Problem& problem : problems_) {
    json.begin_object();
    json.field("offset", problem.offset);
    json.field("length", problem.length);
    json.field("what", problem.what);
    json.end_object();
  }
  json.end_array();
  json.begin_array("missing");
  for (const analyze::MissingEnd& missing : missing_) {
    json.begin_object();
    if (missing.pid != 0) {
      json.field("pid", missing.pid);
      json.field("executable", missing.executable);
    }
    json.field("text", missing_text(missing));
    json.end_object();
  }
  json.end_array();
}

bool Ledger::is_placed(const LossSummary& loss) const { return begin_realtime_ns_ != 0 && loss.last_realtime_ns != 0; }

}  // namespace kymo::cli
