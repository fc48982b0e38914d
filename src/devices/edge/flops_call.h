// The base for the rules of flops.h: the inputs of a call by position, and numbers that detect overflow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "edge/inputs.h"

namespace kymo::edge {

// "aten::add_.Tensor" is "add".
std::string_view plain_name(std::string_view name);

// A product or sum of untrusted sizes: it becomes unknown if a part is negative or it does not fit.
class FlopCount {
 public:
  FlopCount(int64_t value) : value_(static_cast<uint64_t>(value)), known_(value >= 0) {}  // NOLINT: reads as a number
  static FlopCount unknown() { return FlopCount(-1); }

  FlopCount operator*(FlopCount other) const {
    other.known_ = !__builtin_mul_overflow(value_, other.value_, &other.value_) && known_ && other.known_;
    return other;
  }
  FlopCount operator+(FlopCount other) const {
    other.known_ = !__builtin_add_overflow(value_, other.value_, &other.value_) && known_ && other.known_;
    return other;
  }
  bool known() const { return known_; }
  std::optional<uint64_t> value() const { return known_ ? std::optional(value_) : std::nullopt; }

 private:
  uint64_t value_;
  bool known_;
};

// The inputs of one call.
class FlopCall {
 public:
  explicit FlopCall(std::span<const std::byte> untrusted);

  size_t size() const { return size_; }
  // An absent input if there are fewer.
  const InputView& operator[](size_t at) const { return at < size_ ? inputs_[at] : kAbsent; }
  bool has(size_t at) const { return (*this)[at].tag != Inputs::Tag::None; }
  // The sizes of a tensor; null if it is not a tensor.
  const PackedNumbers<int64_t>* sizes(size_t at) const {
    return (*this)[at].tag == Inputs::Tag::Tensor ? &inputs_[at].sizes : nullptr;
  }
  // The elements of a list of tensors; empty if it is not one.
  std::span<const InputView> list(size_t at) const;
  // An integer or a boolean, else `otherwise`.
  int64_t integer(size_t at, int64_t otherwise) const;
  // Element `dimension` of a list, the only element of a shorter list, or an integer for all dimensions. `otherwise` if
  // the input is absent; empty if it is something else.
  std::optional<int64_t> per_dimension(size_t at, uint32_t dimension, int64_t otherwise) const;

 private:
  static constexpr size_t kMax = 32;
  static const InputView kAbsent;
  std::array<InputView, kMax> inputs_;
  std::array<uint32_t, kMax> lists_{};  // where the elements of an input begin
  std::vector<InputView> elements_;     // of all lists
  size_t size_ = 0;
};

// The number of elements of sizes [from, until).
FlopCount product(const PackedNumbers<int64_t>& sizes, uint32_t from, uint32_t until);
inline FlopCount elements(const PackedNumbers<int64_t>& sizes) { return product(sizes, 0, sizes.size()); }

// ---- The rules for products of matrices: flops_matrix.cc --------------------------------------------------------

// The positions of the inputs that describe how a convolution moves.
struct ConvolutionInputs {
  uint8_t stride, padding, dilation;
  uint8_t transposed = UINT8_MAX;  // the position of a boolean; UINT8_MAX: none
};
FlopCount convolution_flops(const FlopCall& call, ConvolutionInputs where);
FlopCount transposed_convolution_flops(const FlopCall& call);
FlopCount convolution_backward_flops(const FlopCall& call);
FlopCount product_flops(const FlopCall& call, size_t first);  // of inputs `first` and the one after it
FlopCount outer_product_flops(const FlopCall& call);
FlopCount linear_flops(const FlopCall& call);
FlopCount attention_flops(const FlopCall& call);
FlopCount multi_head_attention_flops(const FlopCall& call, bool batch_first);

// ---- flops_contraction.cc ------------------------------------------------------------------------------------------

FlopCount einsum_flops(const FlopCall& call);
FlopCount tensordot_flops(const FlopCall& call);
FlopCount bilinear_flops(const FlopCall& call);

// ---- flops_recurrent.cc --------------------------------------------------------------------------------------------

enum class Recurrent : uint8_t { Lstm, Gru, Plain };
FlopCount recurrent_flops(const FlopCall& call, Recurrent kind);
FlopCount recurrent_cell_flops(const FlopCall& call, Recurrent kind);

}  // namespace kymo::edge
