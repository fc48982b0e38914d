// Accelerators: find devices, query their memory, wait for their work. This header includes the related ones:
//
//   stream.h   queues of work, and events in them
//   tensor.h   arrays in device memory
//   shader.h   kernels compiled from text
//   random.h   random numbers, the same on every device
//   memory.h   what the allocator counts
//
//   auto x = kymo::device::zeros({16});
//   auto lib = kymo::device::compile_shader(R"(
//     kernel void full(device float* out, constant float& val, uint idx [[thread_position_in_grid]]) {
//       out[idx] = val;
//     })");
//   lib["full"](x, 3.14);
//   std::vector<float> there = x.to_host<float>();
//
// All functions act on the current device. KYMO_DEVICE names it ("cuda:0", "opencl:1", "vulkan"); otherwise it is the
// best one found: CUDA, then OpenCL, then Vulkan. A CPU that a driver presents as a device comes last. Any function may
// be called from any thread. Work is queued and runs later. Errors of that work are thrown by the next synchronize().
//
// While something records (kymo record, KYMO_TRACE, Session), every kernel, copy, fill and allocation is in the trace,
// without any further call. While nothing records, this costs one branch.
//
// Without a device, is_available() is false, seeding does nothing, and everything else throws NotAvailable. In a forked
// child of a process that used a device, everything throws Error: drivers do not survive a fork.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kymo/accelerator.h"
#include "kymo/error.h"
#include "kymo/export.h"
#include "kymo/memory.h"
#include "kymo/random.h"
#include "kymo/shader.h"
#include "kymo/stream.h"
#include "kymo/tensor.h"

namespace kymo::device {

// Makes this device the current one, for all threads.
KYMO_API void set_device(Device device);

// ---- Available devices ---------------------------------------------------------------------------------------------

KYMO_API int device_count();  // of the current backend
KYMO_API bool is_available();

// What `kymo devices` prints: every backend with its devices, or the reason why it has none.
struct BackendReport {
  struct Entry {
    std::string name, description, driver, uuid;
    std::vector<std::string> languages, capabilities;
    uint64_t memory = 0, recommended_max = 0;
    uint64_t max_threads_per_group = 0, execution_width = 0, compute_units = 0;
    bool current = false;
  };
  std::string backend;
  std::string absent;  // the reason why the backend has no device; empty: it has some
  std::vector<Entry> devices;
};
KYMO_API std::vector<BackendReport> list_devices();

// ---- Waiting -------------------------------------------------------------------------------------------------------

// Waits for all work on all streams of the device. Throws DeviceError if some of that work failed.
KYMO_API void synchronize();
KYMO_API void synchronize(Device device);
// Waits for all work on all open devices, and ignores its errors: for the end of a program. A driver for the processor
// compiles and runs kernels in threads of the process, and crashes if it exits meanwhile. In Python this is automatic.
KYMO_API void synchronize_all() noexcept;

// Recovers from a permanent DeviceError (for example after a kernel accessed invalid memory): discards everything on
// the device and starts again. Older tensors, libraries, events and host buffers become invalid, and throw when they
// are used. No other thread may use the device during this call. Throws DeviceError if the driver does not allow a
// restart.
KYMO_API void reset(Device device);

// ---- Memory --------------------------------------------------------------------------------------------------------

// Returns all unused cached blocks to the driver.
KYMO_API void empty_cache();

namespace detail {
KYMO_API void set_memory_fraction(double fraction);
}
// Limits this process to a fraction of recommended_max_memory(). 0 means no limit; values above 1 are allowed up to 2.
// Any other value, and NaN, throws InvalidArgument. An integer does not compile, because it looks like a number of
// bytes.
template <std::floating_point T>
void set_per_process_memory_fraction(T fraction) {
  detail::set_memory_fraction(static_cast<double>(fraction));
}

KYMO_API uint64_t current_allocated_memory();  // bytes that live tensors hold, without cached blocks
// Bytes that this process has allocated from the driver. If the driver does not report this, the bytes that the runtime
// has allocated, with caches.
KYMO_API uint64_t driver_allocated_memory();
KYMO_API uint64_t recommended_max_memory();  // how much memory the device can hold without problems

KYMO_API MemoryStatistics memory_statistics();
KYMO_API void reset_peak_memory();

// ---- State of the random numbers (random.h has the fills) --------------------------------------------------------

KYMO_API std::vector<std::byte> get_rng_state();
KYMO_API std::vector<std::byte> get_rng_state(Device device);
// The 44 bytes that get_rng_state returned. Any other size throws InvalidArgument.
KYMO_API void set_rng_state(std::span<const std::byte> state);
KYMO_API void set_rng_state(std::span<const std::byte> state, Device device);

namespace detail {
KYMO_API void seed_with(uint64_t seed);
}
// From -2^63 to 2^64-1; a negative number is converted to two's complement. Does nothing if there is no device.
template <std::integral T>
void manual_seed(T seed) {
  detail::seed_with(static_cast<uint64_t>(seed));
}
// Seeds with a number from the operating system, and returns that number. Returns 0 if there is no device.
KYMO_API uint64_t seed();

}  // namespace kymo::device
