// The calls of the CUDA driver that Kymo records: those that launch, copy, fill, synchronize, wait or allocate. Calls
// of the CUDA runtime end in these, with the same correlation, so that they are seen too.
//
// All other calls stay without a callback: there are ten times as many, and each callback costs. Calls of Kymo's own
// device runtime (src/devices/device/cuda) are left out: it records its work itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "inject/cuda/cupti.h"
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
// What a call has asked for, if there was not so much memory.
bool failed_to_allocate(const Call& call, const CallData& data, Memory& memory) noexcept;
bool freed_by(const Call& call, const CallData& data, Memory& memory) noexcept;

// Is Kymo's device runtime calling, on this thread? It may be another copy of Kymo's code in the process. It finds
// kymo_inject_cuda_calls() in libkymo_inject.so, and counts there, for each thread, how many of its functions are
// calling CUDA.
bool is_own_call() noexcept;

// Work of the runtime is known by its call: the call is remembered when it is made, and forgotten when the work has
// finished. A fixed table, without locks: numbers of calls increase by one, and repeat after a million.
class OwnWork {
 public:
  void remember(uint32_t correlation) noexcept {
    word_of(correlation).fetch_or(bit_of(correlation), std::memory_order_relaxed);
  }
  // True if it was remembered. A graph has one number and may have several pieces of work, so it stays remembered.
  bool contains(uint32_t correlation) const noexcept {
    return (word_of(correlation).load(std::memory_order_relaxed) & bit_of(correlation)) != 0;
  }
  // A call of the program: its number may have been one of the runtime's a million calls ago.
  void forget(uint32_t correlation) noexcept {
    std::atomic<uint64_t>& word = word_of(correlation);
    if ((word.load(std::memory_order_relaxed) & bit_of(correlation)) != 0)
      word.fetch_and(~bit_of(correlation), std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kNumbers = 1 << 20;
  static uint64_t bit_of(uint32_t correlation) noexcept { return uint64_t{1} << (correlation % 64); }
  std::atomic<uint64_t>& word_of(uint32_t correlation) noexcept { return words_[correlation % kNumbers / 64]; }
  const std::atomic<uint64_t>& word_of(uint32_t correlation) const noexcept {
    return words_[correlation % kNumbers / 64];
  }
  std::atomic<uint64_t> words_[kNumbers / 64] = {};
};

}  // namespace kymo::inject::cuda
