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

// Adds the texts of a column of `waits` to the answer, by their hash: as text_of_COLUMN.
std::string with_text(std::string_view column, const Selection& selection, const Dialect& dialect) {
  return sql(R"(
LEFT JOIN (
  SELECT cityHash64({column}) AS hash_of_{column}, CAST({column} AS String) AS text_of_{column}
  FROM {waits} WHERE {job and times} GROUP BY {column}) AS of_{column} ON the_{column} = hash_of_{column})",
             {{"column", column},
              {"waits", dialect.table(push::kWaits)},
              {"job and times", job_and_times(selection, dialect)}});
}

// The statement of a question about `judged`: the calls that ranks of a process group made together, with what each of
// them waited, and whether that counts.
//
// A job may run several times with the same numbers of iterations, and the times of different runs must not be
// compared. All ranks of a run are in an iteration at the same time, because they wait for each other. So what began
// when all before had ended for more than kClocksDiffer is another instance of the iteration. Waits that begin in the
// same `bucket` of this length are never of different ones, so only buckets are put in order.
//
// A server reads a table as often as a statement uses it, so the waits of a call are a list, and each is a number with
// its rank. Texts are hashed, because numbers are faster: with_text() adds them at the end.
std::string statement_of(const Selection& selection, uint64_t ranks, int64_t every, std::string_view question) {
  const Dialect dialect(selection.target);
  constexpr std::string_view kJudged = R"(WITH recorded AS (
  SELECT cityHash64(job) AS its_job, cityHash64(its_job, cityHash64(run)) AS its_run, iteration AS step,
    intDiv(begin_ns, {clocks differ}) AS bucket, cityHash64(process_group) AS its_group,
    cityHash64(its_group, calls, first_sequence) AS its_calls, calls, members, rank AS its_rank, begin_ns AS began,
    wall_ns AS wall, least(ns, 8796093022207) AS wait, wait * {most ranks} + rank AS wait_and_rank, trace AS its_trace,
    cityHash64(name) AS its_name, cityHash64(host) AS its_host
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
judged AS (
  SELECT *, intDiv(shortest, {most ranks}) AS shortest_ns, ns_sum - shortest_ns * present AS others_ns,
    {period} AS its_period, CASE WHEN present < wanted THEN 1 ELSE 0 END AS is_partial,
    CASE WHEN length(waits) > present THEN {runs at once} WHEN wanted = 0 THEN {unknown members}
      WHEN present > wanted OR 2 * present <= wanted THEN {missing ranks} ELSE {no} END AS left_out
  FROM (
    SELECT any_value(its_run) AS of_run, any_value(step) AS of_step, any_value(instance) AS of_instance,
      any_value(its_job) AS of_job, any_value(its_group) AS of_group, any_value(calls) AS call_count,
      min(began) AS first_began, groupArray(wait_and_rank) AS waits, arrayUniq(groupArray(its_rank)) AS present,
      CASE WHEN max(members) = 0 THEN {ranks} ELSE max(members) END AS wanted, min(wait_and_rank) AS shortest,
      sum(wait) AS ns_sum, sum(wall) AS wall_sum, argMin(its_trace, wait_and_rank) AS last_trace,
      argMin(its_name, wait_and_rank) AS last_name, argMin(its_host, wait_and_rank) AS last_host
    FROM recorded INNER JOIN instances USING (its_run, step, bucket)
    GROUP BY cityHash64(its_run, step, instance, its_calls)) AS of_calls)
)";
  return sql(std::string(kJudged) += question,
             {{"clocks differ", std::to_string(kClocksDiffer)},
              {"waits", dialect.table(push::kWaits)},
              {"chosen", chosen(selection, dialect)},
              {"most ranks", std::to_string(kMostRanks)},
              {"period", every == 0 ? "0" : base::format("intDiv(first_began, {}) * {}", every * 1'000'000'000, every)},
              {"runs at once", "3"},  // the values of LeftOut
              {"unknown members", "2"},
              {"missing ranks", "1"},
              {"no", "0"},
              {"ranks", std::to_string(ranks)},
              {"most", ordered("group_others", "named_group")},
              {"order", ordered("others_ns", "of_step")},
              {"job and group", with_text("job", selection, dialect) + with_text("process_group", selection, dialect)},
              {"name and host", with_text("name", selection, dialect) + with_text("host", selection, dialect)},
              {"limit", std::to_string(selection.limit)},
              {"settings", dialect.settings()}});
}

}  // namespace

