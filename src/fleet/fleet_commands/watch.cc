// `kymo watch`: pushes the traces of a folder as they arrive, and deletes old ones that were pushed.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <set>

#include "base/printable.h"
#include "base/text.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "cli/units.h"
#include "fleet_commands/kept_traces.h"
#include "fleet_commands/period.h"
#include "fleet_commands/program.h"
#include "metrics/endpoint.h"
#include "options/command_line.h"
#include "push/pusher.h"
#include "questions/target.h"
#include "questions/text_name.h"

namespace kymo::cli {
namespace {

constexpr int kRetriesOfRound = 3, kMostDoublings = 10;
constexpr std::chrono::minutes kLongestWait{5};

struct Options {
  std::string folder, target;
  push::PushOptions push;
  KeptTraces::Limits limits;
  std::chrono::milliseconds every{5'000};
  std::optional<metrics::Place> metrics;
  bool once = false, quiet = false;
};

// Read by the thread that serves the metrics.
struct Numbers {
  std::atomic<uint64_t> pushed = 0, already = 0, refused = 0, deleted = 0, failed_rounds = 0, retries = 0;
  std::atomic<uint64_t> files = 0, bytes = 0, waiting = 0, last_success = 0;

  std::string text() const {
    metrics::Text text;
    text.counter("kymo_watch_pushed_total", "Traces that were pushed.", pushed);
    text.counter("kymo_watch_already_there_total", "Traces that the server had already.", already);
    text.counter("kymo_watch_refused_total", "Files that cannot be read as traces.", refused);
    text.counter("kymo_watch_deleted_total", "Traces that were deleted after they were pushed.", deleted);
    text.counter("kymo_watch_failed_rounds_total", "Rounds that the server ended.", failed_rounds);
    text.counter("kymo_watch_retries_total", "Inserts that were tried again.", retries);
    text.gauge("kymo_watch_files", "Traces in the folder.", files);
    text.gauge("kymo_watch_bytes", "Their size.", bytes);
    text.gauge("kymo_watch_waiting", "Traces that are not pushed yet.", waiting);
    text.gauge("kymo_watch_last_success_seconds", "When the last round succeeded, in seconds since 1970.",
               last_success);
    return text.text();
  }
};

int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class Watcher {
 public:
  Watcher(const Options& options, SignalInbox& inbox) : options_(options), traces_(options.folder), inbox_(inbox) {
    push::PushOptions chosen = options.push;
    chosen.retries = kRetriesOfRound;
    chosen.may_still_arrive = [this](const std::string& file) { return traces_.may_still_arrive(file); };
    chosen.wait = [this](std::chrono::milliseconds time) { return !ends_within(time); };
    const auto warn = [](const std::string& text) { say_warning(text); };
    pusher_ = std::make_unique<push::Pusher>(
        fleet::open_store(fleet::parse_target(options.target)), chosen, open_trace_to_follow,
        [this](const push::FileOutcome& file) { take(file); }, warn);
    look();  // a folder that does not exist is an error now
    if (options.metrics)
      endpoint_ = std::make_unique<metrics::Endpoint>(*options.metrics, [this] { return numbers_.text(); });
    if (endpoint_ && endpoint_->port() != 0 && !options.quiet)
      say(base::format("metrics are on port {} of this machine", endpoint_->port()));
  }

  int run() {
    while (!ends_within(time_to_next_round())) {
      const bool succeeded = round();
      if (options_.once) return finish_once(succeeded);
    }
    return options_.once ? kFailed : kDone;
  }

 private:
  bool ends_within(std::chrono::milliseconds time) {
    if (inbox_.wait(time)) ends_ = true;
    return ends_;
  }

  void look() {
    traces_.look({std::chrono::steady_clock::now(), std::chrono::system_clock::now()});
    for (const std::string& line : traces_.ignored())
      if (said_.insert(line).second) say_warning(line);
  }

  // Files that are new, or that changed, are looked at again as soon as they can be settled. Many hosts have the same
  // server: if it fails, they come back later and later, and not together.
  std::chrono::milliseconds time_to_next_round() {
    if (failed_in_row_ > 0 && !options_.once) {
      const auto wait = options_.every * (1 << std::min(failed_in_row_, kMostDoublings));
      const auto longest = std::max<std::chrono::milliseconds>(options_.every, kLongestWait);
      return std::min<std::chrono::milliseconds>(wait, longest) * (50 + static_cast<int>(random_() % 51)) / 100;
    }
    if (!traces_.unsettled().empty())
      return options_.once ? KeptTraces::kSettled : std::min(options_.every, KeptTraces::kSettled);
    return rounds_ == 0 ? std::chrono::milliseconds(0) : options_.every;
  }

  int finish_once(bool succeeded) {
    for (const std::string& file : traces_.unsettled())
      say_warning(base::printable(file) + " still changes, and was not pushed");
    const bool has_all = traces_.waiting() == 0 && numbers_.refused == 0 && !traces_.has_unreadable();
    return succeeded && has_all && traces_.not_deleted().empty() ? kDone : kFailed;
  }

  bool round() {
    bool succeeded = true;
    ++rounds_;
    try {
      look();
      if (const auto files = traces_.to_push(); !files.empty()) pusher_->push(files);
      remove_traces();
      numbers_.last_success = static_cast<uint64_t>(seconds_now());
    } catch (const Error& error) {
      if (!ends_) {
        say_error(error.what());
        ++numbers_.failed_rounds;
      }
      succeeded = false;
    }
    failed_in_row_ = succeeded ? 0 : failed_in_row_ + 1;
    numbers_.retries = pusher_->counts().retries;
    numbers_.files = traces_.files();
    numbers_.bytes = traces_.bytes();
    numbers_.waiting = traces_.waiting();
    if (!traces_.not_deleted().empty() && said_.insert(traces_.not_deleted()).second) say_error(traces_.not_deleted());
    const bool is_too_much =
        traces_.not_deleted().empty() && options_.limits.bytes && traces_.bytes() > *options_.limits.bytes;
    if (is_too_much && !said_too_much_)
      say_warning(
          base::format("{} holds {}, which is more than --keep, in traces that are damaged or not pushed, or whose "
                       "end is missing (these stay for a day): nothing more can be deleted",
                       base::printable(options_.folder), bytes_text(traces_.bytes())));
    said_too_much_ = is_too_much;
    return succeeded;
  }

  void remove_traces() {
    // The server is asked once more about each. This does not count as a trace that it had already.
    const auto push_again = [this](const std::vector<std::string>& files) {
      const uint64_t already = numbers_.already;
      pusher_->push(files);
      numbers_.already = already;
    };
    for (const std::string& path : traces_.remove(options_.limits, seconds_now(), push_again)) {
      ++numbers_.deleted;
      if (!options_.quiet) say(base::format("deleted {}, which was pushed", base::printable(path)));
    }
  }

  void set_pushed(const push::FileOutcome& file) {
    using enum KeptTraces::State;
    traces_.set(file.file, file.is_damaged ? Refused : file.lacks_end ? PushedWithoutEnd : Pushed);
  }

  // True if somebody deleted it, such as another watch that has pushed it.
  bool is_gone(const std::string& file) {
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored)) return false;
    traces_.set_gone(file);
    return true;
  }

