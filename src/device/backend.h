// What an accelerator API must offer to be a backend of the device runtime: OpenCL, Vulkan and CUDA are three.
//
// A backend does what its driver does and nothing more: no caching, no checks of what a user passed, no recording. The
// runtime above it (device_state.h, stream_state.h, arguments.h) has checked arguments, sub-allocates memory, keeps the
// compiled code and writes the trace.
//
//   Driver        an API whose library was loaded        opencl, vulkan, cuda
//    └ Accelerator  one device, opened                   memory, clock
//       ├ Queue       an in-order queue of work          launch, copy, fill, markers
//       ├ Marker      a point in a queue                 what events are made of
//       └ Program     compiled kernels, with reflection
//
// Threads: every function of Driver and Accelerator may be called from any thread at any time. A Queue, a Marker and a
// Ticket are used by one thread at a time: the runtime holds a lock per stream. A Program is used by many at once.
//
// Failure: what this machine lacks is kymo::NotAvailable, source that does not compile kymo::CompileError, anything a
// driver reports kymo::DeviceError with the call, the driver's name for the error, and what it means.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/memory_source.h"
#include "kymo/dtype.h"

namespace kymo::device {

// ---- What a device is ----------------------------------------------------------------------------------------------

struct Extent {
  uint64_t x = 1, y = 1, z = 1;
  uint64_t volume() const { return x * y * z; }
  bool operator==(const Extent&) const = default;
};

enum class Language : uint8_t { OpenClC, Glsl, SpirV, CudaCpp, Metal };
std::string_view language_name(Language);  // "OpenCL C", …

struct DeviceInfo {
  std::string name;  // "NVIDIA H200"
  std::string vendor;
  std::string driver;  // its version and the API's: part of the key of compiled code
  std::string uuid;    // 32 hex digits; the same for the same device in any process and API where the driver tells
  bool is_processor = false;    // the host's processor posing as a device
  bool unified_memory = false;  // the host's own
  size_t total_memory = 0;
  size_t recommended_max = 0;  // what it can hold without hurting itself; 0 < recommended_max <= total_memory
  size_t max_allocation = 0;
  uint64_t max_group_threads = 0;
  Extent max_group;
  uint32_t execution_width = 0;  // threads that run in step
  size_t group_memory = 0;
  uint32_t compute_units = 0;
  bool partial_groups_are_free = false;  // threads that do not fill a group cost no launch of their own
  std::vector<Language> languages;       // that can be compiled, best first; Metal, by way of another, is the runtime's
  std::vector<std::string> capabilities;  // short words for `kymo devices`: "fp16", "fp64", "timestamps", …

  // Its clock: nanoseconds a tick, as a ratio, and after how many bits it wraps.
  uint64_t tick_numerator = 1, tick_denominator = 1;
  uint32_t clock_bits = 64;
};

// One moment on the device's clock and on the host's: the device's ticks fell within ±error_ns of the host's times.
struct ClockReading {
  uint64_t ticks = 0;
  uint64_t monotonic_ns = 0, realtime_ns = 0;
  uint64_t error_ns = 0;
};

// ---- Kernels -------------------------------------------------------------------------------------------------------

enum class ParameterKind : uint8_t {
  Buffer = 1,   // takes a tensor: an address
  Value = 2,    // takes a scalar, or a list of scalars that fills it
  Local = 3,    // group memory sized by the caller (OpenCL's __local pointer)
  Unknown = 4,  // a structure, or what reflection cannot tell: bytes of exactly this size
  Word = 5,     // 8 bytes that may be an address or an integer: takes a tensor or a number, and is passed like a Value
  Inline = 6,   // a structure {u64 address; value}: the value, or where it lies. Takes what a Value takes, or a tensor
};

struct Parameter {
  std::string name;  // empty: the compiler did not keep it
  ParameterKind kind = ParameterKind::Buffer;
  std::optional<DType> type;  // of a value, or of what a buffer points to, where it is known
  uint32_t count = 1;         // of a value's components: 4 for a float4, 64 for an array of 64
  uint32_t bytes = 0;         // of a value as a whole

