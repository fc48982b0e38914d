#include "analyze/report/ranks.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyze/report/device_work.h"

namespace kymo::analyze {
namespace {

// The samples of a process have a writer of their own, which may not say the rank.
using ProcessKey = std::tuple<std::string, std::string, uint64_t>;

ProcessKey key_of(const trace::Origin& origin) { return {origin.host, origin.boot_id, origin.pid}; }

bool has_queue(const trace::WriterInfo& writer) {
  return std::ranges::any_of(writer.tracks,
                             [](const auto& track) { return track.second.kind == trace::TrackKind::DeviceQueue; });
}

std::vector<RankTimes> list_ranks(const trace::Reader& reader, const std::set<std::string>& names) {
  std::map<std::string, RankTimes> ranks;
  std::map<ProcessKey, std::string> processes;
  for (const auto& [id, writer] : reader.writers()) {
    const std::string name = rank_name(writer);
    if (!names.contains(name)) continue;
    ranks[name].name = name;
    ranks[name].writers.insert(id);
    if (writer.origin.pid != 0) processes[key_of(writer.origin)] = name;
  }
  for (const auto& [id, writer] : reader.writers())
    if (const auto process = processes.find(key_of(writer.origin)); process != processes.end())
      ranks[process->second].writers.insert(id);
  std::vector<RankTimes> list;
  for (auto& [name, rank] : ranks) list.push_back(std::move(rank));
  // "rank 10" after "rank 9".
  std::ranges::stable_sort(list, [](const RankTimes& a, const RankTimes& b) {
    return a.name.size() != b.name.size() ? a.name.size() < b.name.size() : a.name < b.name;
  });
  return list;
}

// A wait ends when the last rank arrives, which is also the end of a time in which all others waited for that one.
void add_waits(const DeviceWork& work, const Arrivals& arrivals, std::vector<RankTimes>& ranks) {
  const auto rank_of = [&](uint32_t device) {
    return std::ranges::find(ranks, work.devices[device].rank, &RankTimes::name);
  };
  std::map<int64_t, size_t> last;
  const RankArrivals* const straggler = straggler_of(arrivals);
  for (const RankArrivals& one : arrivals.ranks) {
    const auto rank = rank_of(one.device);
    if (rank == ranks.end()) continue;
    for (const Interval& time : one.awaited.all()) last[time.end] = static_cast<size_t>(rank - ranks.begin());
    rank->awaited = united(rank->awaited, one.awaited);
    rank->calls += one.calls;
    rank->last_at += one.last_at;
    rank->waited_ns += one.waited_ns;
    rank->is_straggler |= &one == straggler;
  }
  for (const auto& [device, waiting] : arrivals.waiting) {
    const auto rank = rank_of(device);
    if (rank == ranks.end()) continue;
    for (const Interval& time : waiting.all()) {
      const auto known = last.find(time.end);
      rank->waits.push_back({time, known == last.end() ? std::nullopt : std::optional(known->second)});
    }
  }
}

}  // namespace

std::vector<RankTimes> find_ranks(const trace::Reader& reader) {
  std::set<std::string> names, with_queues;
  for (const auto& [id, writer] : reader.writers()) {
    if (!rank_number(writer).empty()) names.insert(rank_name(writer));
    if (has_queue(writer)) with_queues.insert(rank_name(writer));
  }
  if (names.size() < 2 && with_queues.size() < 2) return {};
  EventWalk walk(reader);
  const DeviceWork work = read_device_work(walk);
  const Arrivals arrivals = find_arrivals(walk, work, find_iterations(walk, launching_track(work)).window());
  for (const RankArrivals& one : arrivals.ranks) names.insert(work.devices[one.device].rank);
  std::vector<RankTimes> ranks = list_ranks(reader, names);
  if (ranks.size() < 2) return {};
  add_waits(work, arrivals, ranks);
  for (RankTimes& rank : ranks) {
    std::set<trace::WriterId> others;
    for (const auto& [id, writer] : reader.writers())
      if (!rank.writers.contains(id)) others.insert(id);
    const auto is_own = [&](uint32_t track) { return rank.writers.contains(walk.tracks()[track].writer->id); };
    rank.iterations = find_iterations(walk, launching_track(work, is_own), others);
    rank.numbers = iteration_numbers(walk, rank.iterations);
  }
  return ranks;
}

}  // namespace kymo::analyze
