// Rules for whole messages, beyond the check of each field: an id is not 0, only one kind of time window.
#pragma once

#include <string>

#include "wire/agent_messages.h"
#include "wire/session_messages.h"
#include "wire/tool_messages.h"

namespace kymo::wire {

// Why it is not valid; empty if it is.
std::string options_problem(const TraceOptions& options);

std::string message_problem(const Hello& message);
std::string message_problem(const Start& message);
std::string message_problem(const Cancel& message);
std::string message_problem(const Status& message);
std::string message_problem(const Done& message);
std::string message_problem(const Trigger& message);
std::string message_problem(const TriggerUpdate& message);

// All other messages need no further check.
template <class M>
std::string message_problem(const M&) {
  return {};
}

}  // namespace kymo::wire
