// The built-in sinks of Kymo, one file each.
#pragma once

#include <string>

#include "kymo/error.h"
#include "kymo/sink_calls.h"

namespace kymo::sink {

struct BuiltinSink {
  const char* name;
  // Why it is not available here, and what to do, in one line; empty: it is available. Changes nothing.
  std::string (*absent)();
  // Returns the sink, ready to be added; always the same one. Throws NotAvailable.
  const kymo_sink& (*open)();
};

// The exception that `open` throws.
inline NotAvailable not_available(const char* name, const std::string& why) {
  return NotAvailable("no sink \"" + std::string(name) + "\" here: " + why);
}

BuiltinSink usdt();
BuiltinSink lttng();
BuiltinSink trace_marker();
BuiltinSink nvtx();

}  // namespace kymo::sink
