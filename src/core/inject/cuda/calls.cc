#include "inject/cuda/calls.h"

#include <string_view>

namespace kymo::inject::cuda {
namespace {

constexpr uint32_t kHighestCall = 800;

constexpr StreamPlace place_of_stream(std::string_view name) {
  if (name == "cuLaunchKernel" || name == "cuLaunchCooperativeKernel") return StreamPlace::Launch;
  if (name == "cuLaunchKernelEx") return StreamPlace::Attribute;
  if (name == "cuStreamSynchronize" || name == "cuStreamWaitEvent" || name == "cuLaunchHostFunc")
    return StreamPlace::First;
  if (name == "cuGraphLaunch") return StreamPlace::Second;
  for (const std::string_view fourth : {"cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync", "cuMemcpyAsync",
                                        "cuMemsetD8Async", "cuMemsetD16Async", "cuMemsetD32Async"})
    if (name == fourth) return StreamPlace::Fourth;
  return StreamPlace::None;
}

#define CALL(id, name) \
  { id, Effect::None, place_of_stream(name), Site(Label(name, "cuda")) }
#define EFFECT(id, effect, name) \
  { id, Effect::effect, place_of_stream(name), Site(Label(name, "cuda")) }

// A function has one number for each version of its binary interface, and one more if it uses the default stream of the
// calling thread ("ptds", "ptsz"). The name in the trace is the function's.
constinit Call calls[] = {
    EFFECT(307, Work, "cuLaunchKernel"),
    EFFECT(442, Work, "cuLaunchKernel"),
    EFFECT(652, Work, "cuLaunchKernelEx"),
    EFFECT(653, Work, "cuLaunchKernelEx"),
    EFFECT(477, Work, "cuLaunchCooperativeKernel"),
    EFFECT(478, Work, "cuLaunchCooperativeKernel"),
    EFFECT(514, Work, "cuGraphLaunch"),
    EFFECT(515, Work, "cuGraphLaunch"),
    CALL(527, "cuLaunchHostFunc"),
    CALL(528, "cuLaunchHostFunc"),
    EFFECT(276, Work, "cuMemcpyHtoD"),
    EFFECT(397, Work, "cuMemcpyHtoD"),
    EFFECT(277, Work, "cuMemcpyHtoDAsync"),
    EFFECT(421, Work, "cuMemcpyHtoDAsync"),
    EFFECT(278, Work, "cuMemcpyDtoH"),
    EFFECT(398, Work, "cuMemcpyDtoH"),
    EFFECT(279, Work, "cuMemcpyDtoHAsync"),
    EFFECT(422, Work, "cuMemcpyDtoHAsync"),
    EFFECT(280, Work, "cuMemcpyDtoD"),
    EFFECT(399, Work, "cuMemcpyDtoD"),
    EFFECT(281, Work, "cuMemcpyDtoDAsync"),
    EFFECT(423, Work, "cuMemcpyDtoDAsync"),
    EFFECT(305, Work, "cuMemcpy"),
    EFFECT(408, Work, "cuMemcpy"),
    EFFECT(306, Work, "cuMemcpyAsync"),
    EFFECT(418, Work, "cuMemcpyAsync"),
    EFFECT(287, Work, "cuMemcpy2D"),
    EFFECT(405, Work, "cuMemcpy2D"),
    EFFECT(288, Work, "cuMemcpy2DUnaligned"),
    EFFECT(406, Work, "cuMemcpy2DUnaligned"),
    EFFECT(289, Work, "cuMemcpy2DAsync"),
    EFFECT(424, Work, "cuMemcpy2DAsync"),
    EFFECT(290, Work, "cuMemcpy3D"),
    EFFECT(407, Work, "cuMemcpy3D"),
    EFFECT(291, Work, "cuMemcpy3DAsync"),
    EFFECT(425, Work, "cuMemcpy3DAsync"),
    EFFECT(318, Work, "cuMemcpyPeer"),
    EFFECT(409, Work, "cuMemcpyPeer"),
    EFFECT(319, Work, "cuMemcpyPeerAsync"),
    EFFECT(426, Work, "cuMemcpyPeerAsync"),
    EFFECT(796, Work, "cuMemcpyBatchAsync"),
    EFFECT(797, Work, "cuMemcpyBatchAsync"),
    EFFECT(249, Work, "cuMemsetD8"),
    EFFECT(411, Work, "cuMemsetD8"),
    EFFECT(250, Work, "cuMemsetD16"),
    EFFECT(412, Work, "cuMemsetD16"),
    EFFECT(251, Work, "cuMemsetD32"),
    EFFECT(413, Work, "cuMemsetD32"),
    EFFECT(216, Work, "cuMemsetD8Async"),
    EFFECT(428, Work, "cuMemsetD8Async"),
    EFFECT(218, Work, "cuMemsetD16Async"),
    EFFECT(429, Work, "cuMemsetD16Async"),
    EFFECT(220, Work, "cuMemsetD32Async"),
    EFFECT(430, Work, "cuMemsetD32Async"),
    EFFECT(222, Work, "cuMemsetD2D8Async"),
    EFFECT(431, Work, "cuMemsetD2D8Async"),
    EFFECT(226, Work, "cuMemsetD2D32Async"),
    EFFECT(433, Work, "cuMemsetD2D32Async"),
    CALL(17, "cuCtxSynchronize"),
    CALL(800, "cuCtxSynchronize"),
    CALL(121, "cuEventSynchronize"),
    CALL(126, "cuStreamSynchronize"),
    CALL(440, "cuStreamSynchronize"),
    CALL(295, "cuStreamWaitEvent"),
    CALL(436, "cuStreamWaitEvent"),
    EFFECT(243, Allocate, "cuMemAlloc"),
    EFFECT(371, Allocate, "cuMemAllocManaged"),
    EFFECT(598, Allocate, "cuMemAllocAsync"),
    EFFECT(599, Allocate, "cuMemAllocAsync"),
    EFFECT(611, Allocate, "cuMemAllocFromPoolAsync"),
    EFFECT(612, Allocate, "cuMemAllocFromPoolAsync"),
    EFFECT(244, AllocatePitch, "cuMemAllocPitch"),
    EFFECT(245, Free, "cuMemFree"),
    EFFECT(600, Free, "cuMemFreeAsync"),
    EFFECT(601, Free, "cuMemFreeAsync"),
};
#undef CALL
#undef EFFECT

constexpr uint8_t kNoCall = 0xff;
static_assert(std::size(calls) < kNoCall);

struct Places {
  uint8_t of[kHighestCall + 1];
};

Places make_places() noexcept {
  Places places;
  for (uint8_t& place : places.of) place = kNoCall;
  for (size_t i = 0; i < std::size(calls); ++i) places.of[calls[i].id] = static_cast<uint8_t>(i);
  return places;
}

}  // namespace

std::span<Call> recorded_calls() noexcept { return calls; }

Call* call_of(uint32_t id) noexcept {
  static const Places places = make_places();
  if (id > kHighestCall || places.of[id] == kNoCall) return nullptr;
  return &calls[places.of[id]];
}

void* stream_of(const Call& call, const CallData& data) noexcept {
  if (data.parameters == nullptr) return nullptr;
  switch (call.stream) {
    case StreamPlace::First:
      return *static_cast<void* const*>(data.parameters);
    case StreamPlace::Second:
      return static_cast<void* const*>(data.parameters)[1];
    case StreamPlace::Fourth:
      return static_cast<void* const*>(data.parameters)[3];
    case StreamPlace::Launch:
      return static_cast<const LaunchParameters*>(data.parameters)->stream;
    case StreamPlace::Attribute: {
      const auto* const config = *static_cast<const LaunchConfig* const*>(data.parameters);
      return config != nullptr ? config->stream : nullptr;
    }
    case StreamPlace::None:
      break;
  }
  return nullptr;
}

bool allocated_by(const Call& call, const CallData& data, Memory& memory) noexcept {
  if (data.parameters == nullptr || data.result == nullptr || *data.result != 0) return false;
  if (call.effect == Effect::Allocate) {
    const auto* const made = static_cast<const AllocateParameters*>(data.parameters);
    if (made->address == nullptr) return false;
    memory = {*made->address, made->bytes};
    return true;
  }
  if (call.effect == Effect::AllocatePitch) {
    const auto* const made = static_cast<const PitchParameters*>(data.parameters);
    if (made->address == nullptr || made->pitch == nullptr) return false;
    memory = {*made->address, *made->pitch * made->height};
    return true;
  }
  return false;
}

bool freed_by(const Call& call, const CallData& data, Memory& memory) noexcept {
  if (call.effect != Effect::Free || data.parameters == nullptr) return false;
  memory = {static_cast<const FreeParameters*>(data.parameters)->address, 0};
  return memory.address != 0;
}

}  // namespace kymo::inject::cuda
