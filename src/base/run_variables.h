// The environment variables that describe a run of a program, and are therefore in its trace.
#pragma once

#include <array>
#include <string_view>

namespace kymo::base {

// `variable` is NAME=VALUE. True for variables that change how a program runs, and for none that may contain a secret.
// Variables that `kymo record` sets itself are excluded.
constexpr bool describes_run(std::string_view variable) noexcept {
  constexpr std::array<std::string_view, 4> kOwn{"KYMO_SESSION",
                                                 "KYMO_POLICY=", "KYMO_RING_BYTES=", "KYMO_SAMPLE_PACKETS="};
  for (const std::string_view own : kOwn)
    if (variable.starts_with(own)) return false;
  constexpr std::array<std::string_view, 12> kPrefixes{"KYMO_",        "CUDA_",     "OMP_",        "MKL_",
                                                       "OPENBLAS_NUM", "SLURM_JOB", "LD_PRELOAD=", "GOMP_",
                                                       "MALLOC_",      "POCL_",     "MESA_",       "VK_"};
  for (const std::string_view prefix : kPrefixes)
    if (variable.starts_with(prefix)) return variable.find('=') != std::string_view::npos;
  // The place of a process in its job, and which run of the job it is, for tables of many traces.
  constexpr std::array<std::string_view, 11> kPlaces{
      "RANK=",       "LOCAL_RANK=",       "WORLD_SIZE=",          "SLURM_PROCID=",   "OMPI_COMM_WORLD_RANK=",
      "PMI_RANK=",   "SLURM_HET_JOB_ID=", "SLURM_RESTART_COUNT=", "PMIX_NAMESPACE=", "TORCHELASTIC_RUN_ID=",
      "MASTER_PORT="};
  for (const std::string_view place : kPlaces)
    if (variable.starts_with(place)) return true;
  return false;
}

}  // namespace kymo::base
