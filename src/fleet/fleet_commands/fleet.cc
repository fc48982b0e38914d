#include "fleet_commands/fleet.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <optional>
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
#include "questions/incomplete.h"
#include "questions/statements.h"
#include "questions/stragglers.h"
#include "questions/target.h"
#include "questions/text_name.h"

namespace kymo::cli {

void Notes::warn(const std::string& line) {
  say_warning(line);
  lines_.push_back(line);
}

void Notes::say(const std::string& line) {
  cli::say(line);
  lines_.push_back(line);
}

namespace {

constexpr size_t kMostNamed = 5;

std::string date_of(int64_t seconds) { return date_text(seconds * 1'000'000'000); }
std::string job_text(const std::string& job) { return base::format("'{}'", fleet::shown_name(job)); }

// Traces by name, with their hosts and times, from rows of outside_time_statement().
std::string named(const std::vector<const std::vector<std::string>*>& traces, bool with_times) {
  std::vector<std::string> names;
  for (const auto* const row : traces) {
    if (names.size() == kMostNamed) {
      names.push_back(base::format("and {} more", traces.size() - kMostNamed));
      break;
    }
    const std::string &file = (*row)[1], &host = (*row)[2];
    names.push_back(
        base::format("{} ({}{}){}", fleet::trace_text(push::parse_u64((*row)[0], "trace")), base::printable(file),
                     host.empty() ? "" : base::format(", host {}", base::printable(host)),
                     with_times ? base::format(" at {}", date_of(push::parse_i64((*row)[3], "began"))) : ""));
  }
  return base::join(names, ", ");
}

}  // namespace

void choose_job(fleet::Selection& selection, const std::string& question) {
  if (selection.job) return;
  const push::Rows jobs = fleet::ask(selection.target, fleet::jobs_in_time_statement(selection));
  if (jobs.columns.size() != 1) throw Error("the server's answer is not a list of jobs");
  if (jobs.rows.size() == 1) selection.job = jobs.rows[0][0];
  if (jobs.rows.size() < 2) return;
  std::vector<std::string> names;
  for (const auto& row : jobs.rows) names.push_back(job_text(row[0]));
  throw Error(base::format("{} is about one job, and there are several in this time: {}{}; choose one with --job",
                           question, base::join(names, ", "),
                           jobs.rows.size() == fleet::kMostJobs ? " and perhaps more" : ""));
}

void warn_of_other_times(const fleet::Selection& selection, Notes& notes) {
  const push::Rows rows = fleet::ask(selection.target, fleet::outside_time_statement(selection));
  if (rows.columns.size() != 4) throw Error("the server's answer is not a list of traces");
  std::vector<const std::vector<std::string>*> future, undated;
  for (const auto& row : rows.rows)
    (push::parse_i64(row[3], "began") >= selection.to ? future : undated).push_back(&row);
  if (!future.empty())
    notes.warn(base::format("not counted: {} in the future: {}; check the {}",
                            count_of(future.size(), "trace") + (future.size() == 1 ? " begins" : " begin"),
                            named(future, true), future.size() == 1 ? "clock of its host" : "clocks of their hosts"));
  if (!undated.empty())
    notes.warn(base::format("not counted: {} not say when {} recorded: {}; --since 4000w counts {} as of 1970",
                            count_of(undated.size(), "trace") + (undated.size() == 1 ? " does" : " do"),
                            undated.size() == 1 ? "it was" : "they were", named(undated, false),
                            undated.size() == 1 ? "it" : "them"));
}

bool say_nothing_found(const fleet::Selection& selection, Notes& notes) {
  const push::Rows jobs = fleet::ask(selection.target, fleet::jobs_statement(selection));
  if (jobs.columns.size() != 2) throw Error("the server's answer is not a list of jobs");
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
  else
    return false;
  return true;
}

void warn_of_other_ranks(const fleet::DiffRanks& ranks, Notes& notes) {
  const auto warn = [&](const std::vector<int64_t>& some, std::string_view why) {
    if (!some.empty()) notes.warn(base::format("not compared: {}, recorded {}", fleet::rank_names(some), why));
  };
  warn(ranks.only_a, "only in the time before (A)");
  warn(ranks.only_b, "only in this time (B)");
  warn(ranks.too_few, "too rarely in A or in B");
}

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
  notes.say(base::format("nothing to compare: no iterations from {} to {} ({}), and {} {} it; choose another --since",
                         date_of(is_a ? selection.from : middle), date_of(is_a ? middle : selection.to),
                         is_a ? "A" : "B", count_of(ranks.earlier + ranks.later, "sample"), is_a ? "after" : "before"));
}

using Align = base::TextTable::Align;

int show_stragglers(fleet::Stragglers stragglers, uint64_t limit, std::optional<double> fail_above, const Notes& notes,
                    bool json) {
  std::vector<fleet::StragglerRow>& rows = stragglers.rows;
  std::erase_if(rows, [](const fleet::StragglerRow& row) { return row.others_waited_ns == 0; });
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
          out.field("rank", row.rank);
          out.field("host", fleet::text_of_name(row.worst_host));
          out.field("times_last", row.times_last);
          out.field("others_waited_ns", row.others_waited_ns);
          out.field("share", row.share);
          out.field("worst_group", fleet::text_of_name(row.worst_group));
          out.field("worst_collective", fleet::text_of_name(row.worst_name));
          out.field("worst_iteration", row.worst_iteration);
          out.field("worst_trace", fleet::trace_text(row.worst_trace));
        },
        notes, exit_code));
    return exit_code;
  }
  base::TextTable table({{"rank", Align::Right},
                         {"last", Align::Right},
                         {"others waited", Align::Right},
                         {"of all time", Align::Right},
                         {"worst iteration", Align::Right},
                         {"its trace"},
                         {"collective"}});
  const bool has_groups =
      std::any_of(rows.begin(), rows.end(), [](const fleet::StragglerRow& row) { return !row.worst_group.empty(); });
  const bool has_hosts =
      std::any_of(rows.begin(), rows.end(), [](const fleet::StragglerRow& row) { return !row.worst_host.empty(); });
  if (has_groups) table.add_column({"process group"});
  if (has_hosts) table.add_column({"host"});
  if (has_jobs) table.add_column({"job"});
  for (const fleet::StragglerRow& row : rows) {
    std::vector<std::string> cells{std::to_string(row.rank),
                                   count_text(row.times_last),
                                   duration_text(row.others_waited_ns),
                                   base::format("{:.1f} %", 100 * row.share),
                                   std::to_string(row.worst_iteration),
                                   fleet::trace_text(row.worst_trace),
                                   base::printable(row.worst_name)};
    if (has_groups) cells.push_back(base::printable(row.worst_group));
    if (has_hosts) cells.push_back(row.worst_host.empty() ? "(unknown)" : base::printable(row.worst_host));
    if (has_jobs) cells.push_back(fleet::shown_name(row.job));
    table.add(std::move(cells));
  }
  print(shown(table));
  return exit_code;
}

