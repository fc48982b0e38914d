#include "questions/answers.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "base/units.h"
#include "kymo/error.h"
#include "push/store.h"
#include "push/tables.h"
#include "questions/text_name.h"

namespace kymo::fleet {
namespace {

using push::parse_i64;
using push::parse_real;
using push::parse_reals;
using push::parse_u64;

constexpr int64_t kMinute = 60;
constexpr size_t kMostNamed = 5;
constexpr uint64_t kIterationRows = 2;  // in the column of devices

}  // namespace

std::string trace_text(uint64_t trace) { return base::format("0x{:016x}", trace); }

analyze::Diff read_diff(const push::Rows& rows) {
  push::expect_columns(rows, 6);
  struct Sample {
    analyze::IterationSums sums;
    double wall_ns = 0, iterations = 0;
  };
  std::map<uint64_t, Sample> samples[2];  // by side
  for (const auto& row : rows.rows) {
    auto& side = samples[parse_u64(row[0], "side") != 0 ? 1 : 0];
    const uint64_t device = parse_u64(row[2], "device");
    const std::vector<double> places = parse_reals(row[3], "samples"), sums = parse_reals(row[4], "sums"),
                              counts = parse_reals(row[5], "counts");
    if (places.size() != sums.size() || places.size() != counts.size())
      throw Error("the server's answer has lists of different lengths");
    for (size_t i = 0; i < places.size(); ++i) {
      if (!(places[i] >= 0 && places[i] < analyze::kMostValues))
        throw Error(
            base::format("the server's answer has a sample {}, and asked for are {}", places[i], analyze::kMostValues));
      Sample& sample = side[static_cast<uint64_t>(places[i])];
      if (device == kIterationRows) {
        sample.wall_ns += sums[i];
        sample.iterations += counts[i];
      } else if (counts[i] > 0) {
        sample.sums.keys.push_back({shown_name(row[1]), device != 0, {sums[i]}, static_cast<uint64_t>(counts[i])});
      }
    }
  }
  std::vector<analyze::IterationSums> runs[2];
  for (size_t side = 0; side < 2; ++side) {
    for (auto& [place, sample] : samples[side]) {
      if (sample.iterations <= 0) continue;
      const double count = std::max(sample.iterations, 1.0);
      sample.sums.wall_ns = {sample.wall_ns / count};
      for (analyze::KeySums& key : sample.sums.keys) key.ns[0] /= count;
      runs[side].push_back(std::move(sample.sums));
    }
  }
  analyze::Diff diff = analyze::compare(runs[0], runs[1], analyze::Main::Iteration);
  diff.replicate = analyze::Replicate::Minute;
  return diff;
}

DiffRanks read_diff_ranks(const push::Rows& rows, const analyze::Diff& diff) {
  push::expect_columns(rows, 3);
  DiffRanks ranks;
  for (const auto& row : rows.rows) {
    const int64_t rank = parse_i64(row[0], "rank");
    const uint64_t earlier = parse_u64(row[1], "earlier"), later = parse_u64(row[2], "later");
    ranks.earlier = std::max(ranks.earlier, earlier);
    ranks.later = std::max(ranks.later, later);
    if (later == 0)
      ranks.only_a.push_back(rank);
    else if (earlier == 0)
      ranks.only_b.push_back(rank);
    else if (earlier < diff.replicates_a || later < diff.replicates_b)
      ranks.too_few.push_back(rank);
  }
  return ranks;
}

std::string rank_names(const std::vector<int64_t>& ranks) {
  const bool has_unknown = !ranks.empty() && ranks[0] < 0;
  const size_t first = has_unknown ? 1 : 0;
  std::vector<std::string> runs;
  for (size_t i = first, end = first; i < ranks.size(); i = end) {
    while (end < ranks.size() && ranks[end] == ranks[i] + static_cast<int64_t>(end - i)) ++end;
    if (runs.size() == kMostNamed) {
      runs.push_back("…");
      break;
    }
    runs.push_back(end - i == 1 ? std::to_string(ranks[i]) : base::format("{}-{}", ranks[i], ranks[end - 1]));
  }
  const char* const unknown = "traces without a rank";
  if (runs.empty()) return unknown;
  return base::format("{} {}{}{}", ranks.size() - first == 1 ? "rank" : "ranks", base::join(runs, ", "),
                      has_unknown ? " and " : "", has_unknown ? unknown : "");
}

History read_history(const push::Rows& rows) {
  push::expect_columns(rows, 7);
  struct Minute {
    int64_t number;
    double ns, usual_ns, iterations;
    uint64_t shown_by;
    double excess() const { return (ns - usual_ns) / iterations; }
  };
  History history;
  std::vector<Minute> minutes;
  double usual = 0, iterations = 0;
  for (const auto& row : rows.rows) {
    if (parse_u64(row[0], "counted") == 0) {
      for (const double rank : parse_reals(row[6], "ranks")) history.left_out.push_back(static_cast<int64_t>(rank));
      continue;
    }
    const Minute one{parse_i64(row[1], "sample"), parse_real(row[2], "sum_ns"), parse_real(row[4], "usual_ns"),
                     parse_real(row[3], "iterations"), parse_u64(row[5], "shown_by")};
    if (one.iterations <= 0) continue;
    minutes.push_back(one);
    usual += one.usual_ns;
    iterations += one.iterations;
  }
  std::sort(history.left_out.begin(), history.left_out.end());
  // The search is quadratic, so neighbours become one point.
  const size_t count = std::min(minutes.size(), kMostHistory);
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = i * minutes.size() / count, end = (i + 1) * minutes.size() / count;
    Minute sum = minutes[begin];
    double slowest = sum.excess();
    for (size_t at = begin + 1; at < end; ++at) {
      const Minute& one = minutes[at];
      sum.ns += one.ns;
      sum.usual_ns += one.usual_ns;
      sum.iterations += one.iterations;
      if (one.excess() <= slowest) continue;
      slowest = one.excess();
      sum.shown_by = one.shown_by;
    }
    // Rounded, so that samples with the same times are equal in spite of the sums.
    const double ns = std::round(1'000 * (sum.excess() + usual / iterations)) / 1'000;
    history.points.push_back({sum.number * kMinute, ns, sum.shown_by});
    values.push_back(ns);
  }
  history.changes = find_change_points(values);
  if (history.changes.empty()) history.smallest = smallest_visible_change(values);
  return history;
}

void refuse_other_tables(const Target& target) {
  const uint64_t version = target.store().version();
  if (version == 0)
    throw Error(base::format("{0} has no tables of Kymo: 'kymo push FILE... {0}' makes them", target.text()));
  push::refuse_other_version(version, target.text());
}

CountedTraces count_traces(const Selection& selection, int64_t now) {
  const push::Rows rows = selection.target.store().ask(traces_statement(selection, now));
  push::expect_columns(rows, 9);
  CountedTraces found;
  for (const auto& row : rows.rows) {
    const auto number = [&](size_t i) { return push::parse_u64(row[i], rows.columns[i]); };
    const uint64_t era = number(0), traces = number(3), recordings = number(4);
    if (era != 0) {
      CountedTraces::Some& some = era == 1 ? found.future : found.undated;
      some = {some.count + traces, number(5), row[6], row[7], push::parse_i64(row[8], rows.columns[8])};
    } else if (number(1) == 0) {
      found.incomplete += traces;
    } else {
      found.counted += recordings;
      found.copies += traces - std::min(traces, recordings);
      if (number(2) != 0) found.whole += recordings;
    }
  }
  return found;
}

std::vector<std::string> CountedTraces::lines() const {
  std::vector<std::string> lines;
  if (incomplete > 0)
    lines.push_back(base::format(
        "not counted: {}, because the recording or the file was cut off or is damaged: push complete files",
        base::count_of(incomplete, "incomplete trace")));
  if (copies > 0)
    lines.push_back(base::format("not counted: {}, because another file of the same recording counts",
                                 base::count_of(copies, "trace")));
  return lines;
}

TimesOfTop times_of_top(const Selection& selection) {
  const push::Rows rows = selection.target.store().ask(times_statement(selection));
  push::expect_columns(rows, 3);
  TimesOfTop times;
  for (const auto& row : rows.rows) {
    const std::string& part = row[0];
    const uint64_t ns = row[1].empty() ? 0 : push::parse_u64(row[1], rows.columns[1]);  // the sum of nothing
    if (part == push::kOutside) times.traces_outside = push::parse_u64(row[2], rows.columns[2]);
    (part.empty()              ? times.iterations_ns
     : part == push::kOutside  ? times.outside_ns
     : part == "compute"       ? times.compute_ns
     : part == "communication" ? times.communication_ns
     : part == "copies"        ? times.copies_ns
                               : times.idle_ns) += ns;
  }
  return times;
}

std::vector<std::string> TimesOfTop::lines() const {
  constexpr uint64_t kMentioned = 100;  // work that began in an iteration may end after it
  if (outside_ns <= (outside_ns + compute_ns + communication_ns + copies_ns) / kMentioned) return {};
  return {
      base::format("not counted: {} of work on devices that was launched outside of iterations, in {}; kymo stats FILE "
                   "has all of it",
                   base::duration_text(outside_ns), base::count_of(traces_outside, "trace"))};
}

}  // namespace kymo::fleet
