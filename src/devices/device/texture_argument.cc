#include "device/texture_argument.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace kymo::device {
namespace {

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

}  // namespace

std::string texture_shapes(TextureShape shape) {
  const Shown texture = shown(shape);
  return base::format("of shape [{}] or [{}, channels]", texture.sizes, texture.sizes);
}

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

}  // namespace kymo::device
