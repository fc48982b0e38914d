// One capture while it is recorded: converts calls with tensors and kernels to records with numbers.
//
// A buffer gets its number when a call first uses it, and its contents at that time are stored, unless the call
// overwrites all of it. Its contents when it is freed, or at the end, are stored as its result. Both wait for the
// device. One thread at a time; the caller makes sure that the device calls made here are not captured.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "capture/records.h"
#include "capture/writer.h"
#include "device/library.h"
#include "device/storage.h"
#include "device/work_capture.h"

namespace kymo::capture {

class Session {
 public:
  // Throws WriteError, like every function here, for example if the disk is full.
  Session(std::string folder, std::string name);

  void launch(const device::KernelState& kernel, const device::Launch& launch,
              std::span<const device::KernelArgument> given, device::StreamState& stream);
  void fill(const device::Tensor& to, double value);
  void fill_random(const device::Tensor& to, const device::RandomFill& fill);
  void copy(const device::Tensor& from, const device::Tensor& to);
  void upload(const device::Tensor& to, std::span<const std::byte> from);
  void download(const device::Tensor& from);
  void freed(device::Storage& storage);
  // The next calls of this thread are part of the operation; if operations are nested, of the innermost one.
  void begin_operation(std::string_view name, double flops);
  void end_operation();

  // Stores the results and completes the folder.
  void finish(std::span<const uint64_t> device_times);
  void abandon() { writer_.abandon(); }
  // The first error of a device during the capture; empty: none.
  const std::string& problem() const { return problem_; }
  void note_problem(const std::string& problem);

 private:
  struct KernelEntry {
    uint32_t number = 0;
    uint64_t source = 0;  // hash of the source: another library may reuse the address
  };
  uint32_t device_number(device::DeviceState& device);
  uint32_t library_number(const device::LibraryState& library, uint64_t source);
  uint32_t kernel_number(const device::KernelState& kernel);
  uint32_t buffer_number(device::Storage& storage, bool overwritten);
  TensorRef reference(const device::Tensor& tensor, bool overwritten = false);
  ArgumentValue value_of(const device::KernelArgument& argument);
  void add_call(Record call, bool is_launch = false);
  Pieces contents_of(device::Storage& storage);
  void add_result(device::Storage& storage, uint32_t buffer, bool freed);

  Writer writer_;
  std::string name_, problem_;
  uint64_t started_ns_ = 0;
  std::unordered_map<device::DeviceState*, uint32_t> devices_;
  std::unordered_map<device::DeviceState*, uint32_t> empty_buffers_;  // tensors without bytes share one per device
  std::unordered_map<uint64_t, uint32_t> libraries_;                  // by source and device
  std::unordered_map<const device::KernelState*, KernelEntry> kernels_;
  std::unordered_map<device::Storage*, uint32_t> buffers_;
  std::map<std::thread::id, std::vector<uint32_t>> operations_;  // the open operations of each thread, innermost last
  uint32_t kernel_count_ = 0, buffer_count_ = 0, operation_count_ = 0;
  std::vector<std::byte> host_;
};

}  // namespace kymo::capture
