// The sink "usdt": probes that tracers attach to while the program runs. A probe without a tracer costs a test of its
// semaphore, a word in the program that the tracer increments.
#include "sink/builtin.h"

#if KYMO_HAVE_SDT
#define _SDT_HAS_SEMAPHORES 1
#define STAP_SDT_ARG_CONSTRAINT nr  // in registers: not every tracer can follow an address
#include <sys/sdt.h>

#include <bit>

// The macros form these names from provider and probe.
#define KYMO_SEMAPHORE(probe) \
  __attribute__((section(".probes"), visibility("hidden"), used)) volatile unsigned short kymo_##probe##_semaphore = 0;
extern "C" {
KYMO_SEMAPHORE(range_push)
KYMO_SEMAPHORE(range_pop)
KYMO_SEMAPHORE(range_start)
KYMO_SEMAPHORE(range_end)
KYMO_SEMAPHORE(mark)
KYMO_SEMAPHORE(counter)
KYMO_SEMAPHORE(interval_begin)
KYMO_SEMAPHORE(interval_end)
KYMO_SEMAPHORE(event)
}
#undef KYMO_SEMAPHORE

namespace kymo::sink {
namespace {

constexpr kymo_sink kUsdtSink = {
    .name = "usdt",
    .range_push = [](const char* text, const kymo_label*) { DTRACE_PROBE1(kymo, range_push, text); },
    .range_pop = [] { DTRACE_PROBE(kymo, range_pop); },
    .range_start = [](const char* text, const kymo_label*,
                      uint64_t handle) { DTRACE_PROBE2(kymo, range_start, text, handle); },
    .range_end = [](uint64_t handle) { DTRACE_PROBE1(kymo, range_end, handle); },
    .mark = [](const char* text, const kymo_label*) { DTRACE_PROBE1(kymo, mark, text); },
    .counter =
        [](const char* text, double value) {
          const auto bits = std::bit_cast<uint64_t>(value);  // tracers read integers
          DTRACE_PROBE2(kymo, counter, text, bits);
        },
    .interval_begin =
        [](const kymo_signpost* signpost) {
          const Terminated name(signpost->name, signpost->name_length);
          DTRACE_PROBE4(kymo, interval_begin, signpost->execution, name.text(), signpost->id, signpost->run);
        },
    .interval_end =
        [](const kymo_signpost* signpost) {
          const Terminated name(signpost->name, signpost->name_length);
          DTRACE_PROBE6(kymo, interval_end, signpost->execution, name.text(), signpost->id, signpost->run,
                        signpost->start_ns, signpost->end_ns);
        },
    .event =
        [](const kymo_signpost* signpost) {
          const Terminated name(signpost->name, signpost->name_length);
          DTRACE_PROBE5(kymo, event, signpost->id, name.text(), signpost->run, signpost->start_ns, signpost->end_ns);
        },
    .wants_messages = 0,
    .listens = [](kymo_sink_interest interest) -> int {
      switch (interest) {
        case KYMO_SINK_NESTED:
          return kymo_range_push_semaphore | kymo_range_pop_semaphore;
        case KYMO_SINK_STARTED:
          return kymo_range_start_semaphore | kymo_range_end_semaphore;
        case KYMO_SINK_MARKS:
          return kymo_mark_semaphore;
        case KYMO_SINK_COUNTERS:
          return kymo_counter_semaphore;
        case KYMO_SINK_SIGNPOSTS:
          return kymo_interval_begin_semaphore | kymo_interval_end_semaphore | kymo_event_semaphore;
      }
      return 0;
    },
};

}  // namespace

BuiltinSink usdt() {
  return {kUsdtSink.name, [] { return std::string(); }, []() -> const kymo_sink& { return kUsdtSink; }};
}

}  // namespace kymo::sink
#else
namespace kymo::sink {
namespace {

std::string usdt_absent() { return "built without it: install systemtap-sdt-dev and build Kymo anew"; }

}  // namespace

BuiltinSink usdt() {
  return {"usdt", usdt_absent, []() -> const kymo_sink& { throw not_available("usdt", usdt_absent()); }};
}

}  // namespace kymo::sink
#endif
