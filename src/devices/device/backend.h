// What an accelerator API must provide to be a backend of the device runtime. There are three: OpenCL, Vulkan and CUDA.
//
// A backend only calls its driver: it does not cache, check a user's arguments, or record. The runtime above it
// (device_state.h, stream_state.h, arguments.h) has checked the arguments, sub-allocates memory, keeps the compiled
// code and writes the trace.
//
//   Driver        an API whose library was loaded        opencl, vulkan, cuda
//    └ Accelerator  one device, opened                   memory, clock
//       ├ Queue       an in-order queue of work          launch, copy, fill, markers
//       ├ Marker      a point in a queue                 events are made of it
//       └ Program     compiled kernels, with reflection
//
// Threads: every function of Driver and Accelerator can be called from any thread at any time. A Queue, a Marker and a
// Ticket are used by one thread at a time: the runtime holds a lock per stream. A Program is used by many threads at
// once.
//
// Failure: kymo::NotAvailable if this machine lacks something, kymo::CompileError if a source does not compile,
// kymo::DeviceError for every error of a driver, with the call, the driver's name for the error, and what it means.
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

#include "base/clock.h"
#include "device/memory_source.h"
#include "kymo/dtype.h"
#include "kymo/translate.h"

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
  std::string name;           // "NVIDIA H200"
  std::string driver;         // its version and the API's: part of the key of compiled code
  std::string uuid;           // 32 hex digits; the same for one device in any process and API, if the driver reports it
  bool is_processor = false;  // the host's processor, offered as a device
  bool unified_memory = false;  // it uses the host's memory
  size_t total_memory = 0;
  size_t recommended_max = 0;  // how much it can hold without becoming slow; 0 < recommended_max <= total_memory
  size_t max_allocation = 0;
  uint64_t max_group_threads = 0;
  Extent max_group;
  uint32_t execution_width = 0;  // threads that run in lockstep
  size_t group_memory = 0;
  uint32_t compute_units = 0;
  bool partial_groups_are_free = false;  // a partial group does not need a launch of its own
  std::vector<Language> languages;       // that it can compile, best first; the runtime adds Metal, which it translates
  std::vector<std::string> capabilities;  // short words for `kymo devices`: "fp16", "fp64", "timestamps", …

  // Its clock: nanoseconds per tick, as a ratio, and the number of bits after which it wraps.
  uint64_t tick_numerator = 1, tick_denominator = 1;
  uint32_t clock_bits = 64;
};

// ---- Kernels -------------------------------------------------------------------------------------------------------
enum class ParameterKind : uint8_t {
  Buffer = 1,   // takes a tensor: an address
  Value = 2,    // takes a scalar, or a list of scalars that fills it
  Local = 3,    // group memory sized by the caller (OpenCL's __local pointer)
  Unknown = 4,  // a structure, or a type that reflection does not report: bytes of this size; 0: the driver knows it
  Word = 5,     // 8 bytes that may be an address or an integer: takes a tensor or a number, passed like a Value
  Inline = 6,   // a structure {u64 address; value}: the value, or its address. Takes what a Value takes, or a tensor
};

struct Parameter {
  std::string name;  // empty: the compiler did not keep it
  ParameterKind kind = ParameterKind::Buffer;
  std::optional<DType> type;  // of a value, or of the elements of a buffer, if it is known
  uint32_t count = 1;         // number of a value's components: 4 for a float4, 64 for an array of 64
  uint32_t bytes = 0;         // size of the whole value

  // Only for translated kernels. Their buffers and group memory also have the `count` and `bytes` of one element.
  bool is_value = false;      // of a Buffer: it holds one value, which may be passed as a value
  bool is_written = false;    // of a Buffer: the kernel may write to it
  bool is_addresses = false;  // a value that contains only addresses
  shader::TextureShape texture = shader::TextureShape::None;  // the value describes a texture; `type`: what it gives
  bool reports_errors = false;                  // error_buffer.h: the runtime passes it if the caller does not
  uint32_t value_offset = 0, inline_bytes = 0;  // of an Inline: offset of its value, and size of the structure
};

