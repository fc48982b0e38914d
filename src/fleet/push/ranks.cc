#include "push/ranks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "push/environment.h"
#include "push/leaders.h"
#include "push/process_list.h"
#include "push/run_name.h"

namespace kymo::push {
namespace {

using RankAndJob = std::pair<int32_t, std::string>;
using Some = std::vector<size_t>;           // places in the list of processes, in its order
using LeaderOf = std::map<size_t, size_t>;  // the number of the leader, by process

struct Members {
  Some own, helpers;
};

class RankFinder {
 public:
  RankFinder(trace::Reader& reader, uint64_t number)
      : reader_(reader),
        number_(number),
        processes_(list_processes(reader)),
        environment_(read_environment(processes_)) {}

  RanksOfFile find() {
    found_.not_a_rank = environment_.not_a_rank;
    divide();
    for (const auto& [key, members] : ranks_) add_rank(key, members);
    const auto key = [](const RankOfFile& one) { return std::tie(one.rank, one.job); };
    std::stable_sort(found_.list.begin(), found_.list.end(),
                     [&](const RankOfFile& a, const RankOfFile& b) { return key(a) < key(b); });
    if (found_.list.empty()) found_.list.emplace_back();
    if (RankOfFile& only = found_.list.front(); found_.list.size() == 1) {
      only.number = only.older = number_;
      only.processes.clear();
      only.job.clear();
    }
    return std::move(found_);
  }

 private:
  void divide() {
    std::map<std::string, std::set<RankAndJob>> ranks_of;  // by recording
    std::map<std::string, Some> without_rank;
    for (size_t i = 0; i < processes_.size(); ++i) {
      const std::string& recording = processes_[i].recording;
      if (const auto rank = environment_.ranks[i])
        ranks_[*ranks_of[recording].emplace(*rank, environment_.jobs[i]).first].own.push_back(i);
      else
        without_rank[recording].push_back(i);
    }
    std::set<RankAndJob> all;
    for (const auto& [key, members] : ranks_) all.insert(key);
    for (const auto& [recording, some] : without_rank) {
      const auto its = ranks_of.find(recording);
      const bool has_ranks = its != ranks_of.end();
      if (has_ranks || (all.size() == 1 && !may_have_lost_ranks(some)))
        add_without_rank(some, has_ranks ? its->second : all);
      else
        for (const size_t i : some) ranks_[{-1, all.empty() ? "" : environment_.jobs[i]}].own.push_back(i);
    }
  }

  // In a damaged file, the description of a process may be lost.
  bool may_have_lost_ranks(const Some& some) const {
    const auto is_inside = [&](const trace::Problem& problem) { return problem.offset < reader_.trace_size(); };
    return std::any_of(reader_.problems().begin(), reader_.problems().end(), is_inside) &&
           std::any_of(some.begin(), some.end(), [&](size_t i) { return processes_[i].has_events; });
  }

  // `ranks`: those that they may belong to.
  void add_without_rank(const Some& some, const std::set<RankAndJob>& ranks) {
    const std::vector<Leader> leaders = find_leaders(reader_, processes_, some, 1);
    LeaderOf leader_of;
    for (size_t k = 0; k < leaders.size(); ++k) leader_of[leaders[k].process] = k;
    add_children(leader_of, some);
    const size_t first = found_.list.size();
    for (const Leader& leader : leaders) {
      RankOfFile& trace = found_.list.emplace_back();
      trace.job = environment_.jobs[leader.process];
      trace.run = run_of(processes_[leader.process].info->origin);
      trace.number = trace.older = number_of({-1, trace.job}, leader.process);
      trace.is_beside = true;
    }
    for (const size_t i : some) {
      if (const auto leader = leader_of.find(i); leader != leader_of.end())
        found_.list[first + leader->second].processes.insert(processes_[i].info->id);
      else if (ranks.size() == 1)
        ranks_[*ranks.begin()].helpers.push_back(i);
      else
        found_.left_out += processes_[i].has_events && !processes_[i].is_same_again ? 1 : 0;
    }
  }

  void add_rank(const RankAndJob& key, const Members& members) {
    std::vector<Leader> leaders = find_leaders(reader_, processes_, members.own, 2);
    if (leaders.empty()) leaders.emplace_back().process = members.own.front();
    Some all = members.own;
    all.insert(all.end(), members.helpers.begin(), members.helpers.end());
    std::sort(all.begin(), all.end());
    const LeaderOf leader_of = divide_rank(all, leaders);
    const size_t first = found_.list.size();
    const std::set<size_t> beside = find_beside(leaders);
    for (const Leader& leader : leaders) {
      RankOfFile& trace = found_.list.emplace_back();
      trace.is_beside = beside.contains(leader.process);
      trace.rank = trace.is_beside ? -1 : key.first;
      trace.job = leaders.size() == 1 ? key.second : environment_.jobs[leader.process];
      if (leaders.size() > 1) trace.run = run_of(processes_[leader.process].info->origin);
      trace.older = number_of(key);
      trace.number = leaders.size() == 1 ? trace.older : number_of(key, leader.process);
    }
    for (const size_t i : all) found_.list[first + leader_of.at(i)].processes.insert(processes_[i].info->id);
    for (const size_t i : members.helpers) found_.list[first + leader_of.at(i)].helpers.insert(processes_[i].info->id);
  }

