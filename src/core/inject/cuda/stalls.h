// Why the warps of kernels wait: CUPTI's PC sampling in the program's contexts, for `kymo record --gpu-stalls`.
//
// Each multiprocessor samples the instruction of one of its warps at a fixed number of cycles, and why the warp did not
// issue it. Kernels are not serialized. CUPTI counts by instruction, and finish() writes the counts: one mark for each
// instruction and reason, with the name of the kernel and the category "gpu stall".
//
// Nothing here throws. A problem is told to the user once, and the program goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "inject/cuda/cupti.h"

namespace kymo::inject::cuda {

class Stalls {
 public:
  explicit Stalls(void* cupti) : cupti_(cupti) {}

  // For callbacks of CUPTI.
  void context_created(void* context) noexcept;
  void context_ends(void* context) noexcept;
  void module_loaded(void* context, const Module& module) noexcept;
  // Ends the sampling of all contexts, and writes what was counted into the trace.
  void finish() noexcept;

 private:
  // The records of a read, with room for the reasons of each.
  struct Buffer {
    void make(size_t reasons);
    PcSamples samples{};
    std::vector<PcRecord> records;
    std::vector<PcReason> reasons;
  };
  struct Context {
    Buffer rest;  // CUPTI fills it when the sampling ends
    std::vector<uint32_t> wanted;
  };
  using Place = std::tuple<uint64_t, std::string, uint64_t>;  // cubin, function, offset

  void start(void* context);
  void read(void* context);
  void end(void* context);
  void count(const PcSamples& samples);
  std::string line_of(const Place& place) const;
  void write();

  void* cupti_;
  std::mutex mutex_;
  std::map<void*, std::unique_ptr<Context>> contexts_;
  std::map<uint32_t, std::string> reasons_;
  Buffer buffer_;
  std::map<uint64_t, std::string> cubins_;                // with line tables, by CUPTI's number
  std::map<Place, std::map<uint32_t, uint64_t>> counts_;  // by reason
  uint64_t dropped_ = 0;
  bool has_said_ = false;
};

}  // namespace kymo::inject::cuda
