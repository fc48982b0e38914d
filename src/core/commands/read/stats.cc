#include "commands/read/stats.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "analyze/functions/functions.h"
#include "analyze/functions/launch_lines.h"
#include "analyze/functions/samples.h"
#include "analyze/report/device_work.h"
#include "analyze/report/gpu_use.h"
#include "analyze/stats.h"
#include "analyze/summary.h"
#include "analyze/thread_states.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/ledger.h"
#include "cli/read_progress.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "cli/units.h"
#include "commands/read/commands.h"
#include "commands/read/report.h"
#include "options/command_line.h"
#include "symbols/short_name.h"

namespace kymo::cli {
namespace {

using functions::FunctionRow;
using functions::FunctionTable;
using functions::What;

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// "20,627 samples: 20.6 s of the 20.8 s of CPU time of 1 thread; off the CPU for 52.4 s, 51.9 s of it because others
// ran"
std::string cpu_summary(const FunctionTable& table, const Ledger& ledger) {
  const bool may_be_more = table.unknown_ns > table.cpu_ns / 100;
  const std::string of_all =
      table.cpu_ns == 0 ? "" : base::format("of {} {} ", may_be_more ? "at least" : "the", duration_text(table.cpu_ns));
  std::string text = base::format("{}: {} {}of CPU time of {}", count_of(table.samples, "sample"),
                                  duration_text(table.time_ns), of_all, count_of(table.threads, "thread"));
  if (table.off_ns != 0) text += base::format("; off the CPU for {}", duration_text(table.off_ns));
  if (table.preempted_ns != 0) text += base::format(", {} of it because others ran", duration_text(table.preempted_ns));
  text += "\n";
  if (may_be_more)
    text += base::format("what the threads did for {} is not known, because records were lost\n",
                         duration_text(table.unknown_ns));
  constexpr double kWhole = 0.95;
  if (static_cast<double>(table.time_ns) >= kWhole * static_cast<double>(table.cpu_ns)) return text;
  const uint64_t missing_ns = table.cpu_ns - table.time_ns;
  text += base::format("{} of CPU time ({}) has no sample: ", duration_text(missing_ns),
                       percent_text(missing_ns, table.cpu_ns));
  const uint64_t lost = ledger.count(trace::LossCause::SamplesLost);
  const bool were_paused = ledger.count(trace::LossCause::SamplingPaused) != 0;
  // A thread has its first sample only when it has used the CPU for as long as the time between two samples.
  if (lost != 0 && lost >= missing_ns / std::max<uint64_t>(table.period_ns, 1) / 2)
    text += base::format("{} lost, because there was no space for them; record at a lower rate (--sample)\n",
                         count_of(lost, "sample was", "samples were"));
  else if (table.lost_cpu_ns >= missing_ns / 2)
    text += "records of it were lost, because there was no space for them; record at a lower rate (--sample)\n";
  else if (were_paused)
    text += "the kernel paused sampling, because it took too much time; record at a lower rate (--sample)\n";
  else
    text += base::format("mostly of threads that used the CPU for less than {}\n", duration_text(table.period_ns));
  return text;
}

// "98,311 waits: 5.20 s of the 6.01 s off the CPU of 3 threads, 1.10 s of it because others ran
//  1,204 of 98,311 waits have a stack; kymo record --sample-waits takes all of them"
std::string waits_summary(const FunctionTable& table) {
  std::string text =
      base::format("{}: {} of the {} off the CPU of {}", count_of(table.samples, "wait"), duration_text(table.time_ns),
                   duration_text(table.off_ns), count_of(table.threads, "thread"));
  if (table.preempted_ns != 0) text += base::format(", {} of it because others ran", duration_text(table.preempted_ns));
  text += "\n";
  if (table.without_stack != 0)
    text += base::format("{} of {} a stack; kymo record --sample-waits takes all of them\n",
                         count_text(table.samples - table.without_stack),
                         count_of(table.samples, "wait has", "waits have"));
  return text;
}

std::string summary_of(const FunctionTable& table, const Ledger& ledger) {
  std::string text = table.what == What::Cpu ? cpu_summary(table, ledger) : waits_summary(table);
  const uint64_t unknown = table.incomplete - table.longer_than_copy;
  if (unknown != 0)
    text += base::format("{} ({}): the functions that called them are not known\n",
                         count_of(unknown, "incomplete stack"), percent_text(unknown, table.samples));
  constexpr uint64_t kLargeCopiesNs = 1'000'000;  // with less time between samples, copies are smaller
  if (table.longer_than_copy != 0)
    text += base::format(
        "{} ({}): only the inner part of them was copied; record {}\n", count_of(table.longer_than_copy, "cut stack"),
        percent_text(table.longer_than_copy, table.samples),
        table.period_ns < kLargeCopiesNs ? "at 1 kHz or less, which copies more"
                                         : "with --stacks frame-pointers, if the program has frame pointers");
  constexpr size_t kMostFiles = 3;
  for (size_t i = 0; i < std::min(kMostFiles, table.missing_files.size()); ++i)
    text += base::format(
        "functions of {} have no names: the file was removed or replaced, or is on another "
        "machine; each address is a row\n",
        base::printable(table.missing_files[i]));
  if (table.missing_files.size() > kMostFiles)
    text += base::format("so were {}\n", count_of(table.missing_files.size() - kMostFiles, "more file"));
  return text;
}

// "work.cc:17", or the module if the line is not known.
std::string place_text(const FunctionRow& row, bool full_text) {
  const std::string& path = row.file.empty() ? row.module : row.file;
  const std::string name = base::printable(full_text ? path : file_name(path));
  return row.line == 0 ? name : base::format("{}:{}", name, row.line);
}

std::string as_text(const FunctionTable& table, size_t shown_rows, const Ledger& ledger, bool was_recorded,
                    const FunctionOptions& options) {
  using Align = base::TextTable::Align;
  const bool full_text = options.full_text;
  base::TextTable text({"self", "", "total", ""}, {{options.lines               ? "waiting"
                                                    : table.what == What::Waits ? "waits"
                                                                                : "samples",
                                                    Align::Right}});
  const bool has_device = table.device_ns != 0;
  if (has_device) text.add_column({"device", Align::Right});
  text.add_column({options.lines ? "line" : "module"});
  text.add_column(function_column(full_text));
  const std::vector<std::string> names = function_names(table, shown_rows, full_text);
  for (size_t i = 0; i < shown_rows; ++i) {
    const FunctionRow& row = table.rows[i];
    const auto time = [](uint64_t ns) { return ns == 0 ? "" : duration_text(ns); };
    std::vector<std::string> cells = {duration_text(row.self_ns), percent_text(row.self_ns, table.time_ns),
                                      duration_text(row.total_ns), percent_text(row.total_ns, table.time_ns),
                                      options.lines ? time(row.waiting_ns) : count_text(row.self_samples)};
    if (has_device) cells.push_back(time(row.device_ns));
    cells.push_back(options.lines ? place_text(row, full_text) : base::printable(file_name(row.module)));
    cells.push_back(names[i]);
    text.add(std::move(cells));
  }
  std::string all = table.rows.empty() ? std::string(nothing_text(table.what, was_recorded)) + "\n" : shown(text);
  if (shown_rows < table.rows.size())
    all += base::format("({} not shown)\n", count_of(table.rows.size() - shown_rows, "more row"));
  if (!table.rows.empty()) all += "\n";
  if (!table.rows.empty() && (table.threads != 0 || !has_device)) all += summary_of(table, ledger);
  uint64_t without_line = 0;
  for (const FunctionRow& row : table.rows) without_line += row.line == 0 ? row.self_ns : 0;
  if (options.lines && without_line != 0)
    all += base::format("{} ({}) in code without source lines: compile it with -g, or install its debug information\n",
                        duration_text(without_line), percent_text(without_line, table.time_ns));
  if (has_device) {
    all += base::format("{} on devices", duration_text(table.device_ns));
    const uint64_t missing_ns = table.device_ns - table.device_with_line_ns;
    if (missing_ns != 0)
      all += base::format(", {} ({}) of it without a line of Python that launched it (kymo record states them)",
                          duration_text(missing_ns), percent_text(missing_ns, table.device_ns));
    all += "\n";
  }
  return all;
}

std::string as_json(const FunctionTable& table, size_t shown_rows, const FunctionOptions& options,
                    const Ledger& ledger) {
  return ledger.document(options.path, [&](base::JsonWriter& json) {
    const char* const rows = options.lines ? "lines" : "functions";
    json.objects(rows, std::span(table.rows).first(shown_rows), [&](const FunctionRow& row) {
      json.field("function", row.function);
      json.field("module", row.module);
      if (options.lines) {
        if (!row.file.empty()) json.field("file", row.file);
        if (row.line != 0) json.field("line", row.line);
        json.field("waiting_ns", row.waiting_ns);
        json.field("device_ns", row.device_ns);
      }
      json.field("self_samples", row.self_samples);
      json.field("total_samples", row.total_samples);
      json.field("self_ns", row.self_ns);
      json.field("total_ns", row.total_ns);
    });
    json.field("rows_not_shown", table.rows.size() - shown_rows);
    json.field("samples", table.samples);
    json.field("time_ns", table.time_ns);
    json.field("cpu_ns", table.cpu_ns);
    json.field("lost_cpu_ns", table.lost_cpu_ns);
    json.field("unknown_ns", table.unknown_ns);
    if (options.lines) {
      json.field("device_ns", table.device_ns);
      json.field("device_with_line_ns", table.device_with_line_ns);
    }
    json.field("threads", table.threads);
    if (table.what == What::Waits) json.field("waits_without_stack", table.without_stack);
    json.field("incomplete_stacks", table.incomplete);
    json.field("stacks_longer_than_copy", table.longer_than_copy);
    json.field("off_cpu_ns", table.off_ns);
    json.field("preempted_ns", table.preempted_ns);
    json.values("missing_files", table.missing_files);
  });
}

}  // namespace

std::vector<std::string> function_names(const FunctionTable& table, size_t rows, bool full_text) {
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(rows, table.rows.size()); ++i) names.push_back(table.rows[i].function);
  if (!full_text) names = symbols::short_names(names);
  for (std::string& name : names) name = base::printable(name);
  return names;
}

