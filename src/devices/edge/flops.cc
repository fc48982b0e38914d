#include "edge/flops.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <iterator>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "edge/inputs.h"

namespace kymo::edge {
namespace {

using FlopSizes = PackedNumbers<int64_t>;

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
  explicit FlopCall(std::span<const std::byte> untrusted) {
    InputReader reader(untrusted);
    while (size_ < kMax && reader.next(inputs_[size_])) {
      InputView element;
      lists_[size_] = static_cast<uint32_t>(elements_.size());
      for (uint32_t left = inputs_[size_].list_count; left != 0 && reader.next(element); --left)
        elements_.push_back(element);
      ++size_;
    }
  }

  size_t size() const { return size_; }
  // An absent input if there are fewer.
  const InputView& operator[](size_t at) const { return at < size_ ? inputs_[at] : kAbsent; }
  bool has(size_t at) const { return (*this)[at].tag != Inputs::Tag::None; }
  // The sizes of a tensor; null if it is not a tensor.
  const FlopSizes* sizes(size_t at) const {
    return (*this)[at].tag == Inputs::Tag::Tensor ? &inputs_[at].sizes : nullptr;
  }
  // The elements of a list of tensors; empty if it is not one.
  std::span<const InputView> list(size_t at) const {
    const InputView& input = (*this)[at];
    if (input.tag != Inputs::Tag::TensorList || input.list_count > elements_.size() - lists_[at]) return {};
    return std::span(elements_).subspan(lists_[at], input.list_count);
  }
  // An integer or a boolean, else `otherwise`.
  int64_t integer(size_t at, int64_t otherwise) const {
    const Inputs::Tag tag = (*this)[at].tag;
    return tag == Inputs::Tag::Integer || tag == Inputs::Tag::Boolean ? inputs_[at].integer : otherwise;
  }
  // Element `dimension` of a list, the only element of a shorter list, or an integer for all dimensions. `otherwise` if
  // the input is absent; empty if it is something else.
  std::optional<int64_t> per_dimension(size_t at, uint32_t dimension, int64_t otherwise) const {
    const InputView& input = (*this)[at];
    if (input.tag == Inputs::Tag::None) return otherwise;
    if (input.tag == Inputs::Tag::Integer) return input.integer;
    if (input.tag != Inputs::Tag::Integers) return std::nullopt;
    if (dimension < input.integers.size()) return input.integers[dimension];
    return input.integers.size() == 1 ? std::optional(input.integers[0]) : std::nullopt;
  }