struct KernelInfo {
  std::string name;
  std::vector<Parameter> parameters;  // in the order in which a caller passes them
  uint64_t max_threads_per_group = 0;
  uint32_t execution_width = 0;
  size_t group_memory = 0;         // static
  Extent required_group{0, 0, 0};  // the only group size that it supports; 0: any

  // For a kernel that was translated to the language of the backend. The translator knows its parameters better than
  // reflection, so the kernel is called as the translator says (kymo/translate.h, shader/emit/emit.h).
  bool is_translated = false;
  std::string symbol;           // its name in the translated text
  std::vector<uint32_t> order;  // argument i is for parameters[order[i]]; empty: for parameters[i]
  bool uses_simdgroups = false;
  bool uses_simdgroup_matrices = false;  // all threads of its simdgroups must exist
  bool takes_grid = false;               // it has one more parameter after the others: a Grid

  const std::string& symbol_or_name() const { return is_translated ? symbol : name; }
};

struct Source {
  Language language = Language::OpenClC;
  std::string_view text;             // SPIR-V: the bytes of the words
  std::vector<std::string> options;  // for the compiler, as the user gave them; never empty strings
  std::string_view file = "shader";  // for messages
  // Of Metal: the only kernel to translate. Empty: all.
  std::string_view only;
  // The kernels of a translation; the backend lowers their limits to its own. Empty: found by reflection.
  std::span<const KernelInfo> kernels;
};

class Program {
 public:
  virtual ~Program() = default;
  virtual std::span<const KernelInfo> kernels() const = 0;  // in the order of the source, or by name
  // The bytes that Accelerator::load takes, also in a later process. Empty: this driver has no binaries.
  virtual std::vector<std::byte> binary() const = 0;
  // Nothing is compiled: each kernel is, when it is first asked for.
  virtual bool is_list() const { return false; }
};

// One argument, ready to pass: the runtime has converted scalars to the declared type.
struct Argument {
  const void* data = nullptr;  // of a Value or Unknown: its bytes
  uint32_t bytes = 0;          // its size; of a Local: the size of the group memory to reserve
  Address address = 0;         // of a Buffer; 0: a null pointer (an empty tensor)
  size_t extent = 0;           // of a Buffer: bytes from the address to the end of its storage
};

// The argument of a kernel with `takes_grid`. Vulkan sets the first two.
struct Grid {
  std::array<uint32_t, 3> threads{}, group{}, offset{};  // offset: of a piece of the launch
};
static_assert(sizeof(Grid) == 36);

struct Launch {
  const Program* program = nullptr;
  uint32_t kernel = 0;  // index into kernels()
  Extent threads;       // in threads, none of them 0: edge groups are partial, and no thread outside of this range runs
  Extent group;         // within the limits; larger than `threads` only if the kernel requires this size
  std::span<const Argument> arguments;  // one per parameter
  // Memory that the kernel accesses through addresses in its arguments (lists of tensors).
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

// A timed operation. The operation returns the ticket; Queue::redeem returns the time for it.
using Ticket = uint64_t;

struct Timing {
  uint64_t start = 0, end = 0;  // ticks of the device's clock
  // More than 1: it is an equal part of the time of a submission with that number of operations.
  uint32_t operations = 1;
};

enum class Redeemed : uint8_t { Pending, Done, Lost };  // Lost: the device failed, or has no timestamps

// A point in a queue. Other queues or the host can wait for it.
class Marker {
 public:
  virtual ~Marker() = default;
  virtual bool reached() = 0;                  // the last record; true if it was never recorded
  virtual void synchronize() = 0;              // blocks the host until then
  virtual std::optional<uint64_t> time() = 0;  // ticks, once reached, if the marker was created with timing
};

class Queue {
 public:
  virtual ~Queue() = default;  // waits for its work

