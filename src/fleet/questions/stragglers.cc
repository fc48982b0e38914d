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

constexpr int64_t kClocksDiffer = 10'000'000'000;  // by at most this many nanoseconds between hosts

std::string value_of(LeftOut why) { return std::to_string(static_cast<int>(why)); }

// The first part of a statement: `placed` are the waits of each rank, and `judged` those calls that ranks of a process
// group made together, with what all of them waited, and whether that counts.
//
// A job may run several times with the same numbers of iterations, and the times of different runs must not be
// compared. All ranks of a run are in an iteration at the same time, because they wait for each other. So what began
// when all before had ended for more than kClocksDiffer is another instance of the iteration. Waits that begin in the
// same `bucket` of this length are never of different ones, so only buckets are put in order. Texts are hashed: a
// server compares numbers faster.
std::string judged_waits(const Selection& selection, const Dialect& dialect, uint64_t ranks, int64_t every) {
  return sql(R"(WITH recorded AS (
  SELECT {job} AS its_job, cityHash64(job, run) AS its_run, iteration AS step, intDiv(begin_ns, {clocks differ}) AS bucket,
    process_group AS its_group, cityHash64(process_group, calls, first_sequence) AS its_calls, calls AS call_count,
    rank AS its_rank, members, begin_ns AS began, wall_ns AS wall, least(ns, 8796093022207) AS wait, trace AS its_trace,
    name AS its_name, host AS its_host
  FROM {waits} WHERE {chosen}
    AND numbered > 0 AND rank >= 0 AND rank < {most ranks}),
instances AS (
  SELECT its_run, step, bucket, sum(is_new) OVER (PARTITION BY its_run, step ORDER BY bucket) AS instance
  FROM (
    SELECT *, CASE WHEN bucket_began > max(bucket_ended) OVER before + {clocks differ} THEN 1 ELSE 0 END AS is_new
    FROM (
      SELECT its_run, step, bucket, min(began) AS bucket_began, max(began + wall) AS bucket_ended
      FROM recorded GROUP BY its_run, step, bucket) AS buckets
    WINDOW before AS (PARTITION BY its_run, step ORDER BY bucket ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
  ) AS of_buckets),
placed AS (
  SELECT *, cityHash64(its_run, step, instance, its_calls) AS same_calls, wait * {most ranks} + its_rank AS wait_and_rank
  FROM recorded INNER JOIN instances USING (its_run, step, bucket)),
judged AS (
  SELECT *, shortest % {most ranks} AS last_rank, intDiv(shortest, {most ranks}) AS shortest_ns, {period} AS its_period,
    CASE WHEN present < wanted THEN 1 ELSE 0 END AS is_partial,
    CASE WHEN its_waits > present THEN {runs at once} WHEN wanted = 0 THEN {unknown members}
      WHEN present > wanted OR 2 * present <= wanted THEN {missing ranks} ELSE {no} END AS left_out
  FROM (
    SELECT same_calls, min(its_job) AS job_name, min(its_group) AS group_name, min(began) AS first_began,
      count() AS its_waits, count(DISTINCT its_rank) AS present,
      CASE WHEN max(members) = 0 THEN {ranks} ELSE max(members) END AS wanted, min(wait_and_rank) AS shortest,
      sum(wait) AS ns_sum, sum(wall) AS wall_sum, argMin(its_trace, wait_and_rank) AS last_trace,
      argMin(its_name, wait_and_rank) AS last_name, argMin(its_host, wait_and_rank) AS last_host
    FROM placed GROUP BY same_calls) AS of_calls)
)",
             {{"job", selection.job ? dialect.text(*selection.job) : "CAST(job AS String)"},
              {"clocks differ", std::to_string(kClocksDiffer)},
              {"waits", dialect.table(push::kWaits)},
              {"chosen", chosen(selection, dialect)},
              {"most ranks", std::to_string(kMostRanks)},
              {"period", every == 0 ? "0" : base::format("intDiv(first_began, {}) * {}", every * 1'000'000'000, every)},
              {"runs at once", value_of(LeftOut::RunsAtOnce)},
              {"unknown members", value_of(LeftOut::UnknownMembers)},
              {"missing ranks", value_of(LeftOut::MissingRanks)},
              {"no", value_of(LeftOut::No)},
              {"ranks", std::to_string(ranks)}});
}

}  // namespace

