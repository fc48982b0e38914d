// The names that Kineto's traces use, and which of Kymo's events they stand for. Tools for PyTorch traces find events
// by these names: HTA, for example, finds launches by cuda_runtime and cudaLaunchKernel on every kind of device.
//
//   range                              category               name
//   an operator of an engine           cpu_op
//   a scope, any other range           user_annotation        if it has no category of its own
//   a launch, a submission             cuda_runtime           cudaLaunchKernel
//   a call that queues a copy, a fill  cuda_runtime           cudaMemcpyAsync, cudaMemsetAsync
//   a call that waits                  cuda_runtime           cudaStreamSynchronize, …
//   a function of CUDA's driver        cuda_driver            cuLaunchKernel, its own
//   a kernel on a queue                kernel
//   a copy on a queue                  gpu_memcpy             Memcpy HtoD (Host -> Device), …
//   a fill on a queue                  gpu_memset             Memset (Device)
//   a marker, a barrier on a queue     cuda_sync
//   a label, a command buffer          gpu_user_annotation
//
// trace/device_range.h says which range on a queue is which. HTA takes everything with the argument "stream" as work of
// that stream, and finds copies by their names: only work has that argument, and all copies have such names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kymo::convert::kineto {

inline constexpr std::string_view kOperator = "cpu_op", kAnnotation = "user_annotation",
                                  kDeviceAnnotation = "gpu_user_annotation", kMemory = "cpu_instant_event";

// Operators and annotations have numbers ("External id"). An empty category is an annotation.
bool is_operation(std::string_view category);

// How an event is called in Kineto's traces. An empty name: as it is.
struct Names {
  std::string_view category, name;
};
// A range on a device's queue. A category of Kineto is kept: the trace may be an import.
Names device_range(std::string_view name, std::string_view category);
// The same for work that has only a name.
Names device_work(std::string_view name);
// A range of a thread that used a device; empty: as it is.
Names device_call(std::string_view name, std::string_view category);

// True if the text of this argument is a list in JSON, which is written as a list.
bool is_list(std::string_view key, std::string_view text);

}  // namespace kymo::convert::kineto

namespace kymo::convert {

// Checks texts from a trace that are written into a JSON file as they are.

// True if the text is a JSON array of numbers, strings, literals and such arrays, in UTF-8. At most 64 levels deep.
bool is_json_list(std::string_view untrusted);

// PyTorch's numbers for types of devices, and their names. One table for all that Kymo reads and writes.

// A device in traces of PyTorch. CPU memory has index -1.
struct DeviceNumbers {
  int64_t type = 0, index = -1;
};

// "Vulkan 0"; "device 42:0" for a type without a name. A negative index is 0.
std::string device_label(const DeviceNumbers& device);
// "vulkan:0"; "cpu" for all CPU memory; "device 42:0" for a type without a name.
std::string device_key(const DeviceNumbers& device);
// From the text of device_key(), or of any other name of a device. CPU memory if the name has no known type.
DeviceNumbers device_numbers(std::string_view key);

}  // namespace kymo::convert
