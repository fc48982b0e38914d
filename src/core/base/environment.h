// Environment variables: those of Kymo, if they can be trusted, and those that describe the run of a program.
//
// Kymo reads all its variables here. A program with more rights than the user who started it (setuid, setgid, file
// capabilities) sees none of them, because they would decide which library it loads and which file it writes.
#pragma once

#include <stdlib.h>

#include <array>
#include <string_view>

#include "base/variables.h"

namespace kymo::base {

// The name of a variable that Kymo reads: one of base/variables.h, or another tool's. Another name does not compile.
class Variable {
 public:
  consteval Variable(const char* name) : name_(name) {  // NOLINT(google-explicit-constructor)
    if (!is_listed_variable(name)) add_it_to_base_variables_h();
  }
  constexpr const char* name() const noexcept { return name_; }

 private:
  static void add_it_to_base_variables_h();  // not defined

  const char* name_;
};

// Null if not set, or not trusted.
inline const char* environment(Variable variable) noexcept { return ::secure_getenv(variable.name()); }

// What a program that is started would inherit, to add to it. Null as above.
inline const char* inherited_environment(const char* name) noexcept { return ::secure_getenv(name); }

// How Kymo's own device runtime and Kymo's Vulkan layer recognize each other in one process. The layer does not record
// an instance whose engine has this name, because the runtime records its work itself.
inline constexpr const char* kVulkanEngine = "Kymo";

// The name of the layer, as in VK_INSTANCE_LAYERS, and its manifest in the folder of the libraries.
inline constexpr const char* kVulkanLayer = "VK_LAYER_KYMO_record";
inline constexpr const char* kVulkanManifest = "kymo/vulkan/kymo_layer.json";

// ---- The variables that describe a run of a program, and are therefore in its trace --------------------------------

// True if `kymo record` has set a variable such as LD_PRELOAD. In a list, the other libraries are of interest.
constexpr bool names_only_kymo(std::string_view value) noexcept {
  if (value.find_first_of(": ") != std::string_view::npos) return false;
  // substr() can throw, and libraries that are loaded into programs must not have the code for that.
  std::string_view file = value;
  file.remove_prefix(value.rfind('/') + 1);
  return (file.starts_with("libkymo_") && file.ends_with(".so")) || value == kVulkanLayer ||
         value.ends_with("/kymo/vulkan");
}

// `variable` is NAME=VALUE. True for variables that change how a program runs, and for none that may contain a secret.
// Variables that `kymo record` sets itself are excluded.
constexpr bool describes_run(std::string_view variable) noexcept {
  constexpr std::array<std::string_view, 8> kOwn{
      "KYMO_SESSION",     "KYMO_POLICY=", "KYMO_RING_BYTES=",       "KYMO_SAMPLE_PACKETS=",
      "KYMO_INTERFACES=", "KYMO_MALLOC=", "KYMO_PYTHON_FUNCTIONS=", "KYMO_STATIC_PROGRAM="};
  for (const std::string_view own : kOwn)
    if (variable.starts_with(own)) return false;
  constexpr std::array<std::string_view, 12> kPrefixes{"KYMO_",        "CUDA_",     "OMP_",        "MKL_",
                                                       "OPENBLAS_NUM", "SLURM_JOB", "LD_PRELOAD=", "GOMP_",
                                                       "MALLOC_",      "POCL_",     "MESA_",       "VK_"};
  for (const std::string_view prefix : kPrefixes)
    if (variable.starts_with(prefix)) {
      const size_t equals = variable.find('=');
      if (equals == std::string_view::npos) return false;
      variable.remove_prefix(equals + 1);
      return !names_only_kymo(variable);
    }
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
