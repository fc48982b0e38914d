// A tensor as the texture of a kernel: its last dimension may be the channels, the others are those of the texture.
#pragma once

#include <string>

#include "device/backend.h"
#include "kymo/tensor.h"
#include "kymo/translate.h"

namespace kymo::device {

// "of shape [height, width] or [height, width, channels]"
std::string texture_shapes(shader::TextureShape shape);

// Fills everything but the address. Returns what is wrong with the tensor, or an empty text.
std::string describe_texture(const Tensor& tensor, const Parameter& parameter, shader::TextureValue& texture);

}  // namespace kymo::device
