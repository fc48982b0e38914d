#include "questions/stragglers.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "analyze/report/collective_calls.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/units.h"
#include "kymo/error.h"
#include "push/tables.h"
#include "questions/answers.h"
#include "questions/text_name.h"

namespace kymo::fleet {
namespace {

// A rank and a time are one number, which is compared faster than two: the time is in the higher bits.
constexpr int64_t kMostRanks = 1 << 20;
constexpr std::string_view kHasRank = "rank BETWEEN 0 AND 1048575";
constexpr std::string_view kWaitNs = "least(newest_ns, 8796093022207)";  // 43 bits: 2.4 hours

constexpr int64_t kClocksDiffer = 10'000'000'000;  // by at most this many nanoseconds between hosts
// Two traces of a rank with the same step have different runs of it if they began it at different times. Runs that are
// less than kRunsApart apart cannot be told apart by the clocks of their hosts.
constexpr int64_t kSameTime = 1'000'000, kRunsApart = 2 * kClocksDiffer;

std::string value_of(LeftOut why) { return std::to_string(static_cast<int>(why)); }

// The waits of each rank in a process group and step, in its newest trace that has the step: columns its_job, its_run,
// step, its_group, its_rank, the newest_ ones, and when an older run began the step: other_began of another trace,
// repeated_began of the same trace; 0: there is none. A run is a hash of its name: a text costs a server more.
std::string newest_of_ranks(const Selection& selection, const Dialect& dialect) {
  return sql(R"(SELECT its_job, its_run, step, its_group, its_rank, max(trace_members) AS its_members,
    argMax(its_trace, began) AS newest_trace, argMax(trace_ns, began) AS newest_ns,
    argMax(trace_wall, began) AS newest_wall, argMax(trace_calls, began) AS newest_calls,
    argMax(trace_sequence, began) AS newest_sequence, argMax(trace_name, began) AS newest_name,
    argMax(trace_host, began) AS newest_host,
    max(began) AS newest_began, argMax(ended, began) AS newest_ended,
    {second largest of began} AS other_began, argMax(repeated, began) AS repeated_began
  FROM (
    SELECT {its job} AS its_job, {hash of run} AS its_run, iteration AS step,
      CAST(process_group AS String) AS its_group, rank AS its_rank, trace AS its_trace, max(members) AS trace_members,
      max(begin_ns) AS began, max(begin_ns + wall_ns) AS ended,
      sum(CASE WHEN numbered = {number} THEN ns ELSE 0 END) AS trace_ns,
      sum(CASE WHEN numbered = {number} THEN wall_ns ELSE 0 END) AS trace_wall,
      sum(CASE WHEN numbered = {number} THEN calls ELSE 0 END) AS trace_calls,
      max(CASE WHEN numbered = {number} THEN first_sequence ELSE -1 END) AS trace_sequence,
      {any}(CAST(name AS String)) AS trace_name, {any}(CAST(host AS String)) AS trace_host,
      max(CASE WHEN numbered = {number} THEN 0 ELSE begin_ns END) AS repeated
    FROM {waits}
    WHERE {chosen}
      AND numbered IN ({number}, {repeated later}) AND {has rank}
    GROUP BY its_job, its_run, step, its_group, its_rank, its_trace)
  GROUP BY its_job, its_run, step, its_group, its_rank)",
             {{"second largest of began", dialect.second_largest("began")},
              {"its job", selection.job ? dialect.text(*selection.job) : "CAST(job AS String)"},
              {"hash of run", dialect.hash("CAST(run AS String)")},
              {"any", dialect.any()},
              {"number", std::to_string(push::kNumber)},
              {"repeated later", std::to_string(push::kRepeatedLater)},
              {"has rank", kHasRank},
              {"waits", dialect.table(push::kWaits)},
              {"chosen", chosen(selection, dialect)}});
}

// The same, only of the newest run of each step, with has_older_run and at_once.
//
// A job may have run several times with the same steps, and the times of different runs must not be compared. All ranks
// of a run are in a step at the same time, because they wait for each other. So a rank counts only if its newest step
// of this number had not ended when the last rank began it, and if it is not nearer to an older run of another rank. If
// another trace of a rank began the step shortly before, which of them belongs to which is not known (at_once).
std::string newest_run(const Selection& selection, const Dialect& dialect) {
  return sql(R"(SELECT * FROM (
  SELECT *, max(newest_began) OVER its_step AS run_began,
    max(CASE WHEN older_began > 0 THEN {middle} ELSE 0 END) OVER its_step AS older_until,
    max(CASE WHEN {has older trace} AND newest_began - other_began < {runs apart} THEN 1 ELSE 0 END) OVER its_step AS at_once,
    max(CASE WHEN repeated_began > 0 OR ({has older trace}) THEN 1 ELSE 0 END) OVER its_step AS has_older_run
  FROM (
  SELECT *, greatest(other_began, repeated_began) AS older_began FROM (
  {newest of ranks}) AS newest_of_ranks) AS with_older
  WINDOW its_step AS (PARTITION BY its_job, its_run, step)) AS of_steps
  WHERE newest_ended + {clocks differ} >= run_began AND newest_began >= older_until)",
             {{"middle", dialect.divided("(older_began + newest_began)", "2")},
              {"has older trace", base::format("other_began > 0 AND other_began + {} < newest_began", kSameTime)},
              {"runs apart", std::to_string(kRunsApart)},
              {"clocks differ", std::to_string(kClocksDiffer)},
              {"newest of ranks", newest_of_ranks(selection, dialect)}});
}

