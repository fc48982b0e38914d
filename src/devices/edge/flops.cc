#include "edge/flops.h"

#include <algorithm>
#include <unordered_map>

#include "edge/flops_call.h"

namespace kymo::edge {

namespace {

using FlopRule = FlopCount (*)(const FlopCall& call);

// Whether the operator works only on integers, and so does no floating-point operations.
bool integers_only(const FlopCall& call) {
  bool tensors = false, others = false;
  const auto look_at = [&](const InputView& input) {
    if (input.tag == Inputs::Tag::Real) others = true;
    if (input.tag != Inputs::Tag::Tensor) return;
    if (input.element < Element::Bool || input.element > Element::Long) others = true;
    tensors = true;
  };
  for (size_t at = 0; at < call.size(); ++at) {
    look_at(call[at]);
    for (const InputView& element : call.list(at)) look_at(element);
  }
  return tensors && !others;
}

// The number of elements after all input tensors are broadcast against each other.
FlopCount broadcast_elements(const FlopCall& call) {
  uint32_t dimensions = 0;
  bool tensors = false;
  for (size_t at = 0; at < call.size(); ++at) {
    if (call[at].tag != Inputs::Tag::Tensor) continue;
    tensors = true;
    dimensions = std::max(dimensions, call[at].sizes.size());
  }
  if (!tensors) return FlopCount::unknown();
  FlopCount all = 1;
  for (uint32_t back = 1; back <= dimensions; ++back) {
    int64_t size = 1;
    for (size_t at = 0; at < call.size(); ++at) {
      const PackedNumbers<int64_t>& sizes = call[at].sizes;
      if (back > sizes.size() || sizes[sizes.size() - back] == 1) continue;
      if (size != 1 && size != sizes[sizes.size() - back]) return FlopCount::unknown();
      size = sizes[sizes.size() - back];
    }
    all = all * size;
  }
  return all;
}

template <int64_t kEach>
FlopCount element_wise(const FlopCall& call) {
  return broadcast_elements(call) * kEach;
}

// Counts only the first input: the others have different shapes, or none.
template <int64_t kEach>
FlopCount of_first(const FlopCall& call) {
  return call.sizes(0) == nullptr ? FlopCount::unknown() : elements(*call.sizes(0)) * kEach;
}

template <size_t kWeight, size_t kBias>
FlopCount normalisation(const FlopCall& call) {
  return of_first<1>(call) * (5 + call.has(kWeight) + call.has(kBias));
}

// input, weight, bias, running mean, running variance, training, …
FlopCount batch_normalisation(const FlopCall& call) {
  return call.integer(5, 0) != 0 ? normalisation<1, 2>(call) : of_first<2>(call);
}

template <uint8_t kStride, uint8_t kPadding, uint8_t kDilation, uint8_t kTransposed = UINT8_MAX>
FlopCount convolution(const FlopCall& call) {
  return convolution_flops(call, {kStride, kPadding, kDilation, kTransposed});
}

template <size_t kFirst>
FlopCount matrix_product(const FlopCall& call) {
  return product_flops(call, kFirst);
}

template <bool kBatchFirst>
FlopCount multi_head_attention(const FlopCall& call) {
  return multi_head_attention_flops(call, kBatchFirst);
}

template <Recurrent kKind>
FlopCount recurrent(const FlopCall& call) {
  return recurrent_flops(call, kKind);
}

template <Recurrent kKind>
FlopCount recurrent_cell(const FlopCall& call) {
  return recurrent_cell_flops(call, kKind);
}

std::unordered_map<std::string_view, FlopRule> make_flop_rules() {
  std::unordered_map<std::string_view, FlopRule> rules;
  const auto add = [&](FlopRule rule, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) rules.emplace(name, rule);
  };
  constexpr uint8_t kNo = 100;  // an input that does not exist
  add(convolution<3, 4, 5>, {"conv1d", "conv2d", "conv3d", "cudnn_convolution_relu"});
  add(convolution<3, 4, 5, 6>, {"convolution", "_convolution", "convolution_overrideable"});
  add(convolution<4, 3, 5>, {"mkldnn_convolution", "miopen_convolution", "miopen_depthwise_convolution"});
  add(convolution<4, 3, 5>, {"_mps_convolution"});
  add(convolution<3, 2, 4>, {"cudnn_convolution"});
  add(convolution<4, 5, kNo>, {"thnn_conv2d", "_slow_conv2d_forward", "slow_conv3d", "slow_conv3d_forward"});
  add(convolution<4, 5, 6>, {"slow_conv_dilated2d", "slow_conv_dilated3d", "_conv_depthwise2d", "conv_depthwise3d"});
  add(transposed_convolution_flops,
      {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "slow_conv_transpose2d", "slow_conv_transpose3d",
       "cudnn_convolution_transpose", "miopen_convolution_transpose"});
  add(convolution_backward_flops, {"convolution_backward"});

  add(matrix_product<0>, {"mm", "bmm", "matmul", "mv", "dot", "vdot"});
  add(matrix_product<1>, {"addmm", "_addmm_activation", "baddbmm", "addbmm", "addmv"});
  add(outer_product_flops, {"outer", "ger"});
  add(linear_flops, {"linear", "mkldnn_linear", "_mkl_linear"});