  // Of translated kernels alone, whose buffers and group memory have `count` and `bytes` of one element too.
  bool is_value = false;                        // of a Buffer: it holds one value, which may be given as such
  bool is_addresses = false;                    // a value of nothing but addresses
  bool reports_errors = false;                  // error_buffer.h: the runtime gives it where the caller does not
  uint32_t value_offset = 0, inline_bytes = 0;  // of an Inline: where its value is, and the structure's size
};

struct KernelInfo {
  std::string name;
  std::vector<Parameter> parameters;  // in the order a caller gives them
  bool matched_by_kind = false;       // the next tensor is for the next Buffer, the next scalar for the next Value
  uint64_t max_threads_per_group = 0;
  uint32_t execution_width = 0;
  size_t group_memory = 0;         // static
  Extent required_group{0, 0, 0};  // the only group size it runs with; 0: any

  // Of a kernel that was translated to the language of the backend, where the translator knows all this better than
  // reflection can: it is passed as it says (shader/shader.h, shader/emit/emit.h).
  bool is_translated = false;
  std::string symbol;           // its name in the text
  std::vector<uint32_t> order;  // argument i is for parameters[order[i]]; empty: for parameters[i]
  bool uses_simdgroups = false;
  bool takes_grid = false;  // one more parameter behind the others: a Grid

  const std::string& symbol_or_name() const { return is_translated ? symbol : name; }
};

struct Source {
  Language language = Language::OpenClC;
  std::string_view text;             // SPIR-V: the words' bytes
  std::vector<std::string> options;  // for the compiler, as the user gave them; never empty strings
  std::string_view file = "shader";  // for messages
  // What the kernels of a translation are; the backend lowers their limits to its own. Empty: found by reflection.
  std::span<const KernelInfo> kernels;
};

class Program {
 public:
  virtual ~Program() = default;
  virtual std::span<const KernelInfo> kernels() const = 0;  // in the order of the source, or by name
  // What Accelerator::load takes, in a later process too. Empty: this driver gives nothing.
  virtual std::vector<std::byte> binary() const = 0;
};

// One argument, ready: the runtime has converted scalars to the declared type.
struct Argument {
  const void* data = nullptr;  // of a Value or Unknown: its bytes
  uint32_t bytes = 0;          // its size; of a Local, the group memory to set aside
  Address address = 0;         // of a Buffer; 0: a null pointer (an empty tensor)
  size_t extent = 0;           // of a Buffer: bytes from the address to the end of its storage
};

// What a kernel with `takes_grid` is told. Vulkan gives the first two.
struct Grid {
  std::array<uint32_t, 3> threads{}, group{}, offset{};  // offset: of a piece of the launch
};
static_assert(sizeof(Grid) == 36);

struct Launch {
  const Program* program = nullptr;
  uint32_t kernel = 0;  // index into kernels()
  Extent threads;       // in threads, none of them 0: edge groups are partial and no thread beyond these runs
  Extent group;         // within the limits; larger than threads only where it is the one that the kernel demands
  std::span<const Argument> arguments;  // one a parameter
  // Memory that the kernel reaches through addresses in its arguments (lists of tensors).
  std::span<const Address> indirect;
};

inline Grid grid_of(const Launch& launch) {
  const auto three = [](const Extent& extent) {
    return std::array<uint32_t, 3>{static_cast<uint32_t>(extent.x), static_cast<uint32_t>(extent.y),
                                   static_cast<uint32_t>(extent.z)};
  };
  return {three(launch.threads), three(launch.group), {}};
}

// ---- Queues --------------------------------------------------------------------------------------------------------

// An operation whose time on the device is asked for. Given to the operation, redeemed by Queue::redeem.
using Ticket = uint64_t;

struct Timing {
  uint64_t start = 0, end = 0;  // ticks of the device's clock
  uint32_t shared = 1;          // by how many operations, which ran one after the other in this time
};

enum class Redeemed : uint8_t { Pending, Done, Lost };  // Lost: the device failed, or has no timestamps

// A point in a queue: recorded there, waited for by other queues or by the host.
class Marker {
 public:
  virtual ~Marker() = default;
  virtual bool reached() = 0;                  // of the last record; true where it was never recorded
  virtual void synchronize() = 0;              // blocks the host until then
  virtual std::optional<uint64_t> time() = 0;  // ticks, once reached, of a marker made with timing
};

class Queue {
 public:
  virtual ~Queue() = default;  // waits for its work

