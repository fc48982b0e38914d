#include "push/ranks.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "analyze/report/events.h"
#include "analyze/report/intervals.h"
#include "analyze/report/iterations.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kymo/error.h"
#include "push/processes.h"

namespace kymo::push {
namespace {

using analyze::Iterations;

// A process that has iterations of its own. A trace has the iterations of one process, so each of them leads a trace;
// the others help one of them.
struct Leader {
  size_t process = 0;  // its place in the list
  // Of its iterations:
  analyze::Interval time{};  // from the first to the last one
  uint64_t length_ns = 0;    // their sum
  bool uses_device = false;
};

struct Tree {
  size_t top = 0;
  std::set<trace::WriterId> with_events;
  std::vector<size_t> may_lead;  // they have names of iterations
  bool has_leader = false;
};

// Ancestors and their descendants. The processes of an imported file do not say whose children they are, and are one.
std::vector<Tree> trees_of(const std::vector<Process>& processes, const std::vector<size_t>& some) {
  std::vector<Tree> trees;
  std::map<size_t, size_t> tree_of;  // by process
  std::map<std::string, size_t> tree_of_file;
  for (const size_t i : some) {
    const Process& process = processes[i];
    size_t tree = trees.size();
    if (process.is_imported)
      tree = tree_of_file.emplace(process.recording, tree).first->second;
    else if (const auto parent = process.parent ? tree_of.find(*process.parent) : tree_of.end();
             parent != tree_of.end())
      tree = parent->second;
    if (tree == trees.size()) trees.emplace_back().top = i;
    tree_of[i] = tree;
    if (!process.has_events || process.is_sampled) continue;
    trees[tree].with_events.insert(process.info->id);
    if (analyze::may_name_iterations(*process.info)) trees[tree].may_lead.push_back(i);
  }
  std::erase_if(trees, [](const Tree& tree) { return tree.with_events.empty(); });
  return trees;
}

// What they have, if that is one of these sources.
std::optional<Leader> read_iterations(trace::Reader& reader, size_t process, const std::set<trace::WriterId>& together,
                                      const std::set<Iterations::Source>& wanted) {
  reader.show_only(together);
  analyze::EventWalk walk(reader);
  const Iterations iterations = analyze::find_iterations(walk);
  Leader leader{process, {}, analyze::Intervals(iterations.list).length(), false};
  leader.time = {iterations.list.front().begin, iterations.list.front().end};
  for (const analyze::Interval& one : iterations.list) leader.time.end = std::max(leader.time.end, one.end);
  leader.uses_device = std::any_of(walk.tracks().begin(), walk.tracks().end(),
                                   [](const analyze::TrackOfTrace& track) { return track.on_device; });
  reader.show_only({});
  return wanted.contains(iterations.source) ? std::optional(leader) : std::nullopt;
}

// A recording after or before all others, as one that was appended, is a trace also if it has no iterations: otherwise
// only the operations of one of them would be stored. One at the same time may have the work on devices of another.
void add_whole_recordings(trace::Reader& reader, const std::vector<Process>& processes, const std::vector<Tree>& trees,
                          std::vector<Leader>& leaders) {
  std::map<std::string, const Tree*> first;  // by recording
  std::set<std::string> led;
  for (const Tree& tree : trees) first.emplace(processes[tree.top].recording, &tree);
  for (const Leader& leader : leaders) led.insert(processes[leader.process].recording);
  if (first.size() < 2) return;
  for (const auto& [recording, tree] : first) {
    if (led.contains(recording)) continue;
    const auto whole = read_iterations(reader, tree->top, tree->with_events, {Iterations::Source::WholeTrace});
    const auto is_at_the_same_time = [&](const Leader& other) {
      return other.time.begin < whole->time.end && whole->time.begin < other.time.end;
    };
    if (!whole || whole->time.begin == whole->time.end) continue;
    if (std::none_of(leaders.begin(), leaders.end(), is_at_the_same_time)) leaders.push_back(*whole);
  }
}

// The leaders of some processes of the list, in its order: those that mark or name iterations; and if none of a process
// and its descendants does, the topmost one if they have a range that repeats, or if they are a recording before or
// after all others. Reads nothing, and returns none, if there cannot be as many as `fewest`. The reader shows all
// processes before and afterwards.
std::vector<Leader> find_leaders(trace::Reader& reader, const std::vector<Process>& processes,
                                 const std::vector<size_t>& some, size_t fewest) {
  using enum Iterations::Source;
  std::vector<Tree> trees = trees_of(processes, some);
  size_t most = 0;
  for (const Tree& tree : trees) most += std::max<size_t>(tree.may_lead.size(), 1);
  std::vector<Leader> leaders;
  if (most < fewest) return leaders;
  const auto add = [&](std::optional<Leader> leader) {
    if (leader) leaders.push_back(*leader);
    return leader.has_value();
  };
  for (Tree& tree : trees) {
    for (const size_t i : tree.may_lead)
      tree.has_leader |=
          add(read_iterations(reader, i, {processes[i].info->id}, {StepMarks, NamedRanges, OptimizerSteps}));
    if (!tree.has_leader) add(read_iterations(reader, tree.top, tree.with_events, {RepeatingRange}));
  }
  add_whole_recordings(reader, processes, trees, leaders);
  std::sort(leaders.begin(), leaders.end(), [](const Leader& a, const Leader& b) { return a.process < b.process; });
  return leaders;
}

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
      only.number = number_;
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
      if (has_ranks || all.size() == 1)
        add_without_rank(some, has_ranks ? its->second : all);
      else
        for (const size_t i : some) ranks_[{-1, all.empty() ? "" : environment_.jobs[i]}].own.push_back(i);
    }
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
      trace.number = number_of({-1, trace.job}, leader.process);
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
      trace.rank = beside.contains(leader.process) ? -1 : key.first;
      trace.job = leaders.size() == 1 ? key.second : environment_.jobs[leader.process];
      if (leaders.size() > 1) trace.run = run_of(processes_[leader.process].info->origin);
      trace.number = leaders.size() == 1 ? number_of(key) : number_of(key, leader.process);
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

RanksOfFile find_ranks(trace::Reader& reader, uint64_t number) { return RankFinder(reader, number).find(); }

uint64_t trace_number(const std::string& path) {
  constexpr size_t kReadBytes = 1 << 20;
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw base::file_error("read", path, errno);
  // Each block starts with the hash of what is before it.
  std::vector<std::byte> block(sizeof(uint64_t) + kReadBytes);
  uint64_t number = 0;
  for (uint64_t offset = 0;;) {
    base::store(block.data(), number);
    const size_t got = base::read_at(file, path, offset, std::span(block).subspan(sizeof number));
    number = base::hash(base::Bytes(block.data(), sizeof number + got));
    offset += got;
    if (got < kReadBytes) return number;
  }
}

}  // namespace kymo::push
