// Launching a kernel: how many threads, in which groups, on which stream.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/text.h"
#include "device/backend.h"
#include "device/error_buffer.h"
#include "device/library.h"
#include "device/storage.h"
#include "device/stream_state.h"
#include "device/value_bytes.h"
#include "device/work_capture.h"
#include "kymo/shader.h"
#include "kymo/tensor.h"
#include "kymo/translate.h"

namespace kymo::device {
namespace {

// The last dimension of the tensor may be the channels, the others are those of the texture.

using shader::TextureShape;
using shader::TextureValue;

constexpr int64_t kMaxChannels = 4;
// Indices of pixels, and twice the size of a mirrored texture, are computed in 32 bits.
constexpr int64_t kMaxSize = int64_t{1} << 29;

static_assert(sizeof(TextureValue) == 64 && alignof(TextureValue) == 8);
static_assert(static_cast<int>(DType::F16) == 1 && static_cast<int>(DType::F32) == 3 &&
                  static_cast<int>(DType::U8) == 6 && static_cast<int>(DType::U32) == 10,
              "stdlib_texture.metal has these numbers");

struct Shown {
  std::string_view name, sizes;  // of the type, and of its dimensions from the outermost
  int dimensions;
};

Shown shown(TextureShape shape) {
  switch (shape) {
    case TextureShape::Line:
      return {"texture1d", "width", 1};
    case TextureShape::Layers:
      return {"texture2d_array", "layers, height, width", 3};
    case TextureShape::Volume:
      return {"texture3d", "depth, height, width", 3};
    default:
      return {"texture2d", "height, width", 2};
  }
}

// The types of tensors that a texture may read.
std::vector<DType> taken_by(DType component) {
  switch (component) {
    case DType::I32:
      return {DType::I32, DType::I16, DType::I8};
    case DType::U32:
      return {DType::U32, DType::U16, DType::U8};
    case DType::I16:
      return {DType::I16, DType::I8};
    case DType::U16:
      return {DType::U16, DType::U8};
    default:
      return {DType::F32, DType::F16, DType::BF16, DType::U8, DType::U16, DType::I8, DType::I16};
  }
}

// "of shape [height, width] or [height, width, channels]"
std::string texture_shapes(TextureShape shape) {
  const Shown texture = shown(shape);
  return base::format("of shape [{}] or [{}, channels]", texture.sizes, texture.sizes);
}

// Fills everything but the address. Returns what is wrong with the tensor, or an empty text.
std::string describe_texture(const Tensor& tensor, const Parameter& parameter, TextureValue& texture) {
  const Shown kind = shown(parameter.texture);
  const Shape& shape = tensor.shape();
  const std::string given = base::format("it was given {} {}", name_of(tensor.dtype()), shape.text());
  if (parameter.bytes != sizeof texture) return "its kernel was translated by another version of Kymo";
  const std::vector<DType> types = taken_by(parameter.type.value_or(DType::F32));
  if (std::ranges::find(types, tensor.dtype()) == types.end()) {
    std::vector<std::string> names;
    for (const DType type : types) names.emplace_back(name_of(type));
    return base::format("a {} of {} takes a tensor of {}; {}", kind.name, name_of(parameter.type.value_or(DType::F32)),
                        base::join(names, ", "), given);
  }
  const bool has_channels = shape.dimensions() == kind.dimensions + 1;
  if (shape.dimensions() != kind.dimensions && !has_channels)
    return base::format("a {} takes a tensor {}; {}", kind.name, texture_shapes(parameter.texture), given);
  const int64_t channels = has_channels ? shape[kind.dimensions] : 1;
  if (channels < 1 || channels > kMaxChannels)
    return base::format("a {} has 1 to {} channels, the last dimension of a tensor {}; {}", kind.name, kMaxChannels,
                        texture_shapes(parameter.texture), given);
  if (std::ranges::any_of(shape.sizes(), [](int64_t size) { return size < 1 || size > kMaxSize; }))
    return base::format("a {} has 1 to {} pixels in each dimension; {}", kind.name, kMaxSize, given);

  // The innermost dimension is x.
  uint32_t* const sizes[] = {&texture.width, &texture.height, &texture.depth};
  int64_t* const strides[] = {&texture.x_stride, &texture.y_stride, &texture.z_stride};
  for (int i = 0; i < kind.dimensions; ++i) {
    const int dimension = kind.dimensions - 1 - i;
    *sizes[i] = static_cast<uint32_t>(shape[dimension]);
    *strides[i] = tensor.strides()[static_cast<size_t>(dimension)];
  }
  texture.channels = static_cast<uint32_t>(channels);
  if (has_channels) texture.channel_stride = tensor.strides().back();
  texture.format = static_cast<uint32_t>(tensor.dtype());
  return {};
}

// True if a kernel that declares one type may get the other: both have the same size and the same kind of number.
bool is_alike(DType given, DType declared) {
  return size_of(given) == size_of(declared) && is_floating(given) == is_floating(declared) &&
         (given == DType::F16) == (declared == DType::F16);
}

// A tensor of one f64 for `constant float&`: Metal has no such type, so its value is read and passed as a number.
std::optional<KernelArgument> narrowed_value(const KernelArgument& given, const Parameter& parameter) {
  if (given.kind() != KernelArgument::Kind::Tensor || parameter.type != DType::F32 || parameter.count != 1) return {};
  if (parameter.kind == ParameterKind::Buffer && !parameter.is_value) return {};
  const Tensor& tensor = given.tensor();
  if (!tensor.is_defined() || tensor.dtype() != DType::F64 || tensor.shape().dimensions() != 0) return {};
  return KernelArgument(tensor.to_host<double>()[0]);
}

// The parameter that the runtime passes if the caller does not.
size_t error_parameter(const KernelInfo& kernel) {
  if (!kernel.is_translated) return SIZE_MAX;
  const auto found = std::ranges::find(kernel.parameters, true, &Parameter::reports_errors);
  return found == kernel.parameters.end() ? SIZE_MAX : static_cast<size_t>(found - kernel.parameters.begin());
}

// The arguments of a kernel call: checked against the kernel's declaration, and converted to what a backend takes.
class Arguments {
 public:
  // Throws InvalidArgument that names the argument: a wrong number of arguments, a tensor for a number or a number for
  // a tensor, a tensor of another type, a number that its type cannot hold, a list of the wrong length, a tensor of
  // another device, more group memory than the device has.
  Arguments(const KernelState& kernel, std::span<const KernelArgument> given, StreamState& stream)
      : kernel_(kernel), stream_(stream), count_(kernel.info->parameters.size()) {
    if (given.size() != count_) {
      if (given.size() + 1 == count_) error_position_ = error_parameter(*kernel.info);
      if (error_position_ == kNone) {
        throw InvalidArgument(base::format("kernel \"{}\" takes {} argument{}, and was given {}", kernel.name, count_,
                                           count_ == 1 ? "" : "s", given.size()));
      }
    }
    if (count_ > kInlineArguments) {
      more_arguments_.resize(count_);
      arguments_ = more_arguments_.data();
    }
    match(given);
    if (local_bytes_ != 0) check_group_memory();
  }

  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  // Uploads lists that become buffers to the device, on the stream. Gives a kernel that reports errors the error buffer
  // of the stream. Called last, after all checks.
  void complete() {
    upload_lists();
    if (uses_error_buffer()) {
      arguments_[error_position_].address = stream_.errors().address();
      arguments_[error_position_].extent = ErrorBuffer::kBytes;
    }
  }

