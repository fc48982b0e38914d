// `kymo trigger`: requests a trace from running programs and waits until it is written.

#include "base/clock.h"
#include "base/host.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "cli/trigger_hosts.h"
#include "cli/trigger_run.h"
#include "cli/units.h"

namespace kymo::cli {
namespace {

void report_outcome(const TriggerOptions& options, const TriggerProgress& progress) {
  if (options.json) {
    base::JsonWriter json;
    json.begin_object();
    progress.write(json);
    json.end_object();
    print(json.text());
  } else if (!options.quiet || (options.wait && !progress.all_good())) {
    print(progress.table());
  }
}

// How to see the outcome later.
void say_later(const TriggerProgress& progress) {
  for (const uint64_t id : progress.trigger_ids()) {
    uint64_t count = 0;
    for (const TargetOutcome& target : progress.targets())
      count += target.trigger == id && !wire::is_final(target.state);
    if (id == 0 || count == 0) continue;
    say(base::format("trigger {}: {} not ended yet; 'kymo status {}' shows the outcome, 'kymo cancel {}' cancels it",
                     id, count_of(count, "process has", "processes have"), id, id));
  }
}

int ask_only(const TriggerOptions& options, TriggerRun& run) {
  run.wait_for_answers();
  const TriggerProgress& progress = run.progress();
  report_outcome(options, progress);
  if (!options.quiet && !options.json) say_later(progress);
  for (const TargetOutcome& target : progress.targets())
    if (wire::is_final(target.state) && target.state != wire::RequestState::Finished) return kFailed;
  return kDone;
}

int nothing_matched(const TriggerOptions& options, const std::string& why) {
  if (options.json) {
    base::JsonWriter json;
    json.begin_object();
    json.field("trigger", 0);
    json.begin_array("targets");
    json.end_array();
    json.field("text", why);
    json.end_object();
    print(json.text());
  } else {
    say_error("nothing matched: " + base::printable(why));
  }
  return kNothingMatched;
}

}  // namespace

int trigger(const Arguments& arguments) {
  const auto options = read_trigger_options(arguments, base::realtime_ns());
  if (!options) return kDone;
  if (is_for_hosts("trigger", options->hosts)) return trigger_on_hosts(*options, arguments);
  std::vector<DaemonLink> daemons = connect_daemons(options->socket);
  SignalInbox inbox({SIGINT, SIGTERM, SIGHUP});  // from here on there is something to stop
  TriggerRun run(*options, std::move(daemons));
  const TriggerProgress& progress = run.progress();
  if (progress.targets().empty()) return nothing_matched(*options, run.why_nothing_matched());
  if (!options->wait) return ask_only(*options, run);

  const TriggerRun::Waited waited = run.wait_for_all(inbox);
  report_outcome(*options, progress);
  if (!waited.lost.empty())
    say_error(waited.lost + "; recordings that have started continue, and their files will be written");
  else if (!options->quiet && !options->json)
    say_later(progress);
  if (waited.signal != 0) return kDiedOfSignal + waited.signal;
  return progress.is_over() && progress.all_good() ? kDone : kFailed;
}

}  // namespace kymo::cli
