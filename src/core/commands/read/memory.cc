#include "commands/read/memory.h"

#include <algorithm>
#include <limits>

#include "analyze/memory/export.h"
#include "analyze/summary.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "base/units.h"
#include "cli/ledger.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "cli/units.h"
#include "commands/read/commands.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

using memory::Category;
using memory::Group;
using memory::Holder;
using memory::Holding;
using memory::Profile;

constexpr size_t kMaxRows = 10;
constexpr size_t kMaxFrames = 6;  // max frames shown of a stack
constexpr size_t kAll = std::numeric_limits<size_t>::max();

const char* by_text(memory::GroupBy by) {
  return by == memory::GroupBy::Stack ? "stack" : by == memory::GroupBy::Range ? "range" : "size";
}

int64_t since_begin(const Profile& profile, int64_t time_ns) {
  return time_ns > profile.begin_ns ? time_ns - profile.begin_ns : 0;
}

std::string categories_text(const Profile& profile) {
  std::string text;
  for (size_t i = 0; i < memory::kCategories; ++i) {
    if (profile.at_peak[i] == 0) continue;
    text += base::format("{}{} {}", text.empty() ? "" : ", ", bytes_text(profile.at_peak[i]),
                         category_label(static_cast<Category>(i)));
  }
  const bool only_unknown = profile.at_peak[static_cast<size_t>(Category::Unknown)] == profile.peak_bytes;
  return only_unknown ? "" : ": " + text;
}

std::string head_text(const Profile& profile, const MemoryReportOptions& options) {
  const std::string name = coloured(base::printable(options.path), Colour::Bold, Stream::Output);
  std::string text = base::format("{}: {} ({}), {}, in {}\n", name, count_of(profile.counts.allocations, "allocation"),
                                  bytes_text(profile.taken.bytes), count_of(profile.counts.returns, "free"),
                                  duration_text(static_cast<uint64_t>(since_begin(profile, profile.end_ns))));
  text += base::format("peak {} at {}{}\n", bytes_text(profile.peak_bytes),
                       offset_text(since_begin(profile, profile.peak_ns)), categories_text(profile));
  text += base::format("at the end {} in use: {} never freed\n", bytes_text(profile.end_bytes),
                       count_of(profile.left.count, "allocation"));
  if (profile.sampled) text += "bytes are estimated from a sample; counts are those of the sample\n";
  if (profile.counts.unknown_returns != 0)
    text += base::format("{} of memory that was allocated before the recording, or not recorded\n",
                         count_of(profile.counts.unknown_returns, "free"));
  if (profile.counts.lost_returns != 0)
    text += base::format("{} allocated again without a free in between; this is counted as a free\n",
                         count_of(profile.counts.lost_returns, "address", "addresses"));
  return text;
}

std::string memories_text(const Profile& profile) {
  base::TextTable table({"peak", "at", "at the end", "allocations", "frees"}, {{"memory"}});
  for (size_t i = 0; i < profile.memories.size(); ++i) {
    const memory::MemoryUse& use = profile.memories[i];
    table.add({bytes_text(use.peak_bytes), offset_text(since_begin(profile, use.peak_ns)), bytes_text(use.in_use),
               count_text(use.taken.count), count_text(use.returns), base::printable(memory_name(profile, i))});
  }
  return shown(table);
}

std::string frame_text(const symbols::Frame& frame) {
  const std::string where = memory::place_of(frame);
  return base::printable(frame.function) + (where.empty() ? "" : "  " + base::printable(where));
}

void add_holder(base::TextTable& table, Profile& profile, const Group& group, Holding Group::*which,
                memory::GroupBy by) {
  const Holder holder = describe(profile, group, by);
  const Holding& holding = group.*which;
  const auto row = [&](const std::string& name) {
    table.add({bytes_text(holding.bytes), count_text(holding.count), bytes_text(group.taken.bytes),
               count_text(group.taken.count), name});
  };
  if (holder.frames.empty()) return row(base::printable(holder.name));
  const size_t first = memory::first_informative_frame(holder.frames);
  const size_t end = memory::informative_frames_end(holder.frames), last = std::min(first + kMaxFrames, end);
  row(frame_text(holder.frames[first]));
  for (size_t i = first + 1; i < last; ++i) table.add({"", "", "", "", "  " + frame_text(holder.frames[i])});
  if (last < end) table.add({"", "", "", "", base::format("  … and {}", count_of(end - last, "more frame"))});
}

std::string holders_text(Profile& profile, const MemoryReportOptions& options) {
  Holding Group::*const which = options.leaks ? &Group::left : &Group::at_peak;
  const std::vector<Group> all = distinct(profile, options.by, which, kAll);
  if (all.empty()) return options.leaks ? "everything was freed\n" : "nothing was in use at the peak\n";
  base::TextTable table({"bytes", "count", "allocated", "allocations"}, {{by_text(options.by)}});
  const size_t rows = std::min(all.size(), options.top == 0 ? kMaxRows : options.top);
  for (size_t i = 0; i < rows; ++i) add_holder(table, profile, all[i], which, options.by);
  std::string text = options.leaks ? "never freed:\n" : "in use at the peak:\n";
  text += shown(table);
  if (rows < all.size()) text += base::format("({} not shown)\n", count_of(all.size() - rows, "more row"));
  return text;
}

void write_holding(base::JsonWriter& json, const char* name, const Holding& holding) {
  json.object(name, [&] {
    json.field("bytes", holding.bytes);
    json.field("count", holding.count);
  });
}

