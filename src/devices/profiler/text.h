// The names of executions in log lines and in messages of signposts. They are made only if something reads them.
//
//   blur:opencl:0:f32[512, 512]:opencl:0:f32[9] (id=K2, run=7, gpu=0.123 ms, cpu=0.004 ms)
//   BlitCopySync: host:0x7f52c0000b20 --> opencl:0:f32[16] (len=64 B, gpu=0.002 ms)
//   Host Fallback::sort:opencl:0:f32[16] (id=1, run=1, CopyOverhead=64 B, cpu=0.052 ms)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "device/operation.h"
#include "kymo/tensor.h"

namespace kymo::profiler {

std::string size_text(uint64_t bytes);  // "64 B", "1.50 KiB", "3.00 GiB"

// "opencl:0:f32[4, 4]"; with its buffer "opencl:0(buf#7:2):f32[4, 4]": the number of the buffer, and how many tensors
// share it.
std::string tensor_text(const device::Tensor& tensor, bool with_buffer);

uint64_t bytes_of(std::span<const device::Tensor* const> tensors);  // null and undefined ones have none

// The part before the parentheses. `device` is where it runs.
std::string kernel_key(const device::Operation& operation, bool with_buffers);  // a fill's too
std::string copy_key(const device::Operation& operation, std::string_view device, bool with_buffers);
std::string scope_key(std::string_view name, std::span<const device::Tensor* const> tensors, bool with_buffers);

// A time that is 0 is left out.
struct MessageTimes {
  uint64_t gpu_ns = 0, cpu_ns = 0;
};
std::string operation_message(std::string_view key, std::string_view id, uint64_t run, const MessageTimes& times);
std::string copy_message(std::string_view key, uint64_t bytes, const MessageTimes& times);
std::string fallback_message(std::string_view key, uint64_t number, uint64_t run, uint64_t copied_bytes,
                             const MessageTimes& times);

}  // namespace kymo::profiler
