#include "questions/stragglers.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "questions/calls_without_wait.h"
#include "questions/straggler_notes.h"
#include "kymo/error.h"

namespace kymo::fleet {
namespace {

using push::parse_i64;
using push::parse_u64;

void expect(const push::Rows& rows, size_t columns) {
  if (rows.columns.size() != columns)
    throw Error(base::format("the server's answer has {} columns instead of {}", rows.columns.size(), columns));
}

// And sorts by them.
void set_shares(Stragglers& stragglers) {
  for (StragglerRow& one : stragglers.rows) {
    const TimeOfJob& time = stragglers.jobs[one.job];
    const uint64_t all = std::max(time.iterations_ns, time.calls_ns);
    one.share = all == 0 ? 0 : static_cast<double>(one.others_waited_ns) / static_cast<double>(all);
  }
  std::stable_sort(stragglers.rows.begin(), stragglers.rows.end(),
                   [](const StragglerRow& a, const StragglerRow& b) { return a.share > b.share; });
}

}  // namespace

Stragglers read_stragglers(const push::Rows& rows) {
  expect(rows, 11);
  Stragglers found;
  found.may_have_older_runs = rows.rows.empty();
  for (const auto& row : rows.rows) {
    const auto number = [&](size_t i) { return parse_u64(row[i], rows.columns[i]); };
    found.may_have_older_runs |= number(10) != 0;
    const uint64_t left_out = number(1);
    if (left_out > static_cast<uint64_t>(LeftOut::ClockError))
      throw Error(base::format("the server's answer has {} in the column {}", left_out, rows.columns[1]));
    if (const auto why = static_cast<LeftOut>(left_out); why != LeftOut::No) {
      found.left_out.push_back({row[0], why, number(3), number(7)});
      continue;
    }
    StragglerRow& one = found.rows.emplace_back();
    one.job = row[0];
    one.rank = parse_i64(row[2], rows.columns[2]);
    one.times_last = number(3);
    one.others_waited_ns = number(4);
    one.worst_iteration = number(5);
    one.worst_call = number(6);
    TimeOfJob& time = found.jobs[one.job];
    time.iterations_ns = number(8);
    time.calls_ns += number(9);
  }
  set_shares(found);
  return found;
}

bool Stragglers::has_unknown_job() const {
  return std::any_of(left_out.begin(), left_out.end(),
                     [&](const CallsLeftOut& one) { return !jobs.contains(one.job); });
}

void set_iteration_times(Stragglers& stragglers, const push::Rows& rows) {
  expect(rows, 2);
  for (const auto& row : rows.rows)
    if (const auto found = stragglers.jobs.find(row[0]); found != stragglers.jobs.end())
      found->second.iterations_ns = parse_u64(row[1], rows.columns[1]);
  set_shares(stragglers);
}

void add_worst_calls(Stragglers& stragglers, const push::Rows& rows) {
  expect(rows, 5);
  std::map<std::pair<uint64_t, int64_t>, const std::vector<std::string>*> calls;
  for (const auto& row : rows.rows)
    calls[{parse_u64(row[0], rows.columns[0]), parse_i64(row[1], rows.columns[1])}] = &row;
  for (StragglerRow& one : stragglers.rows) {
    const auto found = calls.find({one.worst_call, one.rank});
    if (found == calls.end()) continue;
    const std::vector<std::string>& row = *found->second;
    one.worst_trace = parse_u64(row[2], rows.columns[2]);
    one.worst_group = row[3];
    one.worst_name = row[4];
  }
}

void add_hosts(Stragglers& stragglers, const push::Rows& rows) {
  expect(rows, 2);
  std::map<uint64_t, std::string> hosts;
  for (const auto& row : rows.rows) hosts[parse_u64(row[0], rows.columns[0])] = row[1];
  for (StragglerRow& one : stragglers.rows)
    if (const auto found = hosts.find(one.worst_trace); found != hosts.end()) one.worst_host = found->second;
}

namespace {

push::Rows list_of(const Selection& selection, const std::string& statement, size_t columns) {
  push::Rows rows = ask(selection.target, statement);
  expect(rows, columns);
  return rows;
}

LeftOutDetails details_of(const Selection& selection, const std::vector<CallsLeftOut>& left_out) {
  const auto has = [&](LeftOut why) {
    return std::any_of(left_out.begin(), left_out.end(), [&](const CallsLeftOut& one) { return one.why == why; });
  };
  LeftOutDetails details;
  if (has(LeftOut::ClockError)) details.clock_errors = list_of(selection, clock_errors_statement(selection), 4);
  if (!has(LeftOut::MissingRanks)) return details;
  details.members = list_of(selection, members_statement(selection), 5);
  details.other_runs = list_of(selection, other_runs_statement(selection), 6);
  details.numbers_of_runs = list_of(selection, numbers_of_runs_statement(selection), 2);
  std::set<uint64_t> traces;
  for (const auto& row : details.other_runs.rows)
    for (const size_t column : {3, 4}) traces.insert(parse_u64(row[column], details.other_runs.columns[column]));
  if (!traces.empty())
    details.hosts = list_of(selection, hosts_statement(selection, {traces.begin(), traces.end()}), 2);
  return details;
}

}  // namespace

Stragglers ask_stragglers(const Selection& selection, const push::Rows& rows, uint64_t ranks, uint64_t limit,
                          std::vector<std::string>& notes) {
  Stragglers found = read_stragglers(rows);
  std::future<push::Rows> without_wait = ask_later(selection.target, calls_without_wait_statement(selection));
  // Iterations without comparable calls must not make the shares of the others smaller.
  if (!found.rows.empty() && std::any_of(found.left_out.begin(), found.left_out.end(),
                                         [](const CallsLeftOut& one) { return one.why != LeftOut::ClockError; }))
    set_iteration_times(found, ask(selection.target, walls_statement(selection, ranks)));
  std::vector<uint64_t> calls;
  for (const StragglerRow& row : found.rows)
    if (calls.size() < limit && row.others_waited_ns > 0) calls.push_back(row.worst_call);
  if (!calls.empty()) {
    add_worst_calls(found, ask(selection.target, worst_calls_statement(selection, calls)));
    std::vector<uint64_t> traces;
    for (const StragglerRow& row : found.rows)
      if (row.worst_trace != 0) traces.push_back(row.worst_trace);
    if (!traces.empty()) add_hosts(found, ask(selection.target, hosts_statement(selection, traces)));
  }
  // Of several jobs, one may have older runs and no calls.
  if (!selection.job || found.may_have_older_runs)
    for (std::string& note : notes_of_older_runs(ask(selection.target, older_runs_statement(selection))))
      notes.push_back(std::move(note));
  const std::vector<std::string> more = notes_of(found.left_out, details_of(selection, found.left_out), ranks);
  notes.insert(notes.end(), more.begin(), more.end());
  std::set<std::string> jobs;
  for (const StragglerRow& row : found.rows) jobs.insert(row.job);
  for (const CallsLeftOut& one : found.left_out) jobs.insert(one.job);
  for (std::string& note : notes_of_calls_without_wait(without_wait.get(), jobs)) notes.push_back(std::move(note));
  return found;
}

}  // namespace kymo::fleet
