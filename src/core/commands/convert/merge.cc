// `kymo merge`: the traces of several ranks on one clock, and who kept the others waiting.

#include "analyze/merge/merge.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "analyze/summary.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/text_table.h"
#include "cli/ledger.h"
#include "cli/read_progress.h"
#include "cli/terminal.h"
#include "cli/trace_file.h"
#include "cli/units.h"
#include "commands/convert/commands.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

using analyze::AlignedBy;
using analyze::Rank;

const char* text_of(AlignedBy by) {
  switch (by) {
    case AlignedBy::Reference:
      return "reference";
    case AlignedBy::SameBoot:
      return "same host and boot";
    case AlignedBy::Collectives:
      return "collectives";
    case AlignedBy::Marks:
      return "marks";
    case AlignedBy::Measured:
      return "measured by ssh";
    case AlignedBy::SystemClock:
      return "system clock";
  }
  return "";
}

std::string text_of(const std::vector<Rank>& ranks) {
  base::TextTable clocks({"offset", "drift", "error"}, {{"by"}, {"trace"}});
  for (const Rank& rank : ranks) {
    const bool is_estimated = rank.by == AlignedBy::Collectives || rank.by == AlignedBy::Marks;
    clocks.add({rank.system_clock_offset_ns ? offset_text(*rank.system_clock_offset_ns) : "",
                is_estimated ? base::format("{:+.1f} ppm", rank.alignment.drift * 1e6) : "",
                rank.by == AlignedBy::SystemClock ? "unknown"
                : rank.by == AlignedBy::Reference ? ""
                                                  : "±" + duration_text(rank.alignment.error_ns),
                base::format("{}{}{}{}", text_of(rank.by),
                             is_estimated ? base::format(" ({})", count_text(rank.alignment.moments)) : std::string(),
                             rank.ways > 1 ? ", ambiguous" : "",
                             rank.through != 0 ? ", through " + base::printable(ranks[rank.through].path) : ""),
                base::printable(rank.path)});
  }
  std::string text = shown(clocks);
  const uint64_t collectives = ranks.empty() ? 0 : ranks.front().collectives;
  if (collectives == 0) return text;
  const bool are_all = std::all_of(ranks.begin(), ranks.end(), [](const Rank& rank) { return rank.is_certain(); });
  text += base::format("\n{} that all traces{} have: who arrived last, and what it cost the others\n",
                       count_of(collectives, "event"), are_all ? "" : " with a sure clock");
  base::TextTable stragglers({"last", "others waited", "waited itself"}, {{"trace"}});
  std::vector<const Rank*> order;
  for (const Rank& rank : ranks)
    if (rank.collectives != 0) order.push_back(&rank);
  std::stable_sort(order.begin(), order.end(),
                   [](const Rank* a, const Rank* b) { return a->others_waited_ns > b->others_waited_ns; });
  for (const Rank* rank : order)
    stragglers.add({count_text(rank->last_at), duration_text(rank->others_waited_ns), duration_text(rank->waited_ns),
                    base::printable(rank->path)});
  return text + shown(stragglers);
}

std::string json_of(const std::vector<Rank>& ranks, const Ledger& ledger) {
  base::JsonWriter json;
  json.begin_object();
  json.objects("ranks", ranks, [&](const Rank& rank) {
    json.field("trace", rank.path);
    json.field("by", text_of(rank.by));
    json.field("offset_ns", rank.alignment.offset_ns);
    json.field("offset_at_ns", rank.alignment.origin);
    if (rank.system_clock_offset_ns) json.field("system_clock_offset_ns", *rank.system_clock_offset_ns);
    json.field("drift", rank.alignment.drift);
    json.field("error_known", rank.by != AlignedBy::SystemClock);
    json.field("error_ns", rank.alignment.error_ns);
    json.field("moments", rank.alignment.moments);
    json.field("matches", rank.ways);
    if (rank.through != 0) json.field("through", ranks[rank.through].path);
    if (!rank.reason.empty()) json.field("reason", rank.reason);
    if (rank.twin) json.field("same_rank_as", ranks[*rank.twin].path);
    json.field("collectives", rank.collectives);
    json.field("last_at", rank.last_at);
    json.field("others_waited_ns", rank.others_waited_ns);
    json.field("waited_ns", rank.waited_ns);
  });
  ledger.write(json);
  json.end_object();
  return json.text();
}

