// What Kymo uses of CUPTI, NVIDIA's library for tools: declared here, because most machines have no CUDA toolkit when
// Kymo is built, and may have any version of it when Kymo runs.
//
// The layouts are those of CUDA 11.6 to 13. Later versions of a record only add members at its end. cupti_test.cc
// compares them with NVIDIA's headers where those are installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace kymo::inject::cuda {

using Result = int;  // 0: success
inline constexpr Result kOtherSubscriber = 39;

// ---- Calls of the program ------------------------------------------------------------------------------------------

inline constexpr int kDriverDomain = 1, kResourceDomain = 3;
enum ResourceEvent : uint32_t { kContextCreated = 1, kContextEnds = 2, kModuleLoaded = 6 };
enum CallSite : int { kEnter = 0, kExit = 1 };

struct CallData {
  int site;
  const char* function;
  const void* parameters;  // a structure with the function's parameters
  const int* result;       // at kExit
  const char* symbol;
  void* context;
  uint32_t context_id;
  uint64_t* memory;  // the same at kEnter and kExit of a call
  uint32_t correlation;
};

// Callbacks about graphs.
inline constexpr uint32_t kNodeCreated = 13, kGraphMadeExecutable = 18, kNodeCloned = 20;

struct GraphData {
  void *graph, *original_graph, *node, *original_node;
  int node_type;
  void *dependency, *executable;
};
struct Module {
  uint32_t id;
  size_t bytes;
  const void* cubin;
};
struct ResourceData {
  void *context, *resource;
  union {
    const GraphData* graph;  // in callbacks about graphs
    const Module* module;    // of kModuleLoaded
  };
};

struct SubscriberParameters {
  size_t size;
  const char* name;
  char* other_name;  // receives the name of the tool that holds CUPTI
  size_t other_name_bytes;
};
inline constexpr size_t kSubscriberNameBytes = 64;

struct AllocateParameters {  // cuMemAlloc and its variants; of cuMemAllocPitch only the first member
  const uint64_t* address;
  size_t bytes;
};
struct PitchParameters {
  const uint64_t* address;
  const size_t* pitch;
  size_t width, height;
};
struct FreeParameters {
  uint64_t address;
};

struct LaunchParameters {  // cuLaunchKernel, cuLaunchCooperativeKernel
  void* function;
  uint32_t grid[3], block[3], shared_bytes;
  void* stream;
};
struct LaunchConfig {  // to which the first parameter of cuLaunchKernelEx points
  uint32_t grid[3], block[3], shared_bytes;
  void* stream;
};

// ---- Records of finished work --------------------------------------------------------------------------------------

enum class Kind : uint32_t {
  Copy = 1,
  Fill = 2,
  Kernel = 10,  // the concurrent kind
  Overhead = 17,
  PeerCopy = 22,
  Graph = 51,
};

struct Kernel {
  Kind kind;
  uint8_t cache, shared_configuration;
  uint16_t registers;
  uint32_t cache_requested, cache_executed;
  uint64_t start, end, completed;
  uint32_t device, context, stream;
  int32_t grid[3], block[3];
  int32_t static_shared, dynamic_shared;
  uint32_t local_per_thread, local_total;
  uint32_t correlation;
  int64_t grid_id;
  const char* name;
  void* reserved;
  uint64_t queued, submitted;
  uint8_t launch_type, carveout_requested, carveout, padding;
  uint32_t shared_executed;
  uint64_t graph_node;  // 0: in no graph
};

struct Copy {
  Kind kind;
  uint8_t direction, source, target, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation, runtime_correlation, pad;
  void* reserved;
  uint64_t graph_node;
};

struct PeerCopy {
  Kind kind;
  uint8_t direction, source, target, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream;
  uint32_t source_device, source_context, target_device, target_context, correlation;
};

struct Fill {
  Kind kind;
  uint32_t value;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation;
  uint16_t flags, memory_kind;
  uint32_t pad;
  void* reserved;
  uint64_t graph_node;
};

struct Graph {
  Kind kind;
  uint32_t correlation;
  uint64_t start, end;
  uint32_t device, graph, context, stream;
};

struct Overhead {
  Kind kind;
  uint32_t cause, object, object_id[3];
  uint64_t start, end;
};

