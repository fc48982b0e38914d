// `kymo status`: what became of recent triggers, for commands that did not wait for it.
#include <algorithm>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/quantity.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/daemon_link.h"
#include "cli/on_hosts.h"
#include "cli/selection_options.h"
#include "cli/terminal.h"
#include "cli/trigger_progress.h"
#include "cli/units.h"
#include "kymo/error.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

struct KnownRequest {
  wire::HistoryEntry entry;
  std::string daemon;  // its socket
};
using KnownRequests = std::vector<KnownRequest>;

// Of all daemons, the oldest first.
KnownRequests requests_of_all(const std::string& socket, uint64_t trigger) {
  KnownRequests requests;
  for (DaemonLink& kymod : connect_daemons(socket))
    for (auto& part : kymod.ask<wire::HistoryReply>(wire::History{trigger}))
      for (wire::HistoryEntry& entry : part.entries) requests.push_back({std::move(entry), kymod.path()});
  std::ranges::stable_sort(requests, {}, [](const KnownRequest& one) { return one.entry.asked_at_ns; });
  return requests;
}

TargetOutcome outcome_of(const wire::HistoryEntry& entry) {
  return {.pid = entry.pid,
          .trigger = entry.trigger_id,
          .state = entry.state,
          .path = entry.path,
          .text = entry.text,
          .bytes = entry.bytes,
          .events = entry.events,
          .losses = entry.losses,
          .late_ns = entry.late_ns};
}

std::string requests_as_text(const KnownRequests& requests, uint64_t now_ns) {
  const bool daemons =
      std::ranges::any_of(requests, [&](const KnownRequest& one) { return one.daemon != requests.front().daemon; });
  constexpr auto kRight = base::TextTable::Align::Right;
  std::vector<base::TextTable::Column> columns = {{"trigger", kRight}, {"requested", kRight}, {"pid", kRight}, {"name"},
                                                  {"state"},           {"size", kRight}};
  if (daemons) columns.push_back({"daemon"});
  columns.push_back({"file or error"});
  base::TextTable table(columns);
  for (const auto& [entry, daemon] : requests) {
    const bool is_written = entry.state == wire::RequestState::Finished;
    const uint64_t ago = now_ns - std::min(now_ns, entry.asked_at_ns);
    std::vector<std::string> cells = {std::to_string(entry.trigger_id),
                                      duration_text(ago) + " ago",
                                      std::to_string(entry.pid),
                                      base::printable(entry.name),
                                      std::string(wire::name_of(entry.state)),
                                      is_written ? bytes_text(entry.bytes) : ""};
    if (daemons) cells.push_back(base::printable(daemon));
    cells.push_back(file_or_reason(outcome_of(entry)));
    table.add(std::move(cells));
  }
  return shown(table);
}

std::string requests_as_json(const KnownRequests& requests) {
  base::JsonWriter json;
  json.begin_array();
  for (const auto& [entry, daemon] : requests) {
    json.begin_object();
    json.field("trigger", entry.trigger_id);
    json.field("daemon", daemon);
    json.field("name", entry.name);
    json.field("asked_at_ns", entry.asked_at_ns);
    if (entry.ended_at_ns != 0) json.field("ended_at_ns", entry.ended_at_ns);
    write_outcome(json, outcome_of(entry));
    json.end_object();
  }
  json.end_array();
  return json.text();
}

}  // namespace

int status_command(const Arguments& arguments) {
  uint64_t trigger = 0;
  std::string socket;
  bool json = false;
  options::CommandLine line("status", "kymo status [ID] [options]",
                            "Shows the recent triggers of 'kymo trigger' and dyno, and what became of them in each\n"
                            "program. The daemon keeps the last 256 outcomes of each user while it runs. Exits with 3\n"
                            "if the trigger is not known.",
                            "kymo status\n"
                            "kymo status 17");
  line.text(
      "ID", "ID", [&trigger](const std::string& text) { trigger = parse_trigger(text); },
      "the trigger's number; default: all your triggers");
  HostsOptions hosts;
  add_hosts(line, hosts);
  add_socket(line, socket);
  line.flag("--json", json, "as JSON");
  if (!line.read(arguments)) return kDone;
  if (is_for_hosts("status", hosts)) return run_on_hosts("status", arguments, hosts, json);

  const KnownRequests requests = requests_of_all(socket, trigger);
  if (json) {
    print(requests_as_json(requests));
  } else if (!requests.empty()) {
    print(requests_as_text(requests, base::realtime_ns()));
  } else if (trigger == 0) {
    say("there was no trigger since the daemon was started");
  } else {
    say_error(base::format("trigger {} is not known; 'kymo status' lists all", trigger));
  }
  return requests.empty() && trigger != 0 ? kNothingMatched : kDone;
}

}  // namespace kymo::cli
