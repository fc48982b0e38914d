// `kymo diff`: what became slower or faster between two traces, or between two lists of runs.

#include "commands/read/diff.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "analyze/diff/diff.h"
#include "analyze/summary.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/ledger.h"
#include "cli/read_progress.h"
#include "cli/share.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "cli/units.h"
#include "commands/read/commands.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

using analyze::Diff;
using analyze::DiffRow;
using Align = base::TextTable::Align;

enum ExitCodeOfDiff : int { kSame = 0, kSlower = 1, kTooFew = 3 };
constexpr size_t kShownRows = 20;

struct Options {
  std::string a, b;
  std::optional<double> fail_above;  // of an iteration, as a share
  bool all = false, json = false, markdown = false;
};

// What should be equal for a fair comparison.
struct Circumstances {
  std::set<std::string> devices, versions, hosts;

  void add(const trace::Reader& reader) {
    for (const auto& [id, writer] : reader.writers()) {
      if (!writer.origin.kymo_version.empty()) versions.insert(writer.origin.kymo_version);
      if (!writer.origin.host.empty()) hosts.insert(writer.origin.host);
      for (const auto& [track_id, track] : writer.tracks)
        if (track.kind == trace::TrackKind::DeviceQueue) devices.insert(track.device());
    }
  }
};

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + base::printable(name);
  return text.empty() ? "none" : text;
}

void warn_of_differences(const Circumstances& a, const Circumstances& b) {
  const auto warn = [](std::string_view what, const auto& one, const auto& other) {
    if (one != other)
      say_warning(base::format("the traces have different {}: {} and {}", what, joined(one), joined(other)));
  };
  warn("devices", a.devices, b.devices);
  warn("versions of Kymo", a.versions, b.versions);
  warn("hosts", a.hosts, b.hosts);
}

std::vector<analyze::IterationSums> read_side(const std::string& list, const char* side, Circumstances& circumstances) {
  std::vector<analyze::IterationSums> runs;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string path = list.substr(at, end - at);
    if (path.empty())
      throw options::UsageError("diff",
                                base::format("{} '{}' has an empty name: write traces as a.kymo,b.kymo", side, list));
    const trace::Reader reader = open_trace(path);
    circumstances.add(reader);
    {
      const ReadProgress progress(reader, "reading " + path);
      runs.push_back(analyze::iteration_sums(reader));
    }
    if (const Ledger ledger(analyze::summarise(reader), runs.back().problems); !ledger.empty()) {
      say(base::printable(path) + " is not complete:");
      ledger.show();
    }
    if (runs.back().not_compared > 0)
      say_warning(base::format("{}: the times of {} are not compared, because there are too many different paths",
                               base::printable(path),
                               count_of(runs.back().not_compared, "range or operation", "ranges and operations")));
    if (runs.back().left_out > 0)
      say_warning(
          base::format("{}: {} without a path of their own, because there are too many or they are too deep: "
                       "their time is in the range around them",
                       base::printable(path), count_of(runs.back().left_out, "range")));
    at = end + 1;
  }
  return runs;
}

std::string signed_time(double ns) {
  return (ns < 0 ? "-" : "+") + duration_text(static_cast<uint64_t>(std::llround(std::abs(ns))));
}
std::string time(double ns) { return duration_text(static_cast<uint64_t>(std::llround(std::max(ns, 0.0)))); }
std::string percent(double part, double whole) {
  return whole == 0 ? "" : base::format("{:+.1f} %", 100 * part / whole);
}

const char* verdict(const DiffRow& row) {
  if (row.only_a) return "removed";
  if (row.only_b) return "added";
  if (!row.change.enough || row.undecided) return "?";
  if (!row.significant) return "same";
  return row.change.shift > 0 ? "slower" : "faster";
}

