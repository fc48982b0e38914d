// What all objects of one opened device share: its OpenCL context, and the memory of the device and of the host in it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/backend.h"
#include "device/opencl/api.h"

namespace kymo::device::opencl {

// The devices of all OpenCL platforms that Kymo can use, and their properties.

struct FoundDevice {
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  bool is_cpu = false;
  bool non_uniform_groups = false;  // supports launches whose last groups are partial, from -cl-std=CL2.0 on
  bool fine_grained = false;        // its memory is the host's, and host code may access it between operations
  bool rounds_divisions = false;    // can round float division and square root correctly, if requested
  bool makes_ptx = false;           // the binaries of its programs are PTX: NVIDIA's driver
  // A program's binary has code that launches do not use, and is slow to make: PoCL compiles for the group size of a
  // launch, and caches that code itself.
  bool compiles_at_launch = false;
  // A launch that needs other code of its kernel than the one before must wait for all others: PoCL before version 6.
  // It keeps code for each group size, largest width and use of an offset, but a launch that ends counts down the code
  // of its group size that was used last. Without waiting, PoCL ends the program: "found->ref_count > 0".
  bool waits_for_other_code = false;
  std::string newest_language;  // "CL3.0": the highest -cl-std that its compiler supports
  DeviceInfo info;
};

// GPUs first, then other accelerators, then CPUs, in the order of the platforms. Leaves out devices that Kymo cannot
// use: no compiler, or no shared virtual memory (an address must be a pointer, so that memory can be cut into tensors
// at any position and addresses can be stored in memory). Throws NotAvailable, with the reasons, if no device is left.
std::vector<FoundDevice> find_devices(const Api& cl);

// How much memory Kymo may hold. On a CPU, other programs need memory too. On other devices, the driver itself needs
// memory, and may start to swap instead of reporting an error.
size_t recommended_memory(size_t total, bool is_cpu);

// "CL1.2" from "OpenCL C 1.2 PoCL"; empty if the text has another form.
std::string language_option(const std::string& opencl_c_version);

struct Context;

// Host memory with the fastest copies.
//
// On a CPU device this is any aligned memory. On other devices it is a buffer that the driver keeps page-locked and
// that stays mapped until it is released. Thread-safe. Every upload and download calls covers(): it costs one load
// while nothing is allocated, otherwise a lock and a search.
class HostMemory {
 public:
  explicit HostMemory(const Context& context) : context_(context) {}
  ~HostMemory();

  void* allocate(size_t bytes);  // null: there is no more
  void release(void* memory) noexcept;
  bool covers(const void* from, size_t bytes) const;  // true if one block from here contains all of it
  void forget() noexcept;  // drops the driver's blocks, which the device reset destroyed. Plain memory stays.

 private:
  struct Block {
    size_t bytes = 0;
    Handle<cl_mem> buffer;  // empty: plain memory
  };

  void* allocate_plain(size_t bytes, Block& block);
  void* allocate_mapped(size_t bytes, Block& block);
  void dispose(void* memory, Block& block) noexcept;

  const Context& context_;
  mutable std::mutex mutex_;
  std::map<uintptr_t, Block> blocks_;  // by the address of their first byte
  std::atomic<size_t> count_{0};
};

// The state that all objects of one opened device share.
struct Context {
  Context(std::shared_ptr<const Api> loaded, FoundDevice found);

  void renew();  // a new cl_context instead of one that is lost

  // An in-order queue. Profiling slows down every operation on some drivers, so request it only if needed.
  CommandQueue make_queue(bool profiling) const;

  std::shared_ptr<const Api> api;
  const Api& cl;
  FoundDevice device;
  Handle<cl_context> handle;
  HostMemory host_memory;

  // Only with device.waits_for_other_code: what a launch holds while it is put into a queue, and the queues of the
  // device.
  std::mutex launching;
  std::vector<const CommandQueue*> queues;

  // Counts the blocks that were returned to the driver. A driver may look up an address when it becomes an argument. So
  // arguments that were set before a block was returned are set again, even if the address is the same.
  std::atomic<uint64_t> releases{0};
};

// Device memory: shared virtual memory, whose addresses are pointers on the host and on the device.
//
// A driver aligns to its largest type (128 bytes) and rejects larger alignments. Kymo needs 512 bytes, so it allocates
// that much more and starts the block at the first aligned address. A driver may promise more memory than there is
// (PoCL does, and memory that moves between host and device may too), so allocations beyond the device's memory are
// refused here.
class Memory {
 public:
  explicit Memory(Context& context) : context_(context) {}

  Address allocate(size_t bytes);  // 0: there is no more
  void release(Address address) noexcept;
  void forget() noexcept;  // a device reset destroyed all of it

 private:
  static constexpr size_t kAlignment = 512;

  Context& context_;
  std::mutex mutex_;
  struct Block {
    void* driver = nullptr;  // the address from the driver
    size_t bytes = 0;
  };

  std::unordered_map<Address, Block> blocks_;  // by the aligned address
  size_t held_ = 0;
};

// Small uploads are copied here until the device has read them, so that the caller's memory may change at once.
//
// Four segments of fast host memory are used in turn. A full segment is closed with an event of the queue, and before
// it is written again, Kymo waits for that event. So an upload costs a memcpy, and no event of its own. Used by one
// thread at a time.
class Staging {
 public:
  static constexpr size_t kSegmentBytes = size_t{256} * 1024;
  static constexpr size_t kLargest = size_t{64} * 1024;  // for more bytes a direct copy is faster

  explicit Staging(Context& context) : context_(context) {}
  ~Staging();  // the queue must be idle

  // A copy of these bytes that stays valid until the queue has executed the next enqueued command. Null: no memory is
  // left.
  const void* stage(cl_command_queue queue, const void* from, size_t bytes);

 private:
  static constexpr size_t kAlignment = 64;

  void close_segment(cl_command_queue queue);

  Context& context_;
  std::byte* memory_ = nullptr;  // of all segments; allocated at the first upload
  size_t segment_ = 0, used_ = 0;
  std::array<Event, 4> closed_;
};

}  // namespace kymo::device::opencl
