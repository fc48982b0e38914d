// The interface between libkymo and its module for LTTng.
#pragma once

#include "kymo/sink_calls.h"

namespace kymo::sink {

inline constexpr const char* kLttngModule = "libkymo_lttng.so";
inline constexpr const char* kLttngSymbol = "kymo_lttng_sink_1";  // the number changes when kymo_sink changes
using LttngSink = const kymo_sink*();

}  // namespace kymo::sink
