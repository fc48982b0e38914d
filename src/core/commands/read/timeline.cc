#include "commands/read/timeline.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "analyze/summary.h"
#include "analyze/thread_states.h"
#include "analyze/views/timeline.h"
#include "base/clock_map.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/ledger.h"
#include "cli/read_progress.h"
#include "cli/terminal.h"
#include "cli/time_span.h"
#include "cli/trace_file.h"
#include "cli/units.h"
#include "commands/read/commands.h"
#include "convert/places.h"
#include "options/command_line.h"

namespace kymo::cli {
namespace {

using Cells = std::vector<std::string>;

constexpr size_t kIndent = 2, kPercent = 6, kWidestLabel = 28;
constexpr double kBusyEnough = 0.25;  // for a name

std::string shade_of(double busy) {
  if (busy <= 0) return " ";
  if (busy <= 0.25) return "░";
  if (busy <= 0.5) return "▒";
  return busy <= 0.75 ? "▓" : "█";
}

constexpr double kMost = 0.5;  // of a column

// "·" and "?" are columns in which a sampled thread mostly could run while others did, or which are mostly not known.
std::string column_of(const views::TimelineRow& row, size_t i) {
  if (i < row.unknown.size() && row.unknown[i] > kMost) return "?";
  return i < row.ready.size() && row.ready[i] > kMost ? "·" : shade_of(row.columns[i]);
}

// Each character of a name is one column.
void put_text(Cells& cells, size_t at, const std::string& printable) {
  for (size_t begin = 0; begin < printable.size() && at < cells.size(); ++at) {
    size_t end = begin + 1;
    while (end < printable.size() && (static_cast<unsigned char>(printable[end]) & 0xC0) == 0x80) ++end;
    cells[at] = printable.substr(begin, end - begin);
    begin = end;
  }
}

// The name of a block may be cut, but not to less than three characters. The blocks of a sampled thread are waits, in
// which the shades say how much it runs.
void put_block(Cells& cells, const views::TimelineBlock& block, bool is_sampled) {
  constexpr size_t kShortest = 3;
  const size_t room = block.last - block.first - 1;
  cells[block.first] = "[";
  cells[block.last] = block.unfinished ? ">" : "]";
  for (size_t i = block.first + 1; i < block.last && !is_sampled; ++i) cells[i] = "█";
  const std::string name = base::printable(block.name);
  if (room >= std::min(kShortest, base::display_width(name)))
    put_text(cells, block.first + 1, base::shorten(name, room));
}

// A name over neighbouring columns that it dominates, if it fits with a shade before and after it.
void put_names(Cells& cells, const views::TimelineRow& row, const std::vector<bool>& in_block) {
  const auto is_named = [&](size_t i) {
    return !in_block[i] && !row.names[i].empty() && row.columns[i] >= kBusyEnough;
  };
  for (size_t begin = 0, end; begin < cells.size(); begin = end) {
    end = begin + 1;
    if (!is_named(begin)) continue;
    while (end < cells.size() && is_named(end) && row.names[end] == row.names[begin]) ++end;
    const std::string name = base::printable(row.names[begin]);
    if (base::display_width(name) + 2 <= end - begin) put_text(cells, begin + 1, name);
  }
}

// The smallest of 1, 2, 5, 10, … that is not below the value.
double nice_above(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {1.0, 2.0, 5.0})
    if (step * power >= value * (1 - 1e-9)) return step * power;
  return 10 * power;
}

// Times with one unit for all, and with as many decimals as their distance needs.
class AxisLabels {
 public:
  AxisLabels(uint64_t to_ns, double step) {
    const auto longest = static_cast<double>(to_ns);
    if (longest >= 1e9)
      unit_ = {"s", 1e9};
    else if (longest >= 1e6)
      unit_ = {"ms", 1e6};
    else if (longest >= 1e3)
      unit_ = {"µs", 1e3};
    decimals_ = std::max(0, static_cast<int>(std::ceil(std::log10(unit_.second / step) - 1e-9)));
  }
  std::string text(double ns) const { return base::format("{:.{}f} {}", ns / unit_.second, decimals_, unit_.first); }

 private:
  std::pair<const char*, double> unit_{"ns", 1};
  int decimals_ = 0;
};

std::string label_cell(const std::string& label, size_t width) {
  const std::string shortened = base::shorten(label, width - 1);
  return shortened + std::string(width - base::display_width(shortened), ' ');
}

}  // namespace

TimelineLayout timeline_layout(size_t width, size_t longest) {
  const size_t max = std::min(kWidestLabel, width / 3);
  const size_t label = std::min(longest + kIndent + 1, max);
  return {label, width - label - kPercent};
}

