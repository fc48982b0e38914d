#include "push/run_name.h"

#include <array>
#include <vector>

#include "base/text.h"

namespace kymo::push {
namespace {

// The parts of a job of several components have one number for all of them.
constexpr std::array<std::string_view, 2> kJobIds{"SLURM_HET_JOB_ID", "SLURM_JOB_ID"};
// Slurm starts a job again with the same number. All ranks connect to the same port.
constexpr std::array<std::string_view, 4> kLaunches{"SLURM_RESTART_COUNT", "PMIX_NAMESPACE", "TORCHELASTIC_RUN_ID",
                                                    "MASTER_PORT"};
constexpr std::string_view kNoId = "none";  // of a torchrun without --rdzv-id

}  // namespace

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
  return run_name([&](std::string_view name) -> std::string {
    for (const auto& [key, value] : origin.metadata)
      if (key == name) return value;
    return {};
  });
}

std::string find_run(const trace::Reader& reader) {
  return run_name([&](std::string_view name) -> std::string {
    for (const auto& [id, process] : reader.writers())
      for (const auto& [key, value] : process.origin.metadata)
        if (key == name && !value.empty()) return value;
    return {};
  });
}

}  // namespace kymo::push
