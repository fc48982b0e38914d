// Kernels compiled from text, called by name.
//
//   ShaderLibrary lib = compile_shader(R"(
//     kernel void full(device float* out, constant float& val, uint idx [[thread_position_in_grid]]) {
//       out[idx] = val;
//     })");
//   lib["full"](x, 3.14);                                   // one thread for each element of x
//   lib["blur"].threads(width, height).group(16, 16)(in, out, width, 0.5);
//
// The language is Metal's, on every backend: it is translated to the backend's language (`kymo shader` shows it), and
// gives the same results on all. Each backend also takes its own languages, which are recognised by the text: OpenCL C;
// CUDA C++ and PTX; GLSL and SPIR-V. docs/device.md says how arguments match parameters in each. Numbers are converted
// to the declared type; a number that does not fit is refused. Everything is checked before the launch. The launch is
// queued on this thread's current stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kymo/accelerator.h"
#include "kymo/stream.h"
#include "kymo/tensor.h"

namespace kymo::device {

class LibraryState;
struct KernelState;

// For a parameter `sampler` of a Metal kernel. A sampler that does not change is better written in the source:
// constexpr sampler s(address::repeat, filter::linear);
struct Sampler {
  enum class Filter : uint8_t { Nearest, Linear };
  enum class Address : uint8_t { ClampToEdge, Repeat, MirroredRepeat, ClampToZero, ClampToBorder };
  enum class Border : uint8_t { TransparentBlack, OpaqueBlack, OpaqueWhite };
  Filter filter = Filter::Nearest;
  Address address = Address::ClampToEdge;  // outside of the texture, in all dimensions
  Border border = Border::TransparentBlack;
  bool pixels = false;  // coordinates are in pixels, not from 0 to 1

  constexpr uint32_t bits() const {
    const auto mode = static_cast<uint32_t>(address);
    return (pixels ? 1u : 0u) | static_cast<uint32_t>(filter) << 1 | mode << 2 | mode << 5 | mode << 8 |
           static_cast<uint32_t>(border) << 11;
  }
};

// One argument of a kernel in a call. It refers to the caller's value, so it must not outlive the call.
class KernelArgument {
 public:
  enum class Kind : uint8_t { Tensor, Signed, Unsigned, Float, List, Tensors, Bytes };

  KernelArgument(const Tensor& tensor) : kind_(Kind::Tensor), pointer_(&tensor) {}
  template <class T>
  requires std::is_arithmetic_v<T> KernelArgument(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      kind_ = Kind::Float;
      float_ = static_cast<double>(value);
    } else if constexpr (std::is_signed_v<T>) {
      kind_ = Kind::Signed;
      signed_ = value;
    } else {
      kind_ = Kind::Unsigned;
      unsigned_ = value;
    }
  }
  KernelArgument(const Sampler& sampler) : KernelArgument(sampler.bits()) {}
  KernelArgument(Half value) : KernelArgument(static_cast<float>(value)) {}
  KernelArgument(BFloat16 value) : KernelArgument(static_cast<float>(value)) {}
  template <class T>
  KernelArgument(std::span<const T> list) : kind_(Kind::List), pointer_(list.data()), size_(list.size()) {
    if constexpr (std::is_same_v<T, Tensor>) {
      kind_ = Kind::Tensors;
    } else if constexpr (std::is_same_v<T, std::byte>) {
      kind_ = Kind::Bytes;
      type_ = DType::U8;
    } else {
      type_ = dtype_of<T>();
    }
  }
  template <class T>
  KernelArgument(const std::vector<T>& list) : KernelArgument(std::span<const T>(list)) {}
  template <class T, size_t N>
  KernelArgument(const std::array<T, N>& list) : KernelArgument(std::span<const T>(list)) {}

  Kind kind() const { return kind_; }
  const Tensor& tensor() const { return *static_cast<const Tensor*>(pointer_); }
  int64_t as_signed() const { return signed_; }
  uint64_t as_unsigned() const { return unsigned_; }
  double as_double() const { return float_; }
  DType list_type() const { return type_; }
  const void* list() const { return pointer_; }
  size_t list_size() const { return size_; }
  std::span<const Tensor> tensors() const { return {static_cast<const Tensor*>(pointer_), size_}; }

 private:
  Kind kind_;
  DType type_ = DType::F32;
  union {
    const void* pointer_;
    int64_t signed_;
    uint64_t unsigned_;
    double float_;
  };
  size_t size_ = 0;
};

// A kernel and its launch settings. A small value.
class KYMO_API Kernel {
 public:
  const std::string& name() const;
  Device device() const;
  uint64_t max_threads_per_threadgroup() const;
  uint64_t thread_execution_width() const;
  uint64_t static_thread_group_memory_length() const;  // bytes