  bool uses_error_buffer() const { return error_position_ != kNone; }

  std::span<const Argument> list() const { return {arguments_, count_}; }
  std::span<const Address> indirect() const { return indirect_; }
  // One thread for each pixel of the first tensor, if it is a texture, otherwise for each element. Empty: no tensor.
  std::optional<Extent> default_threads() const {
    if (first_texture_) return first_texture_;
    if (first_tensor_ == nullptr) return std::nullopt;
    return Extent{static_cast<uint64_t>(first_tensor_->elements()), 1, 1};
  }

  size_t tensor_bytes() const { return tensor_bytes_; }  // of all tensors

 private:
  // Enough for usual kernels; more goes to the heap.
  static constexpr size_t kInlineArguments = 24, kInlineBytes = 256;

  static constexpr size_t kNone = SIZE_MAX;

  void put(size_t position, const KernelArgument& given) {
    if (kernel_.info->parameters[position].texture != shader::TextureShape::None) return put_texture(position, given);
    switch (kernel_.info->parameters[position].kind) {
      case ParameterKind::Buffer:
        return put_buffer(position, given);
      case ParameterKind::Inline:
        return put_inline(position, given);
      case ParameterKind::Local:
        return put_local(position, given);
      case ParameterKind::Word:
        if (given.kind() == KernelArgument::Kind::Tensor) return put_address(position, given.tensor());
        [[fallthrough]];
      case ParameterKind::Value:
      case ParameterKind::Unknown:
        return put_value(position, given);
    }
  }