base::TextTable::Column function_column(bool full_text) {
  base::TextTable::Column column{"function"};
  if (!full_text) column.shorten = symbols::short_name;
  return column;
}

std::string_view nothing_text(What what, bool was_recorded) {
  switch (what) {
    case What::Waits:
      return was_recorded ? "no waits: no thread stopped running while it was recorded"
                          : "no stacks of waits: run kymo record as root, or with --sample-waits";
    case What::Cpu:
      break;
  }
  return was_recorded ? "no samples" : "no samples: kymo record takes one in each millisecond of CPU time";
}

functions::Samples read_samples(const trace::Reader& reader, const FunctionOptions& options) {
  functions::Samples samples = functions::read_samples(reader, options.what, options.range);
  if (!samples.has_part)
    throw Error(base::format("no range on a thread in {} is named '{}'; kymo stats {} lists all names", options.path,
                             base::printable(options.range), options.path));
  return samples;
}

void refuse_function(functions::Samples& samples, const std::string& name) {
  constexpr size_t kShown = 3;
  std::set<std::string> known;
  for (std::string& one : symbols::short_names(functions::function_names(samples))) {
    const size_t scope = name.find("::") == name.npos && one.find('<') == one.npos ? one.rfind("::") : one.npos;
    known.insert(scope == one.npos ? std::move(one) : one.substr(scope + 2));
  }
  std::vector<std::string> names(known.begin(), known.end());
  names = base::closest(name, names, kShown);
  throw Error(base::format("no sample has a function \"{}\" on its stack{}; kymo stats --by function lists all names",
                           base::printable(name),
                           names.empty() ? "" : "; did you mean " + base::printable(base::join(names, ", ")) + "?"));
}

