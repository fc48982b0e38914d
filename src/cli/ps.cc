// `kymo ps`: which programs can be asked for a trace, since when they run, and what they do.
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/daemon_link.h"
#include "cli/json.h"
#include "cli/selection_options.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "cli/units.h"
#include "daemon/proc.h"
#include "daemon/triggers.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

using Entries = std::vector<wire::ProcessEntry>;

std::string protocol_name(wire::Protocol protocol) {
  if (protocol == wire::Protocol::Kymo) return "kymo";
  return protocol == wire::Protocol::Kineto ? "kineto" : "unknown";
}

std::string doing(const wire::ProcessEntry& entry) {
  if (entry.request_id == 0) return "idle";
  return base::format("{} ({})", wire::name_of(entry.state), daemon::trigger_of(entry.request_id));
}

std::string age(const wire::ProcessEntry& entry, uint64_t now_ns) {
  if (entry.started_at_ns == 0 || entry.started_at_ns > now_ns) return "?";
  return duration_text(now_ns - entry.started_at_ns);
}

// Columns that say the same of every process are left out.
std::string processes_as_text(const Entries& entries, uint64_t now_ns) {
  const auto any = [&entries](const auto& holds) { return std::ranges::any_of(entries, holds); };
  const bool users = any([](const auto& one) { return one.uid != ::geteuid(); });
  const bool peers = any([](const auto& one) { return one.protocol != wire::Protocol::Kymo; });
  const bool jobs = any([](const auto& one) { return !one.job.empty(); });

  std::vector<Table::Column> columns = {{"pid", Table::Align::Right}};
  if (users) columns.push_back({"user"});
  if (peers) columns.push_back({"by"});
  if (jobs) columns.push_back({"job"});
  columns.push_back({"runs for", Table::Align::Right});
  columns.insert(columns.end(), {{"doing"}, {"name"}, {"command"}});
  Table table(columns);
  for (const wire::ProcessEntry& entry : entries) {
    std::vector<std::string> cells = {std::to_string(entry.pid)};
    if (users) cells.push_back(printable(daemon::user_name(entry.uid)));
    if (peers) cells.push_back(protocol_name(entry.protocol));
    if (jobs) cells.push_back(printable(entry.job));
    cells.push_back(age(entry, now_ns));
    cells.insert(cells.end(), {doing(entry), printable(entry.name), printable(entry.command_line)});
    table.add(std::move(cells));
  }
  return table.text(terminal_width(Stream::Output));
}

std::string processes_as_json(const Entries& entries) {
  JsonWriter json;
  json.begin_array();
  for (const wire::ProcessEntry& entry : entries) {
    json.begin_object();
    json.field("pid", entry.pid);
    json.field("uid", entry.uid);
    json.field("protocol", protocol_name(entry.protocol));
    json.begin_array("parents");
    for (const int32_t parent : entry.parents) json.value(parent);
    json.end_array();
    json.field("name", entry.name);
    json.field("command_line", entry.command_line);
    json.field("job", entry.job);
    json.field("started_at_ns", entry.started_at_ns);
    json.field("seen_at_ns", entry.seen_at_ns);
    json.field("state", entry.request_id == 0 ? std::string_view("idle") : wire::name_of(entry.state));
    if (entry.request_id != 0) json.field("trigger", daemon::trigger_of(entry.request_id));
    json.end_object();
  }
  json.end_array();
  return json.text();
}

}  // namespace

int ps(const Arguments& arguments) {
  SelectionOptions which;
  std::string socket;
  bool json = false;
  options::CommandLine line(
      "ps", "kymo ps [options]",
      "Lists the programs that 'kymo trigger' can ask for a trace: yours, or for root everyone's. What a\n"
      "program does is shown with the number of the trigger that asked for it.",
      "kymo ps --name train");
  add_selection(line, which, false);
  add_socket(line, socket);
  line.flag("--json", json, "as JSON");
  if (!line.read(arguments)) return kDone;

  DaemonLink kymod(socket);
  Entries entries;
  for (auto& part : kymod.ask<wire::ListReply>(wire::List{which.selection}))
    std::ranges::move(part.processes, std::back_inserter(entries));
  std::ranges::sort(entries, {}, &wire::ProcessEntry::pid);
  if (json) {
    print(processes_as_json(entries));
  } else if (!entries.empty()) {
    print(processes_as_text(entries, base::realtime_ns()));
  } else if (which.is_empty()) {
    say("no program is connected; start one with KYMO_DAEMON=1, or see 'kymo doctor PID'");
  } else {
    say(base::format("no program matches {}; 'kymo ps' shows all", selection_text(which)));
  }
  return entries.empty() && !which.is_empty() ? kNothingMatched : kDone;
}

}  // namespace kymo::cli
