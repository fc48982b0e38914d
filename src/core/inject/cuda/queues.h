// Finished work on a device, from a record of CUPTI into the trace: one track for each stream of each context.
//
// Times are on CLOCK_MONOTONIC. CUPTI converts the device's times to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "inject/cuda/cupti.h"
#include "inject/cuda/graphs.h"
#include "kymo/annotate.h"
#include "kymo/queue_track.h"

namespace kymo::inject::cuda {

enum class WorkKind : uint8_t {
  Kernel,
  CopyToDevice,
  CopyToHost,
  CopyOnDevice,
  CopyBetweenDevices,
  CopyOnHost,
  Fill,
  Graph
};

// One piece of work.
struct Work {
  WorkKind kind = WorkKind::Kernel;
  std::string_view name;        // a kernel's, mangled; valid as long as the record
  uint64_t start = 0, end = 0;  // nanoseconds; 0: unknown
  uint32_t device = 0, context = 0, stream = 0;
  uint32_t correlation = 0;
  uint64_t bytes = 0;          // of a copy or fill
  uint32_t target_device = 0;  // of a copy between devices
  uint32_t graph = 0;
  uint64_t graph_node = 0;  // 0: in no graph
  uint32_t grid[3] = {}, block[3] = {};
  uint32_t registers = 0, shared_bytes = 0;  // per thread; per block

  bool has_times() const { return start != 0 && end >= start; }
};

// Empty for a record of another kind, and for one that is shorter than its kind: `bytes` is how much of the buffer is
// left. Kernel names must be readable text that ends with 0, as CUPTI makes them.
std::optional<Work> work_from(const void* record, size_t bytes) noexcept;

// The names of kernels as the trace shows them: C++ names are demangled, each name once.
class KernelNames {
 public:
  // The site of a kernel's executions, in graphs or not. It lives as long as the process: recordings refer to it. Null
  // if there are too many kernels: a program that generates its code may have any number of them.
  Site* site_of(std::string_view mangled, bool in_graph = false);

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  struct Named {
    std::string name;
    Site site{Label("")}, in_graph{Label("")};
  };
  std::unordered_map<std::string, std::unique_ptr<Named>, Hash, std::equal_to<>> names_;
};

// Demangled.
std::string readable_name(std::string_view mangled);

// What a launch and its work have in common. CUPTI's numbers start at 1 in each process, as Kymo's own do.
constexpr uint64_t correlation_of(uint32_t cupti_number) { return uint64_t{1} << 40 | cupti_number; }

// How far CUPTI's conversion of a device's time may be off, as far as this can be known: kernels of an idle stream were
// seen to start at most this much before the call that launched them.
inline constexpr uint64_t kConversionErrorNs = 1'000;

// Writes finished work into the trace. One user at a time: the caller serializes.
class Queues {
 public:
  explicit Queues(Graphs& graphs) : graphs_(graphs) {}

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
  static void note_clock(Queue& queue);

  Graphs& graphs_;
  KernelNames kernels_;
  std::map<uint32_t, Device> devices_;
  std::map<uint32_t, uint32_t> default_streams_;
  std::map<std::pair<uint32_t, uint32_t>, std::string> stream_names_;  // by context and stream
  std::map<Key, Queue> queues_;
  uint64_t written_ = 0, lost_ = 0;
};

}  // namespace kymo::inject::cuda