  void put_buffer(size_t position, const KernelArgument& given) {
    const Parameter& parameter = kernel_.info->parameters[position];
    using Kind = KernelArgument::Kind;
    if (const auto narrowed = narrowed_value(given, parameter)) return put_buffer(position, *narrowed);
    if (given.kind() == Kind::Tensor) {
      if (parameter.is_value)
        check_value_tensor(position, given.tensor());
      else
        check_elements(position, given.tensor());
      return put_tensor(position, given.tensor());
    }
    if (parameter.is_value) {
      std::vector<std::byte> bytes(parameter.bytes);
      fill_value(position, given, bytes.data());
      return put_list(position, std::move(bytes));
    }
    if (given.kind() == Kind::Tensors) {
      std::vector<Address> addresses;
      for (const Tensor& tensor : given.tensors()) addresses.push_back(use(position, tensor));
      indirect_.insert(indirect_.end(), addresses.begin(), addresses.end());
      const auto bytes = std::as_bytes(std::span(addresses));
      return put_list(position, {bytes.begin(), bytes.end()});
    }
    if (given.kind() != Kind::List && given.kind() != Kind::Bytes && !(kernel_.info->is_translated && parameter.type)) {
      throw InvalidArgument(
          base::format("{} is a buffer and takes a tensor; it was given {}", which(position), noun(given)));
    }
    if (parameter.is_written) {
      throw InvalidArgument(base::format("{} is written by the kernel and takes a tensor; it was given {}",
                                         which(position), noun(given)));
    }
    std::vector<std::byte> bytes;
    const std::string wrong = store_elements(given, parameter, bytes);
    if (!wrong.empty()) throw InvalidArgument(base::format("{}: {}", which(position), wrong));
    put_list(position, std::move(bytes));
  }

  void put_tensor(size_t position, const Tensor& tensor) {
    Argument& argument = arguments_[position];
    argument.address = use(position, tensor);
    argument.extent = tensor.storage()->bytes() - tensor.offset();
  }

  void put_address(size_t position, const Tensor& tensor) {
    const Address address = use(position, tensor);
    std::byte* to = room(sizeof address);
    std::memcpy(to, &address, sizeof address);
    arguments_[position].data = to;
    arguments_[position].bytes = sizeof address;
    indirect_.push_back(address);
  }

  void put_inline(size_t position, const KernelArgument& given) {
    const Parameter& parameter = kernel_.info->parameters[position];
    if (const auto narrowed = narrowed_value(given, parameter)) return put_inline(position, *narrowed);
    std::byte* to = room(parameter.inline_bytes);
    std::memset(to, 0, parameter.inline_bytes);
    arguments_[position].data = to;
    arguments_[position].bytes = parameter.inline_bytes;
    if (given.kind() == KernelArgument::Kind::Tensor) {
      check_value_tensor(position, given.tensor());
      const Address address = use(position, given.tensor());
      std::memcpy(to, &address, sizeof address);
      indirect_.push_back(address);
      return;
    }
    fill_value(position, given, to + parameter.value_offset);
  }

