// `kymo hist`: the distribution of the durations of the ranges with one name.
#include <algorithm>

#include "analyze/summary.h"
#include "analyze/views/distribution.h"
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
#include "options/command_line.h"

namespace kymo::cli {
namespace {

using views::Distribution;
using views::Distributions;

constexpr size_t kDefaultColumns = 80, kWidestBar = 60, kNarrowestBar = 10;
constexpr size_t kNamesShown = 5, kWidestName = 100;  // --json has whole names

const char* place_text(views::RangePlace place) {
  switch (place) {
    case views::RangePlace::Thread:
      return "on threads";
    case views::RangePlace::Device:
      return "on devices";
    case views::RangePlace::AcrossThreads:
      return "across threads";
  }
  return "";
}

std::string quoted_name(const std::string& name) {
  return base::format("'{}'", base::shorten_middle(base::printable(name), kWidestName));
}

// "'step {}', 'load' and 3 more"
std::string quoted_names(const std::vector<std::string>& names, size_t all) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back(quoted_name(name));
  return base::join(quoted, ", ") +
         (all > names.size() ? base::format(" and {} more", count_text(all - names.size())) : "");
}

// A bucket with few ranges still shows a mark.
std::string histogram_bar(uint64_t count, uint64_t largest, size_t width) {
  if (count == 0) return "";
  const double part = static_cast<double>(count) / static_cast<double>(largest);
  const auto length = static_cast<size_t>(part * static_cast<double>(width) + 0.5);
  return length == 0 ? "." : std::string(length, '#');
}

std::string buckets_text(const Distribution& row, size_t columns) {
  uint64_t largest = 0;
  size_t numbers = 0;  // the width of the columns before the bar
  for (const views::DurationBucket& bucket : row.buckets) {
    largest = std::max(largest, bucket.count);
    numbers = std::max(numbers, base::display_width(duration_text(bucket.from_ns) + duration_text(bucket.to_ns)) +
                                    std::max(count_text(bucket.count).size(), std::string_view("count").size()));
  }
  constexpr size_t kGaps = 6;  // two spaces after each of the three columns
  const size_t width = std::clamp(columns - std::min(columns, numbers + kGaps + 2), kNarrowestBar, kWidestBar);
  base::TextTable table({"from", "to", "count"}, {{""}});
  for (const views::DurationBucket& bucket : row.buckets)
    table.add({duration_text(bucket.from_ns), duration_text(bucket.to_ns), count_text(bucket.count),
               histogram_bar(bucket.count, largest, width)});
  return shown(table);
}

std::string place_section(const Distribution& row, size_t columns) {
  std::string text = base::format("{}: {}, {} in total\n", place_text(row.place), count_of(row.count, "range"),
                                  duration_text(row.total_ns));
  if (row.count != 0) {
    const char* const mark = row.approximate ? "~" : "";
    text += base::format("min {}, p50 {}{}, p90 {}{}, p99 {}{}, max {}\n\n", duration_text(row.min_ns), mark,
                         duration_text(row.p50_ns), mark, duration_text(row.p90_ns), mark, duration_text(row.p99_ns),
                         duration_text(row.max_ns));
    text += buckets_text(row, columns);
  }
  if (row.approximate)
    text += base::format("~ approximate within {:.2g} %: too many ranges to keep the time of each\n",
                         100 * row.relative_error);
  if (row.unfinished != 0)
    text += base::format("{} not counted: {} not ended\n", count_of(row.unfinished, "range is", "ranges are"),
                         row.unfinished == 1 ? "it has" : "they have");
  return text;
}

std::string as_text(const Distributions& found, const std::string& pattern) {
  const size_t columns = terminal_width(Stream::Output).value_or(kDefaultColumns);
  std::string text;
  if (found.names.size() > 1 || found.names.begin()->first != pattern) {
    std::vector<std::string> names;
    for (const auto& [name, count] : found.names)
      if (names.size() < kNamesShown) names.push_back(name);
    text += base::format("{} {}: {}\n\n", count_of(found.names.size(), "name matches", "names match"),
                         quoted_name(pattern), quoted_names(names, found.names.size()));
  }
  bool is_first = true;
  for (const Distribution& row : found.places) {
    text += (is_first ? "" : "\n") + place_section(row, columns);
    is_first = false;
  }
  return text;
}

std::string as_json(const Distributions& found, const std::string& path, const std::string& pattern,
                    const Ledger& ledger) {
  return ledger.document(path, [&](base::JsonWriter& json) {
    json.field("pattern", pattern);
    json.objects("names", found.names, [&](const auto& one) {
      json.field("name", one.first);
      json.field("count", one.second);
    });
    json.objects("distributions", found.places, [&](const Distribution& row) {
      json.field("place", place_text(row.place));
      json.field("count", row.count);
      json.field("unfinished", row.unfinished);
      if (row.count != 0) {
        json.field("total_ns", row.total_ns);
        json.field("min_ns", row.min_ns);
        json.field("p50_ns", row.p50_ns);
        json.field("p90_ns", row.p90_ns);
        json.field("p99_ns", row.p99_ns);
        json.field("max_ns", row.max_ns);
        if (row.approximate) {
          json.field("approximate", true);  // the quantiles and the buckets
          json.field("relative_error", row.relative_error);
        }
      }
      json.objects("buckets", row.buckets, [&](const views::DurationBucket& bucket) {
        json.field("from_ns", bucket.from_ns);
        json.field("to_ns", bucket.to_ns);
        json.field("count", bucket.count);
      });
    });
  });
}

[[noreturn]] void refuse_name(const Distributions& found, const std::string& path, const std::string& pattern) {
  if (found.other_names.empty())
    throw Error(base::format("{} has no ranges, so none is named {}", path, quoted_name(pattern)));
  const std::vector<std::string> closest = base::closest(pattern, found.other_names, kNamesShown);
  throw Error(base::format("no range in {} is named {}; the closest names are {} ('kymo stats {}' lists all)", path,
                           quoted_name(pattern), quoted_names(closest, found.other_names.size()), path));
}

}  // namespace

int hist(const Arguments& arguments) {
  std::string path, pattern;
  bool json = false, strict = false;
  options::CommandLine line(
      "hist", "kymo hist FILE NAME [options]",
      "Shows how long the ranges with a name lasted: count, quantiles and a histogram whose buckets grow with the\n"
      "duration. NAME is what 'kymo stats' shows (step {}), a text (step 7), or a pattern: * is any text, ? is one\n"
      "character. Ranges on threads, on devices and across threads are separate. Unfinished ranges are not counted.",
      "kymo hist run.kymo 'step {}'\nkymo hist run.kymo '*gemm*' --json");
  line.argument("FILE", path, "the trace");
  line.argument("NAME", pattern, "the name of the ranges, or a pattern");
  line.flag("--json", json, "as JSON");
  line.flag("--strict", strict, "exit with 3 when anything was lost or is damaged");
  if (!line.read(arguments)) return kDone;

  const trace::Reader reader = open_trace(path);
  Distributions found;
  {
    const ReadProgress progress(reader, "reading " + path);
    found = views::find_durations(reader, pattern);
  }
  const Ledger ledger(analyze::summarise(reader), found.problems);
  if (found.names.empty()) {
    ledger.show();
    refuse_name(found, path, pattern);
  }
  print(json ? as_json(found, path, pattern, ledger) : as_text(found, pattern));
  return ledger.finish(strict);
}

}  // namespace kymo::cli