// A row for each rank, process group and step: whether it came last, and what was waited.
std::string waits_of_ranks(const Selection& selection, const Dialect& dialect, uint64_t ranks, int64_t every) {
  const std::string length = std::to_string(every * 1'000'000'000);
  return sql(R"(SELECT its_job, its_run, its_group, step, left_out, is_partial, has_older, wall_sum, ns_sum, its_trace,
    its_name, its_host, its_period, CASE WHEN left_out = {no} THEN its_rank ELSE -1 END AS named_rank,
    CASE WHEN its_rank = last_rank THEN 1 ELSE 0 END AS is_last, ns - shortest_ns AS own,
    CASE WHEN its_rank = last_rank THEN ns_sum - shortest_ns * present ELSE 0 END AS others,
    greatest(present - 1, 1) AS others_count
  FROM (
    SELECT *, shortest % {most ranks} AS last_rank, {shortest ns} AS shortest_ns,
      CASE WHEN present < wanted THEN 1 ELSE 0 END AS is_partial,
      CASE WHEN runs_at_once = 1 THEN {runs at once} WHEN wanted = 0 THEN {unknown members}
        WHEN present > wanted OR 2 * present <= wanted THEN {missing ranks} ELSE {no} END AS left_out
    FROM (
      SELECT its_job, its_run, its_group, step, its_rank, {ns} AS ns, newest_trace AS its_trace, newest_name AS its_name, newest_host AS its_host,
        {period} AS its_period,
        count() OVER same_calls AS present, max(at_once) OVER same_calls AS runs_at_once,
        CASE WHEN max(its_members) OVER same_calls = 0 THEN {ranks} ELSE max(its_members) OVER same_calls END AS wanted,
        max(has_older_run) OVER same_calls AS has_older, min({ns} * {most ranks} + its_rank) OVER same_calls AS shortest,
        sum({ns}) OVER same_calls AS ns_sum, sum(newest_wall) OVER same_calls AS wall_sum
      FROM (
        {newest run}) AS newest_run
      WINDOW same_calls AS (PARTITION BY its_job, its_run, its_group, step, newest_calls, newest_sequence)
    ) AS of_calls) AS of_waits)",
             {{"no", value_of(LeftOut::No)},
              {"runs at once", value_of(LeftOut::RunsAtOnce)},
              {"unknown members", value_of(LeftOut::UnknownMembers)},
              {"missing ranks", value_of(LeftOut::MissingRanks)},
              {"ranks", std::to_string(ranks)},
              {"period", every == 0 ? "0" : dialect.divided("run_began", length) + " * " + std::to_string(every)},
              {"most ranks", std::to_string(kMostRanks)},
              {"ns", kWaitNs},
              {"shortest ns", dialect.divided("shortest", std::to_string(kMostRanks))},
              {"newest run", newest_run(selection, dialect)}});
}

}  // namespace

