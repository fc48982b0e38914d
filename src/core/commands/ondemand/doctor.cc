#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>

#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/programs.h"
#include "cli/run.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "commands/ondemand/commands.h"
#include "commands/ondemand/daemon_link.h"
#include "commands/ondemand/doctor_process.h"
#include "commands/ondemand/on_hosts.h"
#include "commands/ondemand/trigger_options.h"
#include "commands/record/interfaces.h"
#include "commands/record/libraries.h"
#include "daemon/proc.h"
#include "daemon/triggers.h"
#include "kymo/error.h"
#include "kymo/sink.h"
#include "options/command_line.h"
#include "query/duckdb.h"
#include "sample/perf_events.h"

namespace kymo::cli {
namespace {

Finding examine(const InterfaceDescription& one) {
  const std::string name(record::name_of(one.interface));
  try {
    interface_environment({one.interface});
    if (!one.other_tool.empty())
      return {name, Verdict::Doubtful,
              base::format("{} is not recorded: {} names another tool, {}", one.title, one.variable, one.other_tool),
              base::format("unset {}", one.variable)};
    return {
        name,
        Verdict::Good,
        base::format("programs that use {} are recorded{}", one.title, one.by_default ? "" : " with --with " + name),
        {}};
  } catch (const NotAvailable& error) {
    return {name, Verdict::Bad, base::format("{} is not recorded", one.title), error.what()};
  }
}

constexpr const char* kStartAgain = "start the program by 'kymo record', or after eval \"$(kymo env)\"";

// Empty: the process was started without the variable.
std::optional<Finding> examine(const InterfaceDescription& one, pid_t pid) {
  const std::string name(record::name_of(one.interface));
  const auto value = daemon::start_variable(pid, one.variable).value;
  if (!value || value->empty()) return std::nullopt;
  if (value->find(one.value) != std::string::npos)
    return Finding{name, Verdict::Good, base::format("the program loads Kymo's library if it uses {}", one.title), {}};
  if (one.variable == kPreloadVariable) return std::nullopt;  // it is for libraries of all kinds
  return Finding{name, Verdict::Doubtful, base::format("{} names another tool: {}", one.variable, *value),
                 base::format("{}: both keep the other tool", kStartAgain)};
}

}  // namespace

Findings examine_interfaces() {
  Findings findings;
  for (const InterfaceDescription& one : interface_descriptions()) findings.push_back(examine(one));
  return findings;
}

Findings examine_interfaces(pid_t pid, bool is_connected) {
  if (!daemon::start_variable(pid, "PATH").is_known) return {};  // it has ended, or belongs to another user
  if (daemon::has_library(pid, kInjectedLibrary).value_or(false))
    return {{"interfaces", Verdict::Good, base::format("the program has loaded {}", kInjectedLibrary), {}}};
  Findings findings;
  for (const InterfaceDescription& one : interface_descriptions())
    if (auto finding = examine(one, pid)) findings.push_back(std::move(*finding));
  if (findings.empty() && !is_connected)
    findings.push_back({"interfaces", Verdict::Doubtful,
                        "the program was started without Kymo's environment: interfaces such as NVTX are not recorded",
                        kStartAgain});
  return findings;
}

// ---- What a newcomer needs on this machine: rights to sample, libraries, Python, DuckDB, other tools, devices. Bad:
// recording does not work. Doubtful: something that `kymo` offers is missing, with the remedy.

namespace {

// Why `use` throws that something is not available; empty if it does not.
std::string problem(const std::function<void()>& use) {
  try {
    use();
  } catch (const NotAvailable& error) {
    return error.what();
  }
  return {};
}

Finding examine_sampling() {
  sample::PerfEvents::Unseen unseen;
  const std::string refused = problem([&] {
    unseen = sample::PerfEvents::for_next_program({1000, sample::kDefaultStacks, sample::Waits::Some, true}).unseen();
  });
  if (refused.empty() && unseen.what.empty()) return {"sampling", Verdict::Good, "the kernel samples programs", {}};
  if (refused.empty())
    return {"sampling", Verdict::Doubtful, "the kernel samples programs, without: " + unseen.what, unseen.why};
  const std::string missing = problem([] { find_kymo_library("libkymo_sample.so"); });
  if (!missing.empty())
    return {"sampling", Verdict::Bad, base::format("programs cannot be sampled: {}", refused), missing};
  return {"sampling", Verdict::Doubtful, "programs are sampled by timers inside them, because the kernel refuses",
          refused};
}

Finding examine_symbols() {
#if KYMO_HAVE_DW
  return {"symbols", Verdict::Good, "functions have files and lines, if the program has debug information", {}};
#else
  return {"symbols", Verdict::Doubtful, "functions have no files and lines: Kymo was built without libdw",
          "install libdw-dev and build Kymo again"};
#endif
}

Finding examine_use(const char* name, const char* what, const std::string& missing) {
  if (missing.empty()) return {name, Verdict::Good, what, {}};
  return {name, Verdict::Doubtful, base::format("not available: {}", what), missing};
}

const char* readers_of(std::string_view sink) {
  if (sink == "usdt") return "perf, bpftrace, SystemTap, gdb";
  if (sink == "lttng") return "lttng enable-event -u 'kymo:*'";
  if (sink == "trace-marker") return "ftrace, trace-cmd, Perfetto";
  if (sink == "nvtx") return "Nsight Systems, or a tool named by NVTX_INJECTION64_PATH";
  return "other tools";
}

Finding examine_sink(const SinkReport& sink) {
  if (!sink.absent.empty())
    return {"sink " + sink.name, Verdict::Doubtful, base::format("annotations cannot go to {}", readers_of(sink.name)),
            sink.absent};
  return {"sink " + sink.name,
          Verdict::Good,
          base::format("annotations {} {}{}", sink.on ? "go to" : "can go to", readers_of(sink.name),
                       sink.on ? "" : base::format(" (KYMO_SINKS={})", sink.name)),
          {}};
}

// What a program beside `kymo` says: lines of "good|doubtful", name, text and remedy, separated by tabs.
Findings examine_program(const PartProgram& program) {
  Findings findings;
  ProgramOutput said;
  const std::string missing = problem([&] {
    program_path(program.file);
    if (program.checks != nullptr) said = run_beside(program.file, {program.checks});
  });
  if (!missing.empty()) {
    std::string commands;
    for (const Command& command : program.commands)
      commands += base::format("{}kymo {}", commands.empty() ? "" : ", ", command.name);
    return {{program.file, Verdict::Doubtful, base::format("not available: {}", commands), missing}};
  }
  for (const std::string& line : base::split(said.output, '\n')) {
    const auto fields = base::split(line, '\t');
    if (fields.size() == 4)
      findings.push_back({fields[1], fields[0] == "good" ? Verdict::Good : Verdict::Doubtful, fields[2], fields[3]});
  }
  return findings;
}

}  // namespace

Findings examine_machine() {
  Findings findings = {examine_sampling(), examine_symbols()};
  findings.push_back(examine_use("heap", "kymo record --memory records the heap of any program",
                                 problem([] { find_kymo_library("libkymo_malloc.so"); })));
  findings.push_back(examine_use("python", "kymo record --python records the functions of Python programs",
                                 problem([] { python_environment("functions"); })));
  findings.push_back(examine_use("duckdb", "kymo query and Parquet files", query::duckdb_problem()));
  for (const PartProgram& program : other_programs())
    for (Finding& finding : examine_program(program)) findings.push_back(std::move(finding));
  for (const SinkReport& sink : list_sinks()) findings.push_back(examine_sink(sink));
  return findings;
}

// ---- Why a program cannot be traced on demand

namespace {

// `kymo doctor`: finds out why a program cannot be traced on demand, and what to do about it.

// A daemon that answers.
struct Reached {
  std::unique_ptr<DaemonLink> link;
  DaemonPlace place;
};

using Outcome = SocketProbe::Outcome;

void add_missing(const std::vector<SocketProbe>& missing, bool is_one_reached, Findings& findings) {
  const auto is_absent = [](const SocketProbe& probe) { return probe.outcome == Outcome::Absent; };
  std::string absent, remedy;
  for (const SocketProbe& probe : missing) {
    if (is_absent(probe)) {
      absent += (absent.empty() ? "" : " and ") + probe.reason;
      remedy = probe.remedy;
    } else {
      // If another daemon answers, this is not an error, but it is worth a note.
      findings.push_back({"daemon", is_one_reached ? Verdict::Doubtful : Verdict::Bad, probe.reason, probe.remedy});
    }
  }
  if (!is_one_reached && !absent.empty()) findings.push_back({"daemon", Verdict::Bad, absent, remedy});
}

Finding libkineto_finding(const wire::Welcome& daemon) {
  if (!daemon.dynolog_problem.empty())
    return {"dynolog", Verdict::Bad, daemon.dynolog_problem,
            "stop the process that uses it; kymod tries again every few seconds"};
  if (daemon.dynolog.empty())
    return {"dynolog", Verdict::Good, "programs with libkineto are not served", "to serve them, run kymod --dynolog"};
  return {"dynolog", Verdict::Good, "programs with libkineto are served at " + daemon.dynolog, {}};
}

// All daemons: a program may be connected to a daemon that commands do not use by default.
std::vector<Reached> reach_daemons(const std::string& given, std::optional<pid_t> pid, Findings& findings) {
  std::vector<Reached> reached;
  std::vector<SocketProbe> missing;
  for (const std::string& path : daemon_sockets(given)) {
    SocketProbe probe = probe_daemon(path);
    if (probe.outcome != Outcome::Connected) {
      missing.push_back(std::move(probe));
      continue;
    }
    const uid_t uid = probe.daemon_uid;
    try {
      auto link = std::make_unique<DaemonLink>(std::move(probe));
      findings.push_back(
          {"daemon",
           Verdict::Good,
           base::format("kymod {} of {} answers at {}", link->welcome().kymo_version, daemon::user_name(uid), path),
           {}});
      const wire::Welcome& welcome = link->welcome();
      if (!pid) findings.push_back(libkineto_finding(welcome));
      const DaemonPlace place{path, uid, welcome.dynolog, welcome.network_namespace};
      reached.push_back({std::move(link), place});
    } catch (const Error& error) {
      findings.push_back({"daemon", Verdict::Bad, error.what(), "restart kymod; it may be another version than kymo"});
    }
  }
  add_missing(missing, !reached.empty(), findings);
  return reached;
}

std::vector<wire::ProcessEntry> entries_of(Reached& daemon, const wire::Selection& selection) {
  std::vector<wire::ProcessEntry> entries;
  for (auto& part : daemon.link->ask<wire::ListReply>(wire::List{selection}))
    std::ranges::move(part.processes, std::back_inserter(entries));
  return entries;
}

Finding connected_finding(const wire::ProcessEntry& entry, const std::string& socket) {
  const char* protocol = entry.protocol == wire::Protocol::Kymo ? "" : ", with libkineto's protocol";
  const std::string where = base::format("{} ({}) is connected at {}{}", entry.name, entry.pid, socket, protocol);
  if (entry.request_id == 0) return {"connected", Verdict::Good, where, {}};
  return {
      "connected", Verdict::Doubtful, base::format("{}, but busy: {}", where, wire::name_of(entry.state)),
      base::format("wait until it is done, or run 'kymo trigger --cancel {}'", daemon::trigger_of(entry.request_id))};
}

bool add_connected(std::vector<Reached>& daemons, pid_t pid, Findings& findings) {
  for (Reached& daemon : daemons) {
    for (const auto& entry : entries_of(daemon, {.pids = {pid}})) {
      if (entry.pid != pid) continue;
      findings.push_back(connected_finding(entry, daemon.place.socket));
      return true;
    }
  }
  findings.push_back({"connected", Verdict::Bad, base::format("process {} is not connected to a daemon", pid), {}});
  return false;
}

Findings examine_all(const std::string& socket, std::optional<pid_t> pid) {
  Findings findings;
  auto daemons = reach_daemons(socket, pid, findings);
  bool is_connected = false;
  if (pid) {
    std::vector<DaemonPlace> places;
    for (const Reached& daemon : daemons) places.push_back(daemon.place);
    is_connected = !daemons.empty() && add_connected(daemons, *pid, findings);
    std::ranges::move(is_connected ? examine_connected(*pid) : examine_process(*pid, places),
                      std::back_inserter(findings));
  } else {
    std::vector<pid_t> connected;
    for (Reached& daemon : daemons)
      for (const auto& entry : entries_of(daemon, {})) connected.push_back(entry.pid);
    if (!daemons.empty() && connected.empty())
      findings.push_back(
          {"programs", Verdict::Doubtful, "no program of yours is connected", "start one with KYMO_DAEMON=1"});
    else if (!daemons.empty())
      findings.push_back({"programs", Verdict::Good, base::format("{} connected", connected.size()), {}});
    std::ranges::move(examine_others(connected), std::back_inserter(findings));
  }
  std::ranges::move(pid ? examine_interfaces(*pid, is_connected) : examine_interfaces(), std::back_inserter(findings));
  if (pid) return findings;
  // Recording works without a daemon and without each of the interfaces: only what the machine itself lacks is bad.
  for (Finding& finding : findings) finding.verdict = std::min(finding.verdict, Verdict::Doubtful);
  Findings all = examine_machine();
  std::ranges::move(findings, std::back_inserter(all));
  return all;
}

Verdict worst_of(const Findings& findings) {
  Verdict worst = Verdict::Good;
  for (const Finding& finding : findings) worst = std::max(worst, finding.verdict);
  return worst;
}

const char* verdict_word(Verdict verdict) {
  if (verdict == Verdict::Good) return "good";
  return verdict == Verdict::Bad ? "bad" : "doubtful";
}

std::string findings_as_text(const Findings& findings) {
  size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, base::display_width(base::printable(finding.name)));
  std::string text;
  for (const Finding& finding : findings) {
    const Colour colour = finding.verdict == Verdict::Good  ? Colour::Green
                          : finding.verdict == Verdict::Bad ? Colour::Red
                                                            : Colour::Yellow;
    const std::string mark = finding.verdict == Verdict::Good ? "ok " : finding.verdict == Verdict::Bad ? "bad" : " ? ";
    text += base::format("{}  {:<{}}  {}\n", coloured(mark, colour, Stream::Output), base::printable(finding.name),
                         width, base::printable(finding.text));
    if (!finding.remedy.empty())
      text += base::format("     {:<{}}  -> {}\n", "", width, base::printable(finding.remedy));
  }
  return text;
}

std::string findings_as_json(const Findings& findings) {
  base::JsonWriter json;
  json.object([&] {
    json.field("verdict", verdict_word(worst_of(findings)));
    json.objects("findings", findings, [&](const Finding& finding) {
      json.field("name", finding.name);
      json.field("verdict", verdict_word(finding.verdict));
      json.field("text", finding.text);
      if (!finding.remedy.empty()) json.field("remedy", finding.remedy);
    });
  });
  return json.text();
}

}  // namespace

