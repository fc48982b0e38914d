// `kymo stack`: where the threads of running processes are now, and what they wait for.
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>

#include "base/json_writer.h"
#include "base/printable.h"
#include "base/rank_variables.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/terminal.h"
#include "commands/ondemand/commands.h"
#include "commands/ondemand/on_hosts.h"
#include "commands/ondemand/stack_groups.h"
#include "commands/ondemand/trigger_options.h"
#include "daemon/proc.h"
#include "daemon/program.h"
#include "hosts/process.h"
#include "json/document.h"
#include "kymo/error.h"
#include "options/command_line.h"
#include "sample/process_stacks.h"

namespace kymo::cli {
namespace {

using sample::ThreadStack;

// ---- As JSON, which is also what hosts answer ----------------------------------------------------------------------

void write(base::JsonWriter& json, const ThreadStack& thread) {
  json.field("tid", thread.tid);
  json.field("name", thread.name);
  json.field("state", std::string(1, thread.state));
  if (thread.blocked) {
    json.field("waits_in", thread.blocked->call);
    if (!thread.blocked->object.empty()) json.field("waits_for", thread.blocked->object);
    if (thread.blocked->of) json.field("waits_for_thread", *thread.blocked->of);
  }
  json.field("complete", thread.is_complete);
  json.objects("frames", thread.frames, [&](const symbols::Frame& frame) {
    json.field("function", frame.function);
    if (!frame.file.empty()) {
      json.field("file", frame.file);
      json.field("line", frame.line);
    }
    json.field("module", frame.module);
    json.field("inlined", frame.inlined);
  });
}

std::string as_json(const std::vector<SeenProcess>& processes) {
  base::JsonWriter json;
  json.begin_array();
  for (const SeenProcess& process : processes)
    json.object([&] {
      if (!process.host.empty()) json.field("host", process.host);
      if (!process.rank.empty()) json.field("rank", process.rank);
      json.field("pid", process.stacks.pid);
      json.field("program", process.stacks.program);
      json.field("stopped_ns", process.stacks.stopped_ns);
      json.objects("threads", process.stacks.threads, [&](const ThreadStack& thread) { write(json, thread); });
    });
  json.end_array();
  return json.text();
}

std::string text_of(const json::Value& value, const char* name) {
  const auto found = value.find(name);
  return found ? std::string(found->text(name)) : std::string();
}

ThreadStack read_thread(const json::Value& from) {
  ThreadStack thread;
  thread.tid = static_cast<pid_t>(from["tid"].integer("tid"));
  thread.name = from["name"].text("name");
  if (const std::string state = text_of(from, "state"); !state.empty()) thread.state = state.front();
  if (from.find("waits_in")) {
    thread.blocked =
        sample::BlockedIn{.call = text_of(from, "waits_in"), .object = text_of(from, "waits_for"), .of = {}};
    if (const auto of = from.find("waits_for_thread"))
      thread.blocked->of = static_cast<pid_t>(of->integer("waits_for_thread"));
  }
  thread.is_complete = from["complete"].boolean("complete");
  for (const json::Value& one : from["frames"].list("frames")) {
    symbols::Frame& frame = thread.frames.emplace_back();
    frame.function = one["function"].text("function");
    frame.file = text_of(one, "file");
    if (const auto line = one.find("line")) frame.line = static_cast<uint32_t>(line->number("line"));
    frame.module = one["module"].text("module");
    frame.inlined = one["inlined"].boolean("inlined");
  }
  return thread;
}

// What as_json() has written on a host, which is untrusted. Throws kymo::Error if it is something else.
std::vector<SeenProcess> read_processes(const std::string& text, const std::string& host) {
  const json::Document document(text);
  std::vector<SeenProcess> processes;
  for (const json::Value& one : document.root().list("processes")) {
    SeenProcess& process = processes.emplace_back();
    process.host = host;
    process.rank = text_of(one, "rank");
    process.stacks.pid = static_cast<pid_t>(one["pid"].integer("pid"));
    process.stacks.program = one["program"].text("program");
    process.stacks.stopped_ns = one["stopped_ns"].number("stopped_ns");
    for (const json::Value& thread : one["threads"].list("threads"))
      process.stacks.threads.push_back(read_thread(thread));
  }
  return processes;
}

// ---- Which processes -----------------------------------------------------------------------------------------------

std::string rank_of(pid_t pid) {
  for (const std::string_view name : base::kRankVariables)
    if (const auto value = daemon::start_variable(pid, std::string(name)).value; value && !value->empty())
      return *value;
  return {};
}

// As in /proc, with its whole name, of which the kernel keeps 15 characters.
std::string name_of(const daemon::ProcessFacts& facts) {
  const std::string first = facts.command_line.substr(0, facts.command_line.find(' '));
  const std::string name = first.substr(first.rfind('/') + 1);
  return name.starts_with(facts.name) ? name : facts.name;
}

// Of this user; root may see all.
std::vector<pid_t> selected(const wire::Selection& selection) {
  const daemon::Asker asker{::geteuid()};
  std::vector<pid_t> pids;
  std::error_code failed;
  for (auto at = std::filesystem::directory_iterator("/proc", failed); !failed && at != std::filesystem::end(at);
       at.increment(failed)) {
    const auto facts = daemon::read_process(static_cast<pid_t>(std::atoi(at->path().filename().c_str())));
    const bool is_program = facts && !facts->command_line.empty();  // the kernel's own have none, nor have zombies
    if (!is_program || facts->pid == ::getpid() || !asker.may_see(facts->uid)) continue;
    wire::ProcessEntry entry{
        .pid = facts->pid, .parents = facts->parents, .name = name_of(*facts), .command_line = facts->command_line};
    if (selection.job) entry.job = daemon::start_variable(facts->pid, "SLURM_JOB_ID").value.value_or("");
    if (daemon::selects(selection, entry)) pids.push_back(facts->pid);
  }
  std::ranges::sort(pids);
  return pids;
}

// ---- What they do --------------------------------------------------------------------------------------------------

struct StackOptions {
  std::vector<std::string> words;
  SelectionOptions which;
  HostsOptions hosts;
  uint64_t watch_ns = 0;
  bool json = false;
};

struct Seen {
  std::vector<SeenProcess> processes;
  std::vector<std::string> errors;  // a process that cannot be looked into does not hide the others
  bool is_interrupted = false;
};

Seen look_here(const StackOptions& options) {
  std::vector<pid_t> pids;
  for (const std::string& word : options.words) pids.push_back(parse_pid(word));
  if (!options.which.is_empty()) std::ranges::copy(selected(options.which.selection), std::back_inserter(pids));
  Seen seen;
  for (const pid_t pid : pids) {
    try {
      seen.processes.push_back({sample::stacks_of_process(pid), "", rank_of(pid)});
      if (const std::string& version = seen.processes.back().stacks.unknown_python; !version.empty())
        say_warning(
            base::format("the functions of Python {} in process {} are not shown: Kymo reads CPython 3.9 to "
                         "3.13 with a GIL",
                         base::printable(version), pid));
    } catch (const Error& error) {
      seen.errors.emplace_back(error.what());
    }
  }
  return seen;
}

class HostsLook {
 public:
  HostsLook(const StackOptions& options, const Arguments& arguments) : run_(options.hosts), words_{"stack", "--json"} {
    const Arguments rest = without_hosts(arguments);
    for (size_t i = 0; i < rest.size(); ++i)
      if (rest[i] == "--watch")
        ++i;
      else if (rest[i] != "--json" && !rest[i].starts_with("--watch="))
        words_.push_back(rest[i]);
    run_.connect();
  }

