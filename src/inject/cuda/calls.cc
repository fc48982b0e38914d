#include "inject/cuda/calls.h"

namespace kymo::inject::cuda {
namespace {

constexpr uint32_t kHighestCall = 800;

#define CALL(id, name) \
  { id, Effect::None, Site(Label(name, "cuda")) }
#define EFFECT(id, effect, name) \
  { id, Effect::effect, Site(Label(name, "cuda")) }

// A function has one number for each version of its binary interface, and one more if it uses the default stream of the
// calling thread ("ptds", "ptsz"). The name in the trace is the function's.
constinit Call calls[] = {
    CALL(307, "cuLaunchKernel"),
    CALL(442, "cuLaunchKernel"),
    CALL(652, "cuLaunchKernelEx"),
    CALL(653, "cuLaunchKernelEx"),
    CALL(477, "cuLaunchCooperativeKernel"),
    CALL(478, "cuLaunchCooperativeKernel"),
    CALL(514, "cuGraphLaunch"),
    CALL(515, "cuGraphLaunch"),
    CALL(527, "cuLaunchHostFunc"),
    CALL(528, "cuLaunchHostFunc"),
    CALL(276, "cuMemcpyHtoD"),
    CALL(397, "cuMemcpyHtoD"),
    CALL(277, "cuMemcpyHtoDAsync"),
    CALL(421, "cuMemcpyHtoDAsync"),
    CALL(278, "cuMemcpyDtoH"),
    CALL(398, "cuMemcpyDtoH"),
    CALL(279, "cuMemcpyDtoHAsync"),
    CALL(422, "cuMemcpyDtoHAsync"),
    CALL(280, "cuMemcpyDtoD"),
    CALL(399, "cuMemcpyDtoD"),
    CALL(281, "cuMemcpyDtoDAsync"),
    CALL(423, "cuMemcpyDtoDAsync"),
    CALL(305, "cuMemcpy"),
    CALL(408, "cuMemcpy"),
    CALL(306, "cuMemcpyAsync"),
    CALL(418, "cuMemcpyAsync"),
    CALL(287, "cuMemcpy2D"),
    CALL(405, "cuMemcpy2D"),
    CALL(288, "cuMemcpy2DUnaligned"),
    CALL(406, "cuMemcpy2DUnaligned"),
    CALL(289, "cuMemcpy2DAsync"),
    CALL(424, "cuMemcpy2DAsync"),
    CALL(290, "cuMemcpy3D"),
    CALL(407, "cuMemcpy3D"),
    CALL(291, "cuMemcpy3DAsync"),
    CALL(425, "cuMemcpy3DAsync"),
    CALL(318, "cuMemcpyPeer"),
    CALL(409, "cuMemcpyPeer"),
    CALL(319, "cuMemcpyPeerAsync"),
    CALL(426, "cuMemcpyPeerAsync"),
    CALL(796, "cuMemcpyBatchAsync"),
    CALL(797, "cuMemcpyBatchAsync"),
    CALL(249, "cuMemsetD8"),
    CALL(411, "cuMemsetD8"),
    CALL(250, "cuMemsetD16"),
    CALL(412, "cuMemsetD16"),
    CALL(251, "cuMemsetD32"),
    CALL(413, "cuMemsetD32"),
    CALL(216, "cuMemsetD8Async"),
    CALL(428, "cuMemsetD8Async"),
    CALL(218, "cuMemsetD16Async"),
    CALL(429, "cuMemsetD16Async"),
    CALL(220, "cuMemsetD32Async"),
    CALL(430, "cuMemsetD32Async"),
    CALL(222, "cuMemsetD2D8Async"),
    CALL(431, "cuMemsetD2D8Async"),
    CALL(226, "cuMemsetD2D32Async"),
    CALL(433, "cuMemsetD2D32Async"),
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
