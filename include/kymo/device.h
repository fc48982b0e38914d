// Accelerators: which there are, what they hold, and what they are doing. This header brings its neighbours along:
//
//   stream.h   queues of work, and events in them
//   tensor.h   arrays in device memory
//   shader.h   kernels compiled from text
//   random.h   random numbers, the same on every device
//   memory.h   what the allocator counts
//
//   auto x = kymo::device::zeros({16});
//   auto lib = kymo::device::compile_shader(
//       "kernel void full(device float* out, constant float& val, uint idx [[thread_position_in_grid]]) { out[idx] =
//       val; }");
//   lib["full"](x, 3.14);
//   std::vector<float> there = x.to_host<float>();
//
// Everything acts on the current device: the one that KYMO_DEVICE names ("cuda:0", "opencl:1", "vulkan"), or the best
// one found (CUDA, then OpenCL, then Vulkan; a processor posing as a device comes last). Any function may be called
// from any thread. Work is queued and runs later; what goes wrong then is thrown by the next synchronize().
//
// Every kernel, copy, fill and allocation is in the trace while something records (kymo record, KYMO_TRACE, Session):
// nothing has to be called for it. While nothing records that costs one branch.
//
// Where there is no device, is_available() is false, seeding does nothing, and everything else throws NotAvailable. In
// a forked child of a process that used a device, everything throws Error: drivers do not survive a fork.
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

// Makes another device the current one, for all threads.
KYMO_API void set_device(Device device);

// ---- What there is -------------------------------------------------------------------------------------------------

KYMO_API int device_count();  // of the backend in use
KYMO_API bool is_available();

// What `kymo devices` prints: every backend, its devices, or why it has none.
struct BackendReport {
  struct Entry {
    std::string name, description, driver, uuid;
    std::vector<std::string> languages, capabilities;
    uint64_t memory = 0, recommended_max = 0;
    uint64_t max_threads_per_group = 0, execution_width = 0, compute_units = 0;
    bool current = false;
  };
  std::string backend;
  std::string absent;  // why there is none; empty: there is
  std::vector<Entry> devices;
};
KYMO_API std::vector<BackendReport> list_devices();

// ---- Waiting -------------------------------------------------------------------------------------------------------

// Waits for all work on all streams of the device. Throws DeviceError for what went wrong in it.
KYMO_API void synchronize();
KYMO_API void synchronize(Device device);

// After a DeviceError that stays (a kernel that touched memory it may not): forgets everything on the device and begins
// anew. Tensors, libraries, events and host buffers of before are invalid, and say so when they are used. No other
// thread may be using the device meanwhile. Throws DeviceError where the driver does not let the process begin anew.
KYMO_API void reset(Device device);

// ---- Memory --------------------------------------------------------------------------------------------------------

// Gives every unused cached block back to the driver.
KYMO_API void empty_cache();

namespace detail {
KYMO_API void set_memory_fraction(double fraction);
}
// Limits this process to a fraction of recommended_max_memory(): 0 is no limit, above 1 is allowed up to 2. Anything
// else, or NaN: InvalidArgument. An integer does not compile, because 1 and 1.0 are too easily confused with bytes.
template <std::floating_point T>
void set_per_process_memory_fraction(T fraction) {
  detail::set_memory_fraction(static_cast<double>(fraction));
}

KYMO_API uint64_t current_allocated_memory();  // bytes held by live tensors; cached blocks excluded
// Bytes taken from the driver for this process. Where the driver cannot tell, what the runtime took, caches included.
KYMO_API uint64_t driver_allocated_memory();
KYMO_API uint64_t recommended_max_memory();  // what the device can hold without hurting itself

KYMO_API MemoryStatistics memory_statistics();
KYMO_API void reset_peak_memory();

// ---- Random numbers' state (random.h has the fills)
// ------------------------------------------------------------------

KYMO_API std::vector<std::byte> get_rng_state();
KYMO_API std::vector<std::byte> get_rng_state(Device device);
// 44 bytes, as get_rng_state gave them; any other size: InvalidArgument.
KYMO_API void set_rng_state(std::span<const std::byte> state);
KYMO_API void set_rng_state(std::span<const std::byte> state, Device device);

namespace detail {
KYMO_API void seed_with(uint64_t seed);
}
// -2^63 … 2^64-1; a negative number is taken as its two's complement. Does nothing where there is no device.
template <std::integral T>
void manual_seed(T seed) {
  detail::seed_with(static_cast<uint64_t>(seed));
}
// A seed from the operating system, which it returns; 0 where there is no device.
KYMO_API uint64_t seed();

}  // namespace kymo::device