// Values of `direction`.
enum : uint8_t { kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 8, kHostToHost = 9, kPeerToPeer = 10 };

// ---- PC sampling: parameters of functions, which begin with their size
// -----------------------------------------------

struct PcReason {
  uint32_t number, samples;
};
struct PcRecord {
  size_t size;
  uint64_t cubin, offset;
  uint32_t function_index, padding;
  const char* function;
  size_t reason_count;
  PcReason* reasons;
  uint32_t correlation;
};
struct PcSamples {
  size_t size, capacity;
  uint64_t total, dropped;
  size_t count, remaining;  // records: here, and to be read
  uint64_t range;
  PcRecord* records;
  uint64_t of_others;
  uint8_t is_full;
};

struct PcContext {  // enable, disable
  size_t size;
  void* reserved;
  void* context;
};
struct PcRead {
  size_t size;
  void* reserved;
  void* context;
  PcSamples* samples;
};
struct PcReasonCount {
  size_t size;
  void* reserved;
  void* context;
  size_t* count;
};
struct PcReasonNames {
  size_t size;
  void* reserved;
  void* context;
  size_t count;
  uint32_t* numbers;
  char** names;
};
enum class PcAttribute : uint32_t { Period = 1, Reasons = 2, CollectionMode = 5, Buffer = 8 };
inline constexpr uint32_t kContinuous = 1;
struct PcReasons {
  size_t count;
  uint32_t* numbers;
};
struct PcConfig {
  PcAttribute attribute;
  Result status;
  union {
    uint32_t number;
    void* buffer;
    PcReasons reasons;
    uint64_t all[3];
  };
};
struct PcConfigure {
  size_t size;
  void* reserved;
  void* context;
  size_t count;
  PcConfig* config;
};
struct CubinNumber {
  size_t size, bytes;
  const void* cubin;
  uint64_t number;
};
struct CubinLine {
  size_t size;
  const void* cubin;
  const char* function;
  size_t bytes;
  uint32_t line;
  uint64_t offset;
  char *file, *folder;  // for free()
};

// The functions of libcupti that Kymo uses. The library is the one that the program has loaded, or that its CUDA driver
// belongs to. It is never linked.
struct Cupti {
  using Subscriber = void*;
  using OnCall = void (*)(void* user, int domain, uint32_t call, const void* data);
  using Requested = void (*)(uint8_t** buffer, size_t* size, size_t* max_records);
  using Completed = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid);

  void* library;  // for the functions that are found when they are needed

  Result (*version)(uint32_t* version);
  Result (*subscribe)(Subscriber* subscriber, OnCall callback, void* user);
  Result (*unsubscribe)(Subscriber subscriber);
  Result (*enable_callback)(uint32_t enable, Subscriber subscriber, int domain, uint32_t call);
  Result (*enable_domain)(uint32_t enable, Subscriber subscriber, int domain);
  Result (*enable)(Kind kind);
  Result (*disable)(Kind kind);
  Result (*register_buffers)(Requested requested, Completed completed);
  Result (*next_record)(uint8_t* buffer, size_t valid, void** record);
  Result (*flush)(uint32_t forced);
  Result (*dropped)(void* context, uint32_t stream, size_t* count);
  Result (*finalize)();
  Result (*device_of)(void* context, uint32_t* device);
  Result (*stream_of)(void* context, void* stream, uint8_t per_thread, uint32_t* id);

  // Newer versions have these. Null: they are missing.
  Result (*subscribe_named)(Subscriber* subscriber, OnCall callback, void* user, SubscriberParameters* parameters);
  Result (*register_clock)(uint64_t (*clock)());
  Result (*call_name)(int domain, uint32_t call, const char** name);
  Result (*graph_node_id)(void* node, uint64_t* id);
  Result (*graph_id)(void* graph, uint32_t* id);
  Result (*graph_exec_id)(void* executable, uint32_t* id);
  bool has_graphs() const { return graph_node_id != nullptr && graph_id != nullptr && graph_exec_id != nullptr; }
};

// The program has loaded a library of CUPTI that load_cupti() will use.
bool is_cupti_loaded() noexcept;

// Null if there is none, or it lacks a function that is needed: then `why` says so. The library stays loaded. The
// variable KYMO_CUPTI names another one.
const Cupti* load_cupti(std::string& why);

}  // namespace kymo::inject::cuda
