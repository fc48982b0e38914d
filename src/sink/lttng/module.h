// What libkymo and its module for LTTng know of each other.
#pragma once

#include "kymo/sink_calls.h"

namespace kymo::sink {

inline constexpr const char* kLttngModule = "libkymo_lttng.so";
inline constexpr const char* kLttngSymbol = "kymo_lttng_sink_1";  // another number where kymo_sink has changed
using LttngSink = const kymo_sink*();

}  // namespace kymo::sink
