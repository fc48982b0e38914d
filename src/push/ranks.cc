#include "push/ranks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/hash.h"
#include "base/text.h"

namespace kymo::push {
namespace {

using trace::WriterId;
using trace::WriterInfo;

// PyTorch's profiler writes it beside the events: {"rank": 3, "world_size": 8}.
constexpr std::string_view kInfo = "distributedInfo";
constexpr std::string_view kImported = "imported from";
constexpr std::array<std::string_view, 6> kRankVariables{"KYMO_RANK", "RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK",
                                                         "PMI_RANK",  kInfo};
constexpr std::array<std::string_view, 3> kJobVariables{"KYMO_JOB", "SLURM_JOB_NAME", "SLURM_JOB_ID"};

// Empty: there is none.
std::string rank_in_info(std::string_view info) {
  constexpr std::string_view kKey = "\"rank\"", kBefore = " :\"", kAfter = " \",}";
  const size_t key = info.find(kKey);
  if (key == info.npos) return {};
  info.remove_prefix(key + kKey.size());
  info.remove_prefix(std::min(info.find_first_not_of(kBefore), info.size()));
  return std::string(info.substr(0, info.find_first_of(kAfter)));
}

std::optional<int32_t> parse_rank(std::string_view text) {
  int32_t rank = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc() || end != text.data() + text.size() || rank < 0) return std::nullopt;
  return rank;
}

std::optional<std::string> parse_job(std::string_view, const std::string& text) {
  if (text.empty()) return std::nullopt;
  return text;
}

using Processes = std::vector<const WriterInfo*>;

// The values that the processes have of the first variable of which one of them has a value. A launcher may have
// another variable: that of Slurm counts the launchers.
template <typename Value, size_t kCount, typename Parse>
std::map<WriterId, Value> values_of(const Processes& processes, const std::array<std::string_view, kCount>& variables,
                                    Parse&& parse) {
  std::map<WriterId, Value> values;
  for (const std::string_view variable : variables) {
    for (const WriterInfo* process : processes)
      for (const auto& [key, text] : process->origin.metadata)
        if (key == variable)
          if (auto value = parse(variable, text)) values.emplace(process->id, *std::move(value));
    if (!values.empty()) break;
  }
  return values;
}

// Finds the process that had a number when a child of it began. Numbers are used again: after exec, and by later
// processes.
class Parents {
 public:
  explicit Parents(const Processes& processes) {
    for (const WriterInfo* process : processes) by_start_.insert_or_assign(key(process->origin.pid, *process), process);
  }
  // Null: it was not recorded.
  const WriterInfo* of(const WriterInfo& child) const {
    const uint64_t pid = child.origin.parent_pid;
    const auto after = by_start_.upper_bound(key(pid, child));
    if (pid == 0 || after == by_start_.begin()) return nullptr;
    const WriterInfo* last = std::prev(after)->second;
    return last->origin.pid == pid && last->origin.boot_id == child.origin.boot_id ? last : nullptr;
  }

 private:
  using Key = std::tuple<std::string_view, uint64_t, uint64_t>;
  static Key key(uint64_t pid, const WriterInfo& when) {
    return {when.origin.boot_id, pid, when.origin.start_realtime_ns};
  }
  std::map<Key, const WriterInfo*> by_start_;
};

// Gives each process without a value that of its nearest ancestor.
template <typename Value>
void inherit(std::map<WriterId, Value>& values, const Processes& processes) {
  if (values.empty() || values.size() == processes.size()) return;
  const Parents parents(processes);
  std::set<WriterId> seen;
  for (const WriterInfo* process : processes) {
    Processes line;  // up to an ancestor with a value, or one that has none
    const WriterInfo* at = process;
    for (; at != nullptr && !values.contains(at->id) && seen.insert(at->id).second; at = parents.of(*at))
      line.push_back(at);
    const auto value = at == nullptr ? values.end() : values.find(at->id);
    if (value == values.end()) continue;
    for (const WriterInfo* one : line) values.emplace(one->id, value->second);
  }
}

std::map<std::string, Processes> recordings_of(const trace::Reader& reader) {
  std::map<std::string, Processes> recordings;
  for (const auto& [id, process] : reader.writers()) recordings[recording_of(process.origin)].push_back(&process);
  return recordings;
}

using RankAndJob = std::pair<int32_t, std::string>;

class RankFinder {
 public:
  void add(const Processes& recording) {
    const auto parse = [&](std::string_view variable, const std::string& value) {
      const std::string text = variable == kInfo ? rank_in_info(value) : value;
      const auto rank = parse_rank(text);
      if (!rank && !text.empty() && not_a_rank_.empty())
        not_a_rank_ = base::format("{}={}", variable == kInfo ? "rank in distributedInfo" : variable, text);
      return rank;
    };
    auto ranks = values_of<int32_t>(recording, kRankVariables, parse);
    auto jobs = values_of<std::string>(recording, kJobVariables, parse_job);
    inherit(ranks, recording);
    inherit(jobs, recording);
    const auto is_other = [&](const auto& one) { return one.second != jobs.begin()->second; };
    if (!jobs.empty() && std::none_of(jobs.begin(), jobs.end(), is_other))
      for (const WriterInfo* process : recording) jobs.emplace(process->id, jobs.begin()->second);
    std::map<RankAndJob, std::set<WriterId>> found;
    for (const WriterInfo* process : recording) {
      const auto rank = ranks.find(process->id);
      if (rank == ranks.end() && !ranks.empty()) continue;
      const auto job = jobs.find(process->id);
      found[{rank == ranks.end() ? -1 : rank->second, job == jobs.end() ? "" : job->second}].insert(process->id);
    }
    // All of them belong to the only one.
    if (found.size() == 1)
      for (const WriterInfo* process : recording) found.begin()->second.insert(process->id);
    for (auto& [key, processes] : found) ranks_[key].merge(processes);
  }

  RanksOfFile finish(uint64_t number) {
    RanksOfFile ranks;
    ranks.not_a_rank = std::move(not_a_rank_);
    const auto is_known = [](const auto& one) { return one.first.first >= 0; };
    if (std::count_if(ranks_.begin(), ranks_.end(), is_known) <= 1) {
      const auto known = std::find_if(ranks_.begin(), ranks_.end(), is_known);
      ranks.list.push_back({known == ranks_.end() ? -1 : known->first.first, "", {}, number});
      return ranks;
    }
    for (auto& [key, processes] : ranks_) {
      const std::string text = base::format("{} {} {}", number, key.first, key.second);
      ranks.list.push_back({key.first, key.second, std::move(processes), base::hash(std::as_bytes(std::span(text)))});
    }
    return ranks;
  }

 private:
  std::map<RankAndJob, std::set<WriterId>> ranks_;
  std::string not_a_rank_;
};

}  // namespace

RanksOfFile find_ranks(const trace::Reader& reader, uint64_t number) {
  RankFinder finder;
  for (const auto& [name, recording] : recordings_of(reader)) finder.add(recording);
  return finder.finish(number);
}

// Each process of an imported file has a session of its own.
std::string recording_of(const trace::Origin& origin) {
  for (const auto& [key, value] : origin.metadata)
    if (key == kImported) return "file " + value;
  return origin.session;
}

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
  return base::join(texts, ", ");
}

std::string find_job(const trace::Reader& reader) {
  Processes processes;
  for (const auto& [id, process] : reader.writers()) processes.push_back(&process);
  const auto jobs = values_of<std::string>(processes, kJobVariables, parse_job);
  return jobs.empty() ? "" : jobs.begin()->second;
}

}  // namespace kymo::push
