#include "push/leaders.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "analyze/report/events.h"
#include "analyze/report/iterations.h"

namespace kymo::push {
namespace {

using analyze::Iterations;

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

}  // namespace

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
      tree.has_leader |= add(read_iterations(reader, i, {processes[i].info->id}, {StepMarks, NamedRanges}));
    if (!tree.has_leader) add(read_iterations(reader, tree.top, tree.with_events, {RepeatingRange}));
  }
  add_whole_recordings(reader, processes, trees, leaders);
  std::sort(leaders.begin(), leaders.end(), [](const Leader& a, const Leader& b) { return a.process < b.process; });
  return leaders;
}

}  // namespace kymo::push
