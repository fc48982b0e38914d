// `kymo push`: the figures of traces in the tables of a ClickHouse server, or in Parquet files.
#include <cstdint>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "cli/units.h"
#include "fleet_commands/kept_traces.h"
#include "fleet_commands/period.h"
#include "fleet_commands/program.h"
#include "options/command_line.h"
#include "push/pusher.h"
#include "questions/target.h"
#include "questions/text_name.h"

namespace kymo::cli {
namespace {

constexpr int kMostRetries = 1'000;

struct Options {
  std::vector<std::string> arguments;
  push::PushOptions push;
  bool quiet = false;
};

struct Totals {
  uint64_t files = 0, not_pushed = 0;
  uint64_t pushed = 0, already = 0;  // traces: a file may have several
};

void report_file(const push::FileOutcome& file, Totals& totals) {
  if (const std::string problem = file.problem(); !problem.empty()) {
    ++totals.not_pushed;
    return file.outcome == push::Outcome::StillRecording ? say_warning(problem) : say_error(problem);
  }
  ++totals.files;
  totals.pushed += file.pushed;
  totals.already += file.already_there;
}

// A folder stands for the traces in it and in its folders. `has_hidden` becomes true if one of these may not be read.
std::vector<std::string> with_files_of_folders(const std::vector<std::string>& arguments, bool& has_hidden) {
  std::vector<std::string> files;
  for (const std::string& argument : arguments) {
    std::error_code error;
    if (!std::filesystem::is_directory(argument, error)) {
      files.push_back(argument);
      continue;
    }
    std::set<std::string> found;
    walk_folder(
        argument,
        [&](const std::filesystem::directory_entry& entry) {
          if (const std::string path = entry.path(); path.ends_with(".kymo") || may_be_foreign_trace(path))
            found.insert(path);
        },
        [&](const std::string& path) {
          say_error(base::format("cannot read the folder {}: its traces are not pushed", base::printable(path)));
          has_hidden = true;
        });
    if (found.empty())
      say_warning(
          base::format("no traces in {}: no file is named *.kymo, *.json or *.json.gz", base::printable(argument)));
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

}  // namespace

int push_command(const Arguments& arguments) {
  Options options;
  options::CommandLine line(
      "push", "kymo push FILE|FOLDER... clickhouse://HOST[:PORT]/DATABASE|parquet:FOLDER [options]",
      "Writes the figures of traces into the tables of a ClickHouse server, or into a folder of Parquet files: "
      "traces,\n"
      "iterations, operations, waits and device_time. Creates what is missing. A folder stands for the traces in it.\n"
      "A trace that is already there is skipped, so a push that was interrupted can simply be repeated.\n"
      "Nothing of a trace counts before all of it is there.\n"
      "A file with several ranks (kymo record -- torchrun ..., kymo merge) is one trace for each of them, and a\n"
      "rank that was started again is one for each process with iterations.\n"
      "docs/fleet-database.md describes the tables.\n"
      "A password in KYMO_CLICKHOUSE_PASSWORD does not appear in the list of processes.",
      "kymo push run.kymo clickhouse://localhost/kymo\nkymo push traces clickhouse://kymo@db:8123/kymo --job "
      "train\nkymo push run.kymo parquet:/data/kymo");
  line.arguments("FILE", options.arguments, "the traces, or folders of traces, and at the end the database");
  line.text(
      "--job", "NAME", [&](const std::string& text) { options.push.job = fleet::name_of_text(text); },
      "the job of these traces, as kymo fleet prints it (default: what the recorded program says)");
  line.text(
      "--retries", "N",
      [&](const std::string& text) {
        options.push.retries = parse_from_zero(text, "a number of retries", kMostRetries);
      },
      "how often to try again if the server does not answer (default: 8)");
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
    store = fleet::open_store(fleet::parse_target(target));
  } catch (const InvalidArgument& error) {
    throw options::UsageError("push", error.what());
  }
  if (options.arguments.empty())
    throw options::UsageError(
        "push", "no trace given. Usage: kymo push FILE... clickhouse://HOST/DATABASE|parquet:FOLDER [options]");
  bool has_hidden = false;
  options.arguments = with_files_of_folders(options.arguments, has_hidden);
  if (options.arguments.empty()) return kFailed;

  Totals totals;
  push::Pusher pusher(
      std::move(store), options.push, open_trace_to_follow,
      [&](const push::FileOutcome& file) {
        status.clear();
        report_file(file, totals);
        status.show(base::format("{} of {} pushed", totals.files, options.arguments.size()));
      },
      warn);
  try {
    pusher.push(options.arguments);
  } catch (const Error& error) {
    status.clear();
    say_error(error.what());
    if (totals.pushed > 0) say(base::format("{} pushed before that", count_of(totals.pushed, "trace")));
    if (dynamic_cast<const push::Refused*>(&error) == nullptr)
      say("when this is solved, run the same command again to push the rest");
    return kFailed;
  }
  status.clear();
  if (!options.quiet) {
    std::string text =
        base::format("{} pushed ({})", count_of(totals.pushed, "trace"), count_of(pusher.counts().rows, "row"));
    if (totals.already > 0) text += base::format(", {} already there", count_text(totals.already));
    say(text);
  }
  return has_hidden || totals.not_pushed > 0 ? kFailed : kDone;
}

}  // namespace kymo::cli
