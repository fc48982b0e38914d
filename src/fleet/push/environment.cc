#include "push/environment.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <string_view>

#include "base/text.h"

namespace kymo::push {
namespace {

// PyTorch's profiler writes it beside the events: {"rank": 3, "world_size": 8}.
constexpr std::string_view kInfo = "distributedInfo";
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

using Some = std::vector<size_t>;  // places in the list of processes

// The values that the processes of a recording have of the first variable of which one of them has a value. A launcher
// may have another variable: that of Slurm counts the launchers.
template <typename Value, size_t kCount, typename Parse>
void read_values(std::vector<std::optional<Value>>& values, const std::vector<Process>& processes,
                 const Some& recording, const std::array<std::string_view, kCount>& variables, Parse&& parse) {
  bool has_values = false;
  for (const std::string_view variable : variables) {
    for (const size_t i : recording)
      for (const auto& [key, text] : processes[i].info->origin.metadata)
        if (key == variable && !values[i]) has_values |= (values[i] = parse(variable, text)).has_value();
    if (has_values) return;
  }
}

// Parents are before their children.
template <typename Value>
void inherit(std::vector<std::optional<Value>>& values, const std::vector<Process>& processes) {
  for (size_t i = 0; i < processes.size(); ++i)
    if (!values[i] && processes[i].parent) values[i] = values[*processes[i].parent];
}

}  // namespace

Environment read_environment(const std::vector<Process>& processes) {
  Environment environment;
  const auto parse = [&](std::string_view variable, const std::string& value) {
    const std::string text = variable == kInfo ? rank_in_info(value) : value;
    const auto rank = parse_rank(text);
    if (!rank && !text.empty() && environment.not_a_rank.empty())
      environment.not_a_rank = base::format("{}={}", variable == kInfo ? "rank in distributedInfo" : variable, text);
    return rank;
  };
  std::map<std::string, Some> recordings;
  for (size_t i = 0; i < processes.size(); ++i) recordings[processes[i].recording].push_back(i);
  environment.ranks.resize(processes.size());
  std::vector<std::optional<std::string>> jobs(processes.size());
  for (const auto& [name, recording] : recordings) {
    read_values(environment.ranks, processes, recording, kRankVariables, parse);
    read_values(jobs, processes, recording, kJobVariables, parse_job);
  }
  inherit(environment.ranks, processes);
  inherit(jobs, processes);
  environment.jobs.resize(processes.size());
  for (const auto& [name, recording] : recordings) {
    std::set<std::string> different;
    for (const size_t i : recording)
      if (jobs[i]) different.insert(*jobs[i]);
    const std::string others = different.size() == 1 ? *different.begin() : "";
    for (const size_t i : recording) environment.jobs[i] = jobs[i].value_or(others);
  }
  return environment;
}

std::string find_job(const trace::Reader& reader) {
  for (const std::string_view variable : kJobVariables)
    for (const auto& [id, process] : reader.writers())
      for (const auto& [key, text] : process.origin.metadata)
        if (key == variable && !text.empty()) return text;
  return {};
}

}  // namespace kymo::push
