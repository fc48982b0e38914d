// The arguments of a kernel call: checked against the kernel's declaration, and converted to what a backend takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/backend.h"
#include "device/library.h"
#include "device/stream_state.h"
#include "kymo/shader.h"
#include "kymo/tensor.h"
#include "kymo/translate.h"

namespace kymo::device {

class Storage;

class Arguments {
 public:
  // Throws InvalidArgument that names the argument: a wrong number of arguments, a tensor for a number or a number for
  // a tensor, a tensor of another type, a number that its type cannot hold, a list of the wrong length, a tensor of
  // another device, more group memory than the device has.
  Arguments(const KernelState& kernel, std::span<const KernelArgument> given, StreamState& stream);
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  // Uploads lists that become buffers to the device, on the stream. Gives a kernel that reports errors the error buffer
  // of the stream. Called last, after all checks.
  void complete();
  bool uses_error_buffer() const { return error_position_ != kNone; }

  std::span<const Argument> list() const { return {arguments_, count_}; }
  std::span<const Address> indirect() const { return indirect_; }
  // One thread for each pixel of the first tensor, if it is a texture, otherwise for each element. Empty: no tensor.
  std::optional<Extent> default_threads() const;
  size_t tensor_bytes() const { return tensor_bytes_; }  // of all tensors

 private:
  // Enough for usual kernels; more goes to the heap.
  static constexpr size_t kInlineArguments = 24, kInlineBytes = 256;

  static constexpr size_t kNone = SIZE_MAX;

  void put(size_t position, const KernelArgument& given);
  void put_buffer(size_t position, const KernelArgument& given);
  void put_tensor(size_t position, const Tensor& tensor);
  void put_address(size_t position, const Tensor& tensor);
  void put_inline(size_t position, const KernelArgument& given);
  void put_texture(size_t position, const KernelArgument& given);
  void put_value(size_t position, const KernelArgument& given);
  void put_local(size_t position, const KernelArgument& given);
  void fill_value(size_t position, const KernelArgument& given, std::byte* to);
  void put_list(size_t position, std::vector<std::byte> bytes);
  void check_elements(size_t position, const Tensor& tensor) const;
  void check_value_tensor(size_t position, const Tensor& tensor) const;
  void check_group_memory() const;
  Address use(size_t position, const Tensor& tensor);
  void upload_lists();
  std::byte* room(size_t bytes);
  std::string which(size_t position) const;
  void match_by_position(std::span<const KernelArgument> given);
  void match_by_kind(std::span<const KernelArgument> given);

  const KernelState& kernel_;
  StreamState& stream_;
  Argument inline_arguments_[kInlineArguments];
  std::vector<Argument> more_arguments_;
  Argument* arguments_ = inline_arguments_;
  size_t count_ = 0;
  alignas(16) std::byte inline_bytes_[kInlineBytes];
  size_t bytes_used_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> more_bytes_;
  std::vector<Address> indirect_;
  struct List {
    size_t position;
    std::vector<std::byte> bytes;
  };
  std::vector<List> lists_;
  std::vector<std::shared_ptr<Storage>> temporaries_;
  const Tensor* first_tensor_ = nullptr;
  std::optional<Extent> first_texture_;  // its size, if the first tensor is a texture
  size_t tensor_bytes_ = 0;
  uint64_t local_bytes_ = 0;
  size_t error_position_ = kNone;  // the parameter for the stream's error buffer
};

}  // namespace kymo::device
