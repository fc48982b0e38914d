// libkymo_lttng.so: the one part of Kymo that links LTTng-UST. lttng.cc loads it.
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "sink/lttng/module.h"

#include "sink/lttng/tracepoints.h"

namespace {

constexpr kymo_sink kSink = {
    .name = "lttng",
    .range_push = [](const char* text, const kymo_label*) { lttng_ust_tracepoint(kymo, range_push, text); },
    .range_pop = [] { lttng_ust_tracepoint(kymo, range_pop); },
    .range_start = [](const char* text, const kymo_label*,
                      uint64_t handle) { lttng_ust_tracepoint(kymo, range_start, text, handle); },
    .range_end = [](uint64_t handle) { lttng_ust_tracepoint(kymo, range_end, handle); },
    .mark = [](const char* text, const kymo_label*) { lttng_ust_tracepoint(kymo, mark, text); },
    .counter = [](const char* text, double value) { lttng_ust_tracepoint(kymo, counter, text, value); },
    .interval_begin =
        [](const kymo_signpost* post) {
          lttng_ust_tracepoint(kymo, interval_begin, post->execution, post->name, post->name_length, post->id,
                               post->run);
        },
    .interval_end =
        [](const kymo_signpost* post) {
          lttng_ust_tracepoint(kymo, interval_end, post->execution, post->name, post->name_length, post->id, post->run,
                               post->start_ns, post->end_ns, post->message, post->message_length);
        },
    .event =
        [](const kymo_signpost* post) {
          lttng_ust_tracepoint(kymo, event, post->id, post->name, post->name_length, post->run, post->start_ns,
                               post->end_ns, post->message, post->message_length);
        },
    .wants_messages = 1,
    .listens = [](kymo_sink_interest interest) -> int {
      switch (interest) {
        case KYMO_SINK_NESTED:
          return lttng_ust_tracepoint_enabled(kymo, range_push) || lttng_ust_tracepoint_enabled(kymo, range_pop);
        case KYMO_SINK_STARTED:
          return lttng_ust_tracepoint_enabled(kymo, range_start) || lttng_ust_tracepoint_enabled(kymo, range_end);
        case KYMO_SINK_MARKS:
          return lttng_ust_tracepoint_enabled(kymo, mark);
        case KYMO_SINK_COUNTERS:
          return lttng_ust_tracepoint_enabled(kymo, counter);
        case KYMO_SINK_SIGNPOSTS:
          return lttng_ust_tracepoint_enabled(kymo, interval_begin) ||
                 lttng_ust_tracepoint_enabled(kymo, interval_end) || lttng_ust_tracepoint_enabled(kymo, event);
      }
      return 0;
    },
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const kymo_sink* kymo_lttng_sink_1() { return &kSink; }
