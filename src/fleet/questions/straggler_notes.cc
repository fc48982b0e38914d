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

// The ranks of a job that have only another run of the iterations than a rank that began them later.
struct OtherRuns {
  std::set<int64_t> ranks;
  std::set<std::string> hosts;
  std::string host_of_last;
  uint64_t between_ns = 0;
};
using OtherRunsByRank = std::map<int64_t, OtherRuns>;  // by the rank that began later

OtherRunsByRank other_runs_of(const LeftOutDetails& details, const std::string& job) {
  std::map<std::string, std::string> hosts;
  for (const auto& row : details.hosts.rows) hosts[row.at(0)] = base::printable(row.at(1));
  OtherRunsByRank found;
  for (const auto& row : details.other_runs.rows) {
    if (row.at(0) != job) continue;
    OtherRuns& one = found[parse_i64(row.at(2), "last_rank")];
    one.ranks.insert(parse_i64(row.at(1), "its_rank"));
    if (const std::string& host = hosts[row.at(3)]; !host.empty()) one.hosts.insert(host);
    one.host_of_last = hosts[row.at(4)];
    one.between_ns = std::max(one.between_ns, parse_u64(row.at(5), "between"));
  }
  return found;
}

// "ranks 0, 2 (hosts a, b) ended …", of those that are missed.
std::string other_runs_text(int64_t last_rank, const OtherRuns& runs) {
  const bool is_one = runs.ranks.size() == 1;
  return base::format(
      "{}{} began {} iterations up to {} before rank {}{} began the same ones, so {} of another run, or a clock is "
      "wrong",
      ranks_text(runs.ranks),
      runs.hosts.empty() ? ""
                         : base::format(" ({} {})", runs.hosts.size() == 1 ? "host" : "hosts", list_text(runs.hosts)),
      is_one ? "its" : "their", base::duration_text(runs.between_ns), last_rank,
      runs.host_of_last.empty() ? "" : base::format(" (host {})", runs.host_of_last), is_one ? "it is" : "they are");
}

struct Group {
  uint64_t members = 0;
  std::map<int64_t, uint64_t> calls;  // by rank
};

