#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/host.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "commands/ondemand/commands.h"
#include "commands/ondemand/on_hosts.h"
#include "commands/ondemand/requests.h"
#include "commands/ondemand/trigger_run.h"
#include "hosts/process.h"
#include "json/document.h"
#include "sample/gpu_counters.h"
#include "trace/clock.h"
#include "trace/writer.h"

namespace kymo::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kUntilStart = 2'000'000'000;  // for the requests to reach all programs
constexpr auto kLongestTrigger = std::chrono::hours(24 * 8);

// What a host said about one program.
struct Traced {
  int64_t pid = 0;
  uint64_t trigger = 0;  // the number that it has on the host
  std::string state, file, text;
  uint64_t bytes = 0;
  std::optional<uint64_t> events, lost;
  int64_t late_ns = 0;
  std::string fetched;  // the file here
};

struct HostTraces {
  std::vector<Traced> programs;
  std::string error;  // why there are none
};

// The answer of `kymo trigger --json`. Throws kymo::Error if it is something else.
HostTraces read_answer(const hosts::Connection::Result& result) {
  HostTraces traces;
  if (result.output.empty()) {
    // The reason, and not the hint at the help that may follow it.
    const std::string_view errors(result.errors);
    const std::string said(hosts::last_line(errors.substr(0, errors.find("\nTry 'kymo "))));
    throw Error(said.empty() ? base::format("kymo trigger ended there with {}", result.exit_code)
                             : base::printable(said));
  }
  const json::Document document(result.output);
  const json::Value root = document.root();
  for (const json::Value& target : root["targets"].list("targets")) {
    Traced& traced = traces.programs.emplace_back();
    traced.pid = target["pid"].integer("pid");
    const auto own_trigger = target.find("trigger");
    traced.trigger = (own_trigger ? *own_trigger : root["trigger"]).number("trigger");
    traced.state = target["state"].text("state");
    if (const auto file = target.find("file")) traced.file = file->text("file");
    if (const auto text = target.find("text")) traced.text = text->text("text");
    if (const auto bytes = target.find("bytes")) traced.bytes = bytes->number("bytes");
    const auto count = [&](const char* name) -> std::optional<uint64_t> {
      const auto found = target.find(name);
      if (!found) return std::nullopt;
      try {
        return found->number(name);
      } catch (const Error&) {  // null: not known
        return std::nullopt;
      }
    };
    traced.events = count("events");
    traced.lost = count("lost");
    if (const auto late = target.find("late_ns")) traced.late_ns = late->integer("late_ns");
  }
  if (traces.programs.empty()) {
    const auto why = root.find("text");
    traces.error = why ? base::printable(why->text("text")) : "no program matched";
  }
  return traces;
}

// The offset during the trace, from the measurements before and after it.
hosts::ClockOffset between(const hosts::ClockOffset& before, const hosts::ClockOffset& after) {
  const int64_t change = after.offset_ns - before.offset_ns;
  return {before.offset_ns + change / 2,
          std::max(before.error_ns, after.error_ns) + static_cast<uint64_t>(change < 0 ? -change : change) / 2 + 1};
}

// A name that no file has. Two triggers may have written files of the same name.
std::string free_name(const fs::path& folder, const fs::path& name) {
  fs::path path = folder / name;
  for (int number = 2; fs::exists(path); ++number)
    path = folder / base::format("{}-{}{}", name.stem().string(), number, name.extension().string());
  return path.string();
}

// The name of the clock here: measurements of one boot of one host belong together.
std::string reference_name() { return base::format("{} {}", base::host_name(), base::boot_id()); }

class HostsTrigger {
 public:
  HostsTrigger(const TriggerOptions& options, const Arguments& arguments)
      : options_(options), run_(options.hosts), reference_(reference_name()) {
    for (const std::string& host : options.hosts.hosts) width_ = std::max(width_, host.size());
    words_ = without_hosts(arguments);
    words_.insert(words_.begin(), "trigger");
    // These are for the output here, and the start is the same for all hosts.
    std::erase(words_, "--json");
    std::erase_if(words_, [](const std::string& word) { return word == "--quiet" || word == "-q"; });
    words_.push_back("--json");
  }

  int run() {
    if (!options_.fetch.empty()) make_folder(options_.fetch);
    run_.connect();
    start_ns_ = options_.trigger.options.start_at_ns != 0 ? options_.trigger.options.start_at_ns
                                                          : base::realtime_ns() + kUntilStart;
    if (!options_.json && !options_.quiet)
      print(base::format("{:<{}}  {:>8}  {:<9}  {:>9}  {:>11}  {:>5}  {:>8}  {:>8}  {}\n", "host", width_, "pid",
                         "state", "size", "events", "lost", "late", "clock", "file or error"));
    run_.each([&](HostRun& host) { trace(host); });
    for (HostRun& host : run_.hosts())
      if (!host.error.empty()) report(host, {.programs = {}, .error = host.error});
    if (options_.json) print_json();
    if (run_.stops() != 0) return kDiedOfSignal + SIGINT;
    return failed_ ? kFailed : programs_ == 0 ? kNothingMatched : kDone;
  }

