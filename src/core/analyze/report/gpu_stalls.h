// Why the warps of kernels wait: the samples of instructions that `kymo record --gpu-stalls` takes
// (inject/cuda/stalls.h).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyze/report/events.h"

namespace kymo::analyze {

struct KernelStalls {
  using Reasons = std::vector<std::pair<std::string, uint64_t>>;  // CUPTI's name, samples; the most first
  struct Instruction {
    uint64_t offset = 0;  // in the kernel's code; ~0: all others together
    std::string line;     // "/home/a/kernel.cu:12"; empty: the kernel was compiled without line tables
    uint64_t samples = 0;
    Reasons reasons;
  };
  std::string kernel;
  uint64_t samples = 0;
  Reasons reasons;
  std::vector<Instruction> instructions;  // the most samples first
};

// In words: "long_scoreboard" is "global or local memory". "selected" is no stall: the warp issued the instruction.
std::string stall_text(const std::string& reason);

// The kernels with the most samples first. Empty: nothing was sampled.
std::vector<KernelStalls> gpu_stalls(EventWalk& walk);

}  // namespace kymo::analyze