  // All of these are asynchronous and run in the order of the calls. The operation is timed if `ticket` is not null.
  virtual void launch(const Launch& launch, Ticket* ticket) = 0;
  // The pattern has 1, 2, 4 or 8 bytes; `bytes` is a multiple of it, and the address is aligned to it.
  virtual void fill(Address to, const void* pattern, uint32_t pattern_bytes, size_t bytes, Ticket* ticket) = 0;
  virtual void copy(Address from, Address to, size_t bytes, Ticket* ticket) = 0;  // the two ranges do not overlap
  // Copies from host memory, which may change as soon as the call returns. Pinned memory (Accelerator::allocate_host)
  // must stay unchanged until the copy is done.
  virtual void upload(const void* from, Address to, size_t bytes, Ticket* ticket) = 0;
  // Copies into host memory. Returns when the data is there. If the memory is pinned, the copy is only queued.
  virtual void download(Address from, void* to, size_t bytes, Ticket* ticket) = 0;

  virtual void record(Marker& marker) = 0;
  virtual void wait(Marker& marker) = 0;  // what follows runs after the last record of the marker was reached
  virtual void flush() = 0;               // what was queued runs without further calls

  // The driver's own handle of this queue, for other libraries of the process; 0: there is none.
  virtual uint64_t native_handle() const { return 0; }
  // Work on a queue of another library, given by its handle, waits from now on for what is in this queue. False: the
  // driver cannot order the two.
  virtual bool precede(uint64_t /* native_handle */) { return false; }
  // Work on this queue waits from now on for what is in a queue of another library. False: the driver cannot order the
  // two.
  virtual bool follow(uint64_t /* native_handle */) { return false; }
  virtual void synchronize() = 0;  // blocks until everything is done; throws errors that occurred since the last call

  // Tickets are redeemed in the order in which they were given. Redeem each until it is not Pending; then it no longer
  // exists.
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
  // The memory that this process holds on the device, as the driver reports it, including caches and the driver's
  // runtime. Empty if the driver does not report it.
  virtual std::optional<size_t> driver_allocated() const = 0;

  // Page-locked host memory, the fastest for copies. Null if there is no more.
  virtual void* allocate_host(size_t bytes) = 0;
  virtual void release_host(void* memory) noexcept = 0;

  // The host's address of device memory that host code may access while no work uses it. Null: it may not.
  virtual void* host_address(Address) noexcept { return nullptr; }
  // The device's address of host memory that the device uses without a copy, until it is unshared as often as it was
  // shared. 0: the device cannot.
  virtual Address share_host(void* /* memory */, size_t /* bytes */) { return 0; }
  virtual void unshare_host(Address) noexcept {}
  // True if an address of device memory that another library of the process allocated can be used as it is.
  virtual bool uses_foreign_memory() const { return false; }

  virtual std::unique_ptr<Queue> make_queue() = 0;
  virtual std::unique_ptr<Marker> make_marker(bool timing) = 0;

  // Throws CompileError. Kernels are found by reflection.
  virtual std::unique_ptr<Program> compile(const Source& source) = 0;
  // Takes Program::binary() and the kernels() of that program. Null: the driver rejects it, for example after an
  // update.
  virtual std::unique_ptr<Program> load(std::span<const std::byte> binary, std::vector<KernelInfo> kernels) = 0;

  virtual base::ClockPair read_clock() = 0;  // one moment on the device's clock and on the host's

  // After a permanent fault: everything on the device is gone, and the device starts again. The caller must destroy all
  // its queues, markers and programs before. Memory is forgotten, not released.
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

// The backends that were compiled in. Each loads its library. It throws NotAvailable if the library is missing, too old
// or incomplete, or has no device: in one line, with what to do.
std::unique_ptr<Driver> load_opencl();
std::unique_ptr<Driver> load_vulkan();
std::unique_ptr<Driver> load_cuda();

}  // namespace kymo::device