int show_functions(const trace::Reader& reader, const FunctionOptions& options) {
  if (options.tree) return show_call_tree(reader, options);
  functions::Samples samples;
  FunctionTable table;
  {
    const ReadProgress progress(reader, "reading " + options.path);
    samples = read_samples(reader, options);
    if (options.lines) {
      functions::Samples waits = functions::read_samples(reader, What::Waits, options.range);
      table = functions::count_lines(samples);
      functions::add_waits(table, functions::count_lines(waits));
      if (options.range.empty())
        functions::add_device_time(table, reader, memory::OwnCode(options.own), samples.problems);
    } else {
      table = functions::count_functions(samples, options.inlines);
    }
  }
  if (options.by_total) std::ranges::stable_sort(table.rows, std::ranges::greater(), &FunctionRow::total_ns);
  const size_t shown_rows = options.top == 0 ? table.rows.size() : std::min(options.top, table.rows.size());
  const Ledger ledger(analyze::summarise(reader), samples.problems);
  print(options.json ? as_json(table, shown_rows, options, ledger)
                     : as_text(table, shown_rows, ledger, functions::was_requested(reader, options.what), options));
  return ledger.finish(options.strict);
}

namespace {

// `kymo stats`: where the time went, a row for each name, thread or category.

using analyze::GroupBy;
using analyze::RangeRow;
using analyze::Statistics;
using analyze::ThreadStates;
using Align = base::TextTable::Align;

struct Options {
  std::string path;
  analyze::StatsOptions stats;
  std::function<bool(const RangeRow&, const RangeRow&)> before;
  std::string range;  // only samples in such ranges
  size_t top = 0;     // 0: all
  bool json = false;
  bool strict = false;
};

using Before = decltype(Options::before);

template <uint64_t RangeRow::*Member>
Before largest_first() {
  return [](const RangeRow& a, const RangeRow& b) { return a.*Member > b.*Member; };
}

const options::CommandLine::Choices<Before>& orders() {
  static const options::CommandLine::Choices<Before> all = {
      {"total", largest_first<&RangeRow::total_ns>()},
      {"self", largest_first<&RangeRow::self_ns>()},
      {"count", largest_first<&RangeRow::count>()},
      {"min", largest_first<&RangeRow::min_ns>()},
      {"median", largest_first<&RangeRow::median_ns>()},
      {"p99", largest_first<&RangeRow::p99_ns>()},
      {"max", largest_first<&RangeRow::max_ns>()},
      {"name", [](const RangeRow& a, const RangeRow& b) { return a.name < b.name; }},
  };
  return all;
}

options::CommandLine::Choices<std::string> order_names() {
  options::CommandLine::Choices<std::string> names;
  for (const auto& [name, before] : orders()) names.emplace_back(name, name);
  return names;
}

// The names of the devices of a trace, by RangeRow::device.
class DeviceNames {
 public:
  explicit DeviceNames(const trace::Reader& reader) {
    for (const auto& [id, writer] : reader.writers()) {
      for (const auto& [number, track] : writer.tracks)
        if (track.kind == trace::TrackKind::DeviceQueue && !track.device_name.empty())
          names_.try_emplace(track.device_id(), track.device_name);
    }
    for (const auto& [device, name] : names_) ++devices_[name];
  }

