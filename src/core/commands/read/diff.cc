// `kymo diff`: what became slower or faster between two traces, or between two lists of runs.

#include "commands/read/diff.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "analyze/diff/diff.h"
#include "analyze/functions/functions.h"
#include "analyze/report/gpu_use.h"
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
#include "commands/read/stats.h"
#include "options/command_line.h"
#include "symbols/short_name.h"

namespace kymo::cli {
namespace {

using analyze::Diff;
using analyze::DiffRow;
using Align = base::TextTable::Align;

constexpr size_t kShownRows = 20;

// Nothing: a run has no such samples.
struct FunctionDiffs {
  std::optional<Diff> cpu, waits;
};

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

using Runs = std::vector<analyze::IterationSums>;

// Functions are compared by the CPU time in them, and by the time that they waited.
constexpr std::array kSampled = {functions::What::Cpu, functions::What::Waits};

// The counters of the GPUs of a side: means over its runs and devices, while kernels ran.
struct GpuMeans {
  struct Mean {
    double sum = 0;
    uint64_t count = 0;
    double mean() const { return sum / static_cast<double>(count); }
  };
  std::map<std::string, Mean> counters;
  std::map<std::string, std::map<std::string, Mean>> kernels;

  void add(const trace::Reader& reader) {
    for (const analyze::GpuUse& use : analyze::gpu_use(reader)) {
      if (use.has_others) continue;
      const auto put = [&use](std::map<std::string, Mean>& into, const analyze::GpuRow& row) {
        for (size_t i = 0; i < row.values.size(); ++i) {
          into[use.counters[i]].sum += row.values[i];
          ++into[use.counters[i]].count;
        }
      };
      put(counters, use.all);
      for (const analyze::GpuRow& row : use.kernels) put(kernels[row.name], row);
      for (const std::string_view name : {analyze::kPower, analyze::kSmClock})
        if (const analyze::GpuSensor* const sensor = use.sensor(name)) {
          counters[sensor->name].sum += sensor->mean;
          ++counters[sensor->name].count;
        }
    }
  }
};

struct Side {
  Runs runs;
  GpuMeans gpu;
  std::array<Runs, kSampled.size()> functions;  // a run without samples has none
};

// Of a run as a whole.
analyze::IterationSums function_sums(const trace::Reader& reader, functions::What what) {
  functions::Samples samples = functions::read_samples(reader, what);
  const functions::FunctionTable table = functions::count_functions(samples);
  std::map<std::string, double> by_name;  // of all modules
  for (const functions::FunctionRow& row : table.rows)
    if (row.self_ns != 0) by_name[row.function] += static_cast<double>(row.self_ns);
  analyze::IterationSums sums;
  if (!by_name.empty()) sums.wall_ns = {static_cast<double>(table.time_ns)};
  for (const auto& [name, ns] : by_name) sums.keys.push_back({name, false, {ns}, 1});
  return sums;
}

// A function without a sample may have run, so it is not certain that it was added or removed.
Diff compare_functions(const Runs& a, const Runs& b) {
  Diff diff = analyze::compare(a, b);
  for (analyze::DiffRow& row : diff.rows) row.only_a &= row.significant, row.only_b &= row.significant;
  return diff;
}

Side read_side(const std::string& list, const char* side_name, Circumstances& circumstances) {
  Side side;
  Runs& runs = side.runs;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string path = list.substr(at, end - at);
    if (path.empty())
      throw options::UsageError(
          "diff", base::format("{} '{}' has an empty name: write traces as a.kymo,b.kymo", side_name, list));
    const trace::Reader reader = open_trace(path);
    circumstances.add(reader);
    {
      const ReadProgress progress(reader, "reading " + path);
      runs.push_back(analyze::iteration_sums(reader));
      side.gpu.add(reader);
      for (size_t i = 0; i < kSampled.size() && functions::has_samples(reader); ++i)
        if (analyze::IterationSums sums = function_sums(reader, kSampled[i]); !sums.keys.empty())
          side.functions[i].push_back(std::move(sums));
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
  return side;
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
  static const auto all = [] {
    auto made = base::TextTable::columns(
        {"shift", "95 % interval", "of itself", "of iteration", "median A", "median B", "delta", "q"}, {{"path"}});
    made.insert(made.begin(), {"change"});
    return made;
  }();
  return all;
}

// What changed comes before what may have changed.
std::vector<const DiffRow*> chosen(const Diff& diff, bool all) {
  std::vector<const DiffRow*> rows, open;
  for (const DiffRow& row : diff.rows)
    if (all || row.significant || ((row.only_a || row.only_b) && row.change.shift != 0))
      rows.push_back(&row);
    else if (row.undecided && diff.enough)
      open.push_back(&row);
  rows.insert(rows.end(), open.begin(), open.end());
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

// Whether the row is slower by more than the limit. Nothing: its interval has the limit in it.
std::optional<bool> is_slower(const DiffRow& row, double limit) {
  if (row.significant && row.change.low > limit) return true;
  if (row.change.high <= limit) return false;
  return {};
}

// What is not known, and how to find out; empty if everything is known.
std::string undecided_text(const Diff& diff, std::optional<double> fail_above) {
  if (!diff.enough)
    return base::format("too few samples: a statement needs at least {} on each side\n", analyze::Comparison::kFewest);
  if (diff.replicate == analyze::Replicate::Minute) return {};
  std::vector<const DiffRow*> open;
  const auto width = [&](const DiffRow& row) {
    return fail_above ? row.change.high : std::max(row.change.high, -row.change.low);
  };
  const auto look = [&](const DiffRow& row) {
    if (!(fail_above ? !is_slower(row, diff.limit) : row.undecided)) return;
    open.push_back(&row);
    if (width(row) > width(*open.front())) std::swap(open.front(), open.back());
  };
  look(diff.iteration);
  for (const DiffRow& row : diff.rows) look(row);
  if (open.empty()) return {};
  const double percent = 100 / diff.iteration.median_a;
  const bool by_run = diff.replicate == analyze::Replicate::Run;
  const size_t runs = std::max(analyze::fewest_replicates(diff.tested),
                               by_run ? 2 * std::max(diff.replicates_a, diff.replicates_b) : 0);
  return base::format(
      "undecided: {}{} may be {} by {:.1f} % of an iteration, more than {:.1f} %; compare {} runs on each side{}\n",
      base::printable(open.front()->key),
      open.size() > 1 ? base::format(" (and {})", count_of(open.size() - 1, "other path")) : "",
      fail_above ? "slower" : "changed", percent * width(*open.front()), percent * diff.limit, runs,
      by_run ? "" : ": kymo diff a1.kymo,a2.kymo,... b1.kymo,b2.kymo,...");
}

// What is known about the paths, if no row says it.
std::string paths_text(const Diff& diff) {
  if (!diff.iteration.significant) return "no path changed\n";
  const size_t runs = analyze::fewest_replicates(diff.tested);
  if (diff.replicate != analyze::Replicate::Run || std::min(diff.replicates_a, diff.replicates_b) >= runs)
    return "no single path is certain to have changed\n";
  return base::format("no single path is certain to have changed; compare {} runs on each side\n", runs);
}

std::string text_of(const Diff& diff, const Options& options) {
  base::TextTable table(columns());
  table.add(cells(diff.iteration, diff.iteration.median_a));
  const auto rows = chosen(diff, options.all);
  for (const DiffRow* row : rows) table.add(cells(*row, diff.iteration.median_a));
  std::string text = head_text(diff) + shown(table);
  const std::string undecided = undecided_text(diff, options.fail_above);
  if (!undecided.empty())
    text += undecided;
  else if (rows.empty())
    text += paths_text(diff);
  return text;
}

// The functions that changed by more than the limit, also if there are too few runs for a statement.
std::string functions_text(const Diff& diff, std::string_view heading, bool all) {
  std::vector<base::TextTable::Column> shown_columns = columns();
  shown_columns[4].heading = "of all";
  shown_columns.back() = function_column();
  base::TextTable table(shown_columns);
  DiffRow whole = diff.iteration;
  whole.key = "(all)";
  table.add(cells(whole, whole.median_a));
  size_t rows = 0;
  for (const DiffRow& row : diff.rows)
    if (all || (rows < kShownRows && std::abs(row.change.shift) > diff.limit))
      table.add(cells(row, diff.iteration.median_a)), ++rows;
  return base::format("\n{}\n{}{}", heading, shown(table),
                      diff.enough ? ""
                                  : base::format("too few runs to say what is certain: compare {} on each side\n",
                                                 analyze::Comparison::kFewest));
}

// What differs by so much that it is worth a look. These are means: there is no statement about how certain it is.
std::string gpu_text(const GpuMeans& a, const GpuMeans& b, bool all) {
  constexpr double kWorthALook = 0.05;
  constexpr size_t kKernels = 8;
  base::TextTable table({"A", "B", "change"}, {{"counter"}, {"kernel"}});
  size_t rows = 0;
  const auto add = [&](const auto& of_a, const auto& of_b, const std::string& kernel) {
    for (const auto& [name, mean] : of_a) {
      const auto other = of_b.find(name);
      if (other == of_b.end()) continue;
      const double before = mean.mean(), after = other->second.mean();
      const double largest = std::max(std::abs(before), std::abs(after));
      if (!all && std::abs(after - before) < kWorthALook * largest) continue;
      if (!all && name.ends_with("[%]") && std::abs(after - before) < 100 * kWorthALook) continue;
      table.add(
          {number_text(before), number_text(after), percent(after - before, before), base::printable(name), kernel});
      ++rows;
    }
  };
  add(a.counters, b.counters, "(all)");
  std::vector<std::string> names;
  for (const auto& [name, counters] : a.kernels)
    if (b.kernels.contains(name)) names.push_back(name);
  const std::vector<std::string> shown_names = symbols::short_names(names);
  for (size_t i = 0; i < names.size() && (all || i < kKernels); ++i)
    add(a.kernels.at(names[i]), b.kernels.at(names[i]), shown_names[i]);
  std::string text = rows == 0 ? "" : "\nGPU counters while kernels ran: means\n" + shown(table);
  const auto clock_a = a.counters.find(std::string(analyze::kSmClock)),
             clock_b = b.counters.find(std::string(analyze::kSmClock));
  if (clock_a == a.counters.end() || clock_b == b.counters.end() || names.empty()) return text;
  const double change = clock_b->second.mean() / clock_a->second.mean() - 1;
  if (std::abs(change) >= kWorthALook)
    text += base::format(
        "{} kernels, {:.0f} % {} clock\n",
        names.size() == a.kernels.size() && a.kernels.size() == b.kernels.size() ? "same" : "partly the same",
        100 * std::abs(change), change < 0 ? "lower" : "higher");
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
  if (const std::string undecided = undecided_text(diff, options.fail_above); !undecided.empty())
    text += "\n" + undecided;
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

void write_diff(base::JsonWriter& json, const Diff& diff) {
  json.field("replicates", base::format("{}s", name_of(diff.replicate)));
  json.field("a", diff.replicates_a);
  json.field("b", diff.replicates_b);
  json.field("enough", diff.enough);
  json.object("iteration", [&] { write_row(json, diff.iteration); });
  json.objects("rows", diff.rows, [&](const DiffRow& row) { write_row(json, row); });
}

std::string json_of(const Diff& diff, std::optional<int> exit_code, const std::vector<std::string>* notes,
                    const FunctionDiffs& functions) {
  base::JsonWriter json;
  json.begin_object();
  write_diff(json, diff);
  for (const auto& [name, one] : {std::pair("functions", &functions.cpu), std::pair("waits", &functions.waits)}) {
    if (*one) json.object(name, [&json, &made = **one] { write_diff(json, made); });
  }
  if (notes != nullptr) json.values("notes", *notes);
  if (exit_code) json.field("exit_code", *exit_code);
  json.end_object();
  return json.text();
}

// Slower: the iteration, or a path in it, by more than the limit of an iteration. In a fleet the shift decides.
int gate(const Diff& diff, std::optional<double> fail_above) {
  if (!fail_above) return kDone;
  if (!diff.enough) return kIncomplete;
  const double limit = *fail_above * diff.iteration.median_a;
  const bool by_shift = diff.replicate == analyze::Replicate::Minute;
  bool undecided = false;
  const auto fails = [&](const DiffRow& row) {
    if (by_shift) return row.significant && row.change.shift > limit;
    const std::optional<bool> slower = is_slower(row, limit);
    undecided |= !slower;
    return slower.value_or(false);
  };
  if (fails(diff.iteration) || std::any_of(diff.rows.begin(), diff.rows.end(), fails)) return kFailed;
  return undecided ? kIncomplete : kDone;
}

}  // namespace

std::string diff_json(const Diff& diff, std::optional<int> exit_code, const std::vector<std::string>* notes) {
  return json_of(diff, exit_code, notes, {});
}
std::string diff_text(const Diff& diff) { return text_of(diff, {}); }
int diff_exit_code(const Diff& diff, std::optional<double> fail_above) { return gate(diff, fail_above); }

int diff_command(const Arguments& arguments) {
  Options options;
  options::CommandLine line(
      "diff", "kymo diff A B [--fail-above SHARE]",
      "Shows what became slower or faster from A to B. A and B are traces, or lists of runs: a1.kymo,a2.kymo.\n"
      "The samples are the iterations of a trace (see 'kymo report --help'), or the runs of a list. Paths of ranges "
      "and\n"
      "the kernels that they launch are compared by the Hodges-Lehmann shift with its 95 % interval, which is wider if "
      "the\n"
      "iterations of a trace depend on each other. If all traces have samples, functions are compared by their CPU "
      "time,\n"
      "and by the time that they waited, of each run as a whole. A path is shown if its change is significant after "
      "correction for "
      "the\n"
      "number of paths (Benjamini-Hochberg, 5 %). One trace on each side cannot show how much runs differ: compare "
      "lists\n"
      "of runs.\n"
      "With --fail-above the exit code is 0 if nothing is slower, 1 if an iteration or a path is slower by more than "
      "this\n"
      "share of an iteration, 2 for an error, and 3 if the interval has this share in it: more runs can decide.",
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
    const Diff diff =
        analyze::compare(a.runs, b.runs, analyze::Main::All, options.fail_above.value_or(analyze::kUsualLimit));
    FunctionDiffs functions;
    for (size_t i = 0; i < kSampled.size(); ++i)
      if (a.functions[i].size() == a.runs.size() && b.functions[i].size() == b.runs.size())
        (i == 0 ? functions.cpu : functions.waits) = compare_functions(a.functions[i], b.functions[i]);
    const int exit_code = gate(diff, options.fail_above);
    std::string text = options.json       ? json_of(diff, exit_code, nullptr, functions)
                       : options.markdown ? markdown_of(diff, options)
                                          : text_of(diff, options);
    if (!options.json && !options.markdown) {
      if (functions.cpu) text += functions_text(*functions.cpu, "Functions: CPU time of a run", options.all);
      if (functions.waits)
        text += functions_text(*functions.waits, "Waits: time of a run, by function of the program", options.all);
      text += gpu_text(a.gpu, b.gpu, options.all);
    }
    print(text);
    return exit_code;
  } catch (const options::UsageError&) {
    throw;
  } catch (const Error& error) {
    say_error(error.what());
    return kWrongUsage;  // 1 means slower
  }
}

}  // namespace kymo::cli
