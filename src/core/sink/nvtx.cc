// The sink "nvtx": ranges and marks in the domain "kymo", for the tool that NVTX loads
// (NVTX_INJECTION64_PATH, which Nsight Systems sets). Without a tool its calls do nothing.
#include "sink/builtin.h"

#if KYMO_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>

#include "sink/open_ranges.h"

namespace kymo::sink {
namespace {

nvtxDomainHandle_t nvtx_domain() {
  static const nvtxDomainHandle_t made = nvtxDomainCreateA("kymo");
  return made;
}

nvtxEventAttributes_t nvtx_attributes(const char* text) noexcept {
  nvtxEventAttributes_t made{};
  made.version = NVTX_VERSION;
  made.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  made.messageType = NVTX_MESSAGE_TYPE_ASCII;
  made.message.ascii = text;
  return made;
}

nvtxEventAttributes_t nvtx_attributes(const char* text, const kymo_label& label) noexcept {
  nvtxEventAttributes_t made = nvtx_attributes(text);
  if (label.colour != 0) {
    made.colorType = NVTX_COLOR_ARGB;
    made.color = label.colour;
  }
  return made;
}

constinit OpenRanges<nvtxRangeId_t> nvtx_ranges;      // by handle
constinit OpenRanges<nvtxRangeId_t> nvtx_executions;  // of signposts

void start_nvtx_range(OpenRanges<nvtxRangeId_t>& ranges, uint64_t handle, const nvtxEventAttributes_t& event) noexcept {
  const nvtxRangeId_t id = nvtxDomainRangeStartEx(nvtx_domain(), &event);
  if (!ranges.add(handle, id)) nvtxDomainRangeEnd(nvtx_domain(), id);
}

void end_nvtx_range(OpenRanges<nvtxRangeId_t>& ranges, uint64_t handle) noexcept {
  if (const auto id = ranges.take(handle)) nvtxDomainRangeEnd(nvtx_domain(), *id);
}

void nvtx_counter(const char* text, double value) noexcept {
  nvtxEventAttributes_t event = nvtx_attributes(text);
  event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  event.payload.dValue = value;
  nvtxDomainMarkEx(nvtx_domain(), &event);
}

void begin_nvtx_interval(const kymo_signpost* signpost) noexcept {
  const Terminated name(signpost->name, signpost->name_length);
  nvtxEventAttributes_t event = nvtx_attributes(name.text());
  event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  event.payload.ullValue = signpost->run;
  start_nvtx_range(nvtx_executions, signpost->execution, event);
}

void nvtx_mark(const DeviceTimes& text) noexcept {
  const nvtxEventAttributes_t event = nvtx_attributes(text.text());
  nvtxDomainMarkEx(nvtx_domain(), &event);
}

void end_nvtx_interval(const kymo_signpost* signpost) noexcept {
  end_nvtx_range(nvtx_executions, signpost->execution);
  if (signpost->end_ns != 0) nvtx_mark(DeviceTimes(*signpost, signpost->name, signpost->name_length));
}

constexpr kymo_sink kNvtxSink = {
    .name = "nvtx",
    .range_push =
        [](const char* text, const kymo_label* label) {
          const nvtxEventAttributes_t event = nvtx_attributes(text, *label);
          nvtxDomainRangePushEx(nvtx_domain(), &event);
        },
    .range_pop = [] { nvtxDomainRangePop(nvtx_domain()); },
    .range_start = [](const char* text, const kymo_label* label,
                      uint64_t handle) { start_nvtx_range(nvtx_ranges, handle, nvtx_attributes(text, *label)); },
    .range_end = [](uint64_t handle) { end_nvtx_range(nvtx_ranges, handle); },
    .mark =
        [](const char* text, const kymo_label* label) {
          const nvtxEventAttributes_t event = nvtx_attributes(text, *label);
          nvtxDomainMarkEx(nvtx_domain(), &event);
        },
    .counter = nvtx_counter,
    .interval_begin = begin_nvtx_interval,
    .interval_end = end_nvtx_interval,
    .event = [](const kymo_signpost* signpost) { nvtx_mark(DeviceTimes::of_event(*signpost)); },
    .wants_messages = 1,
    .listens = [](kymo_sink_interest) -> int { return nvtx_domain() != nullptr ? 1 : 0; },  // null: no tool created it
};

}  // namespace

BuiltinSink nvtx() {
  return {kNvtxSink.name, [] { return std::string(); },
          []() -> const kymo_sink& {
            nvtx_domain();  // loads the tool now, not in the first annotation
            return kNvtxSink;
          }};
}

}  // namespace kymo::sink
#else
namespace kymo::sink {
namespace {

std::string nvtx_absent() {
  return "built without it: install the CUDA toolkit's headers (nvtx3/nvToolsExt.h) and build Kymo anew";
}

}  // namespace

BuiltinSink nvtx() {
  return {"nvtx", nvtx_absent, []() -> const kymo_sink& { throw not_available("nvtx", nvtx_absent()); }};
}

}  // namespace kymo::sink
#endif