std::string stragglers_statement(const Selection& selection, uint64_t ranks, int64_t every) {
  const Dialect dialect(selection.target);
  return sql(R"(SELECT its_job, left_out, its_rank, sum(group_last) AS steps, argMax(group_last, {most}) AS times_last,
  argMax(group_others, {most}) AS others_waited, max(group_mean) AS mean_wait, sum(group_own) AS waited_itself,
  argMax(group_time, {most}) AS group_ns, argMax(its_group, {most}) AS worst_group,
  argMax(group_iteration, {most}) AS worst_iteration, argMax(group_trace, {most}) AS worst_trace,
  argMax(group_name, {most}) AS worst_name, sum(group_partial) AS partial_steps, max(group_older) AS older_runs,
  its_period AS period, argMax(group_host, {most}) AS worst_host
FROM (
  SELECT its_job, its_run, left_out, its_period, named_rank AS its_rank, its_group, sum(is_last) AS group_last,
    sum(others) AS group_others, sum({mean}) AS group_mean, sum(own) AS group_own,
    greatest(sum(wall_sum), sum(ns_sum)) AS group_time, argMax(step, {order}) AS group_iteration,
    argMax(its_trace, {order}) AS group_trace, argMax(its_name, {order}) AS group_name,
    argMax(its_host, {order}) AS group_host,
    sum(is_last * is_partial) AS group_partial, max(has_older) AS group_older
  FROM (
    {waits})
  GROUP BY its_job, its_run, left_out, its_period, named_rank, its_group)
GROUP BY its_job, its_run, left_out, its_period, its_rank
ORDER BY left_out DESC, mean_wait DESC, its_job, its_rank, its_period
LIMIT {limit})",
             {{"most", ordered("group_others", falling(dialect.hash("its_group")))},
              {"mean", dialect.divided("others", "others_count")},
              {"order", ordered("others", falling("step"))},
              {"waits", waits_of_ranks(selection, dialect, ranks, every)},
              {"limit", std::to_string(selection.limit)}});
}

std::string members_statement(const Selection& selection) {
  const Dialect dialect(selection.target);
  return base::format(
      R"(SELECT its_job, its_group, max(its_members) AS its_members, its_rank, sum(newest_calls) AS its_calls
FROM (
  {})
GROUP BY its_job, its_group, its_rank ORDER BY its_job, its_group, its_rank)",
      newest_run(selection, dialect));
}

