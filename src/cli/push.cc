// `kymo push`: the figures of traces in the tables of a ClickHouse server, or in Parquet files.
#include <charconv>
#include <cstdint>
#include <system_error>

#include "base/printable.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "cli/units.h"
#include "fleet/target.h"
#include "options/command_line.h"
#include "push/pusher.h"

namespace kymo::cli {
namespace {

constexpr int kMostRetries = 1'000;

struct Options {
  std::vector<std::string> arguments;
  push::PushOptions push;
  bool remove_orphans = false, quiet = false;
};

struct Totals {
  uint64_t pushed = 0, already = 0, recording = 0, unreadable = 0, not_kept = 0;
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
  switch (file.outcome) {
    case push::Outcome::Pushed:
      ++totals.pushed;
      break;
    case push::Outcome::AlreadyThere:
      ++totals.already;
      break;
    case push::Outcome::StillRecording:
      ++totals.recording;
      say_warning(name + " is still being recorded, and was not pushed; push it when the recording has ended");
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
      "docs/fleet-database.md describes the tables.\n"
      "A password in KYMO_CLICKHOUSE_PASSWORD does not appear in the list of processes.",
      "kymo push run.kymo clickhouse://localhost/kymo\nkymo push traces/*.kymo clickhouse://kymo@db:8123/kymo --job "
      "train\nkymo push run.kymo parquet:/data/kymo");
  line.arguments("FILE", options.arguments, "the traces, and at the end the database or folder");
  line.flag("--events", options.push.events, "also write every event, about 6 bytes each on disk");
  line.value("--job", "NAME", options.push.job, "the job of these traces (default: what the recorded program says)");
  line.text(
      "--rank", "N", [&](const std::string& text) { options.push.rank = parse_from_zero(text, "a rank", INT32_MAX); },
      "the rank of this trace (default: what the recorded program says)");
  line.text(
      "--retries", "N",
      [&](const std::string& text) {
        options.push.retries = parse_from_zero(text, "a number of retries", kMostRetries);
      },
      "how often to try again if the server does not answer (default: 8)");
  line.flag("--remove-orphans", options.remove_orphans, "delete rows that pushes left that did not end, after a day");
  line.flag("-q,--quiet", options.quiet, "print only problems");
  if (!line.read(arguments)) return kDone;

  const std::string target = options.arguments.back();
  options.arguments.pop_back();
  std::unique_ptr<push::Store> store;
  try {
    store = fleet::open_store(fleet::parse_target(target));
  } catch (const InvalidArgument& error) {
    throw options::UsageError("push", error.what());
  }
  if (options.arguments.empty() && !options.remove_orphans)
    throw options::UsageError(
        "push", "no trace given. Usage: kymo push FILE... clickhouse://HOST/DATABASE|parquet:FOLDER [options]");
  if (options.push.rank >= 0 && options.arguments.size() > 1)
    throw options::UsageError("push", "--rank is for one trace");

  Totals totals;
  StatusLine status(!options.quiet);
  push::Pusher pusher(
      std::move(store), options.push, open_trace_to_follow,
      [&](const push::FileOutcome& file) {
        status.clear();
        report_file(file, totals);
        status.show(base::format("{} of {} pushed", totals.pushed + totals.already, options.arguments.size()));
      },
      [&](const std::string& text) {
        status.clear();
        say_warning(text);
      });
  const auto rest = [&] {
    return options.arguments.size() - totals.pushed - totals.already - totals.unreadable - totals.not_kept;
  };
  try {
    pusher.push(options.arguments);
    if (options.remove_orphans) pusher.remove_orphans();
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
  if (!options.quiet) {
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
  return totals.unreadable + totals.recording + totals.not_kept > 0 ? kFailed : kDone;
}

}  // namespace kymo::cli
