#include "device/arguments.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "base/text.h"
#include "device/error_buffer.h"
#include "device/storage.h"
#include "device/value_bytes.h"

namespace kymo::device {
namespace {

// ---- A tensor as the texture of a kernel ---------------------------------------------------------------------------
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

// ---- Arguments -----------------------------------------------------------------------------------------------------

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

size_t next_of_kind(const std::vector<Parameter>& parameters, bool buffer, size_t from) {
  while (from < parameters.size() && (parameters[from].kind == ParameterKind::Buffer) != buffer) ++from;
  return from;
}

// The parameter that the runtime passes if the caller does not.
size_t error_parameter(const KernelInfo& kernel) {
  if (!kernel.is_translated) return SIZE_MAX;
  const auto found = std::ranges::find(kernel.parameters, true, &Parameter::reports_errors);
  return found == kernel.parameters.end() ? SIZE_MAX : static_cast<size_t>(found - kernel.parameters.begin());
}

}  // namespace

Arguments::Arguments(const KernelState& kernel, std::span<const KernelArgument> given, StreamState& stream)
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
  if (kernel.info->matched_by_kind)
    match_by_kind(given);
  else
    match_by_position(given);
  if (local_bytes_ != 0) check_group_memory();
}

void Arguments::match_by_position(std::span<const KernelArgument> given) {
  const std::vector<uint32_t>& order = kernel_.info->order;
  size_t next = 0;
  for (size_t i = 0; i < count_; ++i) {
    const size_t position = order.empty() ? i : order[i];
    if (position != error_position_) put(position, given[next++]);
  }
}

// A list of tensors may be for a value (an array of addresses) if no buffer is left for it.
void Arguments::match_by_kind(std::span<const KernelArgument> given) {
  const auto& parameters = kernel_.info->parameters;
  size_t buffer = next_of_kind(parameters, true, 0), value = next_of_kind(parameters, false, 0);
  for (size_t i = 0; i < count_; ++i) {
    const bool is_tensor = given[i].kind() == KernelArgument::Kind::Tensor;
    const bool takes_buffer = is_tensor || (!is_number(given[i]) && value >= count_);
    size_t& next = takes_buffer ? buffer : value;
    if (next >= count_) {
      throw InvalidArgument(base::format("argument {} of kernel \"{}\" is {}, and the kernel takes no more {}", i + 1,
                                         kernel_.name, noun(given[i]), takes_buffer ? "tensors" : "numbers"));
    }
    put(next, given[i]);
    next = next_of_kind(parameters, takes_buffer, next + 1);
  }
}

std::string Arguments::which(size_t position) const {
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

void Arguments::put(size_t position, const KernelArgument& given) {
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

void Arguments::put_buffer(size_t position, const KernelArgument& given) {
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
    throw InvalidArgument(
        base::format("{} is written by the kernel and takes a tensor; it was given {}", which(position), noun(given)));
  }
  std::vector<std::byte> bytes;
  const std::string wrong = store_elements(given, parameter, bytes);
  if (!wrong.empty()) throw InvalidArgument(base::format("{}: {}", which(position), wrong));
  put_list(position, std::move(bytes));
}

void Arguments::put_local(size_t position, const KernelArgument& given) {
  uint64_t bytes = 0;
  if (!is_number(given) || !store_number(Number::of(given), DType::U64, &bytes) || bytes == 0 || bytes > UINT32_MAX)
    throw InvalidArgument(base::format("{} is group memory and takes its size in bytes", which(position)));
  arguments_[position].bytes = static_cast<uint32_t>(bytes);
  local_bytes_ += bytes;
}

void Arguments::check_group_memory() const {
  const uint64_t max = stream_.device().info().group_memory, own = kernel_.info->group_memory;
  if (max == 0 || local_bytes_ + own <= max) return;
  throw InvalidArgument(
      base::format("kernel \"{}\" was given {} bytes of group memory and declares {} itself; {} has only {}",
                   kernel_.name, local_bytes_, own, stream_.device().info().name, max));
}

Address Arguments::use(size_t position, const Tensor& tensor) {
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

void Arguments::put_tensor(size_t position, const Tensor& tensor) {
  Argument& argument = arguments_[position];
  argument.address = use(position, tensor);
  argument.extent = tensor.storage()->bytes() - tensor.offset();
}

void Arguments::put_address(size_t position, const Tensor& tensor) {
  const Address address = use(position, tensor);
  std::byte* to = room(sizeof address);
  std::memcpy(to, &address, sizeof address);
  arguments_[position].data = to;
  arguments_[position].bytes = sizeof address;
  indirect_.push_back(address);
}

// With another type the kernel would read other numbers than the tensor has, or write beyond its end. Signed and
// unsigned integers of one size are treated as equal. A kernel can read every tensor as bytes.
void Arguments::check_elements(size_t position, const Tensor& tensor) const {
  const Parameter& parameter = kernel_.info->parameters[position];
  if (!tensor.is_defined() || !parameter.type || !kernel_.info->is_translated) return;
  if (*parameter.type == DType::U8 || is_alike(tensor.dtype(), *parameter.type)) return;
  throw InvalidArgument(base::format("{} points to {}, and was given a tensor of {} {}", which(position),
                                     name_of(*parameter.type), name_of(tensor.dtype()), tensor.shape().text()));
}

// A value in a tensor: it must be large enough, and have the type that the kernel expects.
void Arguments::check_value_tensor(size_t position, const Tensor& tensor) const {
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

void Arguments::put_inline(size_t position, const KernelArgument& given) {
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

void Arguments::put_texture(size_t position, const KernelArgument& given) {
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

std::optional<Extent> Arguments::default_threads() const {
  if (first_texture_) return first_texture_;
  if (first_tensor_ == nullptr) return std::nullopt;
  return Extent{static_cast<uint64_t>(first_tensor_->elements()), 1, 1};
}

void Arguments::put_value(size_t position, const KernelArgument& given) {
  const Parameter& parameter = kernel_.info->parameters[position];
  if (given.kind() == KernelArgument::Kind::Tensor)
    throw InvalidArgument(
        base::format("{} is a number ({}), and was given a tensor", which(position), type_text(parameter)));
  const size_t bytes = is_number(given) && parameter.type ? size_of(*parameter.type) : parameter.bytes;
  std::byte* to = room(bytes);
  std::memset(to, 0, bytes);
  fill_value(position, given, to);
  arguments_[position].data = to;
  arguments_[position].bytes = static_cast<uint32_t>(bytes);
}

// `to` has the parameter's bytes, all 0.
void Arguments::fill_value(size_t position, const KernelArgument& given, std::byte* to) {
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
void Arguments::put_list(size_t position, std::vector<std::byte> bytes) {
  if (bytes.empty()) throw InvalidArgument(which(position) + " is an empty list");
  lists_.push_back({position, std::move(bytes)});
}

void Arguments::complete() {
  upload_lists();
  if (uses_error_buffer()) {
    arguments_[error_position_].address = stream_.errors().address();
    arguments_[error_position_].extent = ErrorBuffer::kBytes;
  }
}

// Memory for this launch only. The order of the stream keeps it valid until the launch has run.
void Arguments::upload_lists() {
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

std::byte* Arguments::room(size_t bytes) {
  const size_t at = (bytes_used_ + 15) & ~size_t{15};
  if (at + bytes <= kInlineBytes) {
    bytes_used_ = at + bytes;
    return inline_bytes_ + at;
  }
  more_bytes_.push_back(std::make_unique<std::byte[]>(bytes));
  return more_bytes_.back().get();
}

}  // namespace kymo::device
