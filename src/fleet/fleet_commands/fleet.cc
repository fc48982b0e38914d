// `kymo fleet`: questions about many traces, answered by a ClickHouse server or by DuckDB.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "base/json_writer.h"
#include "base/printable.h"
#include "base/quantile.h"
#include "base/text.h"
#include "base/text_table.h"
#include "base/units.h"
#include "cli/share.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "commands/read/diff.h"
#include "fleet_commands/period.h"
#include "fleet_commands/program.h"
#include "kymo/error.h"
#include "options/command_line.h"
#include "push/tables.h"
#include "questions/answers.h"
#include "questions/statements.h"
#include "questions/stragglers.h"
#include "questions/target.h"
#include "questions/text_name.h"

namespace kymo::cli {
namespace {

enum FleetExit : int { kFine = 0, kSlower = 1, kError = 2, kTooFew = 3 };

constexpr const char* kNoIterations =
    "these traces have no iterations: a program marks them with ranges that it repeats, or with kymo::step()";
constexpr uint64_t kMostRows = 100'000, kUsualRows = 20;

// What a person must know about an answer: lines on standard error, and the "notes" of --json.
class Notes {
 public:
  // Something about the data: what is missing, and does not count.
  void warn(const std::string& line) {
    say_warning(line);
    lines_.push_back(line);
  }
  // Why there is no answer, or what it means.
  void say(const std::string& line) {
    cli::say(line);
    lines_.push_back(line);
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

// {"rows": [...], "notes": [...], "exit_code": 0}; `write` adds the fields of a row, and `more` those after the rows.
template <typename Rows, typename Write, typename More>
std::string json_of(const Rows& rows, Write&& write, const Notes& notes, int exit_code, More&& more) {
  base::JsonWriter json;
  json.begin_object();
  json.begin_array("rows");
  for (const auto& row : rows) {
    json.begin_object();
    write(json, row);
    json.end_object();
  }
  json.end_array();
  more(json);
  json.begin_array("notes");
  for (const std::string& line : notes.lines()) json.value(line);
  json.end_array();
  json.field("exit_code", exit_code);
  json.end_object();
  return json.text();
}

std::string date_of(int64_t seconds) { return date_text(seconds * 1'000'000'000); }
std::string job_text(const std::string& job) { return base::format("'{}'", fleet::shown_name(job)); }

// For a question about one job: chooses the only one of this time if none is given. Throws kymo::Error with their names
// if there are several.
void choose_job(fleet::Selection& selection, const std::string& question) {
  if (selection.job) return;
  const push::Rows jobs = selection.target.store().ask(fleet::jobs_statement(selection, false));
  push::expect_columns(jobs, 2);
  if (jobs.rows.size() == 1) selection.job = jobs.rows[0][0];
  if (jobs.rows.size() < 2) return;
  std::set<std::string> names;
  for (const auto& row : jobs.rows) names.insert(job_text(row[0]));
  throw Error(base::format("{} is about one job, and there are several in this time: {}; choose one with --job",
                           question, base::join(names, ", ")));
}

// Says which traces do not count because of their time: in the future, or unknown.
void warn_of_other_times(const fleet::CountedTraces& traces, Notes& notes) {
  const auto warn = [&](const fleet::CountedTraces::Some& some, const char* one, const char* several, const char* why) {
    if (some.count == 0) return;
    notes.warn(base::format("not counted: {} {}{} {} ({}{}), which began at {}; {}", count_of(some.count, "trace"),
                            some.count == 1 ? one : several, some.count == 1 ? ":" : ", such as",
                            fleet::trace_text(some.trace), base::printable(some.file),
                            some.host.empty() ? "" : base::format(", host {}", base::printable(some.host)),
                            date_of(some.began), why));
  };
  warn(traces.future, "begins in the future", "begin in the future", "check the clock of the host");
  warn(traces.undated, "does not say when it was recorded", "do not say when they were recorded",
       "--since 4000w counts such traces as of 1970");
}

// Says why a selection has no traces: false if it has some. After warn_of_other_times().
bool say_nothing_found(const fleet::Selection& selection, const fleet::CountedTraces& traces, Notes& notes) {
  const push::Rows jobs = selection.target.store().ask(fleet::jobs_statement(selection, true));
  push::expect_columns(jobs, 2);
  const std::string place = selection.target.text();
  std::vector<std::string> names;
  int64_t last = 0;
  bool is_known = !selection.job;
  for (const auto& row : jobs.rows) {
    names.push_back(job_text(row[0]));
    if (selection.job && row[0] != *selection.job) continue;
    is_known = true;
    last = std::max(last, push::parse_i64(row[1], "last"));
  }
  const std::string of_job = selection.job ? base::format(" of job {}", job_text(*selection.job)) : "";
  const std::string in_time =
      base::format("no traces{} from {} to {} in {}", of_job, date_of(selection.from), date_of(selection.to), place);
  if (names.empty())
    notes.say(notes.lines().empty() ? base::format("{} has no traces; 'kymo push' writes them", place)
                                    : base::format("{} has no trace that counts", place));
  else if (!is_known)
    notes.say(base::format("no traces{} in {}; the latest jobs are {}", of_job, place, base::join(names, ", ")));
  else if (last < selection.from && last >= push::kFirstDate)
    notes.say(base::format("{}; the last one began at {}: use a longer --since", in_time, date_of(last)));
  else if (last < selection.from || last >= selection.to)
    notes.say(in_time);  // warn_of_other_times() said why
  else if (traces.counted == 0 && traces.incomplete > 0)
    notes.say("no trace of this time is complete, so none counts");
  else if (traces.counted == 0 && selection.is_narrow())
    notes.say("no trace of this time is of this run, rank and host; 'kymo fleet jobs' lists the runs");
  else
    return false;
  return true;
}

// Says which ranks are not compared.
void warn_of_other_ranks(const fleet::DiffRanks& ranks, Notes& notes) {
  const auto warn = [&](const std::vector<int64_t>& some, std::string_view why) {
    if (!some.empty()) notes.warn(base::format("not compared: {}, recorded {}", fleet::rank_names(some), why));
  };
  warn(ranks.only_a, "only in A");
  warn(ranks.only_b, "only in B");
  warn(ranks.too_few, "too rarely in A or in B");
}

// Says if there are few samples because a rank has less than half of the minutes of another one.
void warn_of_few_samples(const fleet::DiffRanks& ranks, Notes& notes) {
  const auto warn = [&](uint64_t fleet::DiffRanks::Compared::*minutes, const char* side) {
    const auto [fewest, most] = std::ranges::minmax_element(ranks.compared, {}, minutes);
    if (fewest == ranks.compared.end() || 2 * (*fewest.*minutes) >= *most.*minutes ||
        *fewest.*minutes >= analyze::kMostValues)
      return;
    notes.warn(
        base::format("only {} in {}: {} has {} there, and {} {}, several of which are one sample; record the ranks "
                     "together for more",
                     count_of(*fewest.*minutes, "sample"), side, fleet::rank_names({fewest->rank}),
                     count_of(*fewest.*minutes, "minute"), fleet::rank_names({most->rank}), *most.*minutes));
  };
  warn(&fleet::DiffRanks::Compared::earlier, "A");
  warn(&fleet::DiffRanks::Compared::later, "B");
}

// Says why there is nothing to compare. `middle`: where B begins, in seconds since 1970.
void say_empty_sides(const fleet::Selection& selection, const fleet::DiffRanks& ranks, int64_t middle, Notes& notes) {
  if (ranks.earlier + ranks.later == 0) {
    notes.say(kNoIterations);
    return;
  }
  if (ranks.earlier > 0 && ranks.later > 0) {
    notes.say(
        "nothing to compare: no rank was recorded in both times; choose another --since, or record the same ranks");
    return;
  }
  const bool is_a = ranks.earlier == 0;
  if (selection.runs.size() == 2) {
    notes.say(
        base::format("nothing to compare: no iterations of run '{}' in this time; 'kymo fleet jobs' lists the runs",
                     fleet::shown_name(selection.runs[is_a ? 0 : 1])));
    return;
  }
  notes.say(base::format("nothing to compare: no iterations from {} to {} ({}), and {} {} it; choose another --since",
                         date_of(is_a ? selection.from : middle), date_of(is_a ? middle : selection.to),
                         is_a ? "A" : "B", count_of(ranks.earlier + ranks.later, "sample"), is_a ? "after" : "before"));
}

using Align = base::TextTable::Align;

// Prints up to `limit` of them, and returns the exit code, for which all count.
int show_stragglers(fleet::Stragglers stragglers, uint64_t limit, std::optional<double> fail_above, const Notes& notes,
                    bool json) {
  std::vector<fleet::StragglerRow>& rows = stragglers.rows;
  const bool is_slow = fail_above && std::any_of(rows.begin(), rows.end(), [&](const fleet::StragglerRow& row) {
                         return row.share > *fail_above;
                       });
  // A job of which nothing can be compared is not below a limit.
  const bool is_enough = !stragglers.jobs.empty() && !(fail_above && stragglers.has_unknown_job());
  const int exit_code = is_slow ? kSlower : is_enough ? kFine : kTooFew;
  const bool has_jobs = stragglers.jobs.size() > 1 || stragglers.has_unknown_job();
  if (rows.size() > limit) rows.resize(limit);
  if (json) {
    print(json_of(
        rows,
        [](base::JsonWriter& out, const fleet::StragglerRow& row) {
          out.field("job", fleet::text_of_name(row.job));
          if (row.period > 0) out.field("time", row.period);
          out.field("rank", row.rank);
          out.field("host", fleet::text_of_name(row.worst_host));
          out.field("times_last", row.times_last);
          out.field("others_waited_ns", row.others_waited_ns);
          out.field("waited_itself_ns", row.waited_itself_ns);
          out.field("share", row.share);
          out.field("partial_iterations", row.partial_steps);
          out.field("group", fleet::text_of_name(row.group));
          out.field("worst_collective", fleet::text_of_name(row.worst_name));
          out.field("worst_iteration", row.worst_iteration);
          out.field("worst_trace", fleet::trace_text(row.worst_trace));
        },
        notes, exit_code, [](base::JsonWriter&) {}));
    return exit_code;
  }
  const bool has_periods = !rows.empty() && rows.front().period > 0;
  base::TextTable table({{"rank", Align::Right},
                         {"last", Align::Right},
                         {"others waited", Align::Right},
                         {"of group time", Align::Right},
                         {"waited itself", Align::Right},
                         {"worst iteration", Align::Right},
                         {"its trace"},
                         {"collective"}});
  const bool is_partial = !stragglers.partial.empty();
  if (is_partial) table.add_column({"partial", Align::Right});
  const bool has_groups =
      std::any_of(rows.begin(), rows.end(), [](const fleet::StragglerRow& row) { return !row.group.empty(); });
  const bool has_hosts =
      std::any_of(rows.begin(), rows.end(), [](const fleet::StragglerRow& row) { return !row.worst_host.empty(); });
  if (has_periods) table.add_column({"since"});
  if (has_groups) table.add_column({"process group"});
  if (has_hosts) table.add_column({"host"});
  if (has_jobs) table.add_column({"job"});
  for (const fleet::StragglerRow& row : rows) {
    std::vector<std::string> cells{std::to_string(row.rank),
                                   count_text(row.times_last),
                                   duration_text(row.others_waited_ns),
                                   base::format("{:.1f} %", 100 * row.share),
                                   duration_text(row.waited_itself_ns),
                                   std::to_string(row.worst_iteration),
                                   fleet::trace_text(row.worst_trace),
                                   base::printable(row.worst_name)};
    if (is_partial) cells.push_back(count_text(row.partial_steps));
    if (has_periods) cells.push_back(date_of(row.period));
    if (has_groups) cells.push_back(base::printable(row.group));
    if (has_hosts) cells.push_back(row.worst_host.empty() ? "(unknown)" : base::printable(row.worst_host));
    if (has_jobs) cells.push_back(fleet::shown_name(row.job));
    table.add(std::move(cells));
  }
  print(shown(table));
  return exit_code;
}

enum class Question : uint8_t { Jobs, Top, Diff, Stragglers, History };

constexpr std::pair<const char*, Question> kQuestions[] = {{"jobs", Question::Jobs},
                                                           {"top", Question::Top},
                                                           {"diff", Question::Diff},
                                                           {"stragglers", Question::Stragglers},
                                                           {"history", Question::History}};
const char* name_of(Question question) { return kQuestions[static_cast<size_t>(question)].first; }
// Times of different jobs are not samples of the same thing.
bool is_about_one_job(Question question) { return question == Question::Diff || question == Question::History; }

constexpr int64_t kDay = 86'400;

struct Options {
  Question question = Question::Top;
  std::string database;
  std::optional<fleet::Operation> operation;
  std::optional<std::string> job;
  int64_t since = 7 * kDay, until = 0;  // before now
  int64_t every = 0;                    // the length of the periods of stragglers; 0: one for all
  std::vector<std::string> runs;
  std::optional<int64_t> rank;
  std::optional<std::string> host;
  std::optional<uint64_t> limit;
  uint64_t ranks = 0;  // of a group that is not named; 0: unknown
  std::optional<double> fail_above;
  bool sql = false, json = false;
};

std::string json_of_error(const char* error) {
  base::JsonWriter json;
  json.begin_object();
  json.field("error", error);
  json.field("exit_code", static_cast<int>(kError));
  json.end_object();
  return json.text();
}

std::string time(double ns) { return duration_text(static_cast<uint64_t>(std::llround(std::max(ns, 0.0)))); }
std::string rank_text(int64_t rank) { return rank < 0 ? "" : std::to_string(rank); }

int show_jobs(const std::vector<fleet::RunRow>& rows, const Notes& notes, bool json) {
  const int exit_code = rows.empty() ? kTooFew : kFine;
  if (json) {
    print(json_of(
        rows,
        [](base::JsonWriter& out, const fleet::RunRow& row) {
          out.field("job", fleet::text_of_name(row.job));
          out.field("run", fleet::text_of_name(row.run));
          out.field("first", row.first);
          out.field("last", row.last);
          out.field("traces", row.traces);
          out.field("ranks", row.ranks);
          out.field("hosts", row.hosts);
          out.field("iteration_ns", row.iteration_ns);
        },
        notes, exit_code, [](base::JsonWriter&) {}));
    return exit_code;
  }
  base::TextTable table({{"iteration", Align::Right},
                         {"ranks", Align::Right},
                         {"hosts", Align::Right},
                         {"traces", Align::Right},
                         {"first trace"},
                         {"last trace"},
                         {"job"},
                         {"run"}});
  for (const fleet::RunRow& row : rows)
    table.add({duration_text(row.iteration_ns), count_text(row.ranks), count_text(row.hosts), count_text(row.traces),
               date_of(row.first), date_of(row.last), fleet::shown_name(row.job), fleet::shown_name(row.run)});
  print(shown(table));
  return exit_code;
}

int show_top(const std::vector<fleet::TopRow>& rows, const fleet::TimesOfTop& times, const Notes& notes,
             const Options& options) {
  const auto share = [&](uint64_t ns) {
    return times.iterations_ns == 0 ? 0 : static_cast<double>(ns) / static_cast<double>(times.iterations_ns);
  };
  const int exit_code = rows.empty() ? kTooFew : kFine;
  if (options.json) {
    print(json_of(
        rows,
        [&](base::JsonWriter& json, const fleet::TopRow& row) {
          json.field("name", fleet::text_of_name(row.name));
          json.field("device", row.on_device);
          json.field("operation", fleet::operation_text(row.name, row.on_device));
          json.field("calls", row.calls);
          json.field("self_ns", row.self_ns);
          json.field("share", share(row.self_ns));
          json.field("total_ns", row.total_ns);
          json.field("longest_ns", row.longest_ns);
          json.field("traces", row.traces);
          json.field("ranks", row.ranks);
          json.field("slowest_trace", fleet::trace_text(row.slowest_trace));
          json.field("slowest_rank", row.slowest_rank);
        },
        notes, exit_code,
        [&](base::JsonWriter& json) {
          json.field("iterations_ns", times.iterations_ns);
          json.field("compute_ns", times.compute_ns);
          json.field("communication_ns", times.communication_ns);
          json.field("copies_ns", times.copies_ns);
          json.field("idle_ns", times.idle_ns);
        }));
    return exit_code;
  }
  if (const uint64_t all = times.devices_ns(); all > 0) {
    const auto part = [&](uint64_t ns) { return 100 * static_cast<double>(ns) / static_cast<double>(all); };
    print(base::format("devices: {:.1f} % compute, {:.1f} % communication, {:.1f} % copies, {:.1f} % idle\n",
                       part(times.compute_ns), part(times.communication_ns), part(times.copies_ns),
                       part(times.idle_ns)));
  }
  base::TextTable table({{"self", Align::Right},
                         {"share", Align::Right},
                         {"calls", Align::Right},
                         {"mean", Align::Right},
                         {"longest", Align::Right},
                         {"traces", Align::Right},
                         {"slowest rank", Align::Right},
                         {"slowest trace"},
                         {"operation"}});
  for (const fleet::TopRow& row : rows)
    table.add({duration_text(row.self_ns), base::format("{:.1f} %", 100 * share(row.self_ns)), count_text(row.calls),
               duration_text(row.calls == 0 ? 0 : row.total_ns / row.calls), duration_text(row.longest_ns),
               count_text(row.traces), rank_text(row.slowest_rank), fleet::trace_text(row.slowest_trace),
               fleet::operation_text(row.name, row.on_device)});
  print(shown(table));
  return exit_code;
}

// Of values without a change: which one would have been found. False if a larger one than the limit might not.
bool say_smallest_change(const fleet::History& history, double median, std::optional<double> limit, Notes& notes) {
  if (!history.smallest || median <= 0) return true;
  const double share = std::max(history.smallest->shift / median, 0.0001);  // of samples without noise
  const bool is_decided = !limit || share <= *limit;
  notes.say(base::format("a change by {:.2g} % in the last {} would have been found{}", 100 * share,
                         count_of(history.smallest->values, "sample"),
                         is_decided ? "" : ", so these samples cannot decide about the limit: push more traces"));
  return is_decided;
}

int show_history(const fleet::History& history, Notes& notes, const Options& options) {
  const bool is_enough = history.points.size() >= fleet::kFewestValues;
  const bool is_slower =
      options.fail_above && std::any_of(history.changes.begin(), history.changes.end(), [&](const auto& one) {
        return one.change.shift > *options.fail_above * one.median_before;
      });
  std::vector<double> values;
  for (const fleet::HistoryPoint& point : history.points) values.push_back(point.ns);
  const double median = base::median(values);
  if (!is_enough && !history.points.empty())
    notes.say(
        base::format("too few samples: {}, and a change point needs at least {}; use a longer --since, or push "
                     "more traces",
                     history.points.size(), fleet::kFewestValues));
  const bool is_decided = say_smallest_change(history, median, options.fail_above, notes);
  const int exit_code = is_slower ? kSlower : is_enough && is_decided ? kFine : kTooFew;
  if (options.json) {
    print(json_of(
        history.changes,
        [&](base::JsonWriter& json, const fleet::ChangePoint& change) {
          const fleet::HistoryPoint& point = history.points[change.at];
          json.field("time", point.seconds);
          json.field("trace", fleet::trace_text(point.shown_by));
          json.field("before_ns", change.median_before);
          json.field("after_ns", change.median_after);
          json.field("shift_ns", change.change.shift);
          json.field("low_ns", change.change.low);
          json.field("high_ns", change.change.high);
          json.field("p", change.p);
        },
        notes, exit_code,
        [&](base::JsonWriter& json) {
          json.field("median_ns", median);
          if (history.smallest) json.field("smallest_visible_ns", history.smallest->shift);
          json.begin_array("samples");
          for (const fleet::HistoryPoint& point : history.points) {
            json.begin_object();
            json.field("time", point.seconds);
            json.field("ns", point.ns);
            json.field("trace", fleet::trace_text(point.shown_by));
            json.end_object();
          }
          json.end_array();
        }));
    return exit_code;
  }
  print(base::format("{}, median {} per iteration\n", count_of(history.points.size(), "sample"), time(median)));
  if (is_enough && history.changes.empty()) print("no change point\n");
  base::TextTable table({{"since"},
                         {"before", Align::Right},
                         {"after", Align::Right},
                         {"shift", Align::Right},
                         {"p", Align::Right},
                         {"trace that shows it"}});
  for (size_t i = 0; i < history.changes.size(); ++i) {
    const fleet::ChangePoint& change = history.changes[i];
    const fleet::HistoryPoint& point = history.points[change.at];
    const double share = change.median_before == 0 ? 0 : change.change.shift / change.median_before;
    table.add({date_text(point.seconds * 1'000'000'000), time(change.median_before), time(change.median_after),
               base::format("{:+.1f} %", 100 * share), base::format("{:.4f}", change.p),
               fleet::trace_text(point.shown_by)});
  }
  if (table.size() > 0) print(shown(table));
  return exit_code;
}

// "Did last night's change make it slower?": if the iteration has another level since some time in B, this level is
// compared, and what is before it in B does not count. Otherwise most of B would hide it.
void leave_out_old_level(fleet::Selection& selection, const fleet::History& history, int64_t middle, Notes& notes) {
  if (history.changes.empty()) return;
  const fleet::ChangePoint& last = history.changes.back();
  const fleet::HistoryPoint& first = history.points[last.at];
  const bool has_before = last.at > 0 && history.points[last.at - 1].seconds >= middle;
  if (!has_before || first.seconds < middle || history.points.size() - last.at < fleet::kFewestAround) return;
  selection.gap_from = middle;
  selection.gap_to = first.seconds;
  notes.warn(base::format(
      "the iteration became {} by {:.1f} % at {}: B is what is after that, and the time before it in B does not count",
      last.change.shift > 0 ? "slower" : "faster",
      last.median_before == 0 ? 0 : 100 * std::abs(last.change.shift) / last.median_before, date_of(first.seconds)));
}

int show_diff(const analyze::Diff& diff, const fleet::History& history, Notes& notes, const Options& options) {
  int exit_code = diff.enough ? diff_exit_code(diff, options.fail_above) : kTooFew;
  if (diff.enough && !say_smallest_change(history, diff.iteration.median_a, options.fail_above, notes) &&
      exit_code == kFine)
    exit_code = kTooFew;
  const auto may_be_slower = [&](const analyze::DiffRow& row) {
    const double limit = options.fail_above.value_or(0) * diff.iteration.median_a;
    return row.undecided && (options.fail_above ? row.change.shift : std::abs(row.change.shift)) > limit;
  };
  const auto undecided = std::count_if(diff.rows.begin(), diff.rows.end(), may_be_slower);
  if (undecided > 0) {
    // Without a limit the answer is about the iteration. A limit is for operations too.
    if (options.fail_above && exit_code == kFine) exit_code = kTooFew;
    notes.say(
        base::format("too few samples: {} in A and {} in B cannot show whether {} changed, because {} are compared; "
                     "{} in each can; use another --since, or push more traces",
                     diff.replicates_a, diff.replicates_b, count_of(static_cast<uint64_t>(undecided), "operation"),
                     diff.tested, analyze::fewest_replicates(diff.tested)));
  }
  if (!diff.enough)
    notes.say(
        base::format("too few samples: {} in A and {} in B, and a comparison needs at least {} in each; use "
                     "another --since, or push more traces",
                     diff.replicates_a, diff.replicates_b, analyze::Comparison::kFewest));
  print(options.json ? diff_json(diff, exit_code, &notes.lines()) : diff_text(diff));
  return exit_code;
}

int answer_stragglers(const fleet::Selection& selection, const fleet::CountedTraces& traces, const push::Rows& rows,
                      Notes& notes, const Options& options) {
  const uint64_t limit = options.limit.value_or(kUsualRows);
  std::vector<std::string> left_out;
  fleet::Stragglers found = fleet::ask_stragglers(selection, rows, options.ranks, left_out);
  // The others are needed to see for whom they wait.
  std::erase_if(found.rows, [&](const fleet::StragglerRow& row) {
    return (options.rank && row.rank != *options.rank) || (options.host && row.worst_host != *options.host);
  });
  for (const std::string& line : left_out) notes.warn(line);
  const bool has_collectives = !found.jobs.empty();
  if (has_collectives && found.rows.empty())
    notes.say(
        base::format("no rank{} is late: none makes others wait for more than twice the time that it waits itself",
                     options.rank || options.host ? " of these" : ""));
  else if (!has_collectives && !left_out.empty())
    notes.say("no wait in a collective can be compared, so no rank is named");
  else if (!has_collectives && !say_nothing_found(selection, traces, notes))
    notes.say(
        "no collective on a device in which all ranks wait for each other, as an all-reduce, in a numbered iteration "
        "of a "
        "trace with a rank: push the traces of all ranks, with "
        "KYMO_RANK in the environment of the program if nothing else says the rank");
  return show_stragglers(std::move(found), limit, options.fail_above, notes, options.json);
}

std::string statement_of(const Options& options, const fleet::Selection& selection, int64_t middle) {
  switch (options.question) {
    case Question::Jobs:
      return fleet::runs_statement(selection);
    case Question::Diff:
      return fleet::diff_statement(selection, middle);
    case Question::Stragglers:
      return fleet::stragglers_statement(selection, options.ranks, options.every);
    case Question::History:
      return fleet::history_statement(selection, options.operation);
    case Question::Top:
      break;
  }
  return fleet::top_statement(selection);
}

int answer(const Options& options) {
  const fleet::Target target = fleet::parse_target(options.database);
  const int64_t now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const int64_t middle = std::max<int64_t>(now - options.since, 0);  // of diff: where B begins
  fleet::Selection selection{target, options.job, middle, now + 1 - options.until, options.limit.value_or(kUsualRows)};
  selection.runs = options.runs;
  const bool is_about_runs = options.question == Question::Diff && selection.runs.size() == 2;
  if (options.question == Question::Diff && !is_about_runs)
    selection.from = std::max<int64_t>(middle - (options.since - options.until), 0);
  if (options.question != Question::Stragglers) {
    selection.rank = options.rank;
    selection.host = options.host;
  }
  // The rows of stragglers are those with the longest waits, and a limit of their share applies to all.
  if (options.question == Question::Stragglers) selection.limit = kMostRows;
  if (options.sql) {
    print(statement_of(options, selection, middle) + "\n");
    return kFine;
  }
  fleet::refuse_other_tables(selection.target);
  if (is_about_one_job(options.question)) choose_job(selection, name_of(options.question));
  Notes notes;
  const fleet::CountedTraces traces = fleet::count_traces(selection, now + 1);
  warn_of_other_times(traces, notes);
  for (const std::string& line : traces.lines()) notes.warn(line);
  if (is_about_one_job(options.question))
    for (const std::string& line : fleet::leave_out_whole_traces(selection, traces)) notes.warn(line);
  fleet::History history;
  if (options.question == Question::Diff && !is_about_runs) {
    history = fleet::read_history(selection.target.store().ask(fleet::history_statement(selection, {})));
    leave_out_old_level(selection, history, middle, notes);
  }
  const push::Rows rows = selection.target.store().ask(statement_of(options, selection, middle));
  switch (options.question) {
    case Question::Jobs: {
      const auto found = fleet::read_runs(rows);
      if (found.empty()) say_nothing_found(selection, traces, notes);
      return show_jobs(found, notes, options.json);
    }
    case Question::Top: {
      const auto found = fleet::read_top(rows);
      const fleet::TimesOfTop times = fleet::times_of_top(selection);
      for (const std::string& line : times.lines()) notes.warn(line);
      if (found.empty() && !say_nothing_found(selection, traces, notes))
        notes.say("these traces have no operations: they have no ranges on their main thread, and no work of devices");
      return show_top(found, times, notes, options);
    }
    case Question::Diff: {
      const auto diff = fleet::read_diff(rows);
      const auto ranks =
          fleet::read_diff_ranks(selection.target.store().ask(fleet::diff_ranks_statement(selection, middle)), diff);
      if (ranks.earlier > 0 && ranks.later > 0) warn_of_other_ranks(ranks, notes);
      warn_of_few_samples(ranks, notes);
      if (diff.replicates_a > 0 && diff.replicates_b > 0) return show_diff(diff, history, notes, options);
      if (ranks.earlier + ranks.later > 0 || !say_nothing_found(selection, traces, notes))
        say_empty_sides(selection, ranks, middle, notes);
      if (options.json) print(diff_json(diff, kTooFew, &notes.lines()));
      return kTooFew;
    }
    case Question::History: {
      history = fleet::read_history(rows);
      if (!history.left_out.empty())
        notes.warn(
            base::format("not counted: {}, not recorded throughout this time", fleet::rank_names(history.left_out)));
      if (!history.left_out.empty() && history.points.empty())
        notes.say(
            "no rank was recorded throughout this time, so its times cannot be compared: use another --since, or "
            "record the same ranks");
      else if (history.points.empty() && !say_nothing_found(selection, traces, notes))
        notes.say(!options.operation ? std::string(kNoIterations)
                                     : base::format("no operation '{}' in an iteration of these traces; 'kymo fleet "
                                                    "top' lists operations",
                                                    fleet::operation_text(options.operation->name,
                                                                          options.operation->only_on_device)));
      if (history.points.empty() && !options.json) return kTooFew;
      return show_history(history, notes, options);
    }
    case Question::Stragglers:
      return answer_stragglers(selection, traces, rows, notes, options);
  }
  return kFine;
}

}  // namespace

int fleet_command(const Arguments& arguments) {
  Options options;
  bool has_question = false;
  options::CommandLine line(
      "fleet", "kymo fleet jobs|top|diff|stragglers|history --db clickhouse://HOST/DATABASE|parquet:FOLDER [options]",
      "Answers questions about many traces that 'kymo push' wrote into a ClickHouse server or a folder of Parquet "
      "files.\n"
      "  jobs        the jobs and their runs, with the time of an iteration\n"
      "  top         how devices spend the time, and the operations that take the most of it, over all ranks\n"
      "  diff        this period against the one before it, or two runs, with the statistics of 'kymo diff'\n"
      "  stragglers  the ranks that others wait for in collectives, and that do not wait themselves\n"
      "  history     when an operation, or the iteration, became slower or faster, with a trace that shows it\n"
      "Each is one SQL statement, which --sql prints. The exit code is 0, 1 if something is slower than --fail-above\n"
      "allows, 2 for an error, and 3 if there is too little data; then a line on standard error says what is missing.",
      "kymo fleet jobs --db clickhouse://db/kymo\n"
      "kymo fleet top --db parquet:/data/kymo --job train --rank 7\n"
      "kymo fleet diff --db clickhouse://db/kymo --job train --run A --run B\n"
      "kymo fleet stragglers --db clickhouse://db/kymo --job train --since 1d --every 1h\n"
      "kymo fleet diff --db clickhouse://db/kymo --job train --since 7d --fail-above 5%\n"
      "kymo fleet history --db clickhouse://db/kymo --job train --operation gemm --since 30d --sql");
  line.text("QUESTION", "QUESTION",
            [&](const std::string& text) {
              for (const auto& [name, question] : kQuestions) {
                if (text != name) continue;
                options.question = question;
                has_question = true;
                return;
              }
              throw InvalidArgument(base::format(
                  "'{}' is not a question; questions: jobs, top, diff, stragglers, history", base::printable(text)));
            },
            "jobs, top, diff, stragglers or history", {"jobs", "top", "diff", "stragglers", "history"});
  line.required_value("--db", "URL", options.database,
                      "clickhouse://host:8123/database[?cluster=NAME], or parquet:FOLDER");
  line.text(
      "--job", "NAME", [&](const std::string& text) { options.job = fleet::name_of_text(text); },
      "only this job (default: all; diff and history need it if there are several); '' is the job of traces that name "
      "none");
  line.text(
      "--run", "NAME", [&](const std::string& text) { options.runs.push_back(fleet::name_of_text(text)); },
      "only this run, as jobs lists it; given twice, diff compares the first (A) with the second (B)");
  line.text(
      "--rank", "N", [&](const std::string& text) { options.rank = parse_from_zero(text, "a rank", INT32_MAX); },
      "only this rank");
  line.text(
      "--host", "NAME", [&](const std::string& text) { options.host = fleet::name_of_text(text); }, "only this host");
  line.text(
      "--since", "TIME", [&](const std::string& text) { options.since = parse_period(text); },
      "only traces of this time until now: 12h, 1.5d, 4w (default: 7d)");
  line.text(
      "--until", "TIME", [&](const std::string& text) { options.until = parse_period(text); },
      "only traces that are older than this: --since 3d --until 1d (default: until now)");
  line.text(
      "--every", "TIME", [&](const std::string& text) { options.every = parse_period(text); },
      "stragglers: of each hour, day or other time apart: 1h, 1d");
  line.text(
      "--operation", "NAME", [&](const std::string& text) { options.operation = fleet::parse_operation(text); },
      "history: of this operation, as top lists it: 'gemm', 'gemm (device)' (default: the iteration)");
  line.text(
      "--limit", "N",
      [&](const std::string& text) {
        options.limit = base::parse_count(text);
        if (*options.limit > kMostRows) throw InvalidArgument(base::format("at most {}", kMostRows));
      },
      "jobs, top and stragglers: rows to show (default: 20)");
  line.text(
      "--ranks", "N", [&](const std::string& text) { options.ranks = base::parse_count(text); },
      "stragglers: the calls of traces that name no process group are made by all N ranks of the job");
  line.text(
      "--fail-above", "SHARE", [&](const std::string& text) { options.fail_above = parse_share(text); },
      "exit with 1 if something is slower by more than this share of an iteration: 5%");
  line.flag("--sql", options.sql, "print the SQL statement, and do not run it");
  line.flag("--json", options.json, "print the answer as JSON");
  if (!line.read(arguments)) return kDone;
  const Question question = options.question;
  const bool is_one_job = is_about_one_job(question), is_stragglers = question == Question::Stragglers;
  const std::pair<bool, std::string> wrong[] = {
      {!has_question, "no question given; questions: jobs, top, diff, stragglers, history"},
      {options.operation && question != Question::History, "--operation is only for history"},
      {options.limit && is_one_job, "--limit is only for jobs, top and stragglers"},
      {options.runs.size() > (question == Question::Diff ? 2 : 1), "--run may be given once, and twice for diff"},
      {options.until >= options.since, "--until must be a shorter time than --since: both count back from now"},
      {options.every > 0 && !is_stragglers, "--every is only for stragglers"},
      {options.sql && !options.job && is_one_job,
       base::format("--sql needs --job: the statement of {} is about one job", name_of(question))},
      {options.ranks > 0 && !is_stragglers, "--ranks is only for stragglers"},
      {options.fail_above && question <= Question::Top, "--fail-above is not for jobs and top"},
  };
  for (const auto& [is_wrong, why] : wrong)
    if (is_wrong) throw options::UsageError("fleet", why);
  try {
    return answer(options);
  } catch (const InvalidArgument& error) {
    throw options::UsageError("fleet", error.what());
  } catch (const Error& error) {
    say_error(error.what());
    if (options.json) print(json_of_error(error.what()));
    return kError;  // 1 means slower
  }
}

}  // namespace kymo::cli
