#include "push/processes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include "base/rank_variables.h"
#include "base/text.h"

namespace kymo::push {
namespace {

// PyTorch's profiler writes it beside the events: {"rank": 3, "world_size": 8}.
constexpr std::string_view kInfo = "distributedInfo";
constexpr auto kRankVariables = [] {
  std::array<std::string_view, base::kRankVariables.size() + 1> all{};
  std::ranges::copy(base::kRankVariables, all.begin());
  all.back() = kInfo;
  return all;
}();
constexpr std::array<std::string_view, 3> kJobVariables{"KYMO_JOB", "SLURM_JOB_NAME", "SLURM_JOB_ID"};
// The parts of a job of several components have one number for all of them.
constexpr std::array<std::string_view, 2> kJobIds{"SLURM_HET_JOB_ID", "SLURM_JOB_ID"};
// Slurm starts a job again with the same number. All ranks connect to the same port.
constexpr std::array<std::string_view, 4> kLaunches{"SLURM_RESTART_COUNT", "PMIX_NAMESPACE", "TORCHELASTIC_RUN_ID",
                                                    "MASTER_PORT"};
constexpr std::string_view kNoId = "none";  // of a torchrun without --rdzv-id

// Null: it has none.
const std::string* value_of(const trace::Origin& origin, std::string_view name) {
  for (const auto& [key, value] : origin.metadata)
    if (key == name) return &value;
  return nullptr;
}

// Of the first process that the reader shows and that has it; empty: none has it.
std::string first_value(const trace::Reader& reader, std::string_view name) {
  for (const auto& [id, process] : reader.writers())
    if (const std::string* value = value_of(process.origin, name); value != nullptr && !value->empty()) return *value;
  return {};
}

// Null: it was recorded.
const std::string* imported_from(const trace::Origin& origin) { return value_of(origin, "imported from"); }

// The process that had this number last, in the order of the list: numbers are used again, after exec and by later
// processes.
void find_parents(std::vector<Process>& processes) {
  std::map<std::tuple<std::string_view, std::string_view, uint64_t>, size_t> last;
  for (size_t i = 0; i < processes.size(); ++i) {
    Process& process = processes[i];
    const trace::Origin& origin = process.info->origin;
    const auto place_of = [&](uint64_t pid) { return last.find({process.recording, origin.boot_id, pid}); };
    const auto self = place_of(origin.pid), parent = place_of(origin.parent_pid);
    process.is_same_again = process.is_sampled && self != last.end();
    if (process.is_same_again)
      process.parent = self->second;
    else if (origin.parent_pid != 0 && parent != last.end())
      process.parent = parent->second;
    if (!process.is_same_again) last[{process.recording, origin.boot_id, origin.pid}] = i;
  }
}

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

// Each process of an imported file has a session of its own.
std::string recording_of(const trace::Origin& origin) {
  const std::string* file = imported_from(origin);
  return file != nullptr ? "file " + *file : origin.session;
}

std::vector<Process> list_processes(const trace::Reader& reader) {
  std::set<trace::WriterId> with_events;
  for (const trace::EventChunk& chunk : reader.event_chunks()) with_events.insert(chunk.writer);
  std::vector<Process> processes;
  for (const auto& [id, info] : reader.writers()) {
    Process& process = processes.emplace_back();
    process.info = &info;
    process.recording = recording_of(info.origin);
    process.is_imported = imported_from(info.origin) != nullptr;
    process.is_sampled = !process.is_imported && value_of(info.origin, "sampling") != nullptr;
    process.has_events = with_events.contains(id);
  }
  // Writers of imported processes have other numbers each time.
  const auto key = [](const Process& one) {
    const trace::Origin& origin = one.info->origin;
    return std::tie(one.is_sampled, origin.start_realtime_ns, one.recording, origin.pid, origin.executable);
  };
  std::stable_sort(processes.begin(), processes.end(),
                   [&](const Process& a, const Process& b) { return key(a) < key(b); });
  find_parents(processes);
  return processes;
}

Environment read_environment(const std::vector<Process>& processes) {
  Environment environment;
  const auto parse_text = [](std::string_view, const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
  };
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
    read_values(jobs, processes, recording, kJobVariables, parse_text);
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
    if (std::string job = first_value(reader, variable); !job.empty()) return job;
  return {};
}

std::string run_name(const std::function<std::string(std::string_view)>& variable) {
  if (std::string given = variable("KYMO_RUN"); !given.empty()) return given;
  std::vector<std::string> parts;
  const auto add = [&](std::string_view name) {
    const std::string value = variable(name);
    if (value.empty() || value == kNoId) return false;
    parts.push_back(base::format("{}={}", name, value));
    return true;
  };
  for (const std::string_view id : kJobIds)
    if (add(id)) break;
  for (const std::string_view launch : kLaunches) add(launch);
  return base::join(parts, " ");
}

std::string run_of(const trace::Origin& origin) {
  return run_name([&](std::string_view name) {
    const std::string* value = value_of(origin, name);
    return value == nullptr ? std::string() : *value;
  });
}

std::string find_run(const trace::Reader& reader) {
  return run_name([&](std::string_view name) { return first_value(reader, name); });
}

}  // namespace kymo::push
