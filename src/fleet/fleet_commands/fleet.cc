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
#include "base/units.h"
#include "cli/share.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "commands/read/diff.h"
#include "fleet_commands/answer_table.h"
#include "fleet_commands/period.h"
#include "fleet_commands/program.h"
#include "kymo/error.h"
#include "options/command_line.h"
#include "push/tables.h"
#include "questions/answers.h"
#include "questions/parquet_store.h"
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

// As a table, or {"rows": [...], "notes": [...], "exit_code": 0}; `more` adds the fields after the rows. Returns the
// exit code.
template <typename More>
int print_answer(const AnswerTable& rows, const Notes& notes, int exit_code, bool as_json, More&& more) {
  if (!as_json) {
    if (rows.size() > 0) print(shown(rows.table()));
    return exit_code;
  }
  base::JsonWriter json;
  json.begin_object();
  rows.write(json);
  more(json);
  json.values("notes", notes.lines());
  json.field("exit_code", exit_code);
  json.end_object();
  print(json.text());
  return exit_code;
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

// Says why no trace of a selection counts: false if some do. After warn_of_other_times().
bool say_nothing_found(const fleet::Selection& selection, const fleet::CountedTraces& traces, Notes& notes) {
  if (traces.counted > 0) return false;
  if (traces.incomplete > 0) {
    notes.say("no trace of this time is complete, so none counts");
    return true;
  }
  const push::Rows jobs = selection.target.store().ask(fleet::jobs_statement(selection, true));
  push::expect_columns(jobs, 2);
  std::vector<std::string> latest;
  for (const auto& row : jobs.rows)
    latest.push_back(base::format("{} (last trace {})", job_text(row[0]), date_of(push::parse_i64(row[1], "last"))));
  const std::string place = selection.target.text();
  notes.say(latest.empty() ? base::format("{} has no traces; 'kymo push' writes them", place)
                           : base::format("no traces{}{} from {} to {} in {}; {}: {}",
                                          selection.job ? base::format(" of job {}", job_text(*selection.job)) : "",
                                          selection.is_narrow() ? " of this run, rank and host" : "",
                                          date_of(selection.from), date_of(selection.to), place,
                                          notes.lines().empty() ? "use a longer --since, or one of the latest jobs"
                                                                : "the latest jobs are",
                                          base::join(latest, ", ")));
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

// Says why there is nothing to compare. `middle`: where B begins, in seconds since 1970.
void say_empty_sides(const fleet::Selection& selection, const fleet::DiffRanks& ranks, int64_t middle, Notes& notes) {
  const auto side = [&](size_t number, uint64_t samples, int64_t from, int64_t to) {
    return base::format("{} has {} ({})", number == 0 ? "A" : "B", count_of(samples, "sample"),
                        selection.runs.size() == 2 ? base::format("run '{}'", fleet::shown_name(selection.runs[number]))
                                                   : base::format("from {} to {}", date_of(from), date_of(to)));
  };
  if (ranks.earlier + ranks.later == 0)
    notes.say(kNoIterations);
  else if (ranks.earlier > 0 && ranks.later > 0)
    notes.say(
        "nothing to compare: no rank was recorded in both times; choose another --since, or record the same ranks");
  else
    notes.say(base::format("nothing to compare: {}, {}; 'kymo fleet jobs' lists the runs and their times",
                           side(0, ranks.earlier, selection.from, middle), side(1, ranks.later, middle, selection.to)));
}

std::string share_text(double share) { return base::format("{:.1f} %", 100 * share); }

enum class Question : uint8_t { None, Jobs, Top, Diff, Stragglers, History };

// Times of different jobs are not samples of the same thing.
bool is_about_one_job(Question question) { return question == Question::Diff || question == Question::History; }

constexpr int64_t kDay = 86'400;

struct Options {
  Question question = Question::None;
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

std::string time(double ns) { return duration_text(static_cast<uint64_t>(std::llround(std::max(ns, 0.0)))); }

int show_jobs(const push::Rows& found, const Notes& notes, bool json) {
  push::expect_columns(found, 8);
  AnswerTable table;
  for (const auto& row : found.rows) {
    const auto number = [&](size_t i) { return push::parse_u64(row[i], found.columns[i]); };
    table.begin_row();
    table.duration("iteration_ns", number(7), "iteration");
    table.count("ranks", number(5), "ranks");
    table.count("hosts", number(6), "hosts");
    table.count("traces", number(4), "traces");
    table.date("first", push::parse_i64(row[2], "first"), "first trace");
    table.date("last", push::parse_i64(row[3], "last"), "last trace");
    table.name("job", row[0], "job");
    table.name("run", row[1], "run");
  }
  return print_answer(table, notes, table.size() == 0 ? kTooFew : kFine, json, [](base::JsonWriter&) {});
}

int show_top(const push::Rows& found, const fleet::TimesOfTop& times, const Notes& notes, bool as_json) {
  push::expect_columns(found, 10);
  AnswerTable table;
  for (const auto& row : found.rows) {
    const auto number = [&](size_t i) { return push::parse_u64(row[i], found.columns[i]); };
    const bool on_device = number(1) != 0;
    const uint64_t calls = number(2), self_ns = number(3), total_ns = number(4);
    const double share = static_cast<double>(self_ns) / static_cast<double>(std::max<uint64_t>(times.iterations_ns, 1));
    const int64_t slowest_rank = push::parse_i64(row[9], found.columns[9]);
    table.begin_row();
    table.duration("self_ns", self_ns, "self");
    table.number("share", share, "share", share_text(share));
    table.count("calls", calls, "calls");
    table.only_json("total_ns", total_ns);
    table.duration("mean_ns", calls == 0 ? 0 : total_ns / calls, "mean");
    table.duration("longest_ns", number(5), "longest");
    table.count("traces", number(6), "traces");
    table.only_json("ranks", number(7));
    table.number("slowest_rank", slowest_rank, "slowest rank",
                 slowest_rank < 0 ? std::string() : std::to_string(slowest_rank));
    table.trace("slowest_trace", number(8), "slowest trace");
    table.only_json("name", fleet::text_of_name(row[0]));
    table.only_json("device", on_device);
    const std::string operation = fleet::operation_text(row[0], on_device);
    table.text("operation", operation, "operation", operation);
  }
  if (const uint64_t all = times.devices_ns(); all > 0 && !as_json) {
    const auto part = [&](uint64_t ns) { return share_text(static_cast<double>(ns) / static_cast<double>(all)); };
    print(base::format("devices: {} compute, {} communication, {} copies, {} idle\n", part(times.compute_ns),
                       part(times.communication_ns), part(times.copies_ns), part(times.idle_ns)));
  }
  return print_answer(table, notes, table.size() == 0 ? kTooFew : kFine, as_json, [&](base::JsonWriter& json) {
    json.field("iterations_ns", times.iterations_ns);
    json.field("compute_ns", times.compute_ns);
    json.field("communication_ns", times.communication_ns);
    json.field("copies_ns", times.copies_ns);
    json.field("idle_ns", times.idle_ns);
  });
}

// Of values without a change: which one would have been found. False if a larger one than the limit might not.
bool say_smallest_change(const fleet::History& history, double iteration_ns, std::optional<double> limit,
                         Notes& notes) {
  if (!history.smallest || iteration_ns <= 0) return true;
  const double share = std::max(history.smallest->shift / iteration_ns, 0.0001);  // of samples without noise
  const bool is_decided = !limit || share <= *limit;
  notes.say(base::format("a change by {:.2g} % of an iteration in the last {} would have been found{}", 100 * share,
                         count_of(history.smallest->values, "sample"),
                         is_decided ? "" : ", so these samples cannot decide about the limit: push more traces"));
  return is_decided;
}

double median_of(const fleet::History& history) {
  std::vector<double> values;
  for (const fleet::HistoryPoint& point : history.points) values.push_back(point.ns);
  return base::median(values);
}

// `iteration_ns`: what shares of an iteration are of, as in diff.
int show_history(const fleet::History& history, double iteration_ns, Notes& notes, const Options& options) {
  const bool is_enough = history.points.size() >= fleet::kFewestValues;
  const bool is_slower =
      options.fail_above && std::any_of(history.changes.begin(), history.changes.end(), [&](const auto& one) {
        return one.change.shift > *options.fail_above * iteration_ns;
      });
  const double median = median_of(history);
  if (!is_enough && !history.points.empty())
    notes.say(
        base::format("too few samples: {}, and a change point needs at least {}; use a longer --since, or push "
                     "more traces",
                     history.points.size(), fleet::kFewestValues));
  const bool is_decided = say_smallest_change(history, iteration_ns, options.fail_above, notes);
  if (!options.json) {
    print(base::format("{}, median {} per iteration\n", count_of(history.points.size(), "sample"), time(median)));
    if (is_enough && history.changes.empty()) print("no change point\n");
  }
  AnswerTable table;
  const auto of = [](double shift, double whole) {
    return base::format("{:+.1f} %", whole == 0 ? 0 : 100 * shift / whole);
  };
  for (const fleet::ChangePoint& change : history.changes) {
    const fleet::HistoryPoint& point = history.points[change.at];
    const double shift = change.change.shift;
    table.begin_row();
    table.date("time", point.seconds, "since");
    table.number("before_ns", change.median_before, "before", time(change.median_before));
    table.number("after_ns", change.median_after, "after", time(change.median_after));
    table.number("shift_ns", shift, "of itself", of(shift, change.median_before));
    table.only_json("low_ns", change.change.low);
    table.only_json("high_ns", change.change.high);
    table.number("of_iteration", shift / iteration_ns, "of iteration", of(shift, iteration_ns));
    table.number("p", change.p, "p", base::format("{:.4f}", change.p));
    table.trace("trace", point.shown_by, "trace that shows it");
  }
  const int exit_code = is_slower ? kSlower : is_enough && is_decided ? kFine : kTooFew;
  return print_answer(table, notes, exit_code, options.json, [&](base::JsonWriter& json) {
    json.field("median_ns", median);
    if (history.smallest) json.field("smallest_visible_ns", history.smallest->shift);
    json.objects("samples", history.points, [&](const fleet::HistoryPoint& point) {
      json.field("time", point.seconds);
      json.field("ns", point.ns);
      json.field("trace", fleet::trace_text(point.shown_by));
    });
  });
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

int answer_stragglers(const fleet::Selection& selection, const fleet::CountedTraces& traces, const push::Rows& given,
                      Notes& notes, const Options& options) {
  std::vector<std::string> left_out;
  fleet::Stragglers found = fleet::ask_stragglers(selection, given, options.ranks, left_out);
  // The others are needed to see for whom they wait.
  std::erase_if(found.rows, [&](const fleet::StragglerRow& row) {
    return (options.rank && row.rank != *options.rank) || (options.host && row.worst_host != *options.host);
  });
  for (const std::string& line : left_out) notes.warn(line);
  const bool has_collectives = !found.jobs.empty();
  if (has_collectives && found.rows.empty())
    notes.say(
        base::format("no rank{} is late: none makes others wait for more than twice the time that it waits itself{}",
                     options.rank || options.host ? " of these" : "",
                     options.every == 0 ? "; --every 1h looks at each hour for itself" : ""));
  else if (!has_collectives && !left_out.empty())
    notes.say("no wait in a collective can be compared, so no rank is named");
  else if (!has_collectives && !say_nothing_found(selection, traces, notes))
    notes.say(
        "no collective on a device in which all ranks wait for each other, as an all-reduce, in a numbered iteration "
        "of a trace with a rank: push the traces of all ranks, with KYMO_RANK in the environment of the program if "
        "nothing else says the rank");

  const std::vector<fleet::StragglerRow>& rows = found.rows;
  const auto any_of = [&](auto&& is) { return std::any_of(rows.begin(), rows.end(), is); };
  const bool is_slow = options.fail_above && any_of([&](const auto& row) { return row.share > *options.fail_above; });
  // A job of which nothing can be compared is not below a limit.
  const bool is_enough = !found.jobs.empty() && !(options.fail_above && found.has_unknown_job());
  const auto title_if = [](bool is_there, const char* title) { return is_there ? title : ""; };
  const bool has_jobs = found.jobs.size() > 1 || found.has_unknown_job();
  const bool has_groups = any_of([](const auto& row) { return !row.group.empty(); });
  const bool has_hosts = any_of([](const auto& row) { return !row.worst_host.empty(); });
  AnswerTable table;
  for (const fleet::StragglerRow& row : rows) {
    if (table.size() == options.limit.value_or(kUsualRows)) break;
    table.begin_row();
    table.number("rank", row.rank, "rank", std::to_string(row.rank));
    table.count("times_last", row.times_last, "last");
    table.duration("others_waited_ns", row.others_waited_ns, "others waited");
    table.number("share", row.share, "of group time", share_text(row.share));
    table.duration("waited_itself_ns", row.waited_itself_ns, "waited itself");
    table.number("worst_iteration", row.worst_iteration, "worst iteration", std::to_string(row.worst_iteration));
    table.trace("worst_trace", row.worst_trace, "its trace");
    table.name("worst_collective", row.worst_name, "collective");
    table.count("partial_iterations", row.partial_steps, title_if(!found.partial.empty(), "partial"));
    if (row.period > 0) table.date("time", row.period, "since");
    table.name("group", row.group, title_if(has_groups, "process group"));
    table.text("host", fleet::text_of_name(row.worst_host), title_if(has_hosts, "host"),
               row.worst_host.empty() ? "(unknown)" : fleet::shown_name(row.worst_host));
    table.name("job", row.job, title_if(has_jobs, "job"));
  }
  const int exit_code = is_slow ? kSlower : is_enough ? kFine : kTooFew;
  return print_answer(table, notes, exit_code, options.json, [](base::JsonWriter&) {});
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
    default:
      return fleet::top_statement(selection);
  }
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
    if (!target.server) print(fleet::kFunctionsOfDuckDb);
    print(statement_of(options, selection, middle) + "\n");
    return kFine;
  }
  fleet::refuse_other_tables(selection.target);
  if (is_about_one_job(options.question))
    choose_job(selection, options.question == Question::Diff ? "diff" : "history");
  Notes notes;
  const fleet::CountedTraces traces = fleet::count_traces(selection, now + 1);
  warn_of_other_times(traces, notes);
  for (const std::string& line : traces.lines()) notes.warn(line);
  if (is_about_one_job(options.question) && traces.are_mixed()) {
    selection.only_iterations = true;
    notes.warn(
        base::format("not compared: {} without iterations, because {} others have some: mark iterations in each "
                     "program, or give traces of another program their own --job",
                     count_of(traces.whole, "trace"), traces.counted - traces.whole));
  }
  // A rank or host that is not there is not one that nobody waits for.
  if (options.question == Question::Stragglers && (options.rank || options.host)) {
    fleet::Selection shown = selection;
    shown.rank = options.rank;
    shown.host = options.host;
    if (say_nothing_found(shown, fleet::count_traces(shown, now + 1), notes))
      return print_answer(AnswerTable(), notes, kTooFew, options.json, [](base::JsonWriter&) {});
  }
  fleet::History history;
  if (options.question == Question::Diff && !is_about_runs) {
    history = fleet::read_history(selection.target.store().ask(fleet::history_statement(selection, {})));
    leave_out_old_level(selection, history, middle, notes);
  }
  const push::Rows rows = selection.target.store().ask(statement_of(options, selection, middle));
  switch (options.question) {
    case Question::Jobs: {
      if (rows.rows.empty()) say_nothing_found(selection, traces, notes);
      return show_jobs(rows, notes, options.json);
    }
    case Question::Top: {
      const fleet::TimesOfTop times = fleet::times_of_top(selection);
      for (const std::string& line : times.lines()) notes.warn(line);
      if (rows.rows.empty() && !say_nothing_found(selection, traces, notes))
        notes.say("these traces have no operations: they have no ranges on their main thread, and no work of devices");
      return show_top(rows, times, notes, options.json);
    }
    case Question::Diff: {
      const auto diff = fleet::read_diff(rows);
      const auto ranks =
          fleet::read_diff_ranks(selection.target.store().ask(fleet::diff_ranks_statement(selection, middle)), diff);
      if (ranks.earlier > 0 && ranks.later > 0) warn_of_other_ranks(ranks, notes);
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
      const double iteration_ns = median_of(
          options.operation ? fleet::read_history(selection.target.store().ask(fleet::history_statement(selection, {})))
                            : history);
      return show_history(history, iteration_ns, notes, options);
    }
    case Question::Stragglers:
      return answer_stragglers(selection, traces, rows, notes, options);
    case Question::None:
      break;
  }
  return kFine;
}

}  // namespace

int fleet_command(const Arguments& arguments) {
  Options options;
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
  line.choice("QUESTION", options.question,
              {{"jobs", Question::Jobs},
               {"top", Question::Top},
               {"diff", Question::Diff},
               {"stragglers", Question::Stragglers},
               {"history", Question::History}},
              "jobs, top, diff, stragglers or history");
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
  const std::pair<bool, const char*> wrong[] = {
      {question == Question::None, "no question given; questions: jobs, top, diff, stragglers, history"},
      {options.operation && question != Question::History, "--operation is only for history"},
      {options.limit && is_one_job, "--limit is only for jobs, top and stragglers"},
      {options.runs.size() > (question == Question::Diff ? 2 : 1), "--run may be given once, and twice for diff"},
      {options.runs.size() == 2 && options.runs[0] == options.runs[1],
       "--run A --run B compares two runs, and both are the same one; 'kymo fleet jobs' lists the runs"},
      {options.until >= options.since, "--until must be a shorter time than --since: both count back from now"},
      {options.every > 0 && !is_stragglers, "--every is only for stragglers"},
      {options.sql && !options.job && is_one_job, "--sql needs --job: the statement is about one job"},
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
    if (!options.json) return kError;  // 1 means slower
    base::JsonWriter json;
    json.begin_object();
    json.field("error", error.what());
    json.field("exit_code", static_cast<int>(kError));
    json.end_object();
    print(json.text());
    return kError;
  }
}

}  // namespace kymo::cli
