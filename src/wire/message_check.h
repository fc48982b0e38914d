// What must be true of a message beyond each field being one: an id that is not 0, one kind of window and not two.
#pragma once

#include <string>

#include "wire/agent_messages.h"
#include "wire/session_messages.h"
#include "wire/tool_messages.h"

namespace kymo::wire {

// Why it cannot be meant; empty where it can.
std::string options_problem(const TraceOptions& options);

std::string message_problem(const Hello& message);
std::string message_problem(const Start& message);
std::string message_problem(const Cancel& message);
std::string message_problem(const Status& message);
std::string message_problem(const Done& message);
std::string message_problem(const MemoryStart& message);
std::string message_problem(const MemoryDone& message);
std::string message_problem(const Trigger& message);
std::string message_problem(const TriggerUpdate& message);

// All others are what their fields are.
template <class M>
std::string message_problem(const M&) {
  return {};
}

}  // namespace kymo::wire