namespace {

// `kymo fleet`: questions about many traces, answered by a ClickHouse server or by DuckDB.

using Align = base::TextTable::Align;

enum class Question : uint8_t { Top, Diff, Stragglers, History };

constexpr std::pair<const char*, Question> kQuestions[] = {{"top", Question::Top},
                                                           {"diff", Question::Diff},
                                                           {"stragglers", Question::Stragglers},
                                                           {"history", Question::History}};
const char* name_of(Question question) { return kQuestions[static_cast<size_t>(question)].first; }
// Times of different jobs are not samples of the same thing.
bool is_about_one_job(Question question) { return question == Question::Diff || question == Question::History; }

constexpr int64_t kDay = 86'400;
constexpr uint64_t kMostRows = 100'000, kUsualRows = 20;

struct Options {
  Question question = Question::Top;
  std::string database;
  std::optional<fleet::Operation> operation;
  std::optional<std::string> job;
  int64_t since = 7 * kDay;
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

int show_top(const std::vector<fleet::TopRow>& rows, const Notes& notes, const Options& options) {
  const int exit_code = rows.empty() ? kTooFew : kFine;
  if (options.json) {
    print(json_of(
        rows,
        [](base::JsonWriter& json, const fleet::TopRow& row) {
          json.field("name", fleet::text_of_name(row.name));
          json.field("device", row.on_device);
          json.field("operation", fleet::operation_text(row.name, row.on_device));
          json.field("calls", row.calls);
          json.field("self_ns", row.self_ns);
          json.field("total_ns", row.total_ns);
          json.field("longest_ns", row.longest_ns);
          json.field("traces", row.traces);
          json.field("ranks", row.ranks);
          json.field("slowest_trace", fleet::trace_text(row.slowest_trace));
          json.field("slowest_rank", row.slowest_rank);
        },
        notes, exit_code));
    return exit_code;
  }
  base::TextTable table({{"self", Align::Right},
                         {"calls", Align::Right},
                         {"mean", Align::Right},
                         {"longest", Align::Right},
                         {"traces", Align::Right},
                         {"slowest rank", Align::Right},
                         {"slowest trace"},
                         {"operation"}});
  for (const fleet::TopRow& row : rows)
    table.add({duration_text(row.self_ns), count_text(row.calls),
               duration_text(row.calls == 0 ? 0 : row.total_ns / row.calls), duration_text(row.longest_ns),
               count_text(row.traces), rank_text(row.slowest_rank), fleet::trace_text(row.slowest_trace),
               fleet::operation_text(row.name, row.on_device)});
  print(shown(table));
  return exit_code;
}

int show_history(const fleet::History& history, Notes& notes, const Options& options) {
  const bool is_enough = history.points.size() >= fleet::kFewestValues;
  const bool is_slower =
      options.fail_above && std::any_of(history.changes.begin(), history.changes.end(), [&](const auto& one) {
        return one.change.shift > *options.fail_above * one.median_before;
      });
  const int exit_code = is_slower ? kSlower : is_enough ? kFine : kTooFew;
  if (!is_enough && !history.points.empty())
    notes.say(
        base::format("too few samples: {}, and a change point needs at least {}; use a longer --since, or push "
                     "more traces",
                     history.points.size(), fleet::kFewestValues));
  std::vector<double> values;
  for (const fleet::HistoryPoint& point : history.points) values.push_back(point.ns);
  if (options.json) {
    print(json_of(
        history.changes,
        [&, at = size_t{0}](base::JsonWriter& json, const fleet::ChangePoint& change) mutable {
          const fleet::HistoryPoint& point = history.points[change.at];
          json.field("time", point.seconds);
          json.field("trace", fleet::trace_text(history.shown_by[at++]));
          json.field("before_ns", change.median_before);
          json.field("after_ns", change.median_after);
          json.field("shift_ns", change.change.shift);
          json.field("low_ns", change.change.low);
          json.field("high_ns", change.change.high);
          json.field("p", change.p);
        },
        notes, exit_code,
        [&](base::JsonWriter& json) {
          json.field("median_ns", base::median(values));
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
  print(base::format("{}, median {} per iteration\n", count_of(history.points.size(), "sample"),
                     time(base::median(values))));
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
               fleet::trace_text(history.shown_by[i])});
  }
  if (table.size() > 0) print(shown(table));
  return exit_code;
}

int show_diff(const analyze::Diff& diff, Notes& notes, const Options& options) {
  int exit_code = diff.enough ? diff_exit_code(diff, options.fail_above) : kTooFew;
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
                     diff.rows.size(), analyze::fewest_replicates(diff.rows.size())));
  }
  if (!diff.enough)
    notes.say(
        base::format("too few samples: {} in A and {} in B, and a comparison needs at least {} in each; use "
                     "another --since, or push more traces",
                     diff.replicates_a, diff.replicates_b, analyze::Comparison::kFewest));
  print(options.json ? diff_json(diff, exit_code, &notes.lines()) : diff_text(diff));
  return exit_code;
}