 private:
  static constexpr size_t kMax = 32;
  static inline const InputView kAbsent = {};
  std::array<InputView, kMax> inputs_;
  std::array<uint32_t, kMax> lists_{};  // where the elements of an input begin
  std::vector<InputView> elements_;     // of all lists
  size_t size_ = 0;
};

constexpr size_t kNoInput = 100;  // the position of an input that does not exist

// The number of elements of sizes [from, until).
FlopCount product(const FlopSizes& sizes, uint32_t from, uint32_t until) {
  FlopCount all = 1;
  for (uint32_t at = from; at < until; ++at) all = all * sizes[at];
  return all;
}

FlopCount elements(const FlopSizes& sizes) { return product(sizes, 0, sizes.size()); }

// ---- Element by element --------------------------------------------------------------------------------------------

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
      const FlopSizes& sizes = call[at].sizes;
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

// ---- Products of matrices ------------------------------------------------------------------------------------------

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

FlopCount transposed_convolution(const FlopCall& call) {
  const FlopSizes *const input = call.sizes(0), *const weight = call.sizes(1);
  if (input == nullptr || weight == nullptr || weight->size() < 3) return FlopCount::unknown();
  if (input->size() != weight->size() && input->size() + 1 != weight->size()) return FlopCount::unknown();
  const uint32_t channels = input->size() == weight->size() ? 1 : 0;
  if ((*input)[channels] != (*weight)[0]) return FlopCount::unknown();
  return elements(*input) * product(*weight, 1, weight->size()) * 2;
}

// The numbers are the positions of the inputs that describe how a convolution moves.
template <size_t kStride, size_t kPadding, size_t kDilation, size_t kTransposed = kNoInput>
FlopCount convolution(const FlopCall& call) {
  if (call.integer(kTransposed, 0) != 0) return transposed_convolution(call);
  const FlopSizes *const input = call.sizes(0), *const weight = call.sizes(1);
  if (input == nullptr || weight == nullptr || weight->size() < 3) return FlopCount::unknown();
  const uint32_t dimensions = weight->size() - 2;
  const bool batched = input->size() == weight->size();
  if (!batched && input->size() + 1 != weight->size()) return FlopCount::unknown();
  const uint32_t channels = batched ? 1 : 0;
  const int64_t of_group = (*weight)[1];
  if (of_group <= 0 || (*input)[channels] % of_group != 0) return FlopCount::unknown();

  const bool same = call[kPadding].tag == Inputs::Tag::Text && call[kPadding].text == "same";
  const bool valid = call[kPadding].tag == Inputs::Tag::Text && call[kPadding].text == "valid";
  FlopCount places = batched ? FlopCount((*input)[0]) : FlopCount(1);
  for (uint32_t dimension = 0; dimension < dimensions; ++dimension) {
    const int64_t size = (*input)[channels + 1 + dimension];
    const auto stride = call.per_dimension(kStride, dimension, 1);
    const auto dilation = call.per_dimension(kDilation, dimension, 1);
    const auto padding = same || valid ? 0 : call.per_dimension(kPadding, dimension, 0);
    if (!stride || !dilation || !padding) return FlopCount::unknown();
    places = places * (same ? window_places(size, 1, *stride, 0, 1)
                            : window_places(size, (*weight)[2 + dimension], *stride, *padding, *dilation));
  }
  return places * elements(*weight) * 2;
}

// grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask
FlopCount convolution_backward(const FlopCall& call) {
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

// Of input `kFirst` and the one after it.
template <size_t kFirst>
FlopCount matrix_product(const FlopCall& call) {
  const FlopSizes *const left = call.sizes(kFirst), *const right = call.sizes(kFirst + 1);
  if (left == nullptr || right == nullptr || left->size() == 0 || right->size() == 0) return FlopCount::unknown();
  const uint32_t left_count = left->size(), right_count = right->size();
  const int64_t inner = (*left)[left_count - 1];
  if (inner != (*right)[right_count == 1 ? 0 : right_count - 2]) return FlopCount::unknown();
  const FlopCount columns = right_count == 1 ? FlopCount(1) : FlopCount((*right)[right_count - 1]);
  if (left_count == 1) return product(*right, 0, right_count == 1 ? 0 : right_count - 2) * inner * columns * 2;
  if (right_count == 1) return product(*left, 0, left_count - 1) * inner * 2;
  return broadcast_batches(*left, *right) * (*left)[left_count - 2] * inner * columns * 2;
}

FlopCount outer_product(const FlopCall& call) {
  const FlopSizes *const left = call.sizes(0), *const right = call.sizes(1);
  if (left == nullptr || right == nullptr) return FlopCount::unknown();
  return elements(*left) * elements(*right);
}

FlopCount linear(const FlopCall& call) {
  const FlopSizes *const input = call.sizes(0), *const weight = call.sizes(1);
  if (input == nullptr || weight == nullptr || input->size() == 0) return FlopCount::unknown();
  if (weight->size() != 1 && weight->size() != 2) return FlopCount::unknown();
  if ((*input)[input->size() - 1] != (*weight)[weight->size() - 1]) return FlopCount::unknown();
  return product(*input, 0, input->size() - 1) * elements(*weight) * 2;
}

// query […, L, E], key […, S, E], value […, S, Ev]
FlopCount attention(const FlopCall& call) {
  const FlopSizes *const query = call.sizes(0), *const key = call.sizes(1), *const value = call.sizes(2);
  for (const FlopSizes* const sizes : {query, key, value})
    if (sizes == nullptr || sizes->size() < 2) return FlopCount::unknown();
  const int64_t width = (*query)[query->size() - 1], others = (*key)[key->size() - 2];
  if (width != (*key)[key->size() - 1] || others != (*value)[value->size() - 2]) return FlopCount::unknown();
  const FlopCount scores = product(*query, 0, query->size() - 1) * others;
  return scores * 2 * (FlopCount(width) + (*value)[value->size() - 1]);
}

// query, key, value, embed_dim, …: query, key and value each have a projection, and so has the result.
template <bool kBatchFirst>
FlopCount multi_head_attention(const FlopCall& call) {
  const FlopSizes *const query = call.sizes(0), *const key = call.sizes(1), *const value = call.sizes(2);
  for (const FlopSizes* const sizes : {query, key, value})
    if (sizes == nullptr || sizes->size() < 2 || sizes->size() > 3) return FlopCount::unknown();
  if (query->size() != key->size() || query->size() != value->size()) return FlopCount::unknown();
  const uint32_t last = query->size() - 1;
  const int64_t width = call.integer(3, -1);
  const int64_t others = (*key)[kBatchFirst ? last - 1 : 0];
  const FlopCount queries = product(*query, 0, last);
  const FlopCount projections = elements(*query) + elements(*key) + elements(*value) + queries * width;
  return projections * width * 2 + queries * others * width * 4;
}

// ---- Sums of products over named or numbered dimensions ------------------------------------------------------------

// The dimensions of an einsum: 52 letters, then those that "..." stands for, counted from the last one.
constexpr size_t kLetters = 52, kMaxSubscripts = kLetters + 64;
using Subscripts = std::bitset<kMaxSubscripts>;

size_t letter_number(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<size_t>(c - 'A');
  if (c >= 'a' && c <= 'z') return static_cast<size_t>(c - 'a') + 26;
  return kMaxSubscripts;
}

class Einsum {
 public:
  Einsum() { sizes_.fill(1); }

  // False: the text does not fit the tensor, or is not valid.
  bool add_operand(std::string_view text, const FlopSizes& sizes) {
    Subscripts used;
    uint32_t next = 0;
    const size_t dots = text.find("...");
    const size_t letters = dots == std::string_view::npos ? text.size() : text.size() - 3;
    if (letters > sizes.size() || (dots == std::string_view::npos && letters != sizes.size())) return false;
    for (size_t at = 0; at < text.size();) {
      if (at == dots) {
        const uint32_t hidden = sizes.size() - static_cast<uint32_t>(letters);
        if (hidden > kMaxSubscripts - kLetters) return false;
        for (uint32_t i = 0; i < hidden; ++i)
          if (!set_size(kLetters + hidden - 1 - i, sizes[next++], used)) return false;
        at += 3;
      } else if (!set_size(letter_number(text[at++]), sizes[next++], used)) {
        return false;
      }
    }
    operands_.push_back(used);
    times_ |= used;
    return true;
  }

  bool set_result(std::string_view text) {
    for (size_t at = 0; at < text.size(); ++at) {
      if (text.substr(at).starts_with("...")) {
        for (size_t hidden = kLetters; hidden < kMaxSubscripts; ++hidden) result_[hidden] = times_[hidden];
        at += 2;
        continue;
      }
      const size_t letter = letter_number(text[at]);
      if (letter >= kLetters || !times_[letter]) return false;
      result_.set(letter);
    }
    return true;
  }

  // Without "->": the letters that occur once, and what "..." stands for.
  void set_usual_result(std::string_view operands) {
    for (size_t letter = 0; letter < kMaxSubscripts; ++letter) {
      const auto is_it = [&](char c) { return letter_number(c) == letter; };
      result_[letter] = letter >= kLetters ? times_[letter] : std::ranges::count_if(operands, is_it) == 1;
    }
  }

  // The operands are multiplied from left to right, and a dimension is summed as soon as nothing needs it.
  FlopCount flops() const {
    if (operands_.size() == 1) {
      const bool sums = (operands_[0] & ~result_).any();
      return sums ? count(operands_[0]) : FlopCount(0);
    }
    FlopCount all = 0;
    Subscripts left = operands_[0];
    for (size_t at = 1; at < operands_.size(); ++at) {
      Subscripts needed = result_;
      for (size_t later = at + 1; later < operands_.size(); ++later) needed |= operands_[later];
      const Subscripts both = left | operands_[at];
      const bool sums = (both & ~needed).any();
      all = all + count(both) * (sums ? 2 : 1);
      left = both & needed;
    }
    return all;
  }

 private:
  bool set_size(size_t subscript, int64_t size, Subscripts& used) {
    if (subscript >= kMaxSubscripts) return false;
    if (size != 1 && sizes_[subscript] != 1 && sizes_[subscript] != size) return false;
    if (size != 1) sizes_[subscript] = size;
    used.set(subscript);
    return true;
  }
  FlopCount count(const Subscripts& subscripts) const {
    FlopCount all = 1;
    for (size_t at = 0; at < kMaxSubscripts; ++at)
      if (subscripts[at]) all = all * sizes_[at];
    return all;
  }

  std::array<int64_t, kMaxSubscripts> sizes_;
  std::vector<Subscripts> operands_;
  Subscripts times_, result_;  // all dimensions; those of the result
};

// equation, tensors, path
FlopCount einsum(const FlopCall& call) {
  const std::span<const InputView> tensors = call.list(1);
  if (call[0].tag != Inputs::Tag::Text || tensors.empty()) return FlopCount::unknown();
  std::string equation;
  std::ranges::copy_if(call[0].text, std::back_inserter(equation), [](char c) { return c != ' '; });
  const size_t arrow = equation.find("->");
  const std::string_view operands = std::string_view(equation).substr(0, arrow);
  Einsum sum;
  size_t begin = 0;
  for (const InputView& tensor : tensors) {
    if (tensor.tag != Inputs::Tag::Tensor || begin > operands.size()) return FlopCount::unknown();
    const size_t end = std::min(operands.find(',', begin), operands.size());
    if (!sum.add_operand(operands.substr(begin, end - begin), tensor.sizes)) return FlopCount::unknown();
    begin = end + 1;
  }
  if (begin <= operands.size()) return FlopCount::unknown();  // more operands than tensors
  if (arrow == std::string::npos)
    sum.set_usual_result(operands);
  else if (!sum.set_result(std::string_view(equation).substr(arrow + 2)))
    return FlopCount::unknown();
  return sum.flops();
}

// self, other, dims of self, dims of other
FlopCount tensordot(const FlopCall& call) {
  const FlopSizes *const left = call.sizes(0), *const right = call.sizes(1);
  if (left == nullptr || right == nullptr || call[2].tag != Inputs::Tag::Integers ||
      call[3].tag != Inputs::Tag::Integers)
    return FlopCount::unknown();
  const FlopSizes &summed = call[2].integers, &also = call[3].integers;
  if (summed.size() != also.size()) return FlopCount::unknown();
  std::vector<bool> is_summed(right->size());
  for (uint32_t i = 0; i < summed.size(); ++i) {
    const auto place = [](int64_t dimension, const FlopSizes& sizes) {
      return dimension < 0 ? dimension + sizes.size() : dimension;
    };
    const int64_t one = place(summed[i], *left), other = place(also[i], *right);
    if (one < 0 || other < 0 || one >= left->size() || other >= right->size()) return FlopCount::unknown();
    if ((*left)[static_cast<uint32_t>(one)] != (*right)[static_cast<uint32_t>(other)]) return FlopCount::unknown();
    is_summed[static_cast<size_t>(other)] = true;
  }
  FlopCount columns = 1;
  for (uint32_t i = 0; i < right->size(); ++i)
    if (!is_summed[i]) columns = columns * (*right)[i];
  return elements(*left) * columns * (summed.size() != 0 ? 2 : 1);
}

// input1 […, I], input2 […, J], weight [O, I, J]: the weight times input2, and the result times input1.
FlopCount bilinear(const FlopCall& call) {
  const FlopSizes *const input = call.sizes(0), *const other = call.sizes(1), *const weight = call.sizes(2);
  if (input == nullptr || other == nullptr || weight == nullptr || weight->size() != 3) return FlopCount::unknown();
  if (input->size() == 0 || input->size() != other->size()) return FlopCount::unknown();
  if ((*input)[input->size() - 1] != (*weight)[1] || (*other)[other->size() - 1] != (*weight)[2])
    return FlopCount::unknown();
  const FlopCount places = product(*input, 0, input->size() - 1);
  return places * (elements(*weight) + product(*weight, 0, 2)) * 2;
}

// ---- Recurrent layers and cells ------------------------------------------------------------------------------------

enum class Recurrent : uint8_t { Lstm, Gru, Plain };

// Of the gates, for each hidden unit: the sums of the two products, the functions, and the new state.
int64_t gate_flops(Recurrent kind) {
  switch (kind) {
    case Recurrent::Lstm:
      return 4 + 3 + 2 + 4;  // sums, sigmoid, tanh, new cell and state
    case Recurrent::Gru:
      return 2 + 2 + 3 + 3;  // sums, sigmoid, candidate, new state
    case Recurrent::Plain:
      break;
  }
  return 2;
}

int64_t gate_count(Recurrent kind) { return kind == Recurrent::Lstm ? 4 : kind == Recurrent::Gru ? 3 : 1; }

// The steps of all sequences of the batch together.
FlopCount positions_of(const FlopSizes* input) {
  if (input == nullptr || input->size() == 0) return FlopCount::unknown();
  return product(*input, 0, input->size() - 1);
}

// input, hx, params, has_biases, num_layers, dropout, train, bidirectional, …; or with batch_sizes after the input. The
// first of the params of a layer and a direction have two dimensions: [gates x hidden, inputs], [gates x hidden,
// hidden] and, with a projection, [projected, hidden]. The biases have one.
template <Recurrent kKind>
FlopCount recurrent(const FlopCall& call) {
  const size_t at = call[3].tag == Inputs::Tag::TensorList ? 3 : 2;
  const std::span<const InputView> params = call.list(at);
  const int64_t layers = call.integer(at + 2, -1), directions = call.integer(at + 5, 0) != 0 ? 2 : 1;
  if (params.empty() || params[0].sizes.size() != 2) return FlopCount::unknown();
  FlopCount weights = 0;
  for (const InputView& each : params) {
    if (each.tag != Inputs::Tag::Tensor) return FlopCount::unknown();
    if (each.sizes.size() == 2) weights = weights + elements(each.sizes);
  }
  const int64_t rows = params[0].sizes[0];
  if (rows % gate_count(kKind) != 0) return FlopCount::unknown();
  const FlopCount hidden = FlopCount(rows / gate_count(kKind)) * layers * directions;
  return positions_of(call.sizes(0)) * (weights * 2 + hidden * gate_flops(kKind));
}

// input, hx, w_ih, w_hh, …
template <Recurrent kKind>
FlopCount recurrent_cell(const FlopCall& call) {
  const FlopSizes *const of_input = call.sizes(2), *const of_state = call.sizes(3);
  if (of_input == nullptr || of_state == nullptr || of_input->size() != 2 || of_state->size() != 2)
    return FlopCount::unknown();
  const int64_t rows = (*of_input)[0];
  if (rows % gate_count(kKind) != 0) return FlopCount::unknown();
  const FlopCount weights = elements(*of_input) + elements(*of_state);
  return positions_of(call.sizes(0)) * (weights * 2 + FlopCount(rows / gate_count(kKind)) * gate_flops(kKind));
}

// ---- The rules -----------------------------------------------------------------------------------------------------

using FlopRule = FlopCount (*)(const FlopCall& call);

std::unordered_map<std::string_view, FlopRule> make_flop_rules() {
  std::unordered_map<std::string_view, FlopRule> rules;
  const auto add = [&](FlopRule rule, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) rules.emplace(name, rule);
  };
  add(convolution<3, 4, 5>, {"conv1d", "conv2d", "conv3d", "cudnn_convolution_relu"});
  add(convolution<3, 4, 5, 6>, {"convolution", "_convolution", "convolution_overrideable"});
  add(convolution<4, 3, 5>, {"mkldnn_convolution", "miopen_convolution", "miopen_depthwise_convolution"});
  add(convolution<4, 3, 5>, {"_mps_convolution"});
  add(convolution<3, 2, 4>, {"cudnn_convolution"});
  add(convolution<4, 5, kNoInput>, {"thnn_conv2d", "_slow_conv2d_forward", "slow_conv3d", "slow_conv3d_forward"});
  add(convolution<4, 5, 6>, {"slow_conv_dilated2d", "slow_conv_dilated3d", "_conv_depthwise2d", "conv_depthwise3d"});
  add(transposed_convolution, {"conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "slow_conv_transpose2d",
                               "slow_conv_transpose3d", "cudnn_convolution_transpose", "miopen_convolution_transpose"});
  add(convolution_backward, {"convolution_backward"});

  add(matrix_product<0>, {"mm", "bmm", "matmul", "mv", "dot", "vdot"});
  add(matrix_product<1>, {"addmm", "_addmm_activation", "baddbmm", "addbmm", "addmv"});
  add(outer_product, {"outer", "ger"});
  add(linear, {"linear", "mkldnn_linear", "_mkl_linear"});

  add(einsum, {"einsum"});
  add(tensordot, {"tensordot"});
  add(bilinear, {"bilinear"});
  add(recurrent<Recurrent::Lstm>, {"lstm"});
  add(recurrent<Recurrent::Gru>, {"gru"});
  add(recurrent<Recurrent::Plain>, {"rnn_tanh", "rnn_relu"});
  add(recurrent_cell<Recurrent::Lstm>, {"lstm_cell"});
  add(recurrent_cell<Recurrent::Gru>, {"gru_cell"});
  add(recurrent_cell<Recurrent::Plain>, {"rnn_tanh_cell", "rnn_relu_cell"});

  add(attention, {"scaled_dot_product_attention", "_scaled_dot_product_attention", "_scaled_dot_product_attention_math",
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

// "aten::add_.Tensor" is "add".
std::string_view plain_name(std::string_view name) {
  if (name.starts_with("aten::")) name.remove_prefix(6);
  name = name.substr(0, name.find('.'));
  if (name.size() > 1 && name.ends_with('_') && !name.ends_with("__")) name.remove_suffix(1);
  return name;
}

// Names between spaces, with a space at both ends.
constexpr std::string_view kWithoutArithmetic =
    " "
    // new tensors
    "empty empty_like empty_strided new_empty new_empty_strided new_zeros new_ones new_full zeros zeros_like "
    "ones ones_like full full_like zero fill scalar_tensor arange resize set _efficientzerotensor "
    // views
    "view view_as _unsafe_view reshape reshape_as _reshape_alias flatten unflatten t transpose permute numpy_T "
    "swapaxes swapdims movedim expand expand_as squeeze unsqueeze as_strided slice select narrow split "
    "split_with_sizes chunk tensor_split unbind unfold diagonal detach alias lift_fresh view_as_real "
    "view_as_complex broadcast_tensors "
    // copies
    "contiguous clone copy to _to_copy type_as cat concat _cat stack repeat flip roll pad constant_pad_nd "
    "index_select gather embedding masked_select pixel_shuffle channel_shuffle "
    // questions
    "item _local_scalar_dense is_nonzero size stride dim numel is_floating_point is_complex result_type "
    "can_cast ";

}  // namespace

std::optional<uint64_t> count_flops(std::string_view name, std::span<const std::byte> untrusted_inputs) {
  static const std::unordered_map<std::string_view, FlopRule> rules = make_flop_rules();
  const auto rule = rules.find(plain_name(name));
  if (rule == rules.end()) return std::nullopt;
  const FlopCall call(untrusted_inputs);
  const FlopCount count = rule->second(call);
  return count.known() && integers_only(call) ? 0 : count.value();
}

bool does_no_arithmetic(std::string_view name) {
  return kWithoutArithmetic.find(base::format(" {} ", plain_name(name))) != std::string_view::npos;
}

}  // namespace kymo::edge