std::string stragglers_statement(const Selection& selection, uint64_t ranks, int64_t every) {
  const Dialect dialect(selection.target);
  return sql(R"({judged}SELECT min(group_job) AS the_job, why, the_rank, sum(group_steps) AS steps,
  argMax(group_last, {most}) AS times_last, argMax(group_others, {most}) AS others_waited, max(group_mean) AS mean_wait,
  sum(group_own) AS waited_itself, argMax(group_time, {most}) AS group_ns,
  CAST(argMax(the_group, {most}) AS String) AS worst_group, argMax(group_iteration, {most}) AS worst_iteration,
  argMax(group_trace, {most}) AS worst_trace, CAST(argMax(group_name, {most}) AS String) AS worst_name,
  max(group_partial) AS partial_steps, its_period AS period, CAST(argMax(group_host, {most}) AS String) AS worst_host
FROM (
  SELECT its_run, left_out AS why, its_period, the_rank, named_group, min(job_name) AS group_job,
    min(its_group) AS the_group, count(DISTINCT CASE WHEN left_out = {no} THEN 0 ELSE cityHash64(step, instance) END) AS group_steps,
    sum(is_last) AS group_last, sum(others) AS group_others, sum(intDiv(others, greatest(present - 1, 1))) AS group_mean,
    sum(own) AS group_own, greatest(sum(wall_sum), sum(ns_sum)) AS group_time, argMax(step, {order}) AS group_iteration,
    argMax(last_trace, {order}) AS group_trace, argMax(last_name, {order}) AS group_name,
    argMax(last_host, {order}) AS group_host, sum(is_last * is_partial) AS group_partial
  FROM (
    SELECT *, CASE WHEN left_out = {no} THEN its_rank ELSE -1 END AS the_rank,
      CASE WHEN left_out = {no} THEN cityHash64(its_group) ELSE 0 END AS named_group,
      CASE WHEN its_rank = last_rank THEN 1 ELSE 0 END AS is_last, wait - shortest_ns AS own,
      CASE WHEN its_rank = last_rank THEN ns_sum - shortest_ns * present ELSE 0 END AS others
    FROM (SELECT same_calls, its_run, step, instance, its_group, its_rank, wait FROM placed) AS waits
    INNER JOIN (SELECT * FROM judged) AS its_calls USING (same_calls)) AS of_ranks
  GROUP BY its_run, why, its_period, the_rank, named_group) AS of_groups
GROUP BY its_run, why, its_period, the_rank
ORDER BY why DESC, mean_wait DESC, the_job, the_rank, period
LIMIT {limit})",
             {{"judged", judged_waits(selection, dialect, ranks, every)},
              {"most", ordered("group_others", falling("named_group"))},
              {"order", ordered("others", falling("step"))},
              {"no", value_of(LeftOut::No)},
              {"limit", std::to_string(selection.limit)}});
}

std::string members_statement(const Selection& selection, uint64_t ranks) {
  const Dialect dialect(selection.target);
  return sql(
      R"({judged}SELECT job_name, CAST(group_name AS String) AS named_group, max(wanted) AS members_wanted, its_rank,
  sum(call_count) AS all_calls, sum(CASE WHEN left_out = {missing ranks} THEN call_count ELSE 0 END) AS calls_apart
FROM (SELECT same_calls, its_rank, call_count FROM placed) AS waits
INNER JOIN (SELECT * FROM judged WHERE left_out IN ({no}, {missing ranks})) AS its_calls USING (same_calls)
GROUP BY job_name, named_group, its_rank ORDER BY job_name, named_group, its_rank)",
      {{"judged", judged_waits(selection, dialect, ranks, 0)},
       {"missing ranks", value_of(LeftOut::MissingRanks)},
       {"no", value_of(LeftOut::No)}});
}