std::string stragglers_statement(const Selection& selection, uint64_t ranks, int64_t every) {
  return statement_of(
      selection, ranks, every,
      R"(SELECT text_of_job, why, the_rank, steps, times_last, others_waited, mean_wait, waited_itself, group_ns,
  text_of_process_group, worst_iteration, worst_trace, text_of_name, partial_steps, period, text_of_host
FROM (
  SELECT min(group_job) AS the_job, why, the_rank, sum(group_steps) AS steps, argMax(group_last, {most}) AS times_last,
    argMax(group_others, {most}) AS others_waited, max(group_mean) AS mean_wait, sum(group_own) AS waited_itself,
    argMax(group_time, {most}) AS group_ns, argMax(named_group, {most}) AS the_process_group,
    argMax(group_iteration, {most}) AS worst_iteration, argMax(group_trace, {most}) AS worst_trace,
    argMax(group_name, {most}) AS the_name, max(group_partial) AS partial_steps, its_period AS period,
    argMax(group_host, {most}) AS the_host
  FROM (
    SELECT of_run, why, its_period, the_rank, named_group, any_value(of_job) AS group_job,
      count(DISTINCT left_step) AS group_steps, sum(is_last) AS group_last, sum(is_last * others_ns) AS group_others,
      sum(is_last * mean_ns) AS group_mean, sum(intDiv(wait_and_rank, {most ranks}) - shortest_ns) AS group_own,
      greatest(sum(wall_sum), sum(ns_sum)) AS group_time, argMax(of_step, is_last * its_order) AS group_iteration,
      argMax(last_trace, is_last * its_order) AS group_trace, argMax(last_name, is_last * its_order) AS group_name,
      argMax(last_host, is_last * its_order) AS group_host, sum(is_last * is_partial) AS group_partial
    FROM (
      SELECT *, CASE WHEN why = {no} THEN wait_and_rank % {most ranks} ELSE -1 END AS the_rank,
        CASE WHEN wait_and_rank = shortest THEN 1 ELSE 0 END AS is_last
      FROM (
        SELECT of_run, left_out AS why, its_period, of_step, of_job, shortest, shortest_ns, others_ns, wall_sum, ns_sum,
          CASE WHEN left_out = {no} THEN of_group ELSE 0 END AS named_group,
          CASE WHEN left_out = {no} THEN 0 ELSE cityHash64(of_step, of_instance) END AS left_step,
          intDiv(others_ns, greatest(present - 1, 1)) AS mean_ns, {order} AS its_order, last_trace, last_name, last_host,
          is_partial, arrayJoin(waits) AS wait_and_rank
        FROM judged) AS of_waits) AS of_ranks
    GROUP BY of_run, why, its_period, the_rank, named_group) AS of_groups
  GROUP BY of_run, why, its_period, the_rank) AS answer{job and group}{name and host}
ORDER BY why DESC, mean_wait DESC, text_of_job, the_rank, period
LIMIT {limit}{settings})");
}

std::string members_statement(const Selection& selection, uint64_t ranks) {
  return statement_of(selection, ranks, 0,
                      R"(SELECT text_of_job, text_of_process_group, members_wanted, its_rank, all_calls, calls_apart
FROM (
  SELECT the_job, the_process_group, max(wanted) AS members_wanted, its_rank, sum(call_count) AS all_calls,
    sum(CASE WHEN left_out = {missing ranks} THEN call_count ELSE 0 END) AS calls_apart
  FROM (
    SELECT of_job AS the_job, of_group AS the_process_group, wanted, call_count, left_out,
      arrayJoin(waits) % {most ranks} AS its_rank
    FROM judged WHERE left_out IN ({no}, {missing ranks})) AS of_waits
  GROUP BY the_job, the_process_group, its_rank) AS answer{job and group}
ORDER BY text_of_job, text_of_process_group, its_rank{settings})");
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
