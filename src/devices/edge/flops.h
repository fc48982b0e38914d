// The number of floating-point operations of an operator, from its name and its inputs.
//
// Names are accepted with and without "aten::", an overload ("aten::add.Tensor") and the underscore of in-place
// operators ("aten::add_"). A multiply and the add after it are 2; a bias costs nothing; a function of one element
// (exp, gelu, a comparison) is 1, independent of its instructions; operators on integers are 0. N is the number of
// elements of the output, after broadcasting, and of the input for reductions.
//
//   conv1d … conv3d, convolution, _convolution,
//     mkldnn_convolution, …                           2 × positions of the output × elements of the weight
//   the same, transposed                              2 × elements of the input × weight of one channel
//   convolution_backward                              as forward, for each of the two gradients that is requested
//   mm, bmm, matmul, mv, dot, linear; addmm,
//     baddbmm, addbmm, addmv                          2 × elements of the product × the inner length
//   scaled_dot_product_attention and its variants     the two products, with or without a causal mask
//   _native_multi_head_attention,
//     multi_head_attention_forward                    the projections and the two products
//   add, sub, mul, div, relu, gelu, sigmoid, tanh,
//     exp, clamp, …                                   N; addcmul, addcdiv, lerp: 3 N
//   sum, mean, prod, max, min, …                      N; var, std: 4 N; norm: 2 N
//   softmax, log_softmax                              5 N: maximum, difference, exp, sum, quotient
//   layer_norm, group_norm, instance_norm             5 N: mean, difference, square and sum, scaling;
//                                                     1 N more for a weight and 1 N more for a bias
//   batch_norm                                        2 N if it only applies what it has learnt;
//                                                     as layer_norm in training
//
// An operator that calls others (aten::linear calls aten::addmm) is counted once: for the outermost one with a known
// number. The operators inside it have no number, so the total of a run is the sum over all events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "kymo/export.h"

namespace kymo::edge {

// Empty if the name is unknown, or if the inputs are not sufficient: missing, with shapes that do not match, or so
// large that the number does not fit.
KYMO_API std::optional<uint64_t> count_flops(std::string_view name, std::span<const std::byte> untrusted_inputs);

// True for operators that only make, move or describe tensors (empty, view, copy_, cat, …): nothing is missing if they
// have no number.
bool does_no_arithmetic(std::string_view name);

}  // namespace kymo::edge