int answer_stragglers(const fleet::Selection& selection, const push::Rows& rows,
                      const std::vector<std::string>& about_traces, const std::vector<std::string>& without_calls,
                      Notes& notes, const Options& options) {
  const uint64_t limit = options.limit.value_or(kUsualRows);
  std::vector<std::string> left_out;
  fleet::Stragglers found = fleet::ask_stragglers(selection, rows, options.ranks, limit, left_out);
  warn_of_other_times(selection, notes);
  for (const std::string& line : about_traces) notes.warn(line);
  for (const std::string& line : without_calls) notes.warn(line);
  for (const std::string& line : left_out) notes.warn(line);
  for (const std::string& line : fleet::unreadable_files(selection.target)) notes.warn(line);
  const bool has_collectives = !found.jobs.empty();
  if (has_collectives && std::all_of(found.rows.begin(), found.rows.end(),
                                     [](const fleet::StragglerRow& row) { return row.others_waited_ns == 0; }))
    notes.say("no rank makes others wait: all spend the same time in collectives");
  else if (!has_collectives && !left_out.empty())
    notes.say("no call of a collective can be compared, so no rank is named");
  else if (!has_collectives && without_calls.empty() && !say_nothing_found(selection, notes))
    notes.say(
        "no collective on a device in a numbered iteration of a trace with a rank: push the traces of all ranks, with "
        "--rank if the program does not say it");
  return show_stragglers(std::move(found), limit, options.fail_above, notes, options.json);
}