 private:
  static void make_folder(const std::string& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) throw Error(base::format("cannot make the folder {}: {}", base::printable(path), error.message()));
  }

  enum class Start { Common, AtOnce };

  // Words for the host: its clock differs from the one here.
  Arguments words_for(const HostRun& host, Start start_at) const {
    Arguments words;
    for (size_t i = 0; i < words_.size(); ++i) {
      if (words_[i] == "--start-at") {
        ++i;
      } else if (!words_[i].starts_with("--start-at=")) {
        words.push_back(words_[i]);
      }
    }
    // The past has no start.
    if (options_.trigger.options.last_ns != 0 || start_at == Start::AtOnce) return words;
    const auto start = static_cast<uint64_t>(static_cast<int64_t>(start_ns_) + host.clock.offset_ns);
    words.push_back("--start-at");
    words.push_back(base::format("@{}.{:09}", start / 1'000'000'000, start % 1'000'000'000));
    return words;
  }

  void trace(HostRun& host) {
    host.result = host.connection->run(words_for(host, Start::Common), kLongestTrigger);
    // A busy host may start the command only after the common time, and refuses it. A late trace is better than none.
    const uint64_t now_ns = base::realtime_ns();
    const bool is_late =
        host.result.exit_code == kWrongUsage && options_.trigger.options.last_ns == 0 && now_ns > start_ns_;
    if (is_late) host.result = host.connection->run(words_for(host, Start::AtOnce), kLongestTrigger);
    HostTraces traces = read_answer(host.result);
    if (is_late)
      for (Traced& traced : traces.programs) traced.late_ns += static_cast<int64_t>(now_ns - start_ns_);
    host.clock = between(host.clock, host.connection->measure_clock());
    if (!options_.fetch.empty())
      for (Traced& traced : traces.programs)
        if (traced.state == "finished" && !traced.file.empty()) fetch(host, traced);
    report(host, traces);
  }

  void fetch(HostRun& host, Traced& traced) {
    const std::string folder = (fs::path(options_.fetch) / host.host).string();
    make_folder(folder);
    const std::string to = free_name(folder, fs::path(traced.file).filename());
    try {
      host.connection->fetch(traced.file, to);
      if (to.ends_with(".kymo")) {
        check_fetched(to, host.connection->boot_id(), traced.trigger);
        trace::add_measured_clock(to, {reference_, host.clock.offset_ns, host.clock.error_ns});
      }
      traced.fetched = to;
    } catch (const Error& error) {
      std::error_code ignored;
      fs::remove(to, ignored);  // a part of the copy stays beside it
      traced.state = "not fetched";
      traced.text = base::format("{} (it is at {}:{})", error.what(), host.host, traced.file);
    }
  }

  void report(const HostRun& host, const HostTraces& traces) {
    const std::lock_guard lock(run_.printing());
    programs_ += traces.programs.size();
    if (!host.error.empty()) failed_ = true;
    for (const Traced& traced : traces.programs) failed_ |= traced.state != "finished";
    results_.emplace_back(&host, traces);
    if (options_.json || options_.quiet) {
      if (options_.quiet && !options_.json && !traces.error.empty())
        say_error(base::format("{}: {}", host.host, traces.error));
      return;
    }
    const auto line = [&](const std::string& pid, const std::string& state, const std::string& size,
                          const std::string& events, const std::string& lost, const std::string& late,
                          const std::string& clock, const std::string& rest) {
      print(base::format("{:<{}}  {:>8}  {:<9}  {:>9}  {:>11}  {:>5}  {:>8}  {:>8}  {}\n", host.host, width_, pid,
                         state, size, events, lost, late, clock, rest));
    };
    if (traces.programs.empty()) line("", host.error.empty() ? "none" : "failed", "", "", "", "", "", traces.error);
    for (const Traced& traced : traces.programs) {
      const bool is_good = traced.state == "finished";
      line(std::to_string(traced.pid), base::printable(traced.state), is_good ? bytes_text(traced.bytes) : "",
           traced.events ? count_text(*traced.events) : "", traced.lost ? count_text(*traced.lost) : "",
           is_good ? duration_text(static_cast<uint64_t>(std::max<int64_t>(traced.late_ns, 0))) : "",
           "±" + duration_text(host.clock.error_ns),
           base::printable(is_good ? (traced.fetched.empty() ? traced.file : traced.fetched) : traced.text));
    }
  }

  void print_json() {
    base::JsonWriter json;
    json.object([&] {
      json.field("start_ns", start_ns_);
      json.objects("hosts", results_, [&](const std::pair<const HostRun*, HostTraces>& result) {
        const HostRun& host = *result.first;
        json.field("host", host.host);
        if (!result.second.error.empty()) json.field("error", result.second.error);
        if (host.error.empty()) {
          json.field("clock_offset_ns", host.clock.offset_ns);
          json.field("clock_error_ns", host.clock.error_ns);
        }
        json.objects("targets", result.second.programs, [&](const Traced& traced) {
          json.field("pid", traced.pid);
          json.field("state", traced.state);
          json.field("file", traced.file);
          if (!traced.fetched.empty()) json.field("fetched", traced.fetched);
          json.field("bytes", traced.bytes);
          if (traced.events) json.field("events", *traced.events);
          if (traced.lost) json.field("lost", *traced.lost);
          json.field("late_ns", traced.late_ns);
          if (!traced.text.empty()) json.field("text", traced.text);
        });
      });
    });
    print(json.text());
  }

  const TriggerOptions& options_;
  OnHosts run_;
  const std::string reference_;
  Arguments words_;
  size_t width_ = 4;
  uint64_t start_ns_ = 0;
  size_t programs_ = 0;
  bool failed_ = false;
  std::vector<std::pair<const HostRun*, HostTraces>> results_;
};

