// Writes finished work into the trace: one track for each stream of each context.
//
// Times are on the clock that Kymo gave to CUPTI (CLOCK_MONOTONIC), or on CUPTI's own one: the clock's pairs tell
// readers which. CUPTI converts the device's times to it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "inject/cuda/cupti.h"
#include "inject/cuda/kernel_names.h"
#include "inject/cuda/work.h"
#include "kymo/queue_track.h"

namespace kymo::inject::cuda {

// What a launch and its work have in common. CUPTI's numbers start at 1 in each process, as Kymo's own do.
constexpr uint64_t correlation_of(uint32_t cupti_number) { return uint64_t{1} << 40 | cupti_number; }

// How far CUPTI's conversion of a device's time may be off, as far as this can be known: kernels of an idle stream were
// seen to start at most this much before the call that launched them.
inline constexpr uint64_t kConversionErrorNs = 1'000;

// One user at a time: the caller serializes.
class Queues {
 public:
  explicit Queues(const Cupti& cupti) : cupti_(cupti) {}

  void write(const Work& work);
  // To be called before work on the stream is written.
  void note_default_stream(uint32_t context, uint32_t stream) { default_streams_[context] = stream; }
  // The same. A stream whose work was written before keeps its number.
  void note_stream_name(uint32_t context, uint32_t stream, std::string_view name) {
    stream_names_[{context, stream}] = name;
  }
  const std::string& device_name(uint32_t device) { return describe(device).name; }

  uint64_t written() const { return written_; }
  uint64_t lost() const { return lost_; }

 private:
  struct Device {
    std::string name, uuid;
  };
  struct Queue {
    QueueTrack track;
    uint64_t clock_noted_ns = 0;
  };
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;  // device, context, stream

  const Device& describe(uint32_t device);
  Queue& queue_of(const Work& work);
  void note_clock(Queue& queue);

  const Cupti& cupti_;
  KernelNames kernels_;
  std::map<uint32_t, Device> devices_;
  std::map<uint32_t, uint32_t> default_streams_;
  std::map<std::pair<uint32_t, uint32_t>, std::string> stream_names_;  // by context and stream
  std::map<Key, Queue> queues_;
  uint64_t written_ = 0, lost_ = 0;
};

}  // namespace kymo::inject::cuda