  // Each of them belongs to its nearest ancestor that is a leader, or to its first descendant, or to the first leader
  // of its recording.
  LeaderOf divide_rank(const Some& all, const std::vector<Leader>& leaders) const {
    LeaderOf leader_of;
    for (size_t k = 0; k < leaders.size(); ++k) leader_of[leaders[k].process] = k;
    add_children(leader_of, all);
    std::set<size_t> seen;
    for (size_t k = 0; k < leaders.size(); ++k) {
      auto above = processes_[leaders[k].process].parent;
      for (; above && seen.insert(*above).second; above = processes_[*above].parent)
        if (std::binary_search(all.begin(), all.end(), *above)) leader_of.emplace(*above, k);
    }
    add_children(leader_of, all);
    for (const size_t i : all) {
      const auto is_of_recording = [&](const Leader& leader) {
        return processes_[leader.process].recording == processes_[i].recording;
      };
      const auto leader = std::find_if(leaders.begin(), leaders.end(), is_of_recording);
      leader_of.emplace(i, leader == leaders.end() ? 0 : static_cast<size_t>(leader - leaders.begin()));
    }
    return leader_of;
  }

  // Parents are before their children.
  void add_children(LeaderOf& leader_of, const Some& some) const {
    for (const size_t i : some) {
      if (!processes_[i].parent || leader_of.contains(i)) continue;
      const auto parent = leader_of.find(*processes_[i].parent);
      if (parent != leader_of.end()) leader_of.emplace(i, parent->second);
    }
  }

  // A rank is one process at a time: those that are not it.
  std::set<size_t> find_beside(std::vector<Leader> leaders) const {
    std::stable_sort(leaders.begin(), leaders.end(), [](const Leader& a, const Leader& b) {
      return std::tie(a.uses_device, a.length_ns) > std::tie(b.uses_device, b.length_ns);
    });
    std::vector<Leader> ranks;
    std::set<size_t> beside;
    for (const Leader& leader : leaders) {
      const bool is_rank = std::none_of(ranks.begin(), ranks.end(), [&](const Leader& rank) {
        return rank.time.begin < leader.time.end && leader.time.begin < rank.time.end &&
               have_same_run(leader.process, rank.process);
      });
      if (is_rank)
        ranks.push_back(leader);
      else
        beside.insert(leader.process);
    }
    return beside;
  }

  bool have_same_run(size_t a, size_t b) const {
    return processes_[a].recording == processes_[b].recording &&
           run_of(processes_[a].info->origin) == run_of(processes_[b].info->origin);
  }

  // Of the trace of a rank, or of one of its processes. Those of an imported file have another writer each time.
  uint64_t number_of(const RankAndJob& key, std::optional<size_t> process = {}) const {
    std::string text = base::format("{} {} {}", number_, key.first, key.second);
    if (process && processes_[*process].is_imported)
      text += base::format(" {}", *process);
    else if (process)
      text += " " + processes_[*process].info->id.hex();
    return base::hash(std::as_bytes(std::span(text)));
  }

  trace::Reader& reader_;
  const uint64_t number_;
  const std::vector<Process> processes_;
  const Environment environment_;
  std::map<RankAndJob, Members> ranks_;
  RanksOfFile found_;
};

}  // namespace

bool RanksOfFile::has_several() const {
  const RankOfFile* first = nullptr;
  for (const RankOfFile& one : list) {
    if (one.is_beside) continue;
    if (first != nullptr && std::tie(first->rank, first->job) != std::tie(one.rank, one.job)) return true;
    first = &one;
  }
  return false;
}

std::vector<uint64_t> RanksOfFile::older(uint64_t number) const {
  std::set<uint64_t> numbers{number};
  for (const RankOfFile& one : list) numbers.insert(one.older);
  for (const RankOfFile& one : list) numbers.erase(one.number);
  return {numbers.begin(), numbers.end()};
}

RanksOfFile find_ranks(trace::Reader& reader, uint64_t number) { return RankFinder(reader, number).find(); }

std::string text_of(const RanksOfFile& ranks) {
  constexpr size_t kMost = 16;
  std::set<int32_t> known;
  for (const RankOfFile& one : ranks.list)
    if (one.rank >= 0) known.insert(one.rank);
  std::vector<std::string> texts;
  for (const int32_t rank : known) {
    if (texts.size() == kMost) return base::join(texts, ", ") + ", …";
    texts.push_back(base::format("{}", rank));
  }
  return texts.empty() ? "of several jobs" : base::join(texts, ", ");
}

}  // namespace kymo::push
