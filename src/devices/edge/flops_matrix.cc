#include <algorithm>

#include "edge/flops_call.h"

namespace kymo::edge {

namespace {

using FlopSizes = PackedNumbers<int64_t>;

// The number of positions of the window along one dimension.
FlopCount window_places(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  constexpr int64_t kMax = int64_t{1} << 40;  // far larger than any tensor, and small enough that no sum overflows
  for (const int64_t value : {size, kernel, stride, padding, dilation})
    if (value < 0 || value > kMax) return FlopCount::unknown();
  if (stride == 0) return FlopCount::unknown();
  int64_t window = 0;
  if (__builtin_mul_overflow(dilation, std::max<int64_t>(kernel, 1) - 1, &window)) return FlopCount::unknown();
  const int64_t room = size + 2 * padding - 1;
  return room < window ? FlopCount(0) : FlopCount((room - window) / stride + 1);
}

// The product of the sizes of `left` and `right` without their last two dimensions, broadcast against each other.
FlopCount broadcast_batches(const FlopSizes& left, const FlopSizes& right) {
  const uint32_t left_count = left.size() - 2, right_count = right.size() - 2;
  FlopCount all = 1;
  for (uint32_t back = 1; back <= std::max(left_count, right_count); ++back) {
    const int64_t one = back <= left_count ? left[left_count - back] : 1;
    const int64_t other = back <= right_count ? right[right_count - back] : 1;
    if (one != other && one != 1 && other != 1) return FlopCount::unknown();
    all = all * (one == 1 ? other : one);
  }
  return all;
}

}  // namespace

FlopCount convolution_flops(const FlopCall& call, ConvolutionInputs where) {
  if (where.transposed != UINT8_MAX && call.integer(where.transposed, 0) != 0)
    return transposed_convolution_flops(call);
  const FlopSizes *const input = call.sizes(0), *const weight = call.sizes(1);
  if (input == nullptr || weight == nullptr || weight->size() < 3) return FlopCount::unknown();
  const uint32_t dimensions = weight->size() - 2;
  const bool batched = input->size() == weight->size();
  if (!batched && input->size() + 1 != weight->size()) return FlopCount::unknown();
  const uint32_t channels = batched ? 1 : 0;
  const int64_t of_group = (*weight)[1];
  if (of_group <= 0 || (*input)[channels] % of_group != 0) return FlopCount::unknown();

  const bool same = call[where.padding].tag == Inputs::Tag::Text && call[where.padding].text == "same";
  const bool valid = call[where.padding].tag == Inputs::Tag::Text && call[where.padding].text == "valid";
  FlopCount places = batched ? FlopCount((*input)[0]) : FlopCount(1);
  for (uint32_t dimension = 0; dimension < dimensions; ++dimension) {
    const int64_t size = (*input)[channels + 1 + dimension];
    const auto stride = call.per_dimension(where.stride, dimension, 1);
    const auto dilation = call.per_dimension(where.dilation, dimension, 1);
    const auto padding = same || valid ? 0 : call.per_dimension(where.padding, dimension, 0);
    if (!stride || !dilation || !padding) return FlopCount::unknown();
    places = places * (same ? window_places(size, 1, *stride, 0, 1)
                            : window_places(size, (*weight)[2 + dimension], *stride, *padding, *dilation));
  }
  return places * elements(*weight) * 2;
}

FlopCount transposed_convolution_flops(const FlopCall& call) {
  const FlopSizes *const input = call.sizes(0), *const weight = call.sizes(1);
  if (input == nullptr || weight == nullptr || weight->size() < 3) return FlopCount::unknown();
  if (input->size() != weight->size() && input->size() + 1 != weight->size()) return FlopCount::unknown();
  const uint32_t channels = input->size() == weight->size() ? 1 : 0;
  if ((*input)[channels] != (*weight)[0]) return FlopCount::unknown();
  return elements(*input) * product(*weight, 1, weight->size()) * 2;
}

// grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask
FlopCount convolution_backward_flops(const FlopCall& call) {
  const FlopSizes *const gradient = call.sizes(0), *const input = call.sizes(1), *const weight = call.sizes(2);
  if (gradient == nullptr || input == nullptr || weight == nullptr || weight->size() < 3) return FlopCount::unknown();
  if (gradient->size() != weight->size() || input->size() != weight->size()) return FlopCount::unknown();
  const std::span<const std::byte> mask = call[10].booleans;
  if (mask.size() < 2) return FlopCount::unknown();
  const int64_t gradients = (mask[0] != std::byte{0}) + (mask[1] != std::byte{0});
  // The weight is applied at each position of the smaller side: the output, or the input if it is transposed.
  const FlopSizes& moved = call.integer(7, 0) != 0 ? *input : *gradient;
  return FlopCount(moved[0]) * product(moved, 2, moved.size()) * elements(*weight) * 2 * gradients;
}

FlopCount product_flops(const FlopCall& call, size_t first) {
  const FlopSizes *const left = call.sizes(first), *const right = call.sizes(first + 1);
  if (left == nullptr || right == nullptr || left->size() == 0 || right->size() == 0) return FlopCount::unknown();
  const uint32_t left_count = left->size(), right_count = right->size();
  const int64_t inner = (*left)[left_count - 1];
  if (inner != (*right)[right_count == 1 ? 0 : right_count - 2]) return FlopCount::unknown();
  const FlopCount columns = right_count == 1 ? FlopCount(1) : FlopCount((*right)[right_count - 1]);
  if (left_count == 1) return product(*right, 0, right_count == 1 ? 0 : right_count - 2) * inner * columns * 2;
  if (right_count == 1) return product(*left, 0, left_count - 1) * inner * 2;
  return broadcast_batches(*left, *right) * (*left)[left_count - 2] * inner * columns * 2;
}

FlopCount outer_product_flops(const FlopCall& call) {
  const FlopSizes *const left = call.sizes(0), *const right = call.sizes(1);
  if (left == nullptr || right == nullptr) return FlopCount::unknown();
  return elements(*left) * elements(*right);
}

FlopCount linear_flops(const FlopCall& call) {
  const FlopSizes *const input = call.sizes(0), *const weight = call.sizes(1);
  if (input == nullptr || weight == nullptr || input->size() == 0) return FlopCount::unknown();
  if (weight->size() != 1 && weight->size() != 2) return FlopCount::unknown();
  if ((*input)[input->size() - 1] != (*weight)[weight->size() - 1]) return FlopCount::unknown();
  return product(*input, 0, input->size() - 1) * elements(*weight) * 2;
}

// query […, L, E], key […, S, E], value […, S, Ev]
FlopCount attention_flops(const FlopCall& call) {
  const FlopSizes *const query = call.sizes(0), *const key = call.sizes(1), *const value = call.sizes(2);
  for (const FlopSizes* const sizes : {query, key, value})
    if (sizes == nullptr || sizes->size() < 2) return FlopCount::unknown();
  const int64_t width = (*query)[query->size() - 1], others = (*key)[key->size() - 2];
  if (width != (*key)[key->size() - 1] || others != (*value)[value->size() - 2]) return FlopCount::unknown();
  const FlopCount scores = product(*query, 0, query->size() - 1) * others;
  return scores * 2 * (FlopCount(width) + (*value)[value->size() - 1]);
}

// query, key, value, embed_dim, …: query, key and value each have a projection, and so has the result.
FlopCount multi_head_attention_flops(const FlopCall& call, bool batch_first) {
  const FlopSizes *const query = call.sizes(0), *const key = call.sizes(1), *const value = call.sizes(2);
  for (const FlopSizes* const sizes : {query, key, value})
    if (sizes == nullptr || sizes->size() < 2 || sizes->size() > 3) return FlopCount::unknown();
  if (query->size() != key->size() || query->size() != value->size()) return FlopCount::unknown();
  const uint32_t last = query->size() - 1;
  const int64_t width = call.integer(3, -1);
  const int64_t others = (*key)[batch_first ? last - 1 : 0];
  const FlopCount queries = product(*query, 0, last);
  const FlopCount projections = elements(*query) + elements(*key) + elements(*value) + queries * width;
  return projections * width * 2 + queries * others * width * 4;
}

}  // namespace kymo::edge
