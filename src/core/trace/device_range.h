// What a range on the queue of a device is. One table for exports and for all analyses.
//
//   category                                         is
//   copy, gpu_memcpy                                 a copy of memory
//   fill, gpu_memset                                 a fill of memory
//   sync, cuda_sync                                  a wait of the queue: a marker, a barrier, an event
//   device range, gpu_user_annotation, cuda_event    around work, such as a label or a command buffer; no work itself
//   any other, or none                               a kernel
//
// The first name of each row is the one that Kymo records, on every interface; the others are Kineto's.
#pragma once

#include <cstdint>
#include <string_view>

namespace kymo::trace {

enum class DeviceRange : uint8_t { Kernel, Copy, Fill, Wait, Annotation };

DeviceRange device_range(std::string_view category);

// True if the queue is busy with it.
constexpr bool is_work(DeviceRange kind) { return kind != DeviceRange::Wait && kind != DeviceRange::Annotation; }

}  // namespace kymo::trace