  add(einsum_flops, {"einsum"});
  add(tensordot_flops, {"tensordot"});
  add(bilinear_flops, {"bilinear"});
  add(recurrent<Recurrent::Lstm>, {"lstm"});
  add(recurrent<Recurrent::Gru>, {"gru"});
  add(recurrent<Recurrent::Plain>, {"rnn_tanh", "rnn_relu"});
  add(recurrent_cell<Recurrent::Lstm>, {"lstm_cell"});
  add(recurrent_cell<Recurrent::Gru>, {"gru_cell"});
  add(recurrent_cell<Recurrent::Plain>, {"rnn_tanh_cell", "rnn_relu_cell"});

  add(attention_flops,
      {"scaled_dot_product_attention", "_scaled_dot_product_attention", "_scaled_dot_product_attention_math",
       "_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu",
       "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention"});
  add(multi_head_attention<true>, {"_native_multi_head_attention", "multi_head_attention"});
  add(multi_head_attention<false>, {"multi_head_attention_forward"});

  add(element_wise<1>, {"add",           "sub",
                        "rsub",          "mul",
                        "div",           "true_divide",
                        "pow",           "maximum",
                        "minimum",       "fmod",
                        "remainder",     "atan2",
                        "hypot",         "sigmoid_backward",
                        "tanh_backward", "threshold_backward",
                        "gelu_backward", "silu_backward",
                        "clamp",         "clamp_min",
                        "clamp_max"});
  add(element_wise<3>, {"addcmul", "addcdiv", "lerp"});
  add(of_first<1>,
      {"relu",  "relu6", "leaky_relu", "prelu", "elu",  "selu",   "celu",     "gelu",        "silu",       "mish",
       "tanh",  "exp",   "exp2",       "expm1", "log",  "log2",   "log10",    "log1p",       "sqrt",       "rsqrt",
       "sin",   "cos",   "tan",        "asin",  "acos", "atan",   "sinh",     "cosh",        "erf",        "erfc",
       "abs",   "neg",   "reciprocal", "floor", "ceil", "round",  "hardtanh", "hardswish",   "threshold",  "softplus",
       "trunc", "sign",  "square",     "logit", "frac", "erfinv", "sigmoid",  "hardsigmoid", "log_sigmoid"});
  add(of_first<1>, {"sum", "mean", "nansum", "nanmean", "prod", "max", "min", "amax", "amin", "argmax", "argmin",
                    "cumsum", "cumprod", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "_adaptive_avg_pool2d",
                    "adaptive_avg_pool3d", "_adaptive_avg_pool3d"});
  add(of_first<2>, {"norm", "linalg_vector_norm"});
  add(of_first<4>, {"var", "std", "var_mean", "std_mean"});

  add(of_first<5>, {"softmax", "_softmax", "log_softmax", "_log_softmax"});
  add(of_first<4>, {"_softmax_backward_data", "_log_softmax_backward_data"});
  add(normalisation<2, 3>, {"layer_norm", "native_layer_norm", "group_norm"});
  add(normalisation<1, 2>, {"native_group_norm", "instance_norm"});
  add(batch_normalisation,
      {"batch_norm", "native_batch_norm", "_batch_norm_impl_index", "cudnn_batch_norm", "miopen_batch_norm"});
  return rules;
}

}  // namespace

std::string_view plain_name(std::string_view name) {
  if (name.starts_with("aten::")) name.remove_prefix(6);
  name = name.substr(0, name.find('.'));
  if (name.size() > 1 && name.ends_with('_') && !name.ends_with("__")) name.remove_suffix(1);
  return name;
}

const InputView FlopCall::kAbsent = {};

FlopCall::FlopCall(std::span<const std::byte> untrusted) {
  InputReader reader(untrusted);
  while (size_ < kMax && reader.next(inputs_[size_])) {
    InputView element;
    lists_[size_] = static_cast<uint32_t>(elements_.size());
    for (uint32_t left = inputs_[size_].list_count; left != 0 && reader.next(element); --left)
      elements_.push_back(element);
    ++size_;
  }
}

std::span<const InputView> FlopCall::list(size_t at) const {
  const InputView& input = (*this)[at];
  if (input.tag != Inputs::Tag::TensorList || input.list_count > elements_.size() - lists_[at]) return {};
  return std::span(elements_).subspan(lists_[at], input.list_count);
}

int64_t FlopCall::integer(size_t at, int64_t otherwise) const {
  const Inputs::Tag tag = (*this)[at].tag;
  return tag == Inputs::Tag::Integer || tag == Inputs::Tag::Boolean ? inputs_[at].integer : otherwise;
}

std::optional<int64_t> FlopCall::per_dimension(size_t at, uint32_t dimension, int64_t otherwise) const {
  const InputView& input = (*this)[at];
  if (input.tag == Inputs::Tag::None) return otherwise;
  if (input.tag == Inputs::Tag::Integer) return input.integer;
  if (input.tag != Inputs::Tag::Integers) return std::nullopt;
  if (dimension < input.integers.size()) return input.integers[dimension];
  return input.integers.size() == 1 ? std::optional(input.integers[0]) : std::nullopt;
}

FlopCount product(const PackedNumbers<int64_t>& sizes, uint32_t from, uint32_t until) {
  FlopCount all = 1;
  for (uint32_t at = from; at < until; ++at) all = all * sizes[at];
  return all;
}

std::optional<uint64_t> count_flops(std::string_view name, std::span<const std::byte> untrusted_inputs) {
  static const std::unordered_map<std::string_view, FlopRule> rules = make_flop_rules();
  const auto rule = rules.find(plain_name(name));
  if (rule == rules.end()) return std::nullopt;
  const FlopCall call(untrusted_inputs);
  const FlopCount count = rule->second(call);
  return count.known() && integers_only(call) ? 0 : count.value();
}

}  // namespace kymo::edge
