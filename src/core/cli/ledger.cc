#include "cli/ledger.h"

#include "analyze/losses.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "trace/loss_words.h"

namespace kymo::cli {
namespace {

using analyze::LossSummary;
using trace::LossCause;

constexpr size_t kMaxLines = 20;

}  // namespace

Ledger::Ledger(const analyze::Summary& summary) : Ledger(summary, summary.problems) {}

Ledger::Ledger(const analyze::Summary& summary, const std::vector<trace::Problem>& problems)
    : losses_(summary.losses), problems_(problems), missing_(summary.missing), texts_(summary) {}

uint64_t Ledger::count(LossCause cause) const {
  uint64_t count = 0;
  for (const LossSummary& loss : losses_) count += loss.cause == cause ? loss.count : 0;
  return count;
}

void Ledger::show(const std::string& file) const {
  std::vector<std::string> lines;
  const std::string name = file.empty() ? "" : base::printable(file) + ": ";
  const std::string lost = coloured("lost:", Colour::Yellow, Stream::Error);
  for (const LossSummary& loss : analyze::group_losses(losses_, analyze::LossGroups::ByProcess))
    lines.push_back(base::format("{} {}\n", lost, texts_.text(loss)));
  const std::string damaged = coloured("damaged:", Colour::Red, Stream::Error);
  for (const trace::Problem& problem : problems_)
    lines.push_back(base::format("{} {}\n", damaged, base::printable(problem.what)));

  const std::string absent = coloured("missing:", Colour::Red, Stream::Error);
  for (const analyze::MissingEnd& missing : missing_)
    lines.push_back(base::format("{} {}\n", absent, analyze::missing_text(missing)));

  const size_t shown = lines.size() > kMaxLines ? kMaxLines - 1 : lines.size();
  for (size_t i = 0; i < shown; ++i) print_error(name + lines[i]);
  if (shown < lines.size())
    print_error(
        base::format("{}… and {} more; 'kymo info --json' lists them all\n", name, count_text(lines.size() - shown)));
}

std::string Ledger::document(const std::string& file,
                             const std::function<void(base::JsonWriter&)>& write_members) const {
  base::JsonWriter json;
  json.object([&] {
    json.field("file", file);
    write_members(json);
    write(json);
  });
  return json.text();
}

int Ledger::finish(bool strict) const {
  show();
  return strict && !empty() ? kIncomplete : kDone;
}

void Ledger::write(base::JsonWriter& json) const {
  json.objects("losses", losses_, [&](const LossSummary& loss) {
    json.field("cause", trace::loss_words(loss.cause).key);
    json.field("count", loss.count);
    json.field("pid", loss.pid);
    if (!loss.track.empty()) json.field("track", loss.track);
    if (texts_.is_placed(loss)) {
      json.field("first_ns", loss.first_realtime_ns - texts_.begin_realtime_ns());
      json.field("last_ns", loss.last_realtime_ns - texts_.begin_realtime_ns());
    }
    if (!loss.detail.empty()) json.field("detail", loss.detail);
    json.field("text", texts_.text(loss));
  });
  json.objects("problems", problems_, [&](const trace::Problem& problem) {
    json.field("offset", problem.offset);
    json.field("length", problem.length);
    json.field("what", problem.what);
  });
  json.objects("missing", missing_, [&](const analyze::MissingEnd& missing) {
    if (missing.pid != 0) {
      json.field("pid", missing.pid);
      json.field("executable", missing.executable);
    }
    json.field("text", analyze::missing_text(missing));
  });
}

}  // namespace kymo::cli
