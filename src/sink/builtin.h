// The sinks that Kymo brings: one file each.
#pragma once

#include <string>

#include "kymo/error.h"
#include "kymo/sink_calls.h"

namespace kymo::sink {

struct BuiltinSink {
  const char* name;
  // Why it cannot be had here, and what to do about it, in one line; empty: it can. Changes nothing.
  std::string (*absent)();
  // Ready to be added. The same each time; throws NotAvailable.
  const kymo_sink& (*open)();
};

// What `open` throws.
inline NotAvailable not_available(const char* name, const std::string& why) {
  return NotAvailable("no sink \"" + std::string(name) + "\" here: " + why);
}

BuiltinSink usdt();
BuiltinSink lttng();
BuiltinSink trace_marker();
BuiltinSink nvtx();

}  // namespace kymo::sink