  Seen operator()() {
    constexpr auto kLongest = std::chrono::minutes(5);
    run_.each([&](HostRun& host) { host.result = host.connection->run(words_, kLongest); });
    Seen seen;
    for (HostRun& host : run_.hosts()) {
      try {
        if (host.error.empty() && !host.result.output.empty())
          std::ranges::move(read_processes(host.result.output, host.host), std::back_inserter(seen.processes));
      } catch (const Error& error) {
        host.error = base::format("its answer is not that of kymo stack: {}", error.what());
      }
      const bool is_answer = host.result.exit_code == kDone || host.result.exit_code == kNothingMatched;
      if (!host.error.empty() || !is_answer)
        seen.errors.push_back(
            base::format("{}: {}", host.host,
                         base::printable(host.error.empty() ? hosts::last_line(host.result.errors) : host.error)));
    }
    seen.is_interrupted = run_.stops() != 0;
    return seen;
  }

 private:
  OnHosts run_;
  Arguments words_;
};

// Returns the exit code.
int show(const Seen& seen, const StackOptions& options) {
  print(options.json ? as_json(seen.processes) : stacks_text(seen.processes));
  for (const std::string& why : seen.errors) say_error(why);
  if (!seen.errors.empty()) return kFailed;
  if (!seen.processes.empty()) return kDone;
  say_error("nothing matched: no process of " + selection_text(options.which));
  return kNothingMatched;
}

int show_until_stopped(const std::function<Seen()>& look, const StackOptions& options) {
  for (bool is_first = true;; is_first = false) {
    if (!is_first) print("\n");
    const Seen seen = look();
    const int code = show(seen, options);
    if (seen.is_interrupted) return kDiedOfSignal + SIGINT;
    if (options.watch_ns == 0) return code;
    const timespec pause{static_cast<time_t>(options.watch_ns / 1'000'000'000),
                         static_cast<long>(options.watch_ns % 1'000'000'000)};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace

int stack_command(const Arguments& arguments) {
  StackOptions options;
  options::CommandLine line(
      "stack", "kymo stack PID... [options]\n       kymo stack --pid PID|--name NAME|--job ID [options]",
      "Shows where all threads of running processes are now: their stacks, whether they run or wait, what for, and "
      "for\n"
      "a mutex the thread that holds it. Threads with the same stack are shown once, also those of several processes:\n"
      "a rank for which the others wait is named. Processes stop for about 0.1 ms per thread; as with any debugger, a\n"
      "few system calls such as epoll_wait return EINTR then. Needs the rights of a debugger: the user of the "
      "process,\n"
      "or root.",
      "kymo stack 4711\nkymo stack --name server --watch 1s\nkymo stack --job 4242 --slurm 4242");
  line.optional_arguments("PID", options.words, "the processes");
  add_selection(line, options.which, false);
  line.text(
      "--watch", "TIME", [&](const std::string& text) { options.watch_ns = base::parse_duration_ns(text); },
      "again and again, after this time, until Ctrl-C");
  add_hosts(line, options.hosts);
  line.flag("--json", options.json, "as JSON");
  if (!line.read(arguments)) return kDone;
  if (options.words.empty() && options.which.is_empty())
    throw options::UsageError("stack", "no processes given; use PID, --pid, --name or --job");
  if (is_for_hosts("stack", options.hosts)) {
    HostsLook look(options, arguments);
    return show_until_stopped([&look] { return look(); }, options);
  }
  return show_until_stopped([&] { return look_here(options); }, options);
}

}  // namespace kymo::cli