int doctor(const Arguments& arguments) {
  std::optional<pid_t> pid;
  std::string socket;
  bool json = false;
  options::CommandLine line(
      "doctor", "kymo doctor [PID] [options]",
      "Checks what can be recorded on this machine, and says what is missing and what to do: rights to\n"
      "sample, symbols, the heap, Python, DuckDB, accelerators, interfaces of programs that do not know\n"
      "Kymo, other tools that receive annotations, and the daemon. Exits with 0 if recording works.\n"
      "With a PID, checks what 'kymo trigger' needs to find this program: the daemon and its socket, the\n"
      "program's environment, its library, its user, its namespaces, its job, whether it is busy. Exits\n"
      "with 1 if something is wrong.",
      "kymo doctor\n"
      "kymo doctor 4711");
  line.text(
      "PID", "PID", [&pid](const std::string& text) { pid = parse_pid(text); },
      "the program to check; default: this machine");
  HostsOptions hosts;
  add_hosts(line, hosts);
  add_socket(line, socket);
  line.flag("--json", json, "as JSON");
  if (!line.read(arguments)) return kDone;
  if (is_for_hosts("doctor", hosts)) return run_on_hosts("doctor", arguments, hosts, json);

  const Findings findings = examine_all(socket, pid);
  print(json ? findings_as_json(findings) : findings_as_text(findings));
  return worst_of(findings) == Verdict::Bad ? kFailed : kDone;
}

}  // namespace kymo::cli