Stragglers read_stragglers(const push::Rows& rows) {
  push::expect_columns(rows, 17);
  Stragglers found;
  std::map<std::tuple<int64_t, std::string, int64_t>, StragglerRow> ranks;
  for (const auto& row : rows.rows) {
    const auto number = [&](size_t i) { return push::parse_u64(row[i], rows.columns[i]); };
    const std::string& job = row[0];
    if (number(14) != 0) found.with_older_runs.insert(job);
    const uint64_t left_out = number(1);
    if (left_out > static_cast<uint64_t>(LeftOut::RunsAtOnce))
      throw Error(base::format("the server's answer has {} in the column {}", left_out, rows.columns[1]));
    if (const auto why = static_cast<LeftOut>(left_out); why != LeftOut::No) {
      const auto known = std::find_if(found.left_out.begin(), found.left_out.end(),
                                      [&](const WaitsLeftOut& one) { return one.job == job && one.why == why; });
      (known == found.left_out.end() ? found.left_out.emplace_back(WaitsLeftOut{job, why, 0}) : *known).steps +=
          number(3);
      continue;
    }
    found.jobs.insert(job);
    StragglerRow one;
    one.job = job;
    one.rank = push::parse_i64(row[2], rows.columns[2]);
    one.times_last = number(4);
    one.others_waited_ns = number(5);
    one.mean_wait_ns = number(6);
    one.waited_itself_ns = number(7);
    one.group = row[9];
    one.worst_iteration = number(10);
    one.worst_trace = number(11);
    one.worst_name = row[12];
    one.partial_steps = number(13);
    if (one.partial_steps > 0) found.partial[job] += one.partial_steps;
    one.group_ns = number(8);
    one.period = push::parse_i64(row[15], rows.columns[15]);
    one.worst_host = row[16];
    if (!one.is_straggler()) continue;
    // In several runs, the figures are added up; the rest is that of the run in which others waited the most.
    StragglerRow& all = ranks[{one.period, job, one.rank}];
    if (all.mean_wait_ns > one.mean_wait_ns) std::swap(all, one);
    const StragglerRow before = std::exchange(all, std::move(one));
    all.times_last += before.times_last;
    all.others_waited_ns += before.others_waited_ns;
    all.waited_itself_ns += before.waited_itself_ns;
    all.group_ns += before.group_ns;
    all.partial_steps += before.partial_steps;
  }
  for (auto& [key, one] : ranks) {
    one.share = one.group_ns == 0 ? 0 : static_cast<double>(one.others_waited_ns) / static_cast<double>(one.group_ns);
    found.rows.push_back(std::move(one));
  }
  std::stable_sort(found.rows.begin(), found.rows.end(), [](const StragglerRow& a, const StragglerRow& b) {
    return a.period != b.period ? a.period < b.period : a.share > b.share;
  });
  return found;
}

bool Stragglers::has_unknown_job() const {
  return std::any_of(left_out.begin(), left_out.end(),
                     [&](const WaitsLeftOut& one) { return !jobs.contains(one.job); });
}

Stragglers ask_stragglers(const Selection& selection, const push::Rows& rows, uint64_t ranks,
                          std::vector<std::string>& notes) {
  Stragglers found = read_stragglers(rows);
  const auto add = [&](const std::vector<std::string>& more) { notes.insert(notes.end(), more.begin(), more.end()); };
  const bool lacks_ranks = std::any_of(found.left_out.begin(), found.left_out.end(),
                                       [](const WaitsLeftOut& one) { return one.why == LeftOut::MissingRanks; });
  push::Rows members;
  if (lacks_ranks || !found.partial.empty()) members = selection.target.store().ask(members_statement(selection));
  add(notes_of_older_runs(found.with_older_runs));
  add(notes_of_partial(found.partial, members, ranks));
  add(notes_of(found.left_out, members, ranks));
  return found;
}

