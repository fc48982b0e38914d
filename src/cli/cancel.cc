// `kymo cancel`: cancels triggers of `kymo trigger`.

#include "base/json_writer.h"
#include "base/printable.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/daemon_link.h"
#include "cli/selection_options.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "kymo/error.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

struct CancelOptions {
  uint64_t trigger = 0;  // 0: all
  std::string socket;
  bool json = false;
};

uint64_t parse_trigger(const std::string& text) {
  try {
    return base::parse_count(text);
  } catch (const InvalidArgument&) {
    throw InvalidArgument(base::format("'{}' is not the number of a trigger; 'kymo ps' lists them", text));
  }
}

std::optional<CancelOptions> read_cancel_options(const Arguments& arguments) {
  CancelOptions options;
  bool all = false;
  options::CommandLine line(
      "cancel", "kymo cancel ID|--all [options]",
      "Cancels a trigger of 'kymo trigger': pending recordings do not start, and running recordings stop.\n"
      "Exits with 3 if there was nothing to cancel.",
      "kymo cancel 17");
  line.text(
      "ID", "ID", [&options](const std::string& text) { options.trigger = parse_trigger(text); },
      "the trigger's number, as shown by 'kymo trigger --no-wait' and 'kymo ps'");
  line.flag("--all", all, "all your triggers");
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
  if (!replies.back().text.empty()) json.field("text", replies.back().text);
  json.end_object();
  return json.text();
}

}  // namespace

int cancel(const Arguments& arguments) {
  const auto options = read_cancel_options(arguments);
  if (!options) return kDone;
  DaemonLink kymod(options->socket);
  const auto replies = kymod.ask<wire::TriggerReply>(wire::CancelTrigger{options->trigger});
  size_t processes = 0;
  for (const auto& reply : replies) processes += reply.targets.size();
  if (options->json) {
    print(cancelled_as_json(replies));
  } else if (processes == 0) {
    say_error(base::format("nothing was cancelled: {}", base::printable(replies.back().text)));
  } else {
    for (const auto& reply : replies)
      for (const auto& target : reply.targets)
        if (!target.text.empty()) say_warning(base::format("{}: {}", target.pid, base::printable(target.text)));
    print(base::format("cancelled in {}\n", count_of(processes, "process", "processes")));
  }
  return processes == 0 ? kNothingMatched : kDone;
}

}  // namespace kymo::cli
