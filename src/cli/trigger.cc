// `kymo trigger`: requests a trace from running programs and waits until it is written.

#include <chrono>
#include <filesystem>

#include "base/clock.h"
#include "base/host.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/daemon_link.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "cli/trigger_options.h"
#include "cli/trigger_progress.h"
#include "cli/units.h"
#include "daemon/proc.h"

namespace kymo::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTick(100);  // how often the bar moves, and a Ctrl-C is noticed
constexpr std::chrono::seconds kCancelLimit(5);  // for the processes to stop

std::string here() {
  std::error_code failure;
  const auto folder = std::filesystem::current_path(failure);
  if (failure)
    throw Error(base::format("cannot get the current folder: {}; give an absolute path with -o", failure.message()));
  return folder.string();
}

wire::Trigger complete_trigger(const TriggerOptions& options, const wire::Welcome& welcome) {
  wire::Trigger trigger = options.trigger;
  const bool is_absolute = options.output.starts_with('/');
  trigger.options.output = output_pattern(options, is_absolute ? "/" : here(), welcome.output_folders);
  trigger.options.format = format_of_output(trigger.options.output, trigger.kind);
  if (trigger.options.start_at_ns != 0) trigger.options.boot_id = base::boot_id();
  return trigger;
}

struct Waited {
  int signal = 0;    // the signal that cancelled it
  std::string lost;  // why the daemon stopped sending updates; empty: it sent all
};

// Waits until all is done. The first signal cancels the trigger and waits briefly for its end; the second exits.
Waited wait_for_all(DaemonLink& kymod, uint32_t serial, TriggerProgress& progress, bool shows_bar, SignalInbox& inbox) {
  StatusLine status(shows_bar);
  Waited waited;
  Clock::time_point give_up = Clock::time_point::max(), shown_next{};
  try {
    while (!progress.is_over() && Clock::now() < give_up) {
      if (status.shown() && Clock::now() >= shown_next) {
        status.show("kymo: " + progress.bar(base::realtime_ns(), terminal_width(Stream::Error)));
        shown_next = Clock::now() + kTick;
      }
      if (const auto message = kymod.next(serial, kTick))
        if (const auto* update = std::get_if<wire::TriggerUpdate>(&*message))
          progress.take(*update, base::realtime_ns());
      const auto signal = inbox.wait(std::chrono::milliseconds(0));
      if (!signal) continue;
      if (waited.signal != 0) break;
      waited.signal = signal->signal;
      give_up = Clock::now() + kCancelLimit;
      kymod.send(wire::CancelTrigger{progress.trigger_id()});
    }
  } catch (const ConnectionLost& error) {
    waited.lost = error.what();
  }
  return waited;
}

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

int ask_only(const TriggerOptions& options, const TriggerProgress& progress) {
  report_outcome(options, progress);
  if (!options.quiet && !options.json)
    say(base::format("trigger {}: sent to {}; cancel it with 'kymo cancel {}'", progress.trigger_id(),
                     count_of(progress.targets().size(), "process", "processes"), progress.trigger_id()));
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
  DaemonLink kymod(options->socket);
  const wire::Trigger request = complete_trigger(*options, kymod.welcome());
  SignalInbox inbox({SIGINT, SIGTERM, SIGHUP});  // from here on there is something to cancel
  const uint32_t serial = kymod.send(request);
  const auto replies = kymod.answer_to<wire::TriggerReply>(serial);
  TriggerProgress progress(request.options, replies);
  if (progress.targets().empty()) return nothing_matched(*options, replies.back().text);
  if (!options->wait) return ask_only(*options, progress);

  const Waited waited = wait_for_all(kymod, serial, progress, !options->quiet, inbox);
  report_outcome(*options, progress);
  if (!waited.lost.empty())
    say_error(waited.lost + "; recordings that have started continue, and their files will be written");
  if (waited.signal != 0) return kDiedOfSignal + waited.signal;
  return progress.is_over() && progress.all_good() ? kDone : kFailed;
}

}  // namespace kymo::cli