Stragglers read_stragglers(const push::Rows& rows) {
  push::expect_columns(rows, 16);
  Stragglers found;
  std::map<std::tuple<int64_t, std::string, int64_t>, StragglerRow> ranks;
  for (const auto& row : rows.rows) {
    const auto number = [&](size_t i) { return push::parse_u64(row[i], rows.columns[i]); };
    const std::string& job = row[0];
    const uint64_t left_out = number(1);
    if (left_out > static_cast<uint64_t>(LeftOut::RunsAtOnce))
      throw Error(base::format("the server's answer has {} in the column {}", left_out, rows.columns[1]));
    if (const auto why = static_cast<LeftOut>(left_out); why != LeftOut::No) {
      found.left_out[{job, why}] += number(3);
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
    one.group_ns = number(8);
    one.group = row[9];
    one.worst_iteration = number(10);
    one.worst_trace = number(11);
    one.worst_name = row[12];
    one.partial_steps = number(13);
    if (one.partial_steps > 0) found.partial.insert(job);
    one.period = push::parse_i64(row[14], rows.columns[14]);
    one.worst_host = row[15];
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
                     [&](const auto& one) { return !jobs.contains(one.first.first); });
}

namespace {

constexpr size_t kMostNamed = 5;

struct Calls {
  uint64_t all = 0, apart = 0;
};
struct Group {
  uint64_t members = 0;
  std::map<int64_t, Calls> calls;  // by rank
};

// What is missing of a group, a phrase each.
std::vector<std::string> missing_of(const std::string& name, const Group& group) {
  const std::string of = name.empty() ? " of the calls without a process group"
                                      : base::format(" of process group '{}'", base::printable(name));
  std::vector<std::string> phrases;
  std::vector<int64_t> absent, fewer, apart;
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
  for (const auto& [rank, calls] : group.calls) most = std::max(most, calls.all);
  for (const auto& [rank, calls] : group.calls) {
    if (calls.all < most) fewer.push_back(rank);
    if (calls.apart == calls.all) apart.push_back(rank);
  }
  if (!fewer.empty())
    phrases.push_back(base::format("{} {} fewer than {}{}", rank_names(fewer), fewer.size() == 1 ? "has" : "have",
                                   base::count_of(most, "call"), of));
  if (!apart.empty() && apart.size() < known)
    phrases.push_back(
        base::format("{} {} them more than {} s before or after the others{}, by a wrong clock or in another run",
                     rank_names(apart), apart.size() == 1 ? "has" : "have", kClocksDiffer / 1'000'000'000, of));
  return phrases;
}

// Which ranks of a job lack calls, and what to do.
std::string missing_text(const push::Rows& members, const std::string& job) {
  const std::string missing = missing_ranks(members, job);
  return base::format(
      "{}; push the traces of all ranks of a run, with the same KYMO_RUN if they have one, or use a longer --since",
      missing.empty() ? "the calls of the ranks are different ones, as of different runs or with wrong clocks"
                      : missing);
}

std::string reason_of(LeftOut why, const push::Rows& members, const std::string& job) {
  switch (why) {
    case LeftOut::UnknownMembers:
      return "the traces do not say which ranks take part; use --ranks N if these are all N ranks of the job";
    case LeftOut::RunsAtOnce:
      return base::format(
          "a rank has them more than once within {} s: its recordings overlap, or there are runs that cannot be told "
          "apart; then set KYMO_RUN in the environment of each run; of traces that are here already, push those of "
          "each "
          "run with its own --job, into another database",
          kClocksDiffer / 1'000'000'000);
    default:
      return "too few ranks of the process group have them: " + missing_text(members, job);
  }
}

}  // namespace

Stragglers ask_stragglers(const Selection& selection, const push::Rows& rows, uint64_t ranks,
                          std::vector<std::string>& notes) {
  Stragglers found = read_stragglers(rows);
  const bool lacks_ranks = std::any_of(found.left_out.begin(), found.left_out.end(),
                                       [](const auto& one) { return one.first.second == LeftOut::MissingRanks; });
  push::Rows members;
  if (lacks_ranks || !found.partial.empty())
    members = selection.target.store().ask(members_statement(selection, ranks));
  notes = notes_of(found, members);
  return found;
}

std::string missing_ranks(const push::Rows& members, const std::string& job) {
  push::expect_columns(members, 6);
  std::map<std::string, Group> groups;
  for (const auto& row : members.rows) {
    if (row[0] != job) continue;
    const auto number = [&](size_t i) { return push::parse_u64(row[i], members.columns[i]); };
    Group& group = groups[row[1]];
    group.members = std::max(group.members, number(2));
    group.calls[push::parse_i64(row[3], members.columns[3])] = {number(4), number(5)};
  }
  std::vector<std::string> all;
  for (const auto& [name, group] : groups) {
    const std::vector<std::string> more = missing_of(name, group);
    all.insert(all.end(), more.begin(), more.end());
  }
  if (all.size() > kMostNamed) {
    const size_t more = all.size() - kMostNamed;
    all.resize(kMostNamed);
    all.push_back(base::format("and {} more", more));
  }
  return base::join(all, ", ");
}

std::vector<std::string> notes_of(const Stragglers& found, const push::Rows& members) {
  std::vector<std::string> notes;
  for (const std::string& job : found.partial)
    notes.push_back(base::format("partial: ranks are missing in job '{}', and one of them may be the late one: {}",
                                 shown_name(job), missing_text(members, job)));
  for (const auto& [key, steps] : found.left_out)
    notes.push_back(base::format("not counted: waits of {} of job '{}', because {}", base::count_of(steps, "iteration"),
                                 shown_name(key.first), reason_of(key.second, members, key.first)));
  if (notes.size() > kMostNamed) {
    const size_t more = notes.size() - kMostNamed;
    notes.resize(kMostNamed);
    notes.push_back(base::format("{} more lines like these: ask for one job with --job", more));
  }
  return notes;
}

}  // namespace kymo::fleet