  // Empty: not known.
  const std::string& name(const std::string& device) const {
    static const std::string kNone;
    const auto found = names_.find(device);
    return found == names_.end() ? kNone : found->second;
  }
  // Different for different devices, also if they are of the same model.
  std::string label(const std::string& device) const {
    const std::string& name = this->name(device);
    if (name.empty()) return device;
    return devices_.at(name) == 1 ? name : base::format("{}, {}", name, device);
  }

 private:
  std::map<std::string, std::string> names_;
  std::map<std::string, size_t> devices_;  // how many have this name
};

// Kernels are functions of C++, and their names can be as long.
std::vector<std::string> names_of(const std::vector<RangeRow>& rows, GroupBy by, bool full_text) {
  std::vector<std::string> names, kernels;
  for (const RangeRow& row : rows) {
    names.push_back(row.name);
    if (row.on_device) kernels.push_back(row.name);
  }
  if (by != GroupBy::Name || full_text) return names;
  kernels = symbols::short_names(kernels);
  for (size_t i = 0, next = 0; i < rows.size(); ++i)
    if (rows[i].on_device) names[i] = kernels[next++];
  return names;
}

std::string name_of(const RangeRow& row, std::string_view shown, const DeviceNames& devices) {
  std::string name = shown.empty() ? "(none)" : base::printable(shown);
  if (row.on_device)
    name += base::format(" (on {}{})", row.device.empty() ? "a device" : base::printable(devices.label(row.device)),
                         row.across_threads ? ", by handle" : "");
  else if (row.across_threads)
    name += " (across threads)";
  return name + (row.unfinished ? " (unfinished)" : "");
}

std::string quantile_text(uint64_t ns, const RangeRow& row) { return (row.approximate ? "~" : "") + duration_text(ns); }

// What sampled threads did over their lives, beside their ranges. A sampled thread without ranges has a row too.
class SampledThreads {
 public:
  SampledThreads() = default;
  explicit SampledThreads(std::vector<ThreadStates> threads) : all_(std::move(threads)) {
    for (const ThreadStates& one : all_) by_id_.try_emplace({one.pid, one.tid}, &one);
  }

  bool empty() const { return all_.empty(); }
  void add_rows(std::vector<RangeRow>& rows) const {
    std::set<std::pair<uint64_t, uint64_t>> have;
    for (const RangeRow& row : rows)
      if (find(row) != nullptr) have.insert({row.pid, row.tid});
    for (const ThreadStates& one : all_) {
      if (!have.insert({one.pid, one.tid}).second) continue;
      RangeRow& row = rows.emplace_back();
      row.name = one.name;
      row.pid = one.pid;
      row.tid = one.tid;
    }
  }
  // Null: it was not sampled, or another row has it.
  const ThreadStates* find(const RangeRow& row) const {
    if (row.on_device || row.across_threads || row.unfinished) return nullptr;
    const auto found = by_id_.find({row.pid, row.tid});
    return found == by_id_.end() ? nullptr : found->second;
  }

