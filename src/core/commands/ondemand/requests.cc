#include "commands/ondemand/requests.h"

#include <algorithm>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "commands/ondemand/daemon_link.h"
#include "commands/ondemand/on_hosts.h"
#include "commands/ondemand/trigger_options.h"
#include "commands/ondemand/trigger_run.h"
#include "daemon/triggers.h"
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
    cells.push_back(file_or_reason(entry));
    table.add(std::move(cells));
  }
  return shown(table);
}

std::string requests_as_json(const KnownRequests& requests) {
  base::JsonWriter json;
  json.begin_array();
  for (const KnownRequest& one : requests)
    json.object([&] {
      json.field("trigger", one.entry.trigger_id);
      json.field("daemon", one.daemon);
      json.field("name", one.entry.name);
      json.field("asked_at_ns", one.entry.asked_at_ns);
      if (one.entry.ended_at_ns != 0) json.field("ended_at_ns", one.entry.ended_at_ns);
      write_outcome(json, one.entry.pid, one.entry);
    });
  json.end_array();
  return json.text();
}

}  // namespace

int show_requests(const TriggerOptions& options) {
  const uint64_t trigger = *options.status;
  const KnownRequests requests = requests_of_all(options.socket, trigger);
  if (options.json) {
    print(requests_as_json(requests));
  } else if (!requests.empty()) {
    print(requests_as_text(requests, base::realtime_ns()));
  } else if (trigger == 0) {
    say("there was no trigger since the daemon was started");
  } else {
    say_error(base::format("trigger {} is not known; 'kymo trigger --status' lists all", trigger));
  }
  return requests.empty() && trigger != 0 ? kNothingMatched : kDone;
}

namespace {

// Empty if a process was found.
std::string why_nothing(const std::vector<wire::TriggerReply>& replies) {
  for (const auto& reply : replies)
    if (!reply.targets.empty()) return {};
  return replies.back().text;
}

std::string cancelled_as_json(const std::vector<wire::TriggerReply>& replies) {
  base::JsonWriter json;
  json.object([&] {
    json.field("trigger", replies.back().trigger_id);
    json.array("processes", replies, [&](const wire::TriggerReply& reply) {
      for (const wire::TriggerTarget& target : reply.targets)
        json.object([&] {
          json.field("pid", target.pid);
          if (!target.text.empty()) json.field("text", target.text);
        });
    });
    if (const std::string why = why_nothing(replies); !why.empty()) json.field("text", why);
  });
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
std::vector<wire::TriggerReply> end_at_all(const TriggerOptions& options) {
  auto daemons = connect_daemons(options.socket);
  check_number(daemons, *options.cancel);
  std::vector<wire::TriggerReply> replies;
  for (DaemonLink& kymod : daemons)
    for (auto& part : kymod.ask<wire::TriggerReply>(wire::CancelTrigger{*options.cancel, options.keep}))
      replies.push_back(std::move(part));
  return replies;
}

}  // namespace

int cancel_requests(const TriggerOptions& options) {
  const auto replies = end_at_all(options);
  size_t processes = 0;
  for (const auto& reply : replies) processes += reply.targets.size();
  if (options.json) {
    print(cancelled_as_json(replies));
  } else if (processes == 0) {
    say_error(base::format("nothing was cancelled: {}", base::printable(why_nothing(replies))));
  } else {
    for (const auto& reply : replies)
      for (const auto& target : reply.targets)
        if (!target.text.empty()) say_warning(base::format("{}: {}", target.pid, base::printable(target.text)));
    print(base::format("{} in {}\n", options.keep ? "stopped" : "cancelled",
                       count_of(processes, "process", "processes")));
  }
  return processes == 0 ? kNothingMatched : kDone;
}

}  // namespace kymo::cli
