// The interface of NCCL for profilers, versions 4 and 5: a table of functions that NCCL finds by the name of its
// version. RCCL has the same.
//
// NCCL describes an event by a structure and receives a handle for it. It passes the handle as the parent of later
// events, also after it has stopped the event.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kymo::inject::nccl {

// Kinds of events are bits, also of the mask that says what NCCL reports.
enum Kind : uint64_t {
  kCollective = 1 << 1,
  kPointToPoint = 1 << 2,
  kProxyOperation = 1 << 3,  // what one channel sends or receives
  kProxyStep = 1 << 4,       // one piece of that
  kKernelChannel = 1 << 6,   // one channel's part of the kernel
};
inline constexpr uint64_t kRecordedKinds = kCollective | kPointToPoint | kProxyOperation | kProxyStep | kKernelChannel;

enum State : int {
  kSendWaitsForGpu = 8,
  kSends = 9,
  kReceives = 10,
  kFlushes = 11,
  kReceiveWaitsForGpu = 12,
  kSendWaitsForPeer = 20,
  kKernelStopped = 22,
};

struct Collective {
  uint64_t sequence;
  const char* function;
  const void *send, *receive;
  size_t count;
  int root;
  const char* type;
  uint8_t channels, warps;
  const char *algorithm, *protocol;
};
struct PointToPoint {
  const char* function;
  const void* buffer;
  const char* type;
  size_t count;
  int peer;
  uint8_t channels;
};
struct ProxyOperation {
  int pid;
  uint8_t channel;
  int peer, steps, chunk_bytes, is_send;
};
struct ProxyStep {
  int step;
};
struct KernelChannel {
  uint8_t channel;
  uint64_t start;  // on the GPU's clock
};

// In version 4 the kind is one byte. The other members are in the same places.
struct Description {
  uint64_t kind;
  void* parent;
  int rank;
  union {
    Collective collective;
    PointToPoint point_to_point;
    ProxyOperation proxy_operation;
    ProxyStep proxy_step;
    KernelChannel kernel_channel;
  };
};

union StateArguments {
  size_t bytes;  // of a step
  uint64_t gpu_time;
};

using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);
using Result = int;  // 0: success

struct Functions4 {
  const char* name;
  Result (*init)(void** context, int* mask, const char* name, uint64_t communicator, int nodes, int ranks, int rank,
                 Logger logger);
  Result (*start)(void* context, void** handle, Description* description);
  Result (*stop)(void* handle);
  Result (*state)(void* handle, int state, StateArguments* arguments);
  Result (*finalize)(void* context);
};
struct Functions5 {
  const char* name;
  Result (*init)(void** context, uint64_t communicator, int* mask, const char* name, int nodes, int ranks, int rank,
                 Logger logger);
  Result (*start)(void* context, void** handle, Description* description);
  Result (*stop)(void* handle);
  Result (*state)(void* handle, int state, StateArguments* arguments);
  Result (*finalize)(void* context);
};

}  // namespace kymo::inject::nccl