 private:
  std::vector<ThreadStates> all_;
  std::map<std::pair<uint64_t, uint64_t>, const ThreadStates*> by_id_;
};

std::string ranges_text(const std::vector<RangeRow>& rows, const analyze::StatsOptions& options,
                        const DeviceNames& devices, const SampledThreads& sampled) {
  const GroupBy by = options.group_by;
  const std::vector<std::string> names = names_of(rows, by, options.full_text);
  const bool has_ranges = std::ranges::any_of(rows, [](const RangeRow& row) { return row.count != 0; });
  std::vector<base::TextTable::Column> columns;
  if (has_ranges) columns = base::TextTable::columns({"total", "self", "count", "min", "median", "p99", "max"});
  const bool has_states = std::ranges::any_of(rows, &RangeRow::has_states);
  if (has_states)
    columns.insert(columns.begin() + 2, {{"CPU", Align::Right}, {"waiting", Align::Right}, {"ready", Align::Right}});
  if (!sampled.empty())
    for (const char* const name : {"life", "CPU", "waiting", "ready", "unknown"})
      columns.push_back({name, Align::Right});
  const bool categories = by == GroupBy::Name &&
                          std::any_of(rows.begin(), rows.end(), [](const auto& row) { return !row.category.empty(); });
  if (categories) columns.push_back({"category"});
  if (by == GroupBy::Thread) columns.push_back({"pid", Align::Right}), columns.push_back({"tid", Align::Right});
  columns.push_back({by == GroupBy::Name ? "name" : by == GroupBy::Thread ? "thread" : "category"});

  base::TextTable table(columns);
  double worst_error = 0;
  for (const RangeRow& row : rows) {
    std::vector<std::string> cells;
    if (has_ranges) cells.resize(7);
    if (row.count != 0) {
      cells[0] = duration_text(row.total_ns);
      cells[1] = duration_text(row.self_ns);
      cells[2] = count_text(row.count);
    }
    if (row.count != 0 && !row.unfinished) {
      cells[3] = duration_text(row.min_ns);
      cells[4] = quantile_text(row.median_ns, row);
      cells[5] = quantile_text(row.p99_ns, row);
      cells[6] = duration_text(row.max_ns);
    }
    if (has_states) {
      std::vector<std::string> times(row.in_state.size());
      for (size_t i = 0; row.has_states && i < times.size(); ++i) times[i] = duration_text(row.in_state[i]);
      cells.insert(cells.begin() + 2, times.begin(), times.end());
    }
    if (const ThreadStates* const states = sampled.find(row)) {
      for (const uint64_t ns : {states->life_ns(), states->running_ns, states->waiting_ns, states->preempted_ns})
        cells.push_back(duration_text(ns));
      cells.push_back(states->unknown_ns == 0 ? "" : duration_text(states->unknown_ns));
    } else if (!sampled.empty()) {
      cells.insert(cells.end(), 5, "");
    }
    if (categories) cells.push_back(base::printable(row.category));
    if (by == GroupBy::Thread)
      cells.insert(cells.end(), {std::to_string(row.pid), row.on_device ? "" : std::to_string(row.tid)});
    cells.push_back(name_of(row, names[static_cast<size_t>(&row - rows.data())], devices));
    table.add(std::move(cells));
    if (row.approximate) worst_error = std::max(worst_error, row.relative_error);
  }
  std::string text = shown(table);
  if (worst_error > 0)
    text +=
        base::format("~ approximate within {:.2g} %: too many ranges to keep the time of each\n", 100 * worst_error);
  return text;
}

std::string instants_text(const std::vector<analyze::InstantRow>& rows) {
  base::TextTable table({"count"}, {{"instant"}});
  for (const auto& row : rows) table.add({count_text(row.count), base::printable(row.name)});
  return shown(table);
}

std::string counters_text(const std::vector<analyze::CounterRow>& rows) {
  base::TextTable table({"count", "min", "mean", "max", "last"}, {{"counter"}});
  for (const auto& row : rows)
    table.add({count_text(row.count), number_text(row.min), number_text(row.mean), number_text(row.max),
               number_text(row.last), base::printable(row.name)});
  return shown(table);
}

// Keeps the first rows; says how many are not shown.
template <typename Row>
std::string cut(std::vector<Row>& rows, size_t top) {
  if (top == 0 || rows.size() <= top) return {};
  const size_t hidden = rows.size() - top;
  rows.resize(top);
  return base::format("({} not shown)\n", count_of(hidden, "more row"));
}

std::string as_text(Statistics statistics, const Options& options, const DeviceNames& devices,
                    const SampledThreads& sampled) {
  std::string text;
  const auto section = [&](auto& rows, const auto& show) {
    if (rows.empty()) return;
    const std::string note = cut(rows, options.top);
    text += (text.empty() ? "" : "\n") + show(rows) + note;
  };
  section(statistics.ranges, [&](const auto& rows) { return ranges_text(rows, options.stats, devices, sampled); });
  section(statistics.instants, instants_text);
  section(statistics.counters, counters_text);

  std::string notes;
  if (statistics.unfinished_in_no_row > 0)
    notes += base::format("{} not listed: there are too many\n",
                          count_of(statistics.unfinished_in_no_row, "unfinished range"));
  if (statistics.unmatched_ends > 0)
    notes += base::format("{} without a begin in the trace\n", count_of(statistics.unmatched_ends, "range end"));
  if (statistics.other_points > 0)
    notes +=
        base::format("{} (flows, allocations, samples) not listed\n", count_of(statistics.other_points, "other event"));
  if (text.empty() && notes.empty()) return "no events\n";
  return text + (text.empty() || notes.empty() ? "" : "\n") + notes;
}

void write_row(base::JsonWriter& json, const RangeRow& row, GroupBy by, const DeviceNames& devices,
               const SampledThreads& sampled) {
  json.field("name", row.name);
  if (by != GroupBy::Category && !row.category.empty()) json.field("category", row.category);
  if (by == GroupBy::Category) json.field("category", row.name);
  if (by == GroupBy::Thread) {
    json.field("thread", row.name);
    json.field("pid", row.pid);
    if (row.on_device) {
      json.field("device", row.device);
      if (const std::string& name = devices.name(row.device); !name.empty()) json.field("device_name", name);
    } else {
      json.field("tid", row.tid);
    }
  }
  if (row.across_threads) json.field("across_threads", true);
  if (row.on_device) json.field("on_device", true);
  json.field("count", row.count);
  json.field("total_ns", row.total_ns);
  json.field("self_ns", row.self_ns);
  if (row.has_states) {
    json.field("cpu_ns", row.in_state[static_cast<size_t>(analyze::ThreadState::Running)]);
    json.field("waiting_ns", row.in_state[static_cast<size_t>(analyze::ThreadState::Waiting)]);
    json.field("ready_ns", row.in_state[static_cast<size_t>(analyze::ThreadState::Preempted)]);
  }
  if (row.unfinished) {
    json.field("unfinished", true);
  } else if (row.count != 0) {
    json.field("min_ns", row.min_ns);
    json.field("median_ns", row.median_ns);
    json.field("p99_ns", row.p99_ns);
    json.field("max_ns", row.max_ns);
  }
  if (row.approximate) {
    json.field("approximate", true);  // median and p99
    json.field("relative_error", row.relative_error);
  }
  if (const ThreadStates* const states = sampled.find(row)) {
    json.field("program", states->program);
    json.field("life_ns", states->life_ns());
    json.field("running_ns", states->running_ns);
    json.field("waiting_ns", states->waiting_ns);
    json.field("preempted_ns", states->preempted_ns);
    json.field("unknown_ns", states->unknown_ns);
  }
}

std::string as_json(Statistics statistics, const Options& options, const Ledger& ledger, const DeviceNames& devices,
                    const SampledThreads& sampled) {
  return ledger.document(options.path, [&](base::JsonWriter& json) {
    const size_t all_rows = statistics.ranges.size();
    cut(statistics.ranges, options.top);
    json.objects("rows", statistics.ranges,
                 [&](const RangeRow& row) { write_row(json, row, options.stats.group_by, devices, sampled); });
    json.field("rows_not_shown", all_rows - statistics.ranges.size());
    json.objects("instants", statistics.instants, [&](const auto& row) {
      json.field("name", row.name);
      json.field("category", row.category);
      json.field("count", row.count);
    });
    json.objects("counters", statistics.counters, [&](const auto& row) {
      json.field("name", row.name);
      json.field("category", row.category);
      json.field("count", row.count);
      json.field("min", row.min);
      json.field("mean", row.mean);
      json.field("max", row.max);
      json.field("last", row.last);
    });
    json.field("unfinished", statistics.unfinished);
    // Some of the ends that the recorder counted as lost are in the trace, others are not.
    json.field("unmatched_ends", std::max(statistics.unmatched_ends, ledger.count(trace::LossCause::UnknownRange)));
    json.field("other_points", statistics.other_points);
  });
}

// `--by kernel`: the kernels, and what the counters of their GPU say. A kernel that ran on several GPUs has the
// counters of the one with the most samples.
int show_kernels(const trace::Reader& reader, const Options& options) {
  Statistics statistics;
  std::vector<analyze::GpuUse> uses;
  {
    const ReadProgress progress(reader, "reading " + options.path);
    statistics = analyze::compute_statistics(reader, options.stats);
    uses = analyze::gpu_use(reader);
  }
  std::vector<RangeRow>& rows = statistics.ranges;
  std::erase_if(rows, [](const RangeRow& row) {
    const auto kind = analyze::work_kind(row.category, row.name);
    return !row.on_device || (kind != analyze::WorkKind::Compute && kind != analyze::WorkKind::Communication);
  });
  if (options.before) std::stable_sort(rows.begin(), rows.end(), options.before);
  const Ledger ledger(analyze::summarise(reader), statistics.problems);
  const size_t all_rows = rows.size();
  const std::string cut_note = cut(rows, options.top);
  const std::vector<std::string> names = names_of(rows, GroupBy::Name, options.stats.full_text);
  const auto gpu = uses.empty() ? std::vector<base::TextTable::Column>() : gpu_columns();
  base::TextTable table({"total", "count", "median", "max"}, gpu);
  table.add_column({"kernel"});
  base::JsonWriter json;
  json.begin_object();
  json.field("file", options.path);
  json.begin_array("rows");
  for (size_t i = 0; i < rows.size(); ++i) {
    const RangeRow& row = rows[i];
    const analyze::GpuUse* use = nullptr;
    const analyze::GpuRow* best = nullptr;
    for (const analyze::GpuUse& one : uses) {
      const auto found = std::ranges::find(one.kernels, row.name, &analyze::GpuRow::name);
      if (found == one.kernels.end() || (best != nullptr && found->samples <= best->samples)) continue;
      use = &one;
      best = &*found;
    }
    std::vector<std::string> cells = {duration_text(row.total_ns), count_text(row.count),
                                      quantile_text(row.median_ns, row), duration_text(row.max_ns)};
    if (best != nullptr)
      std::ranges::move(gpu_cells(*use, *best), std::back_inserter(cells));
    else if (!uses.empty())
      cells.resize(cells.size() + gpu.size());
    cells.push_back(base::printable(names[i]));
    table.add(std::move(cells));
    json.begin_object();
    json.field("name", row.name);
    json.field("count", row.count);
    json.field("total_ns", row.total_ns);
    json.field("median_ns", row.median_ns);
    json.field("max_ns", row.max_ns);
    if (best != nullptr) write_gpu_row(json, *use, *best);
    json.end_object();
  }
  json.end_array();
  json.field("rows_not_shown", all_rows - rows.size());
  ledger.write(json);
  json.end_object();
  std::string text = rows.empty() ? "no kernels\n" : shown(table) + cut_note;
  if (!rows.empty() && uses.empty())
    text += "no counters of the GPU: kymo record takes them where the driver permits it\n";
  if (std::ranges::any_of(uses, &analyze::GpuUse::has_others))
    text += "other processes used the GPU too: its counters are of all of them\n";
  print(options.json ? json.text() : text);
  return ledger.finish(options.strict);
}

// A trace that has only samples is shown by function.
bool has_only_samples(const trace::Reader& reader) {
  return functions::has_samples(reader) &&
         std::ranges::none_of(reader.event_chunks(), [](const auto& chunk) { return chunk.range_count != 0; });
}

// What a row stands for: ranges, or the functions of samples.
enum class By : uint8_t { Default, Name, Thread, Category, Kernel, Stall, Function, Line, Wait, Lock };

std::optional<functions::What> sampled(By by) {
  switch (by) {
    case By::Function:
    case By::Line:
      return functions::What::Cpu;
    case By::Wait:
      return functions::What::Waits;
    default:
      return std::nullopt;
  }
}

}  // namespace