std::string statement_of(const Options& options, const fleet::Selection& selection, int64_t middle) {
  switch (options.question) {
    case Question::Diff:
      return fleet::diff_statement(selection, middle);
    case Question::Stragglers:
      return fleet::stragglers_statement(selection, options.ranks);
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
  fleet::Selection selection{target, options.job, middle, now + 1, options.limit.value_or(kUsualRows)};
  if (options.question == Question::Diff) selection.from = std::max<int64_t>(middle - options.since, 0);
  // The rows of stragglers are those with the longest waits, and a limit of their share applies to all.
  if (options.question == Question::Stragglers) selection.limit = kMostRows;
  if (options.sql) {
    print(statement_of(options, selection, middle) + "\n");
    return kFine;
  }
  fleet::refuse_newer_version(target);
  if (is_about_one_job(options.question)) choose_job(selection, name_of(options.question));
  std::vector<std::string> about_traces = fleet::leave_out_copies(selection);
  if (is_about_one_job(options.question))
    for (std::string& line : fleet::leave_out_whole_traces(selection)) about_traces.push_back(std::move(line));
  // Rows are seldom doubled, so a server counts them and works on the answer at the same time.
  const bool is_of_calls = options.question == Question::Stragglers;
  const std::string likely = statement_of(options, selection, middle);
  std::future<push::Rows> early = fleet::ask_later(target, likely);
  const std::vector<std::string> about_rows = fleet::check_rows(selection, !is_of_calls);
  about_traces.insert(about_traces.begin(), about_rows.begin(), about_rows.end());
  std::vector<std::string> without_calls;
  if (is_of_calls) without_calls = fleet::traces_without_calls(selection, !about_rows.empty());
  const std::string statement = statement_of(options, selection, middle);
  const push::Rows rows = statement == likely ? early.get() : fleet::ask(target, statement);
  Notes notes;
  if (is_of_calls) return answer_stragglers(selection, rows, about_traces, without_calls, notes, options);
  warn_of_other_times(selection, notes);
  for (const std::string& line : about_traces) notes.warn(line);
  const std::vector<std::string> unreadable = fleet::unreadable_files(target);
  for (const std::string& line : unreadable) notes.warn(line);
  switch (options.question) {
    case Question::Top: {
      const auto found = fleet::read_top(rows);
      for (const std::string& line : fleet::work_outside_of_iterations(selection)) notes.warn(line);
      if (found.empty() && !say_nothing_found(selection, notes) && unreadable.empty())
        notes.say("these traces have no operations: they have no ranges on their main thread, and no work of devices");
      return show_top(found, notes, options);
    }
    case Question::Diff: {
      const auto diff = fleet::read_diff(rows);
      const auto ranks =
          fleet::read_diff_ranks(fleet::ask(target, fleet::diff_ranks_statement(selection, middle)), diff);
      if (ranks.earlier > 0 && ranks.later > 0) warn_of_other_ranks(ranks, notes);
      warn_of_few_samples(ranks, notes);
      if (diff.replicates_a > 0 && diff.replicates_b > 0) return show_diff(diff, notes, options);
      if (ranks.earlier + ranks.later > 0 || !say_nothing_found(selection, notes))
        say_empty_sides(selection, ranks, middle, notes);
      if (options.json) print(diff_json(diff, kTooFew, &notes.lines()));
      return kTooFew;
    }
    case Question::History: {
      const auto history = fleet::read_history(rows);
      if (!history.left_out.empty())
        notes.warn(
            base::format("not counted: {}, not recorded throughout this time", fleet::rank_names(history.left_out)));
      if (!history.left_out.empty() && history.points.empty())
        notes.say(
            "no rank was recorded throughout this time, so its times cannot be compared: use another --since, or "
            "record the same ranks");
      else if (history.points.empty() && !say_nothing_found(selection, notes))
        notes.say(!options.operation ? std::string(kNoIterations)
                                     : base::format("no operation '{}' in an iteration of these traces; 'kymo fleet "
                                                    "top' lists operations",
                                                    fleet::operation_text(options.operation->name,
                                                                          options.operation->only_on_device)));
      if (history.points.empty() && !options.json) return kTooFew;
      return show_history(history, notes, options);
    }
    case Question::Stragglers:
      break;
  }
  return kFine;
}

}  // namespace