std::vector<std::string> cells(const DiffRow& row, double iteration_ns) {
  return {verdict(row),
          signed_time(row.change.shift),
          row.change.enough ? base::format("{} to {}", signed_time(row.change.low), signed_time(row.change.high)) : "",
          percent(row.change.shift, row.median_a),
          percent(row.change.shift, iteration_ns),
          time(row.median_a),
          time(row.median_b),
          row.change.enough ? base::format("{:+.2f}", row.change.cliffs_delta) : "",
          row.change.enough ? base::format("{:.3f}", row.q) : "",
          base::printable(row.key) + (row.on_device ? " (device)" : "")};
}

const std::vector<base::TextTable::Column>& columns() {
  static const std::vector<base::TextTable::Column> all = {{"change"},
                                                           {"shift", Align::Right},
                                                           {"95 % interval", Align::Right},
                                                           {"of itself", Align::Right},
                                                           {"of iteration", Align::Right},
                                                           {"median A", Align::Right},
                                                           {"median B", Align::Right},
                                                           {"delta", Align::Right},
                                                           {"q", Align::Right},
                                                           {"path"}};
  return all;
}

std::vector<const DiffRow*> chosen(const Diff& diff, bool all) {
  std::vector<const DiffRow*> rows;
  for (const DiffRow& row : diff.rows)
    if (all || row.significant || row.undecided || ((row.only_a || row.only_b) && row.change.shift != 0))
      rows.push_back(&row);
  if (!all && rows.size() > kShownRows) rows.resize(kShownRows);
  return rows;
}

const char* name_of(analyze::Replicate replicate) {
  switch (replicate) {
    case analyze::Replicate::Iteration:
      return "iteration";
    case analyze::Replicate::Run:
      return "run";
    case analyze::Replicate::Minute:
      break;
  }
  return "sample";
}

std::string head_text(const Diff& diff) {
  const char* const unit = name_of(diff.replicate);
  return base::format("A: {}, B: {}. Times are per iteration; self time for host paths.\n",
                      count_of(diff.replicates_a, unit), count_of(diff.replicates_b, unit));
}

std::string text_of(const Diff& diff, bool all) {
  base::TextTable table(columns());
  table.add(cells(diff.iteration, diff.iteration.median_a));
  const auto rows = chosen(diff, all);
  for (const DiffRow* row : rows) table.add(cells(*row, diff.iteration.median_a));
  std::string text = head_text(diff) + shown(table);
  if (!diff.enough)
    text += base::format("too few samples: a statement needs at least {} on each side\n", analyze::Comparison::kFewest);
  else if (rows.empty())
    text += "no path changed\n";
  return text;
}

std::string markdown_of(const Diff& diff, const Options& options) {
  std::string text = head_text(diff) + "\n|", line = "|";
  for (const base::TextTable::Column& column : columns()) {
    text += base::format(" {} |", column.heading);
    line += column.align == Align::Right ? " ---: |" : " --- |";
  }
  text += "\n" + line + "\n";
  const auto add = [&](const DiffRow& row) {
    text += "|";
    for (std::string cell : cells(row, diff.iteration.median_a)) {
      for (size_t at = 0; (at = cell.find('|', at)) != std::string::npos; at += 2) cell.insert(at, "\\");
      text += " " + cell + " |";
    }
    text += "\n";
  };
  add(diff.iteration);
  for (const DiffRow* row : chosen(diff, options.all)) add(*row);
  return text;
}

void write_row(base::JsonWriter& json, const DiffRow& row) {
  json.field("path", row.key);
  json.field("device", row.on_device);
  json.field("change", verdict(row));
  json.field("median_a_ns", row.median_a);
  json.field("median_b_ns", row.median_b);
  json.field("shift_ns", row.change.shift);
  json.field("low_ns", row.change.low);
  json.field("high_ns", row.change.high);
  json.field("cliffs_delta", row.change.cliffs_delta);
  json.field("p", row.change.p);
  json.field("q", row.q);
  json.field("significant", row.significant);
}

}  // namespace