  // All are asynchronous and run in the order of the calls. Where `ticket` is not null the operation is timed.
  virtual void launch(const Launch& launch, Ticket* ticket) = 0;
  // The pattern has 1, 2, 4, 8 or 16 bytes; `bytes` is a multiple of it and the address aligned to it.
  virtual void fill(Address to, const void* pattern, uint32_t pattern_bytes, size_t bytes, Ticket* ticket) = 0;
  virtual void copy(Address from, Address to, size_t bytes, Ticket* ticket) = 0;  // they do not overlap
  // From host memory that may change as soon as the call returns, unless it is pinned (Accelerator::allocate_host):
  // then it must stay until the copy is done.
  virtual void upload(const void* from, Address to, size_t bytes, Ticket* ticket) = 0;
  // Into host memory. Returns when it is there, unless that is pinned: then the copy is queued like the rest.
  virtual void download(Address from, void* to, size_t bytes, Ticket* ticket) = 0;

  virtual void record(Marker& marker) = 0;
  virtual void wait(Marker& marker) = 0;  // what follows runs after the marker's last record was reached
  virtual void flush() = 0;               // what was queued will run without further calls
  virtual void synchronize() = 0;         // blocks until all of it is done; throws what went wrong meanwhile

  // Tickets are redeemed in the order they were given, each until it is not Pending: then it is gone.
  virtual Redeemed redeem(Ticket ticket, Timing& timing) = 0;
};

// ---- Devices -------------------------------------------------------------------------------------------------------

class Accelerator {
 public:
  virtual ~Accelerator() = default;
  virtual const DeviceInfo& info() const = 0;

  // Device memory, aligned to 512 bytes; 0: the driver has no more.
  virtual Address allocate(size_t bytes) = 0;
  virtual void release(Address address, size_t bytes) noexcept = 0;
  // What the driver says this process holds on the device, caches and runtime included; nothing where it cannot tell.
  virtual std::optional<size_t> driver_allocated() const = 0;

  // Page-locked host memory, the fastest to copy from and to. Null where there is no more.
  virtual void* allocate_host(size_t bytes) = 0;
  virtual void release_host(void* memory) noexcept = 0;

  virtual std::unique_ptr<Queue> make_queue() = 0;
  virtual std::unique_ptr<Marker> make_marker(bool timing) = 0;

  // Throws CompileError. Kernels are found by reflection.
  virtual std::unique_ptr<Program> compile(const Source& source) = 0;
  // From Program::binary() and what kernels() said then. Null: the driver does not take it (any more).
  virtual std::unique_ptr<Program> load(std::span<const std::byte> binary, std::vector<KernelInfo> kernels) = 0;

  virtual ClockReading read_clock() = 0;

  // After a fault that stays: everything on the device is gone and begins anew. All queues, markers and programs of it
  // must be destroyed before; memory is not released but forgotten.
  virtual void reset() = 0;
};

class Driver {
 public:
  virtual ~Driver() = default;
  virtual std::string_view name() const = 0;  // "opencl", "vulkan", "cuda"
  virtual int device_count() const = 0;
  virtual DeviceInfo describe(int index) = 0;  // without opening it
  virtual std::unique_ptr<Accelerator> open(int index) = 0;
};

// The backends, as far as they were compiled in. Each loads its library and throws NotAvailable where that is absent,
// too old, half-installed, or has no device: in one line, with what to do.
std::unique_ptr<Driver> load_opencl();
std::unique_ptr<Driver> load_vulkan();
std::unique_ptr<Driver> load_cuda();

}  // namespace kymo::device
