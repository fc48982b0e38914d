#include "fleet/stragglers.h"

#include <algorithm>
#include <map>

#include "analyze/report/process_group.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/units.h"
#include "fleet/text_name.h"
#include "kymo/error.h"

namespace kymo::fleet {
namespace {

using push::parse_i64;
using push::parse_u64;

constexpr size_t kMostNamed = 5;

void expect(const push::Rows& rows, size_t columns) {
  if (rows.columns.size() != columns)
    throw Error(base::format("the server's answer has {} columns instead of {}", rows.columns.size(), columns));
}

std::string calls_text(uint64_t calls) { return base::format("{} {}", calls, calls == 1 ? "call" : "calls"); }

// "rank 3", "ranks 3, 4", "ranks 0, 1, 2, 3, 4 and 59 more".
std::string ranks_text(const std::vector<int64_t>& ranks) {
  const std::vector<int64_t> named(ranks.begin(),
                                   ranks.begin() + static_cast<std::ptrdiff_t>(std::min(ranks.size(), kMostNamed)));
  return base::format("{} {}{}", ranks.size() == 1 ? "rank" : "ranks", base::join(named, ", "),
                      ranks.size() > kMostNamed ? base::format(" and {} more", ranks.size() - kMostNamed) : "");
}

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
  if (!absent.empty())
    phrases.push_back(base::format("no trace of {}{}", ranks_text(absent), of));
  else if (group.calls.size() < group.members)
    phrases.push_back(
        base::format("no trace of {} of the {} ranks{}", group.members - group.calls.size(), group.members, of));
  else if (group.members > 0 && group.calls.size() > group.members)
    phrases.push_back(base::format("traces of {} ranks{}, which has {}", group.calls.size(), of, group.members));
  uint64_t most = 0;
  for (const auto& [rank, calls] : group.calls) most = std::max(most, calls);
  std::vector<int64_t> fewer;
  for (const auto& [rank, calls] : group.calls)
    if (calls < most) fewer.push_back(rank);
  if (fewer.size() == 1)
    phrases.push_back(base::format("rank {} has {} of {}{}", fewer[0], group.calls.at(fewer[0]), calls_text(most), of));
  else if (!fewer.empty())
    phrases.push_back(base::format("{} have fewer than {}{}", ranks_text(fewer), calls_text(most), of));
  return phrases;
}

std::string note_of(const CallsLeftOut& left_out, const push::Rows& members, uint64_t ranks) {
  const std::string what =
      base::format("not counted: {} of job '{}'", calls_text(left_out.calls), shown_name(left_out.job));
  switch (left_out.why) {
    case LeftOut::UnknownMembers:
      return base::format(
          "{}, because the traces do not say which ranks take part; use --ranks N if these are all N ranks of the job",
          what);
    case LeftOut::ClockError:
      return base::format("{}, because the others waited less than the clock error of the traces (up to {})", what,
                          base::duration_text(left_out.clock_error_ns));
    default: {
      const std::string missing = missing_ranks(members, left_out.job, ranks);
      return base::format(
          "{}, because not every rank of the process group has them: {}; push the traces of all ranks, or "
          "use a longer --since",
          what, missing.empty() ? "the calls of the ranks are different ones" : missing);
    }
  }
}

}  // namespace

Stragglers read_stragglers(const push::Rows& rows) {
  expect(rows, 9);
  Stragglers found;
  for (const auto& row : rows.rows) {
    const auto number = [&](size_t i) { return parse_u64(row[i], rows.columns[i]); };
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
    const uint64_t wall = number(8);
    one.share = wall == 0 ? 0 : static_cast<double>(one.others_waited_ns) / static_cast<double>(wall);
  }
  return found;
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

std::string missing_ranks(const push::Rows& rows, const std::string& job, uint64_t ranks) {
  expect(rows, 5);
  std::map<std::string, Group> groups;
  for (const auto& row : rows.rows) {
    if (row[0] != job) continue;
    Group& group = groups[row[1]];
    group.members = std::max(group.members, parse_u64(row[2], rows.columns[2]));
    if (group.members == 0) group.members = ranks;
    group.calls[parse_i64(row[3], rows.columns[3])] = parse_u64(row[4], rows.columns[4]);
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

std::vector<std::string> notes_of(const Stragglers& stragglers, const push::Rows& members, uint64_t ranks) {
  std::vector<std::string> notes;
  for (const CallsLeftOut& one : stragglers.left_out) notes.push_back(note_of(one, members, ranks));
  if (notes.size() > kMostNamed) {
    const size_t more = notes.size() - kMostNamed;
    notes.resize(kMostNamed);
    notes.push_back(base::format("the calls of {} more jobs are not counted either: ask for one with --job", more));
  }
  return notes;
}

Stragglers ask_stragglers(const Selection& selection, uint64_t ranks, uint64_t limit, std::vector<std::string>& notes) {
  Stragglers found = read_stragglers(ask(selection.target, stragglers_statement(selection, ranks)));
  std::vector<uint64_t> calls;
  for (const StragglerRow& row : found.rows)
    if (calls.size() < limit && row.others_waited_ns > 0) calls.push_back(row.worst_call);
  if (!calls.empty()) add_worst_calls(found, ask(selection.target, worst_calls_statement(selection, calls)));
  const bool lacks_ranks = std::any_of(found.left_out.begin(), found.left_out.end(),
                                       [](const CallsLeftOut& one) { return one.why == LeftOut::MissingRanks; });
  const push::Rows members = lacks_ranks ? ask(selection.target, members_statement(selection)) : push::Rows{};
  const std::vector<std::string> more = notes_of(found, members, ranks);
  notes.insert(notes.end(), more.begin(), more.end());
  return found;
}

}  // namespace kymo::fleet
