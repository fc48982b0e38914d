#include "analyze/report/gpu_stalls.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "analyze/operation_name.h"

namespace kymo::analyze {
namespace {

constexpr std::string_view kCategory = "gpu stall";
enum StallField : uint8_t { kReason, kSamples, kInstruction, kLine, kFields };  // as inject/cuda/stalls.cc writes them

// As Nsight Compute explains them.
constexpr std::pair<std::string_view, const char*> kTexts[] = {
    {"selected", "issued"},
    {"barrier", "barrier"},
    {"branch_resolving", "branch"},
    {"dispatch_stall", "dispatch"},
    {"drain", "stores before the exit"},
    {"gmma", "tensor cores (wgmma)"},
    {"imc_miss", "constant memory"},
    {"lg_throttle", "too many global memory instructions"},
    {"long_scoreboard", "global or local memory"},
    {"math_pipe_throttle", "math pipe is busy"},
    {"membar", "memory fence"},
    {"mio_throttle", "too many shared memory or special instructions"},
    {"misc", "other"},
    {"no_instructions", "instruction cache"},
    {"no_inst", "instruction cache"},
    {"not_selected", "another warp issued"},
    {"short_scoreboard", "shared memory or special function"},
    {"sleeping", "sleep"},
    {"tex_throttle", "too many texture instructions"},
    {"wait", "previous instruction"},
    {"warpgroup_arrive", "warp group (wgmma)"},
};

KernelStalls::Reasons sorted(const std::map<std::string, uint64_t>& counts) {
  KernelStalls::Reasons all(counts.begin(), counts.end());
  std::ranges::stable_sort(all, std::ranges::greater(), [](const auto& one) { return one.second; });
  return all;
}

}  // namespace

std::string stall_text(const std::string& reason) {
  const auto found = std::ranges::find(kTexts, reason, [](const auto& one) { return one.first; });
  return found == std::end(kTexts) ? reason : found->second;
}

std::vector<KernelStalls> gpu_stalls(EventWalk& walk) {
  const auto has_stalls = [](const auto& one) { return one.second.category == kCategory; };
  using Place = std::pair<uint64_t, std::string>;  // instruction, line
  std::map<std::string, std::map<Place, std::map<std::string, uint64_t>>> counts;
  walk.each(
      trace::kPoints | trace::kPointValues,
      [&](const TrackOfTrace& track) { return std::ranges::any_of(track.writer->classes, has_stalls); },
      [&](TrackOfTrace& track, const trace::EventBatch& batch) {
        trace::ValueCursor cursor(batch.points.values);
        for (size_t i = 0; i < batch.points.size(); ++i) {
          const trace::EventClass* const known = track.writer->find_class(batch.points.class_id[i]);
          const auto& row = cursor.next(known);
          if (known == nullptr || known->category != kCategory || row.size() != kFields) continue;
          uint64_t& samples = counts[operation_name(*known)][{row[kInstruction].bits, std::string(row[kLine].text)}]
                                    [std::string(row[kReason].text)];
          if (__builtin_add_overflow(samples, row[kSamples].bits, &samples)) samples = UINT64_MAX;
        }
      });
  std::vector<KernelStalls> all;
  for (const auto& [kernel, places] : counts) {
    KernelStalls& made = all.emplace_back();
    made.kernel = kernel;
    std::map<std::string, uint64_t> reasons;
    for (const auto& [place, by_reason] : places) {
      KernelStalls::Instruction one{place.first, place.second, 0, sorted(by_reason)};
      for (const auto& [reason, samples] : by_reason) {
        one.samples += samples;
        reasons[reason] += samples;
      }
      made.samples += one.samples;
      made.instructions.push_back(std::move(one));
    }
    made.reasons = sorted(reasons);
    std::ranges::stable_sort(made.instructions, std::ranges::greater(), &KernelStalls::Instruction::samples);
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &KernelStalls::samples);
  return all;
}

}  // namespace kymo::analyze
