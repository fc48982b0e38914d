// How many floating-point operations an operator does, from its name and its inputs.
//
// Names count with and without "aten::", an overload ("aten::add.Tensor") and the underscore of those that work in
// place ("aten::add_"). A multiply and the add after it are 2; a bias costs nothing; a function of one element (exp,
// gelu, a comparison) is 1, however many instructions it takes; operators on integers do 0. N is the number of elements
// of the output, after broadcasting, and of the input for what reduces.
//
//   conv1d … conv3d, convolution, _convolution, mkldnn_convolution, …   2 × places of the output × elements of the
//   weight the same, transposed                                                2 × elements of the input × weight of
//   one channel convolution_backward                                                as forward, for each of the two
//   gradients asked mm, bmm, matmul, mv, dot, linear; addmm, baddbmm, addbmm, addmv     2 × elements of the product ×
//   the inner length scaled_dot_product_attention and its kinds                          the two products, a causal
//   mask or not _native_multi_head_attention, multi_head_attention_forward          the projections and the two
//   products add, sub, mul, div, relu, gelu, sigmoid, tanh, exp, clamp, …        N; addcmul, addcdiv, lerp: 3 N sum,
//   mean, prod, max, min, …                                        N; var, std: 4 N; norm: 2 N softmax, log_softmax 5
//   N: maximum, difference, exp, sum, quotient layer_norm, group_norm, instance_norm                               5 N:
//   mean, difference, square and sum, scaling;
//                                                                       with a weight and with a bias 1 N more each
//   batch_norm                                                          2 N when it only applies what it has learnt;
//                                                                       as layer_norm in training
//
// An operator that calls others (aten::linear calls aten::addmm) is counted once: at the outermost one whose number is
// known. Those inside it have none, and what is asked for a whole run is the sum over all events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "kymo/export.h"

namespace kymo::edge {

// Nothing where the name is not known, or the inputs do not tell: absent, of shapes that do not go together, or so
// large that the number does not fit.
KYMO_API std::optional<uint64_t> count_flops(std::string_view name, std::span<const std::byte> untrusted_inputs);

}  // namespace kymo::edge
