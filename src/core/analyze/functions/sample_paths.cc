#include "analyze/functions/sample_paths.h"

#include <string>

#include "analyze/views/merged_paths.h"

namespace kymo::functions {

views::Paths paths_of_samples(Samples& samples, const views::PathOptions& options) {
  using views::FrameKind;
  views::Paths result;
  result.problems = samples.problems;
  views::MergedPaths merged;
  for (const SampledThread& thread : samples.threads) {
    if (thread.stacks.empty()) continue;
    const uint32_t process =
        merged.child(views::PathTrie::kRoot, convert::group_label(*thread.place->group), FrameKind::Process);
    const uint32_t track = merged.child(process, thread.place->name, FrameKind::Track);
    for (const SampledStack& one : thread.stacks) {
      uint32_t node = track;
      if (one.range != 0) node = merged.child(node, samples.ranges[one.range], FrameKind::Range);
      const std::vector<symbols::Frame> frames = samples.stacks->frames(one.stack);
      size_t depth = 0;
      bool is_cut = false;
      for (size_t i = frames.size(); i-- > 0 && !is_cut;) {
        is_cut = ++depth > options.max_depth || merged.size() > options.max_paths;
        if (!is_cut) node = merged.child(node, frames[i].function, FrameKind::Function);
      }
      if (frames.empty()) node = merged.child(node, "(unknown)", FrameKind::Function);
      if (is_cut) result.over_limit += one.count;
      merged.count(node, one.count, one.weight);
    }
  }
  merged.finish(result);
  return result;
}

}  // namespace kymo::functions
