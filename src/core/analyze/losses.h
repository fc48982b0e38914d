// What is missing in a trace, in words: one line for each loss and for each end that is missing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/summary.h"

namespace kymo::analyze {

// Combines losses of the same kind, so that a thousand equal ones are one line.
enum class LossGroups : uint8_t {
  ByTrack,    // one for each cause, process, track and detail
  ByProcess,  // one for each cause, process and detail; the name of the track only if there is one
};

// The counts are added, and the times cover all of a group. Largest first.
std::vector<LossSummary> group_losses(const std::vector<LossSummary>& losses, LossGroups by);

// The losses of one trace: times are relative to its first event, and a process is named if there are several.
class LossTexts {
 public:
  explicit LossTexts(const Summary& summary);

  // "1,024 events on thread 'worker' because its ring was full (policy drop), between +1.20 s and +1.35 s"
  std::string text(const LossSummary& loss) const;

  bool is_placed(const LossSummary& loss) const;  // whether its time is known
  int64_t begin_realtime_ns() const { return begin_realtime_ns_; }

 private:
  std::string time_text(const LossSummary& loss) const;  // empty if it is not known

  int64_t begin_realtime_ns_;
  bool one_process_;
};

std::string missing_text(const MissingEnd& missing);

// All losses of a trace, one line for each cause and process, and then its missing ends.
std::vector<std::string> loss_lines(const Summary& summary);

}  // namespace kymo::analyze