std::string timeline_cells(const views::TimelineRow& row) {
  Cells cells;
  for (size_t i = 0; i < row.columns.size(); ++i) cells.push_back(column_of(row, i));
  std::vector<bool> in_block(cells.size());
  for (const views::TimelineBlock& block : row.blocks)
    std::fill(in_block.begin() + static_cast<ptrdiff_t>(block.first),
              in_block.begin() + static_cast<ptrdiff_t>(block.last) + 1, true);
  put_names(cells, row, in_block);
  for (const views::TimelineBlock& block : row.blocks) put_block(cells, block, row.is_sampled);
  return base::join(cells, "");
}

// The marks are at round times, and far enough apart for their labels.
std::string timeline_axis(uint64_t from_ns, uint64_t to_ns, const TimelineLayout& layout) {
  constexpr size_t kMinDistance = 12, kGap = 3;
  const auto from = static_cast<double>(from_ns);
  const auto length = static_cast<double>(std::max<uint64_t>(1, to_ns - from_ns));
  const auto columns = static_cast<double>(layout.columns);
  const auto step_for = [&](size_t distance) {
    return std::max(1.0, nice_above(length * static_cast<double>(distance) / columns));
  };
  double step = step_for(kMinDistance);
  const size_t widest = base::display_width(AxisLabels(to_ns, step).text(from + length));
  step = step_for(std::max(kMinDistance, widest + kGap));
  const AxisLabels format(to_ns, step);
  Cells labels(layout.columns, " "), marks(layout.columns, "-");
  for (size_t i = 0; i < layout.columns; ++i) {
    const double at = (std::ceil(from / step) + static_cast<double>(i)) * step;
    if (at > from + length) break;
    const auto column = static_cast<size_t>((at - from) / length * columns);
    const std::string text = format.text(at);
    if (column + base::display_width(text) > layout.columns) break;
    put_text(labels, column, text);
    marks[column] = "|";
  }
  const std::string indent(layout.label, ' ');
  std::string above = base::join(labels, "");
  above.erase(above.find_last_not_of(' ') + 1);
  return indent + above + "\n" + indent + base::join(marks, "") + "\n";
}

std::string timeline_text(const views::Timeline& timeline, const views::TimelineOptions& options,
                          const TimelineLayout& layout, size_t max) {
  std::vector<size_t> order(timeline.rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return timeline.rows[a].busy > timeline.rows[b].busy; });
  const size_t hidden = order.size() - std::min(order.size(), max);
  order.resize(order.size() - hidden);
  std::sort(order.begin(), order.end());

  std::string text = timeline_axis(options.from_ns, options.to_ns, layout);
  std::string process;
  for (const size_t index : order) {
    const views::TimelineRow& row = timeline.rows[index];
    if (process != row.process) text += base::printable(process = row.process) + "\n";
    text += label_cell(std::string(kIndent, ' ') + base::printable(row.track), layout.label);
    text += base::format("{}{:4.0f} %\n", timeline_cells(row), 100 * row.busy);
  }
  const auto has = [&](std::vector<double> views::TimelineRow::*shares) {
    return std::ranges::any_of(order, [&](size_t index) {
      return std::ranges::any_of(timeline.rows[index].*shares, [](double share) { return share > kMost; });
    });
  };
  if (has(&views::TimelineRow::ready)) text += "·: ready, but others ran\n";
  if (has(&views::TimelineRow::unknown))
    text += "?: not known, because records of the thread were lost, or timers sampled it\n";
  if (hidden != 0)
    text += base::format("({} not shown, which {} less busy: choose with --track)\n", count_of(hidden, "more track"),
                         hidden == 1 ? "is" : "are");
  if (timeline.without_clock != 0)
    text += base::format("{} not shown: the clock cannot be converted\n", count_of(timeline.without_clock, "track"));
  return text;
}