std::string diff_json(const Diff& diff, std::optional<int> exit_code, const std::vector<std::string>* notes) {
  base::JsonWriter json;
  json.begin_object();
  json.field("replicates", base::format("{}s", name_of(diff.replicate)));
  json.field("a", diff.replicates_a);
  json.field("b", diff.replicates_b);
  json.field("enough", diff.enough);
  json.begin_object("iteration");
  write_row(json, diff.iteration);
  json.end_object();
  json.begin_array("rows");
  for (const DiffRow& row : diff.rows) {
    json.begin_object();
    write_row(json, row);
    json.end_object();
  }
  json.end_array();
  if (notes != nullptr) {
    json.begin_array("notes");
    for (const std::string& line : *notes) json.value(line);
    json.end_array();
  }
  if (exit_code) json.field("exit_code", *exit_code);
  json.end_object();
  return json.text();
}

namespace {

// Slower: the iteration, or a path in it, by more than the limit of an iteration.
int gate(const Diff& diff, std::optional<double> fail_above) {
  if (!fail_above) return kSame;
  if (!diff.enough) return kTooFew;
  const double limit = *fail_above * diff.iteration.median_a;
  const auto is_slower = [&](const DiffRow& row) { return row.significant && row.change.shift > limit; };
  return is_slower(diff.iteration) || std::any_of(diff.rows.begin(), diff.rows.end(), is_slower) ? kSlower : kSame;
}

}  // namespace

std::string diff_text(const Diff& diff) { return text_of(diff, false); }
int diff_exit_code(const Diff& diff, std::optional<double> fail_above) { return gate(diff, fail_above); }

int diff_command(const Arguments& arguments) {
  Options options;
  options::CommandLine line(
      "diff", "kymo diff A B [--fail-above SHARE]",
      "Shows what became slower or faster from A to B. A and B are traces, or lists of runs: a1.kymo,a2.kymo.\n"
      "The samples are the iterations of a trace (see 'kymo report --help'), or the runs of a list. Paths of ranges "
      "and\n"
      "the kernels that they launch are compared by the Hodges-Lehmann shift with its 95 % interval. A change is shown "
      "if\n"
      "it is significant after correction for the number of paths (Benjamini-Hochberg, 5 %).\n"
      "With --fail-above the exit code is 0 if nothing is slower, 1 if an iteration or a path is slower by more than "
      "this\n"
      "share of an iteration, 2 for an error, and 3 if there are too few samples.",
      "kymo diff before.kymo after.kymo\nkymo diff a1.kymo,a2.kymo,a3.kymo,a4.kymo b1.kymo,b2.kymo,b3.kymo,b4.kymo "
      "--fail-above 5%");
  line.argument("A", options.a, "the trace before, or several, separated by commas");
  line.argument("B", options.b, "the trace after, or several");
  line.text(
      "--fail-above", "SHARE", [&](const std::string& text) { options.fail_above = parse_share(text); },
      "exit with 1 if something is slower by more than this share of an iteration, in percent: 5%");
  line.flag("--all", options.all, "show all paths, not only those that changed");
  line.flag("--json", options.json, "print everything as JSON");
  line.flag("--markdown", options.markdown, "print the table as Markdown");
  if (!line.read(arguments)) return kDone;
  if (options.json && options.markdown) throw options::UsageError("diff", "--json and --markdown exclude each other");

  try {
    Circumstances of_a, of_b;
    const auto a = read_side(options.a, "A", of_a), b = read_side(options.b, "B", of_b);
    warn_of_differences(of_a, of_b);
    const Diff diff = analyze::compare(a, b);
    const int exit_code = gate(diff, options.fail_above);
    print(options.json       ? diff_json(diff, exit_code)
          : options.markdown ? markdown_of(diff, options)
                             : text_of(diff, options.all));
    return exit_code;
  } catch (const options::UsageError&) {
    throw;
  } catch (const Error& error) {
    say_error(error.what());
    return kWrongUsage;  // 1 means slower
  }
}

}  // namespace kymo::cli