namespace {

using push::parse_i64;
using push::parse_u64;

constexpr size_t kMostNamed = 5;

struct Group {
  uint64_t members = 0;
  std::map<int64_t, uint64_t> calls;  // by rank
};

// What is missing of a group, a phrase each.
std::vector<std::string> missing_of(const std::string& name, const Group& group) {
  const std::string of = name.empty() ? " of the calls without a process group"
                                      : base::format(" of process group '{}'", base::printable(name));
  std::vector<std::string> phrases;
  std::vector<int64_t> absent;
  if (const auto list = analyze::ranks_in(name))
    for (const uint32_t rank : list->ranks)
      if (!group.calls.contains(rank)) absent.push_back(rank);
  const uint64_t known = group.calls.size();
  if (!absent.empty())
    phrases.push_back(base::format("none of {}{}", rank_names(absent), of));
  else if (known < group.members)
    phrases.push_back(base::format("none of {} of the {} ranks{}", group.members - known, group.members, of));
  else if (group.members > 0 && known > group.members)
    phrases.push_back(base::format("traces of {} ranks{}, which has {}", known, of, group.members));
  uint64_t most = 0;
  for (const auto& [rank, calls] : group.calls) most = std::max(most, calls);
  std::vector<int64_t> fewer;
  for (const auto& [rank, calls] : group.calls)
    if (calls < most) fewer.push_back(rank);
  if (fewer.size() == 1)
    phrases.push_back(
        base::format("rank {} has {} of {}{}", fewer[0], group.calls.at(fewer[0]), base::count_of(most, "call"), of));
  else if (!fewer.empty())
    phrases.push_back(base::format("{} have fewer than {}{}", rank_names(fewer), base::count_of(most, "call"), of));
  return phrases;
}

// Which ranks lack calls, and what to do.
std::string missing_text(const push::Rows& members, const std::string& job, uint64_t ranks) {
  const std::string missing = missing_ranks(members, job, ranks);
  return base::format(
      "{}; push the traces of all ranks of a run, with the same KYMO_RUN if they have one, or use a "
      "longer --since",
      missing.empty() ? "the calls of the ranks are different ones, as of different runs" : missing);
}

std::string note_of(const WaitsLeftOut& left_out, const push::Rows& members, uint64_t ranks) {
  const std::string what = base::format("not counted: the waits of {} of job '{}', because ",
                                        base::count_of(left_out.steps, "iteration"), shown_name(left_out.job));
  switch (left_out.why) {
    case LeftOut::UnknownMembers:
      return what + "the traces do not say which ranks take part; use --ranks N if these are all N ranks of the job";
    case LeftOut::RunsAtOnce:
      return what +
             "a rank has them in two traces at nearly the same time, so there are two runs that cannot be told apart; "
             "push each run with its own --job, or set KYMO_RUN in the environment of each";
    default:
      return what + "too few ranks of the process group have them: " + missing_text(members, left_out.job, ranks);
  }
}

}  // namespace

std::string missing_ranks(const push::Rows& members, const std::string& job, uint64_t ranks) {
  if (members.columns.size() != 5) throw Error("the server's answer is not a list of the members of process groups");
  std::map<std::string, Group> groups;
  for (const auto& row : members.rows) {
    if (row[0] != job) continue;
    Group& group = groups[row[1]];
    group.members = std::max(group.members, parse_u64(row[2], members.columns[2]));
    if (group.members == 0) group.members = ranks;
    group.calls[parse_i64(row[3], members.columns[3])] = parse_u64(row[4], members.columns[4]);
  }
  std::vector<std::string> all;
  for (const auto& [name, group] : groups) {
    if (group.members == 0) continue;  // these calls are left out for another reason
    const std::vector<std::string> more = missing_of(name, group);
    all.insert(all.end(), more.begin(), more.end());
  }
  const size_t more = all.size() - std::min(all.size(), kMostNamed);
  if (more > 0) {
    all.resize(kMostNamed);
    all.push_back(base::format("and {} more", more));
  }
  return base::join(all, ", ");
}

std::vector<std::string> notes_of(const std::vector<WaitsLeftOut>& left_out, const push::Rows& members,
                                  uint64_t ranks) {
  std::vector<std::string> notes;
  for (const WaitsLeftOut& one : left_out) notes.push_back(note_of(one, members, ranks));
  if (notes.size() > kMostNamed) {
    const size_t more = notes.size() - kMostNamed;
    notes.resize(kMostNamed);
    notes.push_back(base::format("the waits of {} more jobs are not counted either: ask for one with --job", more));
  }
  return notes;
}

std::vector<std::string> notes_of_partial(const std::map<std::string, uint64_t>& partial, const push::Rows& members,
                                          uint64_t ranks) {
  std::vector<std::string> notes;
  for (const auto& [job, steps] : partial) {
    if (notes.size() == kMostNamed) break;
    notes.push_back(base::format("partial: ranks lack {} of job '{}', and one of them may be the late one: {}",
                                 base::count_of(steps, "iteration"), shown_name(job),
                                 missing_text(members, job, ranks)));
  }
  return notes;
}

std::vector<std::string> notes_of_older_runs(const std::set<std::string>& jobs) {
  std::vector<std::string> notes;
  for (const std::string& job : jobs)
    if (notes.size() < kMostNamed)
      notes.push_back(
          base::format("not counted: older runs of job '{}', because ranks have the same iterations in a newer run",
                       shown_name(job)));
  return notes;
}

}  // namespace kymo::fleet
