// `kymo ps`: lists programs that can be traced on demand, how long they have run, and their state.
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "commands/ondemand/commands.h"
#include "commands/ondemand/daemon_link.h"
#include "commands/ondemand/on_hosts.h"
#include "commands/ondemand/trigger_options.h"
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

// Omits columns that have the same value for every process.
std::string processes_as_text(const Entries& entries, uint64_t now_ns) {
  const auto any = [&entries](const auto& holds) { return std::ranges::any_of(entries, holds); };
  const bool users = any([](const auto& one) { return one.uid != ::geteuid(); });
  const bool peers = any([](const auto& one) { return one.protocol != wire::Protocol::Kymo; });
  const bool jobs = any([](const auto& one) { return !one.job.empty(); });

  std::vector<base::TextTable::Column> columns = {{"pid", base::TextTable::Align::Right}};
  if (users) columns.push_back({"user"});
  if (peers) columns.push_back({"protocol"});
  if (jobs) columns.push_back({"job"});
  columns.push_back({"running for", base::TextTable::Align::Right});
  columns.insert(columns.end(), {{"state"}, {"name"}, {"command"}});
  base::TextTable table(columns);
  for (const wire::ProcessEntry& entry : entries) {
    std::vector<std::string> cells = {std::to_string(entry.pid)};
    if (users) cells.push_back(base::printable(daemon::user_name(entry.uid)));
    if (peers) cells.push_back(protocol_name(entry.protocol));
    if (jobs) cells.push_back(base::printable(entry.job));
    cells.push_back(age(entry, now_ns));
    cells.insert(cells.end(), {doing(entry), base::printable(entry.name), base::printable(entry.command_line)});
    table.add(std::move(cells));
  }
  return shown(table);
}

std::string processes_as_json(const Entries& entries) {
  base::JsonWriter json;
  json.begin_array();
  for (const wire::ProcessEntry& entry : entries)
    json.object([&] {
      json.field("pid", entry.pid);
      json.field("uid", entry.uid);
      json.field("protocol", protocol_name(entry.protocol));
      json.values("parents", entry.parents);
      json.field("name", entry.name);
      json.field("command_line", entry.command_line);
      json.field("job", entry.job);
      json.field("started_at_ns", entry.started_at_ns);
      json.field("seen_at_ns", entry.seen_at_ns);
      json.field("state", entry.request_id == 0 ? std::string_view("idle") : wire::name_of(entry.state));
      if (entry.request_id != 0) json.field("trigger", daemon::trigger_of(entry.request_id));
    });
  json.end_array();
  return json.text();
}

// Of all daemons. A program may be known to two of them; then the first one counts. With two protocols it is listed
// once, with the one by which it gets requests.
Entries entries_of_all(const std::string& socket, const wire::Selection& selection) {
  Entries entries;
  std::set<std::pair<int32_t, wire::Protocol>> known;
  for (DaemonLink& kymod : connect_daemons(socket)) {
    const size_t before = entries.size();
    for (auto& part : kymod.ask<wire::ListReply>(wire::List{selection}))
      for (wire::ProcessEntry& entry : part.processes)
        if (!known.contains({entry.pid, entry.protocol})) entries.push_back(std::move(entry));
    for (size_t i = before; i < entries.size(); ++i) known.insert({entries[i].pid, entries[i].protocol});
  }
  std::erase_if(entries, [&](const wire::ProcessEntry& entry) {
    return entry.protocol == wire::Protocol::Kineto && known.contains({entry.pid, wire::Protocol::Kymo});
  });
  std::ranges::stable_sort(entries, {}, &wire::ProcessEntry::pid);
  return entries;
}

}  // namespace

int ps(const Arguments& arguments) {
  SelectionOptions which;
  std::string socket;
  bool json = false;
  options::CommandLine line(
      "ps", "kymo ps [options]",
      "Lists the programs that 'kymo trigger' can trace: your programs, or for root the programs of all\n"
      "users. A busy program is shown with the number of its trigger.",
      "kymo ps --name train");
  add_selection(line, which, false);
  HostsOptions hosts;
  add_hosts(line, hosts);
  add_socket(line, socket);
  line.flag("--json", json, "as JSON");
  if (!line.read(arguments)) return kDone;
  if (is_for_hosts("ps", hosts)) return run_on_hosts("ps", arguments, hosts, json);

  const Entries entries = entries_of_all(socket, which.selection);
  if (json) {
    print(processes_as_json(entries));
  } else if (!entries.empty()) {
    print(processes_as_text(entries, base::realtime_ns()));
  } else if (which.is_empty()) {
    say("no program is connected; start one with KYMO_DAEMON=1, or run 'kymo doctor PID'");
  } else {
    say(base::format("no program matches {}; 'kymo ps' shows all", selection_text(which)));
  }
  return entries.empty() && !which.is_empty() ? kNothingMatched : kDone;
}

}  // namespace kymo::cli
