// `kymo cancel`: cancels triggers of `kymo trigger`.

#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/daemon_link.h"
#include "cli/on_hosts.h"
#include "cli/selection_options.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "daemon/triggers.h"
#include "kymo/error.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

struct CancelOptions {
  uint64_t trigger = 0;  // 0: all
  bool keep = false;
  std::string socket;
  HostsOptions hosts;
  bool json = false;
};

std::optional<CancelOptions> read_cancel_options(const Arguments& arguments) {
  CancelOptions options;
  bool all = false;
  options::CommandLine line(
      "cancel", "kymo cancel ID|--all [options]",
      "Cancels a trigger of 'kymo trigger': pending recordings do not start, and running recordings stop.\n"
      "Their traces are discarded, or kept with --keep. Exits with 3 if there was nothing to cancel.",
      "kymo cancel 17\n"
      "kymo cancel 17 --keep");
  line.text(
      "ID", "ID", [&options](const std::string& text) { options.trigger = parse_trigger(text); },
      "the trigger's number, as shown by 'kymo trigger --no-wait' and 'kymo ps'");
  line.flag("--all", all, "all your triggers");
  line.flag("--keep", options.keep, "keep what was recorded so far");
  add_hosts(line, options.hosts);
  add_socket(line, options.socket);
  line.flag("--json", options.json, "as JSON");
  if (!line.read(arguments)) return std::nullopt;
  if (!all && options.trigger == 0)
    throw options::UsageError("cancel", "no trigger given. Usage: kymo cancel ID|--all [options]");
  if (all && options.trigger != 0)
    throw options::UsageError(
        "cancel", base::format("--all cannot be used with the trigger '{}'; give one of them", options.trigger));
  return options;
}

// Empty if a process was found.
std::string why_nothing(const std::vector<wire::TriggerReply>& replies) {
  for (const auto& reply : replies)
    if (!reply.targets.empty()) return {};
  return replies.back().text;
}

std::string cancelled_as_json(const std::vector<wire::TriggerReply>& replies) {
  base::JsonWriter json;
  json.begin_object();
  json.field("trigger", replies.back().trigger_id);
  json.begin_array("processes");
  for (const auto& reply : replies) {
    for (const auto& target : reply.targets) {
      json.begin_object();
      json.field("pid", target.pid);
      if (!target.text.empty()) json.field("text", target.text);
      json.end_object();
    }
  }
  json.end_array();
  if (const std::string why = why_nothing(replies); !why.empty()) json.field("text", why);
  json.end_object();
  return json.text();
}

bool is_running_at(DaemonLink& kymod, uint64_t trigger) {
  for (const auto& part : kymod.ask<wire::ListReply>(wire::List{}))
    for (const wire::ProcessEntry& entry : part.processes)
      if (entry.request_id != 0 && daemon::trigger_of(entry.request_id) == trigger) return true;
  for (const auto& part : kymod.ask<wire::HistoryReply>(wire::History{trigger}))
    for (const wire::HistoryEntry& entry : part.entries)
      if (!wire::is_final(entry.state)) return true;
  return false;
}

// Two daemons may have triggers with the same number. Throws InvalidArgument if that is the case here.
void check_number(std::vector<DaemonLink>& daemons, uint64_t trigger) {
  if (trigger == 0 || daemons.size() < 2) return;
  std::vector<std::string> paths;
  for (DaemonLink& kymod : daemons)
    if (is_running_at(kymod, trigger)) paths.push_back(kymod.path());
  if (paths.size() > 1)
    throw InvalidArgument(base::format("there is a trigger {} at {}; give one of them with --socket", trigger,
                                       base::printable(base::join(paths, " and at "))));
}

// The replies of all daemons.
std::vector<wire::TriggerReply> end_at_all(const CancelOptions& options) {
  auto daemons = connect_daemons(options.socket);
  check_number(daemons, options.trigger);
  const wire::Message request = options.keep ? wire::Message(wire::StopTrigger{options.trigger})
                                             : wire::Message(wire::CancelTrigger{options.trigger});
  std::vector<wire::TriggerReply> replies;
  for (DaemonLink& kymod : daemons)
    for (auto& part : kymod.ask<wire::TriggerReply>(request)) replies.push_back(std::move(part));
  return replies;
}

}  // namespace

int cancel(const Arguments& arguments) {
  const auto options = read_cancel_options(arguments);
  if (!options) return kDone;
  if (is_for_hosts("cancel", options->hosts)) return run_on_hosts("cancel", arguments, options->hosts, options->json);
  const auto replies = end_at_all(*options);
  size_t processes = 0;
  for (const auto& reply : replies) processes += reply.targets.size();
  if (options->json) {
    print(cancelled_as_json(replies));
  } else if (processes == 0) {
    say_error(base::format("nothing was cancelled: {}", base::printable(why_nothing(replies))));
  } else {
    for (const auto& reply : replies)
      for (const auto& target : reply.targets)
        if (!target.text.empty()) say_warning(base::format("{}: {}", target.pid, base::printable(target.text)));
    print(base::format("{} in {}\n", options->keep ? "stopped" : "cancelled",
                       count_of(processes, "process", "processes")));
  }
  return processes == 0 ? kNothingMatched : kDone;
}

}  // namespace kymo::cli