// What is missing of a group, a phrase each. Ranks of `elsewhere`, which have another run, are added to `missed`
// instead.
std::vector<std::string> missing_of(const std::string& name, const Group& group, const std::set<int64_t>& elsewhere,
                                    std::set<int64_t>& missed) {
  const std::string of = name.empty() ? " of the calls without a process group"
                                      : base::format(" of process group '{}'", base::printable(name));
  std::vector<std::string> phrases;
  std::vector<int64_t> absent;
  const auto list = analyze::ranks_in(name);
  uint64_t known = group.calls.size();
  for (const int64_t rank : elsewhere) {
    const bool is_member = !list || std::binary_search(list->ranks.begin(), list->ranks.end(), rank);
    if (!is_member || group.calls.contains(rank) || known >= group.members) continue;
    missed.insert(rank);
    ++known;
  }
  if (list)
    for (const uint32_t rank : list->ranks)
      if (!group.calls.contains(rank) && !missed.contains(rank)) absent.push_back(rank);
  if (!absent.empty())
    phrases.push_back(base::format("no trace of {}{}", ranks_text(absent), of));
  else if (known < group.members)
    phrases.push_back(base::format("no trace of {} of the {} ranks{}", group.members - known, group.members, of));
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

// " of rank 3 (host a)": the trace with the largest clock error.
std::string owner_of_error(const push::Rows& clock_errors, const std::string& job) {
  for (const auto& row : clock_errors.rows) {
    if (row.at(0) != job) continue;
    const std::string& host = row.at(2);
    return base::format(" in the trace of rank {}{}", parse_i64(row.at(1), "its_rank"),
                        host.empty() ? "" : base::format(" on host {}", base::printable(host)));
  }
  return {};
}

// All ranks have calls of the group, and none has all of them.
std::string_view reason_of_difference(const LeftOutDetails& details, const std::string& job) {
  for (const auto& row : details.numbers_of_runs.rows)
    if (row.at(0) == job && parse_u64(row.at(1), "runs") > 1)
      return "the traces are of different runs (KYMO_RUN, SLURM_JOB_ID and other variables of their environment "
             "differ, or only some have them)";
  return "the calls of the ranks are different ones";
}

std::string note_of(const CallsLeftOut& left_out, const LeftOutDetails& details, uint64_t ranks) {
  const std::string what =
      base::format("not counted: {} of job '{}'", calls_text(left_out.calls), shown_name(left_out.job));
  switch (left_out.why) {
    case LeftOut::UnknownMembers:
      return base::format(
          "{}, because the traces do not say which ranks take part; use --ranks N if these are all N ranks of the job",
          what);
    case LeftOut::ClockError:
      return base::format("{}, because the others waited less than the clock error of the traces (up to {}{})", what,
                          base::duration_text(left_out.clock_error_ns),
                          owner_of_error(details.clock_errors, left_out.job));
    default: {
      const std::string missing = missing_ranks(details, left_out.job, ranks);
      return base::format(
          "{}, because not every rank of the process group has them: {}; push the traces of all ranks, or "
          "use a longer --since",
          what, missing.empty() ? reason_of_difference(details, left_out.job) : std::string_view(missing));
    }
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

std::string missing_ranks(const LeftOutDetails& details, const std::string& job, uint64_t ranks) {
  const push::Rows& rows = details.members;
  if (rows.columns.size() != 5) throw Error("the server's answer is not a list of the members of process groups");
  std::map<std::string, Group> groups;
  for (const auto& row : rows.rows) {
    if (row[0] != job) continue;
    Group& group = groups[row[1]];
    group.members = std::max(group.members, parse_u64(row[2], rows.columns[2]));
    if (group.members == 0) group.members = ranks;
    group.calls[parse_i64(row[3], rows.columns[3])] = parse_u64(row[4], rows.columns[4]);
  }
  OtherRunsByRank other_runs = other_runs_of(details, job);
  std::set<int64_t> elsewhere, missed;
  for (const auto& [last, runs] : other_runs) elsewhere.insert(runs.ranks.begin(), runs.ranks.end());
  std::vector<std::string> all;
  for (const auto& [name, group] : groups) {
    if (group.members == 0) continue;  // these calls are left out for another reason
    const std::vector<std::string> more = missing_of(name, group, elsewhere, missed);
    all.insert(all.end(), more.begin(), more.end());
  }
  for (auto& [last, runs] : other_runs) {
    std::erase_if(runs.ranks, [&](int64_t rank) { return !missed.contains(rank); });
    if (!runs.ranks.empty()) all.push_back(other_runs_text(last, runs));
  }
  const size_t more = all.size() - std::min(all.size(), kMostNamed);
  if (more > 0) {
    all.resize(kMostNamed);
    all.push_back(base::format("and {} more", more));
  }
  return base::join(all, ", ");
}

std::vector<std::string> notes_of(const std::vector<CallsLeftOut>& left_out, const LeftOutDetails& details,
                                  uint64_t ranks) {
  std::vector<std::string> notes;
  for (const CallsLeftOut& one : left_out) notes.push_back(note_of(one, details, ranks));
  if (notes.size() > kMostNamed) {
    const size_t more = notes.size() - kMostNamed;
    notes.resize(kMostNamed);
    notes.push_back(base::format("the calls of {} more jobs are not counted either: ask for one with --job", more));
  }
  return notes;
}

std::vector<std::string> notes_of_older_runs(const push::Rows& rows) {
  if (rows.columns.size() != 5) throw Error("the server's answer is not a list of runs");
  struct Runs {
    std::set<int64_t> ranks;
    uint64_t iterations = 0, trace = 0;
  };
  std::map<std::pair<std::string, bool>, Runs> all;  // by job, and whether they ran at the same time
  for (const auto& row : rows.rows) {
    Runs& runs = all[{row[0], parse_u64(row[1], rows.columns[1]) != 0}];
    runs.ranks.insert(parse_i64(row[2], rows.columns[2]));
    runs.iterations = std::max(runs.iterations, parse_u64(row[3], rows.columns[3]));
    runs.trace = parse_u64(row[4], rows.columns[4]);
  }
  std::vector<std::string> notes;
  for (const auto& [key, runs] : all) {
    const std::string what = base::format("{} {} of job '{}'", runs.iterations,
                                          runs.iterations == 1 ? "iteration" : "iterations", shown_name(key.first));
    const std::string who = base::format("{} {}", ranks_text(runs.ranks), runs.ranks.size() == 1 ? "has" : "have");
    notes.push_back(
        key.second ? base::format(
                         "not counted: {}, because {} two traces with the same iterations at nearly the same time (one "
                         "is {}), so there are two runs that cannot be told apart; push each run with its own --job, "
                         "or set KYMO_RUN in the environment of each",
                         what, who, trace_text(runs.trace))
                   : base::format("not counted: older runs of {}, because {} the same ones in a newer run", what, who));
    if (notes.size() == kMostNamed) break;
  }
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