  // The number of threads, in one to three dimensions. Default: one for each element of the first tensor, or for each
  // pixel of it, if it is a texture (width x height x depth). No other threads run, for any group size. 0: nothing is
  // launched.
  Kernel threads(uint64_t x) const { return with_threads({x, 1, 1}, 1); }
  Kernel threads(uint64_t x, uint64_t y) const { return with_threads({x, y, 1}, 2); }
  Kernel threads(uint64_t x, uint64_t y, uint64_t z) const { return with_threads({x, y, z}, 3); }
  // The group size, in the same number of dimensions. The default is chosen for speed.
  Kernel group(uint64_t x) const { return with_group({x, 1, 1}, 1); }
  Kernel group(uint64_t x, uint64_t y) const { return with_group({x, y, 1}, 2); }
  Kernel group(uint64_t x, uint64_t y, uint64_t z) const { return with_group({x, y, z}, 3); }
  Kernel on(Stream stream) const;

  // Launches the kernel. Arguments are tensors, numbers, lists of numbers, lists of tensors, samplers, and the bytes of
  // a structure (std::as_bytes(std::span(&it, 1))). A texture takes a tensor, too: texture2d one of shape [height,
  // width] or [height, width, channels]. A strided tensor is passed as the memory from its first element on: a kernel
  // needs its strides(), or gets its contiguous() copy. Throws InvalidArgument with the name of the argument, before
  // anything is queued.
  template <class... Args>
  void operator()(const Args&... args) const {
    if constexpr (sizeof...(Args) == 0) {
      launch({});
    } else {
      const KernelArgument list[] = {KernelArgument(args)...};
      launch(list);
    }
  }
  void launch(std::span<const KernelArgument> given) const;

  Kernel(std::shared_ptr<LibraryState> library, KernelState& state) : library_(std::move(library)), state_(&state) {}

 private:
  Kernel with_threads(std::array<uint64_t, 3> threads, uint8_t dimensions) const;
  Kernel with_group(std::array<uint64_t, 3> group, uint8_t dimensions) const;

  std::shared_ptr<LibraryState> library_;
  KernelState* state_;
  StreamState* stream_ = nullptr;  // null: the current stream
  std::array<uint64_t, 3> threads_{}, group_{};
  uint8_t thread_dimensions_ = 0, group_dimensions_ = 0;  // 0: not given
};

// The compiled code of one source. A small value; the code is kept as long as any copy exists.
class KYMO_API ShaderLibrary {
 public:
  Kernel operator[](std::string_view name) const;  // throws Error with the list of names
  std::vector<std::string> kernel_names() const;
  Device device() const;
  // What the translator warned about, as a compiler prints it: the warnings of `kymo shader`. Only for Metal; empty if
  // there are none. Code from the cache has them too.
  const std::string& warnings() const;

  explicit ShaderLibrary(std::shared_ptr<LibraryState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<LibraryState> state_;
};

struct CompileOptions {
  std::vector<std::string> options = {};  // for the backend's compiler; for Metal: -DNAME and -DNAME=VALUE
  std::string file = "shader";            // the name of the source in messages

  // Only for Metal.
  // Function constants, by name or by index: {{"0", 1}, {"use_mask", true}}. Those of a vector by component:
  // {{"tint.x", 1}, {"tint.y", 0.5}}. CompileError if the source has no such one, or its type cannot hold the value.
  std::map<std::string, double> constants = {};
  // Texts that #include finds, besides <metal_stdlib> and <c10/metal/….h>.
  std::map<std::string, std::string> headers = {};
  // On CUDA, products of simdgroup matrices of half and bfloat use the tensor cores. They add in another order, so the
  // last bits may differ from those of other devices. No effect on other devices.
  bool tensor_cores = false;
};

// Compiles for the current device. Compiled code is cached in memory and on disk (KYMO_CACHE_DIR, otherwise
// ~/.cache/kymo; KYMO_CACHE_DIR="" turns the disk cache off). The key is everything that affects the result, with the
// device and the driver. Throws CompileError.
KYMO_API ShaderLibrary compile_shader(std::string_view source, const CompileOptions& options = {});
KYMO_API ShaderLibrary compile_shader(std::string_view source, const CompileOptions& options, Device device);

// Loads a library of translated kernels, which `kymo shader SOURCE -o NAME.kymolib` wrote. Nothing is translated: only
// the driver's compiler runs, and only if the code is not in the cache. Throws Error if the file cannot be read, is
// damaged, or was written for another backend only.
KYMO_API ShaderLibrary load_metallib(const std::string& path);
KYMO_API ShaderLibrary load_metallib(const std::string& path, Device device);
KYMO_API ShaderLibrary load_metallib(std::span<const std::byte> contents);  // of such a file
KYMO_API ShaderLibrary load_metallib(std::span<const std::byte> contents, Device device);

}  // namespace kymo::device