void write_frames(base::JsonWriter& json, const std::vector<symbols::Frame>& frames) {
  json.objects("frames", frames, [&](const symbols::Frame& frame) {
    json.field("function", frame.function);
    if (!frame.file.empty()) json.field("file", frame.file);
    if (frame.line != 0) json.field("line", frame.line);
    if (!frame.module.empty()) json.field("module", frame.module);
    if (frame.inlined) json.field("inlined", true);
  });
}

void write_holders(base::JsonWriter& json, Profile& profile, const MemoryReportOptions& options) {
  Holding Group::*const which = options.leaks ? &Group::left : &Group::at_peak;
  json.field("by", by_text(options.by));
  const size_t rows = options.top == 0 ? kAll : options.top;
  json.objects("rows", distinct(profile, options.by, which, rows), [&](const Group& group) {
    const Holder holder = describe(profile, group, options.by);
    json.field("name", holder.name);
    write_holding(json, "at_peak", group.at_peak);
    write_holding(json, "never_returned", group.left);
    write_holding(json, "allocated", group.taken);
    write_holding(json, "temporary", group.temporary);
    if (options.by == memory::GroupBy::Stack) write_frames(json, holder.frames);
  });
}

void write_memories(base::JsonWriter& json, const Profile& profile) {
  json.begin_array("memories");
  for (size_t i = 0; i < profile.memories.size(); ++i) {
    const memory::MemoryUse& use = profile.memories[i];
    const memory::MemoryInfo& info = profile.tables.memories[i];
    json.begin_object();
    json.field("device", info.device);
    json.field("pid", profile.tables.processes[info.process].pid);
    json.field("peak_bytes", use.peak_bytes);
    json.field("peak_ns", since_begin(profile, use.peak_ns));
    json.field("end_bytes", use.in_use);
    json.field("allocations", use.taken.count);
    json.field("returns", use.returns);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string memory_text(Profile& profile, const MemoryReportOptions& options) {
  if (profile.is_empty())
    return base::format("{}: no allocations; use 'kymo record --memory' to record those of the heap\n",
                        coloured(base::printable(options.path), Colour::Bold, Stream::Output));
  return head_text(profile, options) + "\n" + memories_text(profile) + "\n" + holders_text(profile, options);
}

std::string memory_json(Profile& profile, const MemoryReportOptions& options, const Ledger& ledger) {
  return ledger.document(options.path, [&](base::JsonWriter& json) {
    json.field("begin_ns", profile.begin_ns);
    json.field("duration_ns", since_begin(profile, profile.end_ns));
    json.field("sampled", profile.sampled);
    json.field("allocations", profile.counts.allocations);
    json.field("returns", profile.counts.returns);
    json.field("unknown_returns", profile.counts.unknown_returns);
    json.field("lost_returns", profile.counts.lost_returns);
    json.field("allocated_bytes", profile.taken.bytes);
    json.field("peak_bytes", profile.peak_bytes);
    json.field("peak_ns", since_begin(profile, profile.peak_ns));
    json.begin_object("peak_by_category");
    for (size_t i = 0; i < memory::kCategories; ++i)
      if (profile.at_peak[i] != 0) json.field(category_name(static_cast<Category>(i)), profile.at_peak[i]);
    json.end_object();
    json.field("end_bytes", profile.end_bytes);
    write_holding(json, "never_returned", profile.left);
    write_memories(json, profile);
    write_holders(json, profile, options);
  });
}

// `kymo memory`: shows how much memory was in use, what held it at the peak, and what was never freed.

int memory_command(const Arguments& arguments) {
  using memory::GroupBy;
  MemoryReportOptions options;
  std::string output, device;
  bool json = false, strict = false;
  options::CommandLine line(
      "memory", "kymo memory FILE [options]",
      "Shows how much memory was in use, what held it at the peak, and what was never freed.\n"
      "With -o it writes the profile to a file instead. The file extension of OUT selects the format:\n"
      "  .html               a web page with the timeline and the stacks that held memory\n"
      "  .json, .raw.json    memory timelines in PyTorch's format; also with .gz\n"
      "  .pickle             a snapshot for pytorch.org/memory_viz",
      "kymo record --memory -o run.kymo -- ./train\nkymo memory run.kymo --leaks\n"
      "kymo memory run.kymo -o run.html");
  line.argument("FILE", options.path, "the trace");
  line.choice("--by", options.by, {{"stack", GroupBy::Stack}, {"range", GroupBy::Range}, {"size", GroupBy::Size}},
              "what a row stands for; default: stack");
  line.text(
      "--top", "N", [&](const std::string& text) { options.top = base::parse_count(text); },
      "only the first N rows; default: 10 as text, all as JSON");
  line.flag("--leaks", options.leaks, "show what was never freed, not what was in use at the peak");
  line.value("--device", "NAME", device, "only this memory: heap, cuda:0, …");
  line.value("-o,--output", "OUT", output, "write the profile to this file");
  line.flag("--json", json, "as JSON");
  line.flag("--strict", strict, "exit with 3 when anything was lost or is damaged");
  if (!line.read(arguments)) return kDone;

  const trace::Reader reader = open_trace(options.path);
  std::vector<trace::Problem> problems = reader.problems();
  try {
    if (!output.empty()) {
      memory::export_profile(reader, output, {device});
    } else {
      memory::Profile profile = memory::read_profile(reader, {device});
      problems = profile.problems;
      const Ledger ledger(analyze::summarise(reader), problems);
      print(json ? memory_json(profile, options, ledger) : memory_text(profile, options));
    }
  } catch (const InvalidArgument& error) {  // unknown file extension or unknown memory
    throw options::UsageError("memory", error.what());
  }
  const Ledger ledger(analyze::summarise(reader), problems);
  return ledger.finish(strict);
}

}  // namespace kymo::cli