int stats(const Arguments& arguments) {
  Options options;
  std::string order;
  options::CommandLine line(
      "stats", "kymo stats FILE [options]",
      "Shows where the time went: for each name the number of ranges, their total time, their time without\n"
      "nested ranges (self), and the time of a single range. Instants and counters follow.\n"
      "Of ranges on sampled threads it shows how much of their total they ran (CPU), waited, and were ready while\n"
      "others ran.\n"
      "With --by thread, sampled threads also have the time that they ran (CPU), waited, and were ready while others\n"
      "ran; these and what is not known are their life, from the first record to the last.\n"
      "With --by function, it shows the functions that used the CPU, from samples: self is the time in the function\n"
      "itself, total is the time in it and in all functions that it called. This is the default if a trace has "
      "samples\n"
      "and no ranges.",
      "kymo stats run.kymo --top 10 --sort self\nkymo stats run.kymo --by thread --json\n"
      "kymo stats run.kymo --by function --in 'step*'");
  line.argument("FILE", options.path, "the trace");
  By by = By::Default;
  line.choice(
      "--by", by,
      {{"name", By::Name},
       {"thread", By::Thread},
       {"category", By::Category},
       {"kernel", By::Kernel},
       {"stall", By::Stall},
       {"function", By::Function},
       {"line", By::Line},
       {"wait", By::Wait},
       {"lock", By::Lock}},
      "what a row stands for; default: name. kernel: kernels, with\nthe counters of their GPU; stall: why their warps "
      "wait\n(kymo record --gpu-stalls); line: source lines, "
      "with the\ntime that they used the CPU and waited, and that of the\ndevice work that they launched; wait: "
      "the functions that\nwaited; lock: locks by "
      "waiting time, and who held\nthem (kymo record --with waits)");
  line.choice("--sort", order, order_names(),
              "the sort order, largest first (names: A first);\ndefault: total, for functions self");
  line.value("--in", "RANGE", options.range,
             "with --by function: only samples inside ranges with this\nname or text, at any depth; * and ? are "
             "wildcards");
  std::vector<std::string> own;
  line.values("--own", "FOLDER", own,
              "with --by line: the folder of your own Python code, to which\ndevice work belongs; default: all but "
              "installed packages");
  functions::Inlines inlines = functions::Inlines::Fold;
  line.choice(
      "--inlines", inlines, {{"fold", functions::Inlines::Fold}, {"show", functions::Inlines::Show}},
      "with --by function: count inlined functions to the one\nthat contains their code (default), or show them");
  bool is_tree = false;
  std::string callers, callees;
  line.flag("--tree", is_tree, "with --by function: who called whom, callers above\ncallees");
  line.value("--callers", "NAME", callers,
             "with --by function: the functions that called this one;\n* and ? are wildcards");
  line.value("--callees", "NAME", callees, "with --by function: the functions that this one called");
  line.text(
      "--top", "N", [&](const std::string& text) { options.top = base::parse_count(text); }, "only the first N rows");
  line.flag(
      "--full-text", options.stats.full_text,
      "separate rows for 'step 7' and 'step 8', instead of one for 'step {}';\nfull names of functions and kernels");
  line.flag("--json", options.json, "as JSON");
  line.flag("--strict", options.strict, "exit with 3 when anything was lost or is damaged");
  if (!line.read(arguments)) return kDone;

  const trace::Reader reader = open_trace_with(options.path, {.range_values = options.stats.full_text});
  using Shape = functions::CallTree::Shape;
  std::optional<Shape> tree;
  if (is_tree) tree = Shape::All;
  if (!callers.empty()) tree = Shape::Callers;
  if (!callees.empty()) tree = Shape::Callees;
  if (is_tree + !callers.empty() + !callees.empty() > 1)
    throw options::UsageError("stats", "--tree, --callers and --callees exclude each other");
  if (tree && by == By::Line)
    throw options::UsageError("stats", "--tree, --callers and --callees show functions, not lines: use --by function");
  if (!own.empty() && by != By::Line) throw options::UsageError("stats", "--own is for lines: use it with --by line");
  if (by == By::Default && (tree || has_only_samples(reader))) by = By::Function;
  if (const std::optional<functions::What> what = sampled(by)) {
    if (!order.empty() && order != "self" && order != "total")
      throw options::UsageError("stats", base::format("--sort {} is not for functions; use self or total", order));
    return show_functions(
        reader, {options.path, *what, options.range, order == "total", options.top, options.json, options.strict,
                 options.stats.full_text, inlines, tree, callers.empty() ? callees : callers, own, by == By::Line});
  }
  if ((by == By::Lock || by == By::Stall) && order.empty() && options.range.empty() && !tree)
    return (by == By::Lock ? show_locks : show_stalls)(reader, {.path = options.path,
                                                                .top = options.top,
                                                                .json = options.json,
                                                                .strict = options.strict,
                                                                .full_text = options.stats.full_text});
  if ((by == By::Lock || by == By::Stall) && !order.empty())
    throw options::UsageError(
        "stats", base::format("--sort {} is not for {}", order,
                              by == By::Lock ? "locks: they are by total time" : "stalls: they are by samples"));
  if (!options.range.empty()) throw options::UsageError("stats", "--in selects samples: use it with --by function");
  if (tree)
    throw options::UsageError("stats", "--tree, --callers and --callees show samples: use them with --by function");
  options.stats.group_by = by == By::Thread ? GroupBy::Thread : by == By::Category ? GroupBy::Category : GroupBy::Name;
  for (const auto& [name, before] : orders())
    if (name == order) options.before = before;
  if (by == By::Kernel) return show_kernels(reader, options);
  Statistics statistics;
  SampledThreads sampled;
  {
    const ReadProgress progress(reader, "reading " + options.path);
    analyze::StatesOfThreads states;
    if (functions::has_samples(reader)) states = analyze::read_thread_states(reader);
    if (by != By::Thread) options.stats.states = &states;
    statistics = analyze::compute_statistics(reader, options.stats);
    options.stats.states = nullptr;
    if (by == By::Thread) sampled = SampledThreads(std::move(states.threads));
  }
  sampled.add_rows(statistics.ranges);
  if (options.before) std::stable_sort(statistics.ranges.begin(), statistics.ranges.end(), options.before);
  const Ledger ledger(analyze::summarise(reader), statistics.problems);
  const DeviceNames devices(reader);
  print(options.json ? as_json(std::move(statistics), options, ledger, devices, sampled)
                     : as_text(std::move(statistics), options, devices, sampled));
  return ledger.finish(options.strict);
}

}  // namespace kymo::cli