void report_outcome(const TriggerOptions& options, const TriggerProgress& progress) {
  if (options.json) {
    base::JsonWriter json;
    json.object([&] { progress.write(json); });
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
    say(base::format(
        "trigger {}: {} not ended yet; 'kymo trigger --status={}' shows the outcome, --cancel {} cancels it", id,
        count_of(count, "process has", "processes have"), id, id));
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
    json.object([&] {
      json.field("trigger", 0);
      json.values("targets", std::vector<std::string>());
      json.field("text", why);
    });
    print(json.text());
  } else {
    say_error("nothing matched: " + base::printable(why));
  }
  return kNothingMatched;
}

}  // namespace

namespace {

// Adds the counters of the GPU that a program uses to its trace, when that has been written. The counters belong to the
// device, so there are none for several programs at a time.
class TriggeredGpuCounters {
 public:
  explicit TriggeredGpuCounters(const TriggerProgress& progress) : progress_(progress) {
    if (progress.targets().size() != 1) return;
    sample::GpuCounterOptions options;
    options.pid = static_cast<uint32_t>(progress.targets()[0].pid);
    counters_.emplace(options);
  }
  void add_to_trace() {
    if (!counters_) return;
    const TargetOutcome& target = progress_.targets()[0];
    if (const std::string problem = counters_->finish(false); !problem.empty()) say_warning(base::printable(problem));
    if (target.state != wire::RequestState::Finished || !target.path.ends_with(".kymo")) return;
    trace::Writer file(target.path, trace::Writer::Mode::Append);
    counters_->write(file);
    file.close();
  }

 private:
  const TriggerProgress& progress_;
  std::optional<sample::GpuCounters> counters_;
};

}  // namespace

int trigger(const Arguments& arguments) {
  const auto options = read_trigger_options(arguments, base::realtime_ns());
  if (!options) return kDone;
  if (is_for_hosts("trigger", options->hosts))
    return options->status || options->cancel ? run_on_hosts("trigger", arguments, options->hosts, options->json)
                                              : HostsTrigger(*options, arguments).run();
  if (options->status) return show_requests(*options);
  if (options->cancel) return cancel_requests(*options);
  std::vector<DaemonLink> daemons = connect_daemons(options->socket);
  SignalInbox inbox({SIGINT, SIGTERM, SIGHUP});  // from here on there is something to stop
  TriggerRun run(*options, std::move(daemons));
  const TriggerProgress& progress = run.progress();
  if (progress.targets().empty()) return nothing_matched(*options, run.why_nothing_matched());
  if (!options->wait) return ask_only(*options, run);

  TriggeredGpuCounters gpu_counters(progress);
  const TriggerRun::Waited waited = run.wait_for_all(inbox);
  gpu_counters.add_to_trace();
  report_outcome(*options, progress);
  if (!waited.lost.empty())
    say_error(waited.lost + "; recordings that have started continue, and their files will be written");
  else if (!options->quiet && !options->json)
    say_later(progress);
  if (waited.signal != 0) return kDiedOfSignal + waited.signal;
  return progress.is_over() && progress.all_good() ? kDone : kFailed;
}

}  // namespace kymo::cli
