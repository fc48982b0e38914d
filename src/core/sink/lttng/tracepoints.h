// LTTng's tracepoints, provider "kymo", in the form that its macros need. This file is included several times.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER kymo
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "sink/lttng/tracepoints.h"

#if !defined(KYMO_SINK_LTTNG_TRACEPOINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define KYMO_SINK_LTTNG_TRACEPOINTS_H

#include <lttng/tracepoint.h>

#include <cstdint>

LTTNG_UST_TRACEPOINT_EVENT(kymo, range_push, LTTNG_UST_TP_ARGS(const char*, text),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_string(text, text)))
LTTNG_UST_TRACEPOINT_EVENT(kymo, range_pop, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(kymo, range_start, LTTNG_UST_TP_ARGS(const char*, text, uint64_t, handle),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_string(text, text)
                                                   lttng_ust_field_integer(uint64_t, handle, handle)))
LTTNG_UST_TRACEPOINT_EVENT(kymo, range_end, LTTNG_UST_TP_ARGS(uint64_t, handle),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, handle, handle)))
LTTNG_UST_TRACEPOINT_EVENT(kymo, mark, LTTNG_UST_TP_ARGS(const char*, text),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_string(text, text)))
LTTNG_UST_TRACEPOINT_EVENT(kymo, counter, LTTNG_UST_TP_ARGS(const char*, text, double, value),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_string(text, text)
                                                   lttng_ust_field_float(double, value, value)))

// From the device profiler. Its names and messages are not NUL-terminated, so they are sequences of characters.
LTTNG_UST_TRACEPOINT_EVENT(
    kymo, interval_begin,
    LTTNG_UST_TP_ARGS(uint64_t, execution, const char*, name, uint32_t, name_length, uint64_t, id, uint64_t, run),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, execution, execution)
                            lttng_ust_field_sequence_text(char, name, name, uint32_t, name_length)
                                lttng_ust_field_integer(uint64_t, id, id) lttng_ust_field_integer(uint64_t, run, run)))
LTTNG_UST_TRACEPOINT_EVENT(
    kymo, interval_end,
    LTTNG_UST_TP_ARGS(uint64_t, execution, const char*, name, uint32_t, name_length, uint64_t, id, uint64_t, run,
                      uint64_t, start_ns, uint64_t, end_ns, const char*, message, uint32_t, message_length),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, execution, execution)
                            lttng_ust_field_sequence_text(char, name, name, uint32_t, name_length)
                                lttng_ust_field_integer(uint64_t, id, id) lttng_ust_field_integer(uint64_t, run, run)
                                    lttng_ust_field_integer(uint64_t, start_ns, start_ns)
                                        lttng_ust_field_integer(uint64_t, end_ns, end_ns)
                                            lttng_ust_field_sequence_text(char, message, message, uint32_t,
                                                                          message_length)))
LTTNG_UST_TRACEPOINT_EVENT(
    kymo, event,
    LTTNG_UST_TP_ARGS(uint64_t, id, const char*, name, uint32_t, name_length, uint64_t, run, uint64_t, start_ns,
                      uint64_t, end_ns, const char*, message, uint32_t, message_length),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint64_t, id, id) lttng_ust_field_sequence_text(char, name, name, uint32_t, name_length)
            lttng_ust_field_integer(uint64_t, run, run) lttng_ust_field_integer(uint64_t, start_ns, start_ns)
                lttng_ust_field_integer(uint64_t, end_ns, end_ns)
                    lttng_ust_field_sequence_text(char, message, message, uint32_t, message_length)))

#endif

#include <lttng/tracepoint-event.h>
