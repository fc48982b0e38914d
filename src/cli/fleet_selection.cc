#include "cli/fleet_selection.h"

#include <algorithm>
#include <vector>

#include "base/printable.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "fleet/answers.h"
#include "fleet/text_name.h"
#include "kymo/error.h"
#include "push/tables.h"

namespace kymo::cli {
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

}  // namespace kymo::cli
