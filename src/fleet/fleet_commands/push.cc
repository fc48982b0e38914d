// `kymo push`: the figures of traces in the tables of a ClickHouse server, or in Parquet files.
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/printable.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "cli/units.h"
#include "fleet_commands/program.h"
#include "options/command_line.h"
#include "push/pusher.h"
#include "push/ranks.h"
#include "questions/target.h"
#include "questions/text_name.h"

namespace kymo::cli {
namespace {

constexpr int kMostRetries = 1'000;

struct Options {
  std::vector<std::string> arguments;
  push::PushOptions push;
  bool remove = false, remove_orphans = false, quiet = false;
};

struct Totals {
  uint64_t files = 0;                // that are there now
  uint64_t pushed = 0, already = 0;  // traces: a file may have several
  uint64_t recording = 0, changed = 0, unreadable = 0, not_kept = 0;
};

int32_t parse_from_zero(const std::string& text, std::string_view what, int32_t max) {
  int32_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= max) return value;
  throw InvalidArgument(
      base::format("'{}' is not {}: write a whole number from 0 to {}", base::printable(text), what, max));
}

void report_file(const push::FileOutcome& file, Totals& totals) {
  const std::string name = base::printable(file.file);
  const bool is_there = file.outcome == push::Outcome::Pushed || file.outcome == push::Outcome::AlreadyThere;
  totals.files += is_there ? 1 : 0;
  totals.pushed += is_there ? file.pushed : 0;
  totals.already += is_there ? file.already_there : 0;
  switch (file.outcome) {
    case push::Outcome::Pushed:
    case push::Outcome::AlreadyThere:
      break;
    case push::Outcome::StillRecording:
      ++totals.recording;
      say_warning(name + " is still being recorded, and was not pushed; push it when the recording has ended");
      break;
    case push::Outcome::Changed:
      ++totals.changed;
      say_error(name + " changed while it was read, and was not pushed: push it again");
      break;
    case push::Outcome::NotKept:
      ++totals.not_kept;
      say_error(
          base::format("{} was pushed again, and its rows still cannot be read: {}; repair the database, then push it "
                       "again",
                       name, file.reason));
      break;
    case push::Outcome::StillArriving:  // only 'kymo watch' waits for the rest of a file
    case push::Outcome::Unreadable:
      ++totals.unreadable;
      say_error(base::format("{}: {}", name, file.reason));
      break;
  }
}

// A number as `kymo fleet` prints it, or those of a file.
std::vector<uint64_t> numbers_of(const std::string& trace) {
  constexpr std::string_view kPrefix = "0x";
  constexpr size_t kDigits = 16;
  uint64_t number = 0;
  const char* const end = trace.data() + trace.size();
  if (trace.starts_with(kPrefix) && trace.size() == kPrefix.size() + kDigits &&
      std::from_chars(trace.data() + kPrefix.size(), end, number, 16).ptr == end)
    return {number};
  if (std::error_code ignored; !std::filesystem::exists(trace, ignored))
    throw Error(
        base::format("'{}' is not a trace: give its number as kymo fleet prints it, such as 0x{:016x}, or its "
                     "file",
                     base::printable(trace), 0x1a2b3c));
  trace::Reader reader = open_trace_to_follow(trace);  // that may add to the file, as before a push
  return push::all_trace_numbers(reader, trace);
}

int remove_traces(push::Pusher& pusher, const Options& options) {
  uint64_t removed = 0, absent = 0;
  try {
    for (const std::string& trace : options.arguments) {
      const uint64_t before = removed;
      for (const uint64_t number : numbers_of(trace)) removed += pusher.remove(number) ? 1 : 0;
      absent += removed == before ? 1 : 0;
    }
  } catch (const Error& error) {
    say_error(error.what());
    if (removed > 0) say(base::format("{} removed before that", count_of(removed, "trace")));
    return kFailed;
  }
  if (!options.quiet)
    say(base::format("{} removed{}", count_of(removed, "trace"),
                     absent > 0 ? base::format(", {} not there", count_text(absent)) : ""));
  return kDone;
}

}  // namespace