  void put_texture(size_t position, const KernelArgument& given) {
    const Parameter& parameter = kernel_.info->parameters[position];
    if (given.kind() != KernelArgument::Kind::Tensor) {
      throw InvalidArgument(base::format("{} is a texture and takes a tensor: {}; it was given {}", which(position),
                                         texture_shapes(parameter.texture), noun(given)));
    }
    const Tensor& tensor = given.tensor();
    const bool is_first = first_tensor_ == nullptr;
    const Address address = use(position, tensor);
    shader::TextureValue texture;
    const std::string wrong = describe_texture(tensor, parameter, texture);
    if (!wrong.empty()) throw InvalidArgument(base::format("{}: {}", which(position), wrong));
    texture.address = address;
    indirect_.push_back(address);
    if (is_first) first_texture_ = {texture.width, texture.height, texture.depth};
    const auto bytes = std::as_bytes(std::span(&texture, 1));
    if (parameter.kind != ParameterKind::Inline) return put_list(position, {bytes.begin(), bytes.end()});
    std::byte* to = room(parameter.inline_bytes);
    std::memset(to, 0, parameter.inline_bytes);
    std::memcpy(to + parameter.value_offset, bytes.data(), bytes.size());
    arguments_[position].data = to;
    arguments_[position].bytes = parameter.inline_bytes;
  }

  void put_value(size_t position, const KernelArgument& given) {
    const Parameter& parameter = kernel_.info->parameters[position];
    if (given.kind() == KernelArgument::Kind::Tensor)
      throw InvalidArgument(
          base::format("{} is a number ({}), and was given a tensor", which(position), type_text(parameter)));
    if (parameter.kind == ParameterKind::Unknown && parameter.bytes == 0) return put_bytes(position, given);
    const size_t bytes = is_number(given) && parameter.type ? size_of(*parameter.type) : parameter.bytes;
    std::byte* to = room(bytes);
    std::memset(to, 0, bytes);
    fill_value(position, given, to);
    arguments_[position].data = to;
    arguments_[position].bytes = static_cast<uint32_t>(bytes);
  }

  // For a type that the source declares: only the driver knows its size, and checks it.
  void put_bytes(size_t position, const KernelArgument& given) {
    if (given.kind() != KernelArgument::Kind::Bytes)
      throw InvalidArgument(
          base::format("{} has a type that the source declares, and takes bytes; it was given {}: pass its bytes, or "
                       "declare it with a type of OpenCL C",
                       which(position), noun(given)));
    std::byte* to = room(given.list_size());
    std::memcpy(to, given.list(), given.list_size());
    arguments_[position].data = to;
    arguments_[position].bytes = static_cast<uint32_t>(given.list_size());
  }

  void put_local(size_t position, const KernelArgument& given) {
    uint64_t bytes = 0;
    if (!is_number(given) || !store_number(Number::of(given), DType::U64, &bytes) || bytes == 0 || bytes > UINT32_MAX)
      throw InvalidArgument(base::format("{} is group memory and takes its size in bytes", which(position)));
    arguments_[position].bytes = static_cast<uint32_t>(bytes);
    local_bytes_ += bytes;
  }

  // `to` has the parameter's bytes, all 0.
  void fill_value(size_t position, const KernelArgument& given, std::byte* to) {
    const Parameter& parameter = kernel_.info->parameters[position];
    if (given.kind() != KernelArgument::Kind::Tensors) {
      const std::string wrong = store_value(given, parameter, to);
      if (!wrong.empty()) throw InvalidArgument(base::format("{}: {}", which(position), wrong));
      return;
    }
    if (given.list_size() * sizeof(Address) != parameter.bytes) {
      throw InvalidArgument(base::format("{} takes {}, and was given {} tensors of 8 bytes each", which(position),
                                         type_text(parameter), given.list_size()));
    }
    for (const Tensor& tensor : given.tensors()) {
      const Address address = use(position, tensor);
      indirect_.push_back(address);
      std::memcpy(to, &address, sizeof address);
      to += sizeof address;
    }
  }

  // A list for a parameter that is a pointer. It is kept until all arguments are checked.
  void put_list(size_t position, std::vector<std::byte> bytes) {
    if (bytes.empty()) throw InvalidArgument(which(position) + " is an empty list");
    lists_.push_back({position, std::move(bytes)});
  }

