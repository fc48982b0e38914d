// The calls of the CUDA driver that Kymo records: those that launch, copy, fill, synchronize, wait or allocate. Calls
// of the CUDA runtime end in these, with the same correlation, so that they are seen too.
//
// All other calls stay without a callback: there are ten times as many, and each callback costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "inject/cuda/abi.h"
#include "kymo/annotate.h"

namespace kymo::inject::cuda {

enum class Effect : uint8_t { None, Work, Allocate, AllocatePitch, Free };  // Work: one operation of a device

// Where a call has its stream.
enum class StreamPlace : uint8_t {
  None,      // nowhere, or the layout is not known
  First,     // the only parameter
  Second,    // after a handle
  Fourth,    // after three of 8 bytes
  Launch,    // cuLaunchKernel
  Attribute  // in the structure of cuLaunchKernelEx
};

struct Call {
  uint32_t id;  // CUPTI's number of the function
  Effect effect;
  StreamPlace stream;
  Site site;  // the function's name, category "cuda"
};

std::span<Call> recorded_calls() noexcept;

// Null for all other functions. Costs one load.
Call* call_of(uint32_t id) noexcept;

// The stream that the program gave to the call; null: it has none, or the default stream.
void* stream_of(const Call& call, const CallData& data) noexcept;

// What a call has allocated, or is about to free. False if the call failed, or allocates nothing.
struct Memory {
  uint64_t address, bytes;
};
bool allocated_by(const Call& call, const CallData& data, Memory& memory) noexcept;
bool freed_by(const Call& call, const CallData& data, Memory& memory) noexcept;

}  // namespace kymo::inject::cuda
