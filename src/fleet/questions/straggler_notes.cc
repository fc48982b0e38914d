#include "questions/straggler_notes.h"

#include <algorithm>
#include <map>
#include <set>

#include "analyze/report/collective_calls.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/units.h"
#include "kymo/error.h"
#include "questions/answers.h"
#include "questions/text_name.h"

namespace kymo::fleet {
namespace {

using analyze::Waiting;
using push::parse_i64;
using push::parse_u64;

constexpr size_t kMostNamed = 5;

std::string calls_text(uint64_t calls) { return base::format("{} {}", calls, calls == 1 ? "call" : "calls"); }

// "0, 1, 2, 3, 4 and 59 more".
template <typename Items>
std::string list_text(const Items& items) {
  std::vector<std::string> named;
  for (const auto& item : items)
    if (named.size() < kMostNamed) named.push_back(base::format("{}", item));
  return base::join(named, ", ") +
         (items.size() > kMostNamed ? base::format(" and {} more", items.size() - kMostNamed) : "");
}

// "rank 3", "ranks 3, 4".
template <typename Ranks>
std::string ranks_text(const Ranks& ranks) {
  return base::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", list_text(ranks));
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
  const uint64_t known = group.calls.size();
  if (!absent.empty())
    phrases.push_back(base::format("none of {}{}", ranks_text(absent), of));
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
    phrases.push_back(base::format("rank {} has {} of {}{}", fewer[0], group.calls.at(fewer[0]), calls_text(most), of));
  else if (!fewer.empty())
    phrases.push_back(base::format("{} have fewer than {}{}", ranks_text(fewer), calls_text(most), of));
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

std::string iterations_text(uint64_t count) { return base::count_of(count, "iteration"); }

std::string note_of(const WaitsLeftOut& left_out, const push::Rows& members, uint64_t ranks) {
  const std::string what = base::format("not counted: the waits of {} of job '{}', because ",
                                        iterations_text(left_out.steps), shown_name(left_out.job));
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

// Calls in which ranks do not wait for each other, or may not.
struct Calls {
  uint64_t count = 0;
  std::set<std::string> names;
};

std::string note_of(const std::string& job, Waiting waiting, const Calls& calls) {
  const std::string what = base::format("not counted: {} ({}) of job '{}'", calls_text(calls.count),
                                        list_text(calls.names), shown_name(job));
  if (waiting == Waiting::Unknown)
    return what +
           ", because the traces do not say which collective it is, and in one with a root (broadcast, reduce, gather, "
           "scatter) ranks do not wait for each other; record the calls of NCCL too, or give the range around the "
           "launch an argument 'Collective name'";
  return what +
         ", because ranks do not wait for each other in sends, receives and calls with a root (broadcast, reduce, "
         "gather, scatter), so these do not show who is late; the job has no other collectives";
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
                                 iterations_text(steps), shown_name(job), missing_text(members, job, ranks)));
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

std::vector<std::string> notes_of_calls_without_wait(const push::Rows& rows,
                                                     const std::set<std::string>& jobs_with_others) {
  if (rows.columns.size() != 4) throw Error("the server's answer is not a list of calls");
  std::map<std::pair<std::string, Waiting>, Calls> all;
  for (const auto& row : rows.rows) {
    const auto waiting = static_cast<Waiting>(push::parse_u64(row[1], rows.columns[1]));
    if (waiting != Waiting::Unknown && jobs_with_others.contains(row[0])) continue;
    Calls& calls = all[{row[0], waiting}];
    calls.count += push::parse_u64(row[3], rows.columns[3]);
    calls.names.insert(base::printable(row[2].substr(0, row[2].find('('))));  // without the types of its arguments
  }
  std::vector<std::string> notes;
  for (const auto& [key, calls] : all) {
    if (notes.size() == kMostNamed) {
      notes.push_back("calls of more jobs are not counted either: ask for one with --job");
      break;
    }
    notes.push_back(note_of(key.first, key.second, calls));
  }
  return notes;
}

}  // namespace kymo::fleet