  // With another type the kernel would read other numbers than the tensor has, or write beyond its end. Signed and
  // unsigned integers of one size are treated as equal. A kernel can read every tensor as bytes.
  void check_elements(size_t position, const Tensor& tensor) const {
    const Parameter& parameter = kernel_.info->parameters[position];
    if (!tensor.is_defined() || !parameter.type || !kernel_.info->is_translated) return;
    if (*parameter.type == DType::U8 || is_alike(tensor.dtype(), *parameter.type)) return;
    throw InvalidArgument(base::format("{} points to {}, and was given a tensor of {} {}", which(position),
                                       name_of(*parameter.type), name_of(tensor.dtype()), tensor.shape().text()));
  }

  // A value in a tensor: it must be large enough, and have the type that the kernel expects.
  void check_value_tensor(size_t position, const Tensor& tensor) const {
    const Parameter& parameter = kernel_.info->parameters[position];
    if (!tensor.is_defined()) return;  // refused by use()
    const DType given = tensor.dtype();
    if ((!parameter.type || is_alike(given, *parameter.type)) &&
        tensor.storage()->bytes() - tensor.offset() >= parameter.bytes)
      return;
    const std::string type = parameter.type ? base::format("{}, ", type_text(parameter)) : "";
    throw InvalidArgument(base::format("{} takes {}{} bytes, and was given a tensor of {} {}", which(position), type,
                                       parameter.bytes, name_of(given), tensor.shape().text()));
  }

  void check_group_memory() const {
    const uint64_t max = stream_.device().info().group_memory, own = kernel_.info->group_memory;
    if (max == 0 || local_bytes_ + own <= max) return;
    throw InvalidArgument(
        base::format("kernel \"{}\" was given {} bytes of group memory and declares {} itself; {} has only {}",
                     kernel_.name, local_bytes_, own, stream_.device().info().name, max));
  }

  Address use(size_t position, const Tensor& tensor) {
    if (!tensor.is_defined()) throw InvalidArgument(which(position) + " is an undefined tensor");
    if (&tensor.storage()->device() != &stream_.device()) {
      throw InvalidArgument(base::format("{} is a tensor on {}, and the kernel runs on {}: copy it with to()",
                                         which(position), tensor.device().name(), stream_.device().name()));
    }
    tensor.storage()->use_on(stream_);
    tensor_bytes_ += tensor.bytes();
    if (first_tensor_ == nullptr) first_tensor_ = &tensor;
    return tensor.address();
  }

  // Memory for this launch only. The order of the stream keeps it valid until the launch has run.
  void upload_lists() {
    for (const List& list : lists_) {
      const size_t size = list.bytes.size();
      const auto storage = std::make_shared<Storage>(stream_.device(), size, stream_);
      temporaries_.push_back(storage);
      const Address address = storage->address();
      stream_.run(
          [&] {
            Operation operation;
            operation.kind = OperationKind::CopyHostToDevice;
            operation.bytes = size;
            return operation;
          },
          [&](Queue& queue, Ticket* ticket) { queue.upload(list.bytes.data(), address, size, ticket); });
      arguments_[list.position].address = address;
      arguments_[list.position].extent = size;
    }
  }

  std::byte* room(size_t bytes) {
    const size_t at = (bytes_used_ + 15) & ~size_t{15};
    if (at + bytes <= kInlineBytes) {
      bytes_used_ = at + bytes;
      return inline_bytes_ + at;
    }
    more_bytes_.push_back(std::make_unique<std::byte[]>(bytes));
    return more_bytes_.back().get();
  }

  std::string which(size_t position) const {
    const Parameter& parameter = kernel_.info->parameters[position];
    const std::string name = parameter.name.empty() ? "" : base::format(" ({})", parameter.name);
    const std::vector<uint32_t>& order = kernel_.info->order;
    size_t number = 0;  // as the caller counts
    for (size_t i = 0; i < count_; ++i) {
      const size_t place = order.empty() ? i : order[i];
      if (place != error_position_) ++number;
      if (place == position) break;
    }
    return base::format("argument {}{} of kernel \"{}\"", number, name, kernel_.name);
  }