// Each trace is read to find its collectives, and again to be written.
std::vector<Rank> merged(const std::vector<trace::Reader>& readers, const analyze::MergeOptions& options,
                         const std::string& temporary, const std::string& output) {
  std::vector<Rank> ranks;
  {
    const ReadProgress progress(readers, "aligning " + count_of(readers.size(), "trace"));
    ranks = analyze::align_ranks(readers, options);
  }
  const ReadProgress progress(readers, "writing " + output);
  analyze::write_merged(readers, ranks, temporary, output);
  return ranks;
}

}  // namespace

int merge_command(const Arguments& arguments) {
  std::vector<std::string> paths;
  std::string output;
  analyze::MergeOptions merge;
  bool json = false, strict = false;
  options::CommandLine line("merge", "kymo merge FILE... -o OUT",
                            "Writes the traces of several ranks as one trace with one clock, that of the first. Traces "
                            "of the same boot of a\n"
                            "host have the same clock. Otherwise the offset and the drift are estimated from the ends "
                            "of the collectives (NCCL,\n"
                            "RCCL) that all ranks take part in, or from ranges or instants that are given with --mark. "
                            "The error is stored in the\n"
                            "trace, and 'kymo info' shows it.\n"
                            "Also shows which rank arrived last at the collectives, and what that cost the others.",
                            "kymo merge rank0.kymo rank1.kymo -o all.kymo\nkymo merge r*.json.gz -o all.kymo\n"
                            "kymo merge a.kymo b.kymo -o all.kymo --mark barrier");
  line.arguments("FILE", paths, "the traces; the first one is the reference");
  line.required_value("-o,--output", "OUT", output, "the trace to write");
  line.value("--mark", "NAME", merge.mark, "ranges or instants of this name happen at the same time on all ranks");
  line.flag("--json", json, "print everything as JSON");
  line.flag("--strict", strict, "exit with 3 when anything was lost or is damaged");
  if (!line.read(arguments)) return kDone;
  if (paths.size() < 2) throw options::UsageError("merge", "one trace is given: give at least two");

  std::vector<trace::Reader> readers;
  std::set<trace::WriterId> writers;
  for (const std::string& path : paths) {
    const auto is_same = [&](const trace::Reader& one) {
      std::error_code ignored;
      return std::filesystem::equivalent(one.path(), path, ignored);
    };
    if (std::any_of(readers.begin(), readers.end(), is_same))
      throw Error(base::format("{} is given twice: give each trace once", base::printable(path)));
    readers.push_back(open_trace(path));
    for (const auto& [id, info] : readers.back().writers()) {
      if (!writers.insert(id).second)
        throw Error(base::format("{} has a process that is also in a trace before it: give each trace once", path));
    }
  }
  TraceOutput file(output, paths);
  const std::vector<Rank> ranks = merged(readers, merge, file.temporary_path(), output);
  file.commit();
  const trace::Reader reader(output);
  const analyze::Summary summary = analyze::summarise(reader);
  const Ledger ledger(summary, reader.problems());
  if (json) {
    print(json_of(ranks, ledger));
  } else {
    print(base::format("{}: {} of {}\n", base::printable(output), count_of(summary.events(), "event"),
                       count_of(paths.size(), "trace")) +
          text_of(ranks));
    ledger.show();
  }
  for (const Rank& rank : ranks) {
    if (rank.twin)
      say_warning(base::format("{} and {} are of the same rank: give the trace of each rank once",
                               base::printable(ranks[*rank.twin].path), base::printable(rank.path)));
    if (rank.by == AlignedBy::SystemClock)
      say_warning(base::format("{} is placed by its system clock, whose error is not known: {}",
                               base::printable(rank.path), rank.reason));
    else if (rank.ways > 1)
      say_warning(
          base::format("the events of {} are so regular that they match in {} ways: the error covers all of them",
                       base::printable(rank.path), count_text(rank.ways)));
  }
  return strict && !ledger.empty() ? kIncomplete : kDone;
}

}  // namespace kymo::cli
