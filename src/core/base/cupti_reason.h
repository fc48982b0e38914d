// Why CUPTI refuses the counters of a GPU, for people.
#pragma once

#include <string>

namespace kymo::base {

inline std::string cupti_reason(int error) {
  switch (error) {
    case 26:
      return "another tool has them (DCGM, ncu, nsys or another kymo)";
    case 27:
      return "this GPU does not have them";
    case 33:
      return "this GPU is a virtual one, and its host does not permit them";
    case 35:
    case 40:
      return "the driver permits them only to root; as root, put 'options nvidia "
             "NVreg_RestrictProfilingToAdminUsers=0' "
             "into /etc/modprobe.d/nvidia.conf and restart, or run kymo as root";
    case 41:
      return "the GPU is in the mode for confidential computing";
    case 43:
      return "the GPU is divided by MIG; nvidia-smi -mig 0 ends that";
    case 45:
      return "Windows (WSL) does not permit them";
    default:
      return "error " + std::to_string(error) + " of CUPTI";
  }
}

}  // namespace kymo::base
