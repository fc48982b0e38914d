// Rules for whole messages, beyond the check of each field: an id is not 0, only one kind of time window.
#pragma once

#include "base/result.h"
#include "wire/agent_messages.h"
#include "wire/session_messages.h"
#include "wire/tool_messages.h"

namespace kymo::wire {

base::Check check_options(const TraceOptions& options);

base::Check check_message(const Hello& message);
base::Check check_message(const Start& message);
base::Check check_message(const Cancel& message);
base::Check check_message(const Stop& message);
base::Check check_message(const Status& message);
base::Check check_message(const Done& message);
base::Check check_message(const Trigger& message);
base::Check check_message(const TriggerUpdate& message);

// All other messages need no further check.
template <class M>
base::Check check_message(const M&) {
  return {};
}

}  // namespace kymo::wire