  void take(const push::FileOutcome& file) {
    switch (file.outcome) {
      case push::Outcome::Pushed:
        numbers_.pushed += file.pushed;
        numbers_.already += file.already_there;
        set_pushed(file);
        if (!options_.quiet) say("pushed " + base::printable(file.file));
        break;
      case push::Outcome::AlreadyThere:
        numbers_.already += file.already_there;
        set_pushed(file);
        break;
      case push::Outcome::StillRecording:
      case push::Outcome::StillArriving:
        if (options_.once) say_warning(file.problem());
        break;
      case push::Outcome::Changed:
        if (!is_gone(file.file)) say_warning(file.problem());
        break;
      case push::Outcome::Unreadable:
        if (is_gone(file.file)) break;
        ++numbers_.refused;
        traces_.set(file.file, KeptTraces::State::Refused);
        say_warning(file.problem());
        break;
    }
  }

  const Options& options_;
  KeptTraces traces_;
  SignalInbox& inbox_;
  Numbers numbers_;
  std::unique_ptr<push::Pusher> pusher_;
  std::unique_ptr<metrics::Endpoint> endpoint_;
  uint64_t rounds_ = 0;
  int failed_in_row_ = 0;
  std::mt19937 random_{std::random_device{}()};
  bool ends_ = false, said_too_much_ = false;
  std::set<std::string> said_;  // lines about what is not pushed or not deleted, which are said once
};

}  // namespace

int watch_command(const Arguments& arguments) {
  Options options;
  options::CommandLine line(
      "watch", "kymo watch FOLDER --push clickhouse://HOST[:PORT]/DATABASE|parquet:FOLDER [options]",
      "Pushes the traces of a folder (*.kymo, also in folders inside) as they arrive, as 'kymo push' does, until it "
      "is\n"
      "interrupted. A file is pushed when it has not changed for a second; a trace without an end, for a minute.\n"
      "With --keep and --keep-for it deletes the oldest traces, but only those that the server has.\n"
      "It needs no state of its own: after a restart the server says what it has.",
      "kymo watch /var/lib/kymo/traces --push clickhouse://localhost/kymo --keep 500GB --metrics 127.0.0.1:9464");
  line.argument("FOLDER", options.folder, "where the traces arrive");
  line.required_value("--push", "URL", options.target, "clickhouse://host:8123/database, or parquet:FOLDER");
  line.text(
      "--keep", "SIZE",
      [&](const std::string& text) { options.limits.bytes = base::parse_kept_bytes(text, "10GB or 500GB"); },
      "delete the oldest pushed traces above this size (default: keep all)");
  line.text(
      "--keep-for", "TIME", [&](const std::string& text) { options.limits.seconds = parse_period(text); },
      "delete pushed traces that are older: 12h, 7d (default: keep all)");
  line.text(
      "--job", "NAME", [&](const std::string& text) { options.push.job = fleet::name_of_text(text); },
      "the job of these traces, as kymo fleet prints it (default: what the recorded program says)");
  line.text(
      "--every", "TIME",
      [&](const std::string& text) {
        options.every = std::chrono::milliseconds(base::parse_duration_ns(text) / 1'000'000);
        if (options.every < std::chrono::milliseconds(100) || options.every > std::chrono::hours(24))
          throw InvalidArgument(base::format("'{}' is not between 100ms and 24h", text));
      },
      "how often to look for traces (default: 5s)");
  line.text(
      "--metrics", "PLACE", [&](const std::string& text) { options.metrics = metrics::parse_place(text); },
      "serve metrics for Prometheus: 127.0.0.1:9464 or unix:/run/kymo/watch");
  line.flag("--once", options.once, "push what is there, and end");
  line.flag("-q,--quiet", options.quiet, "print only problems");
  if (!line.read(arguments)) return kDone;
  try {
    (void)fleet::parse_target(options.target);
  } catch (const InvalidArgument& error) {
    throw options::UsageError("watch", error.what());
  }
  SignalInbox inbox{SIGINT, SIGTERM, SIGHUP};
  return Watcher(options, inbox).run();
}

}  // namespace kymo::cli
