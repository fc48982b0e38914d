// The names that a program gives to objects of its devices: streams, contexts, command queues, events.
//
// They come from one interface (NVTX) and are useful for another (CUDA, OpenCL): an adapter that records a stream asks
// here for its name. Names are kept also while nothing records. Any thread may call these functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kymo::inject {

enum class Resource : uint32_t {
  Other = 0,
  CudaDevice,  // of the driver
  CudaContext,
  CudaStream,
  CudaEvent,
  CudaRuntimeDevice,
  CudaRuntimeStream,
  CudaRuntimeEvent,
  OpenClDevice,
  OpenClContext,
  OpenClQueue,
  OpenClMemory,
  OpenClSampler,
  OpenClProgram,
  OpenClEvent,
};
std::string_view text_of(Resource kind) noexcept;  // "CUDA stream"

// `id` is the handle of the object, or the number of a device. The first 127 bytes of the name are kept.
void set_resource_name(Resource kind, uint64_t id, std::string_view name) noexcept;

// Copies the name with a NUL. Returns its length; 0: it has none.
size_t get_resource_name(Resource kind, uint64_t id, char* into, size_t bytes) noexcept;

// Changes whenever a name is set; 0: no name was ever set. Costs one load.
uint32_t resource_names_version() noexcept;

}  // namespace kymo::inject