namespace {

std::string as_json(const views::Timeline& timeline, const views::TimelineOptions& options, const std::string& path,
                    const Ledger& ledger) {
  return ledger.document(path, [&](base::JsonWriter& json) {
    json.field("from_ns", options.from_ns);
    json.field("to_ns", options.to_ns);
    json.field("depth", options.depth);
    json.field("columns", options.columns);
    json.objects("rows", timeline.rows, [&](const views::TimelineRow& row) {
      json.field("process", row.process);
      json.field("track", row.track);
      json.field("on_device", row.on_device);
      json.field("sampled", row.is_sampled);
      json.field("busy_ns", base::round_ns(row.busy_ns));
      json.field("busy", row.busy);
      json.values("busy_of_columns", row.columns);
      json.values("ready_of_columns", row.ready);
      json.values("unknown_of_columns", row.unknown);
      json.values("names_of_columns", row.names);
      json.objects("blocks", row.blocks, [&](const views::TimelineBlock& block) {
        json.field("name", block.name);
        json.field("first_column", block.first);
        json.field("last_column", block.last);
        json.field("unfinished", block.unfinished);
      });
      json.objects("unfinished", row.unfinished, [&](const views::TimelineUnfinished& range) {
        json.field("name", range.name);
        json.field("begin_ns", range.begin_ns);
        json.field("end_ns", range.end_ns);
      });
    });
    json.field("without_clock", timeline.without_clock);
  });
}

// `kymo timeline`: the tracks of a trace as one screen of text.

constexpr size_t kPlainWidth = 80, kMaxTracks = 40, kWidestTimeline = 1'000;

size_t parse_width(const std::string& text) {
  const uint64_t width = base::parse_count(text);
  if (width < kMinTimelineWidth || width > kWidestTimeline)
    throw InvalidArgument(
        base::format("'{}' is not a width for a timeline: give {} to {}", text, kMinTimelineWidth, kWidestTimeline));
  return width;
}

uint16_t parse_depth(const std::string& text) {
  constexpr uint64_t kDeepest = 1'000;
  const uint64_t depth = text == "0" ? 0 : base::parse_count(text);
  if (depth > kDeepest) throw InvalidArgument(base::format("'{}' is too deep: give 0 to {}", text, kDeepest));
  return static_cast<uint16_t>(depth);
}

size_t longest_name(const trace::Reader& reader, const convert::TrackChoice& choice) {
  const convert::Places places(reader);
  size_t longest = 0;
  for (const convert::Place& place : places.all())
    if (choice.contains(place.writer->id, place.track->id))
      longest = std::max(longest, base::display_width(base::printable(place.name)));
  return longest;
}

}  // namespace

int timeline(const Arguments& arguments) {
  std::string path;
  TimeSpanOptions given;
  std::vector<std::string> tracks;
  views::TimelineOptions options;
  size_t width = std::max(kMinTimelineWidth, terminal_width(Stream::Output).value_or(kPlainWidth));
  bool json = false, strict = false;
  options::CommandLine line(
      "timeline", "kymo timeline FILE [options]",
      "Shows the threads and device queues of a trace on one screen. A row is a track, and its length is the time. A\n"
      "shade says how busy a column is (░ up to 25 %, ▒ 50 %, ▓ 75 %, █ more), and the number at the end how busy the\n"
      "track is. [name ] is one long range, [name > one that has not ended. A name without brackets stands on columns\n"
      "where ranges of this name have the most time. A sampled thread without ranges is busy while it runs on a\n"
      "processor; · is a column in which it mostly could run, but others did, and ? one of which most is not known.\n"
      "Times count from the first event: 1.5s, 300ms. Negative times count from the end.",
      "kymo timeline run.kymo\nkymo timeline run.kymo --from 1s --to 1.2s --track 'worker*' --depth 1");
  line.argument("FILE", path, "the trace");
  add_time_span(line, given);
  line.values("--track", "NAME", tracks,
              "only this thread or queue: its name, process/name, or a\npattern such as 'worker*'; can be repeated");
  line.text(
      "--depth", "N", [&](const std::string& text) { options.depth = parse_depth(text); },
      "ranges at this depth; default: 0, which is the outermost");
  line.text(
      "--width", "N", [&](const std::string& text) { width = parse_width(text); },
      "columns of the text; default: the terminal's, or 80");
  line.flag("--json", json, "as JSON, with all tracks");
  line.flag("--strict", strict, "exit with 3 when anything was lost or is damaged");
  if (!line.read(arguments)) return kDone;

  trace::Reader reader = open_trace(path);
  const convert::TrackChoice choice(reader, tracks);
  const convert::TraceTimes times(reader);
  views::Timeline result;
  if (times.empty()) {
    result.problems = reader.problems();
    if (!json) print("no events\n");
  } else {
    const TimeSpan span = time_span(given, times, "timeline");
    options.from_ns = span.from_ns;
    options.to_ns = span.to_ns.value_or(views::length_with_unfinished(reader, times));
    const std::vector<analyze::ThreadStates> threads = analyze::read_thread_states(reader).threads;
    if (!given.is_empty()) reader.narrow(times.between(span.from_ns, span.to_ns));
    const TimelineLayout layout = timeline_layout(std::min(width, kWidestTimeline), longest_name(reader, choice));
    options.columns = layout.columns;
    {
      const ReadProgress progress(reader, "reading " + path);
      result = views::make_timeline(reader, times, choice, options, threads);
    }
    if (!json) print(timeline_text(result, options, layout, tracks.empty() ? kMaxTracks : result.rows.size()));
  }
  const Ledger ledger(analyze::summarise(reader), strict ? analyze::all_problems(reader) : result.problems);
  if (json) print(as_json(result, options, path, ledger));
  return ledger.finish(strict);
}

}  // namespace kymo::cli