int fleet_command(const Arguments& arguments) {
  Options options;
  bool has_question = false;
  options::CommandLine line(
      "fleet", "kymo fleet top|diff|stragglers|history --db clickhouse://HOST/DATABASE|parquet:FOLDER [options]",
      "Answers questions about many traces that 'kymo push' wrote into a ClickHouse server or a folder of Parquet "
      "files.\n"
      "  top         the operations that take the most time, over all ranks\n"
      "  diff        this period against the one before it, with the statistics of 'kymo diff'\n"
      "  stragglers  the ranks that others wait for in collectives; only calls that all ranks of a group have count\n"
      "  history     when an operation, or the iteration, became slower or faster, with a trace that shows it\n"
      "Each is one SQL statement, which --sql prints. The exit code is 0, 1 if something is slower than --fail-above\n"
      "allows, 2 for an error, and 3 if there is too little data; then a line on standard error says what is missing.",
      "kymo fleet top --db clickhouse://db/kymo --job train\n"
      "kymo fleet top --db parquet:/data/kymo --job train\n"
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
              throw InvalidArgument(base::format("'{}' is not a question; questions: top, diff, stragglers, history",
                                                 base::printable(text)));
            },
            "top, diff, stragglers or history", {"top", "diff", "stragglers", "history"});
  line.required_value("--db", "URL", options.database,
                      "clickhouse://host:8123/database[?cluster=NAME], or parquet:FOLDER");
  line.text(
      "--job", "NAME", [&](const std::string& text) { options.job = fleet::name_of_text(text); },
      "only this job (default: all; diff and history need it if there are several); '' is the job of traces that name "
      "none");
  line.text(
      "--since", "TIME", [&](const std::string& text) { options.since = parse_period(text); },
      "only traces of this time until now: 12h, 1.5d, 4w (default: 7d)");
  line.text(
      "--operation", "NAME", [&](const std::string& text) { options.operation = fleet::parse_operation(text); },
      "history: of this operation, as top lists it: 'gemm', 'gemm (device)' (default: the iteration)");
  line.text(
      "--limit", "N",
      [&](const std::string& text) {
        options.limit = base::parse_count(text);
        if (*options.limit > kMostRows) throw InvalidArgument(base::format("at most {}", kMostRows));
      },
      "top and stragglers: rows to show (default: 20)");
  line.text(
      "--ranks", "N", [&](const std::string& text) { options.ranks = base::parse_count(text); },
      "stragglers: the calls of traces that name no process group are made by all N ranks of the job");
  line.text(
      "--fail-above", "SHARE", [&](const std::string& text) { options.fail_above = parse_share(text); },
      "exit with 1 if something is slower by more than this share of an iteration: 5%");
  line.flag("--sql", options.sql, "print the SQL statement, and do not run it");
  line.flag("--json", options.json, "print the answer as JSON");
  if (!line.read(arguments)) return kDone;
  if (!has_question) throw options::UsageError("fleet", "no question given; questions: top, diff, stragglers, history");
  if (options.operation && options.question != Question::History)
    throw options::UsageError("fleet", "--operation is only for history");
  if (options.limit && is_about_one_job(options.question))
    throw options::UsageError("fleet", "--limit is only for top and stragglers");
  if (options.sql && !options.job && is_about_one_job(options.question))
    throw options::UsageError(
        "fleet", base::format("--sql needs --job: the statement of {} is about one job", name_of(options.question)));
  if (options.ranks > 0 && options.question != Question::Stragglers)
    throw options::UsageError("fleet", "--ranks is only for stragglers");
  if (options.fail_above && options.question == Question::Top)
    throw options::UsageError("fleet", "--fail-above is not for top");
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