int push_command(const Arguments& arguments) {
  Options options;
  options::CommandLine line(
      "push", "kymo push FILE... clickhouse://HOST[:PORT]/DATABASE|parquet:FOLDER [options]",
      "Writes the figures of traces into the tables of a ClickHouse server, or into a folder of Parquet files: "
      "traces,\n"
      "iterations, operations, collective_calls, device_time and memory; with --events also every event. Creates what "
      "is\n"
      "missing. "
      "A trace that is already there is skipped, so a push that was interrupted can simply be repeated.\n"
      "With another --job or --rank than before it is replaced. Nothing of a trace counts before all of it is there.\n"
      "A file with several ranks (kymo record -- torchrun ..., kymo merge) is one trace for each of them, and a\n"
      "rank that was started again is one for each process with iterations.\n"
      "docs/fleet-database.md describes the tables.\n"
      "A password in KYMO_CLICKHOUSE_PASSWORD does not appear in the list of processes.",
      "kymo push run.kymo clickhouse://localhost/kymo\nkymo push traces/*.kymo clickhouse://kymo@db:8123/kymo --job "
      "train\nkymo push run.kymo parquet:/data/kymo\nkymo push --remove 0x00f1a8fc3c4be2d7 parquet:/data/kymo");
  line.arguments("FILE", options.arguments, "the traces, and at the end the database or folder");
  line.flag("--events", options.push.events, "also write every event, about 6 bytes each on disk");
  line.text(
      "--job", "NAME", [&](const std::string& text) { options.push.job = fleet::name_of_text(text); },
      "the job of these traces, as kymo fleet prints it (default: what the recorded program says)");
  line.text(
      "--rank", "N", [&](const std::string& text) { options.push.rank = parse_from_zero(text, "a rank", INT32_MAX); },
      "the rank of this trace (default: what the recorded program says)");
  line.text(
      "--retries", "N",
      [&](const std::string& text) {
        options.push.retries = parse_from_zero(text, "a number of retries", kMostRetries);
      },
      "how often to try again if the server does not answer (default: 8)");
  line.flag("--remove", options.remove,
            "delete these traces from there, given by their numbers (0x...) or files, instead of writing them");
  line.flag("--remove-orphans", options.remove_orphans, "delete rows that pushes left that did not end, after a day");
  line.flag("-q,--quiet", options.quiet, "print only problems");
  if (!line.read(arguments)) return kDone;

  const std::string target = options.arguments.back();
  options.arguments.pop_back();
  StatusLine status(!options.quiet);
  const auto warn = [&](const std::string& text) {
    status.clear();
    say_warning(text);
  };
  std::unique_ptr<push::Store> store;
  try {
    store = fleet::open_store(fleet::parse_target(target), warn);
  } catch (const InvalidArgument& error) {
    throw options::UsageError("push", error.what());
  }
  for (const std::string& argument : options.arguments)
    if (fleet::is_target(argument))
      throw options::UsageError("push",
                                base::format("two databases given, {} and {}: push to each with a command of its own",
                                             fleet::parse_target(argument).text(), fleet::parse_target(target).text()));
  if (options.arguments.empty() && (options.remove || !options.remove_orphans))
    throw options::UsageError(
        "push", "no trace given. Usage: kymo push FILE... clickhouse://HOST/DATABASE|parquet:FOLDER [options]");
  if (options.push.rank >= 0 && options.arguments.size() > 1)
    throw options::UsageError("push", "--rank is for one trace");
  if (options.remove && (options.push.events || !options.push.job.empty() || options.push.rank >= 0))
    throw options::UsageError("push", "--remove is not for --events, --job or --rank");

  Totals totals;
  push::Pusher pusher(
      std::move(store), options.push, open_trace_to_follow,
      [&](const push::FileOutcome& file) {
        status.clear();
        report_file(file, totals);
        status.show(base::format("{} of {} pushed", totals.files, options.arguments.size()));
      },
      warn);
  if (options.remove) return remove_traces(pusher, options);
  const auto rest = [&] { return options.arguments.size() - totals.files - totals.unreadable - totals.not_kept; };
  std::optional<uint64_t> orphans;
  try {
    pusher.push(options.arguments);
    if (options.remove_orphans) orphans = pusher.remove_orphans();
  } catch (const Error& error) {
    status.clear();
    say_error(error.what());
    if (totals.pushed > 0) say(base::format("{} pushed before that", count_of(totals.pushed, "trace")));
    // It would be refused again in the same way.
    if (rest() > 0 && dynamic_cast<const push::Refused*>(&error) == nullptr)
      say("when this is solved, run the same command again to push the rest");
    return kFailed;
  }
  status.clear();
  if (!options.quiet && orphans)
    say(*orphans == 0 ? "nothing to remove: no push that did not end, or was replaced, is older than a day"
                      : base::format("removed the rows of {} that did not end, or {} replaced",
                                     *orphans == 1 ? "1 push" : count_text(*orphans) + " pushes",
                                     *orphans == 1 ? "was" : "were"));
  if (!options.quiet && !options.arguments.empty()) {
    const push::Pusher::Counts& counts = pusher.counts();
    std::string text = base::format("{} pushed ({}", count_of(totals.pushed, "trace"), count_of(counts.rows, "row"));
    if (options.push.events || counts.events > 0) text += base::format(", {}", count_of(counts.events, "event"));
    text += ")";
    if (counts.relabelled > 0)
      text +=
          base::format(", {} of them in place of the same one with another job or rank", count_text(counts.relabelled));
    if (totals.already > 0) text += base::format(", {} already there", count_text(totals.already));
    say(text);
  }
  return totals.unreadable + totals.recording + totals.changed + totals.not_kept > 0 ? kFailed : kDone;
}

}  // namespace kymo::cli
