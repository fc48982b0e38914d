// The causes of losses in words, for people and for programs.
#pragma once

#include <cstdint>
#include <span>

#include "trace/model.h"

namespace kymo::trace {

// A sentence has the place of the loss in the middle: "1,024 events" … "because its ring was full (policy drop)".
struct LossWords {
  LossCause cause;
  const char* key;  // for programs that read an export or the output of a command
  const char* thing;
  const char* reason;
  const char* reason_of_several = reason;  // if several threads have lost something
};

// Never fails: a cause of a newer version has words too.
const LossWords& loss_words(LossCause cause);

// The number of events that are missing. A text that was shortened, for example, is a loss but not a lost event.
uint64_t lost_events(std::span<const Loss> losses);

}  // namespace kymo::trace
