#include "inject/cuda/calls.h"

#include <string_view>

#include "kymo/export.h"

namespace kymo::inject::cuda {
namespace {

constexpr uint32_t kHighestCall = 800;

constinit thread_local int own_calls = 0;

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

#define CALL(id, effect, name) \
  { id, Effect::effect, place_of_stream(name), Site(Label(name, "cuda")) }
#define PAIR(id, other, effect, name) CALL(id, effect, name), CALL(other, effect, name)

// A function has one number for each version of its binary interface, and one more if it uses the default stream of the
// calling thread ("ptds", "ptsz"). The name in the trace is the function's.
constinit Call calls[] = {
    PAIR(307, 442, Work, "cuLaunchKernel"),
    PAIR(652, 653, Work, "cuLaunchKernelEx"),
    PAIR(477, 478, Work, "cuLaunchCooperativeKernel"),
    PAIR(514, 515, Work, "cuGraphLaunch"),
    PAIR(527, 528, None, "cuLaunchHostFunc"),
    PAIR(276, 397, Work, "cuMemcpyHtoD"),
    PAIR(277, 421, Work, "cuMemcpyHtoDAsync"),
    PAIR(278, 398, Work, "cuMemcpyDtoH"),
    PAIR(279, 422, Work, "cuMemcpyDtoHAsync"),
    PAIR(280, 399, Work, "cuMemcpyDtoD"),
    PAIR(281, 423, Work, "cuMemcpyDtoDAsync"),
    PAIR(305, 408, Work, "cuMemcpy"),
    PAIR(306, 418, Work, "cuMemcpyAsync"),
    PAIR(287, 405, Work, "cuMemcpy2D"),
    PAIR(288, 406, Work, "cuMemcpy2DUnaligned"),
    PAIR(289, 424, Work, "cuMemcpy2DAsync"),
    PAIR(290, 407, Work, "cuMemcpy3D"),
    PAIR(291, 425, Work, "cuMemcpy3DAsync"),
    PAIR(318, 409, Work, "cuMemcpyPeer"),
    PAIR(319, 426, Work, "cuMemcpyPeerAsync"),
    PAIR(796, 797, Work, "cuMemcpyBatchAsync"),
    PAIR(249, 411, Work, "cuMemsetD8"),
    PAIR(250, 412, Work, "cuMemsetD16"),
    PAIR(251, 413, Work, "cuMemsetD32"),
    PAIR(216, 428, Work, "cuMemsetD8Async"),
    PAIR(218, 429, Work, "cuMemsetD16Async"),
    PAIR(220, 430, Work, "cuMemsetD32Async"),
    PAIR(222, 431, Work, "cuMemsetD2D8Async"),
    PAIR(226, 433, Work, "cuMemsetD2D32Async"),
    PAIR(17, 800, None, "cuCtxSynchronize"),
    CALL(121, None, "cuEventSynchronize"),
    PAIR(126, 440, None, "cuStreamSynchronize"),
    PAIR(295, 436, None, "cuStreamWaitEvent"),
    CALL(243, Allocate, "cuMemAlloc"),
    CALL(371, Allocate, "cuMemAllocManaged"),
    PAIR(598, 599, Allocate, "cuMemAllocAsync"),
    PAIR(611, 612, Allocate, "cuMemAllocFromPoolAsync"),
    CALL(244, AllocatePitch, "cuMemAllocPitch"),
    CALL(245, Free, "cuMemFree"),
    PAIR(600, 601, Free, "cuMemFreeAsync"),
};
#undef CALL
#undef PAIR

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

bool is_own_call() noexcept { return own_calls != 0; }

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

bool failed_to_allocate(const Call& call, const CallData& data, Memory& memory) noexcept {
  constexpr int kOutOfMemory = 2;
  if (data.parameters == nullptr || data.result == nullptr || *data.result != kOutOfMemory) return false;
  if (call.effect == Effect::Allocate) {
    memory = {0, static_cast<const AllocateParameters*>(data.parameters)->bytes};
    return true;
  }
  if (call.effect == Effect::AllocatePitch) {
    const auto* const asked = static_cast<const PitchParameters*>(data.parameters);
    memory = {0, asked->width * asked->height};
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

// The address of this thread's count of calls.
extern "C" KYMO_API int* kymo_inject_cuda_calls() { return &kymo::inject::cuda::own_calls; }