  void match(std::span<const KernelArgument> given) {
    const std::vector<uint32_t>& order = kernel_.info->order;
    size_t next = 0;
    for (size_t i = 0; i < count_; ++i) {
      const size_t position = order.empty() ? i : order[i];
      if (position != error_position_) put(position, given[next++]);
    }
  }

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

constexpr uint64_t kUsualGroup = 256;

std::string text_of(const Extent& extent, int dimensions) {
  if (dimensions == 1) return std::to_string(extent.x);
  if (dimensions == 2) return base::format("{} x {}", extent.x, extent.y);
  return base::format("{} x {} x {}", extent.x, extent.y, extent.z);
}

// If edges need separate launches, a group that divides the number of threads is better than a larger group.
uint64_t usual_group(uint64_t threads, uint64_t longest, const DeviceInfo& device) {
  const uint64_t group = std::min({threads, longest, kUsualGroup});
  if (device.partial_groups_are_free || threads % group == 0) return group;
  for (uint64_t divisor = group; divisor >= group / 4 && divisor > 1; --divisor)
    if (threads % divisor == 0) return divisor;
  return group;
}

// A Metal kernel whose threads cooperate in their group gets the largest group, because Metal's users expect that.
bool expects_largest_group(const KernelInfo& kernel) {
  if (!kernel.is_translated) return false;
  return kernel.uses_simdgroups || kernel.group_memory != 0 ||
         std::ranges::any_of(kernel.parameters, [](const Parameter& p) { return p.kind == ParameterKind::Local; });
}

Extent default_group(const KernelInfo& kernel, const Extent& threads, const DeviceInfo& device) {
  if (kernel.required_group.x != 0) return kernel.required_group;
  const uint64_t longest = std::min(kernel.max_threads_per_group, device.max_group.x);
  Extent group;
  group.x = expects_largest_group(kernel) ? std::min(threads.x, longest) : usual_group(threads.x, longest, device);
  return group;
}

void check_group(const KernelState& kernel, const Extent& group, int dimensions, const DeviceInfo& device) {
  const KernelInfo& info = *kernel.info;
  const Extent& longest = device.max_group;
  if (group.x == 0 || group.y == 0 || group.z == 0)
    throw InvalidArgument(base::format("group size {} of kernel \"{}\" must be 1 or more in each dimension",
                                       text_of(group, dimensions), kernel.name));
  uint64_t volume = 0;
  const bool overflows =
      __builtin_mul_overflow(group.x, group.y, &volume) || __builtin_mul_overflow(volume, group.z, &volume);
  if (overflows || volume > info.max_threads_per_group) {
    throw InvalidArgument(
        base::format("a group of {} threads is too large for kernel \"{}\": its max is {} threads on {}",
                     text_of(group, dimensions), kernel.name, info.max_threads_per_group, device.name));
  }
  if (group.x > longest.x || group.y > longest.y || group.z > longest.z) {
    throw InvalidArgument(
        base::format("a group of {} is too large for kernel \"{}\": on {} the max is {} in each dimension",
                     text_of(group, dimensions), kernel.name, device.name, text_of(longest, 3)));
  }
  if (info.required_group.x != 0 && group != info.required_group) {
    throw InvalidArgument(base::format("a group of {} does not match kernel \"{}\": its source requires {}",
                                       text_of(group, dimensions), kernel.name, text_of(info.required_group, 3)));
  }
}

// The threads of a simdgroup hold its matrices together: without some of them a product has elements of nothing.
void check_simdgroups(const KernelState& kernel, const Extent& threads, const Extent& group) {
  const KernelInfo& info = *kernel.info;
  if (!info.uses_simdgroup_matrices) return;
  const auto check = [&](uint64_t x, uint64_t y, uint64_t z) {
    if (x * y * z % info.execution_width == 0) return;
    throw InvalidArgument(base::format(
        "kernel \"{}\" uses simdgroup matrices, which need all {} threads of each simdgroup: {} threads in groups of "
        "{} "
        "have a group of {} threads; make the sizes of all groups multiples of {}",
        kernel.name, info.execution_width, text_of(threads, 3), text_of(group, 3), x * y * z, info.execution_width));
  };
  for (const uint64_t x : {group.x, threads.x % group.x})
    for (const uint64_t y : {group.y, threads.y % group.y})
      for (const uint64_t z : {group.z, threads.z % group.z}) check(x, y, z);
}

// Metal counts threads in 32 bits.
void check_threads(const KernelState& kernel, const Extent& threads) {
  constexpr uint64_t kMax = std::numeric_limits<uint32_t>::max();
  if (!kernel.info->is_translated || (threads.x <= kMax && threads.y <= kMax && threads.z <= kMax)) return;
  throw InvalidArgument(base::format("{} threads are too many for kernel \"{}\": Metal's max is {} in each dimension",
                                     text_of(threads, 3), kernel.name, kMax));
}

}  // namespace

const std::string& Kernel::name() const { return state_->info->name; }
Device Kernel::device() const { return Device(library_->device()); }
uint64_t Kernel::max_threads_per_threadgroup() const { return state_->info->max_threads_per_group; }
uint64_t Kernel::thread_execution_width() const { return state_->info->execution_width; }
uint64_t Kernel::static_thread_group_memory_length() const { return state_->info->group_memory; }

Kernel Kernel::with_threads(std::array<uint64_t, 3> threads, uint8_t dimensions) const {
  Kernel changed = *this;
  changed.threads_ = threads;
  changed.thread_dimensions_ = dimensions;
  return changed;
}

Kernel Kernel::with_group(std::array<uint64_t, 3> group, uint8_t dimensions) const {
  Kernel changed = *this;
  changed.group_ = group;
  changed.group_dimensions_ = dimensions;
  return changed;
}

Kernel Kernel::on(Stream stream) const {
  Kernel changed = *this;
  changed.stream_ = &stream.state();
  return changed;
}

void Kernel::launch(std::span<const KernelArgument> given) const {
  DeviceState& device = library_->device();
  StreamState& stream = stream_ != nullptr ? *stream_ : device.current_stream();
  if (&stream.device() != &device) {
    throw InvalidArgument(base::format("kernel \"{}\" was compiled for {} and cannot run on a stream of {}", name(),
                                       device.name(), stream.device().name()));
  }
  if (thread_dimensions_ != 0 && group_dimensions_ != 0 && thread_dimensions_ != group_dimensions_) {
    throw InvalidArgument(
        base::format("threads() has {} dimensions but group() has {} for kernel \"{}\": they must be equal",
                     int{thread_dimensions_}, int{group_dimensions_}, name()));
  }
  Arguments arguments(*state_, given, stream);

  Launch launch;
  launch.program = &state_->library->program();
  launch.kernel = state_->index;
  launch.arguments = arguments.list();
  launch.indirect = arguments.indirect();
  if (thread_dimensions_ != 0) {
    launch.threads = {threads_[0], threads_[1], threads_[2]};
  } else if (const auto threads = arguments.default_threads()) {
    launch.threads = *threads;
  } else {
    throw InvalidArgument(base::format(
        "kernel \"{}\" was given no tensor, so the number of threads is unknown: set it with threads(), in Python with "
        "threads=",
        name()));
  }
  const bool chosen = group_dimensions_ != 0;
  if (chosen) {
    launch.group = {group_[0], group_[1], group_[2]};
    check_group(*state_, launch.group, group_dimensions_, device.info());
  }
  check_threads(*state_, launch.threads);
  if (launch.threads.x == 0 || launch.threads.y == 0 || launch.threads.z == 0) return;
  if (!chosen) launch.group = default_group(*state_->info, launch.threads, device.info());
  // A group size that the source requires stays unchanged. The group is then partial.
  if (state_->info->required_group.x == 0) {
    launch.group.x = std::min(launch.group.x, launch.threads.x);
    launch.group.y = std::min(launch.group.y, launch.threads.y);
    launch.group.z = std::min(launch.group.z, launch.threads.z);
  }
  check_simdgroups(*state_, launch.threads, launch.group);
  if (WorkCapture* capture = work_capture(); capture != nullptr && library_->source() != nullptr)
    capture->launch(*state_, launch, given, stream);
  arguments.complete();

  stream.run(
      [&] {
        Operation operation;
        operation.name = state_->name;
        operation.site = state_->site;
        operation.handle = state_;
        operation.arguments = given;
        operation.threads = launch.threads;
        operation.group = launch.group;
        operation.bytes = arguments.tensor_bytes();
        return operation;
      },
      [&](Queue& queue, Ticket* ticket) {
        queue.launch(launch, ticket);
        if (arguments.uses_error_buffer()) stream.errors().add_launch();
      });
}

}  // namespace kymo::device
