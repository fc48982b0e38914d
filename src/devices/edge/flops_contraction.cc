// FLOPs of sums of products over named or numbered dimensions: einsum, tensordot, bilinear.
#include <algorithm>
#include <array>
#include <bitset>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "edge/flops_call.h"

namespace kymo::edge {
namespace {

using FlopSizes = PackedNumbers<int64_t>;

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

}  // namespace

// equation, tensors, path
FlopCount einsum_flops(const FlopCall& call) {
  const std::span<const InputView> tensors = call.list(1);
  if (call[0].tag != Inputs::Tag::Text || tensors.empty()) return FlopCount::unknown();
  std::string equation;
  std::ranges::copy_if(call[0].text, std::back_inserter(equation), [](char c) { return c != ' '; });
  const size_t arrow = equation.find("->");
  const std::string_view operands = std::string_view(equation).substr(0, arrow);
  Einsum einsum;
  size_t begin = 0;
  for (const InputView& tensor : tensors) {
    if (tensor.tag != Inputs::Tag::Tensor || begin > operands.size()) return FlopCount::unknown();
    const size_t end = std::min(operands.find(',', begin), operands.size());
    if (!einsum.add_operand(operands.substr(begin, end - begin), tensor.sizes)) return FlopCount::unknown();
    begin = end + 1;
  }
  if (begin <= operands.size()) return FlopCount::unknown();  // more operands than tensors
  if (arrow == std::string::npos)
    einsum.set_usual_result(operands);
  else if (!einsum.set_result(std::string_view(equation).substr(arrow + 2)))
    return FlopCount::unknown();
  return einsum.flops();
}

// self, other, dims of self, dims of other
FlopCount tensordot_flops(const FlopCall& call) {
  const FlopSizes *const left = call.sizes(0), *const right = call.sizes(1);
  if (left == nullptr || right == nullptr || call[2].tag != Inputs::Tag::Integers ||
      call[3].tag != Inputs::Tag::Integers)
    return FlopCount::unknown();
  const PackedNumbers<int64_t>&summed = call[2].integers, &also = call[3].integers;
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
FlopCount bilinear_flops(const FlopCall& call) {
  const FlopSizes *const input = call.sizes(0), *const other = call.sizes(1), *const weight = call.sizes(2);
  if (input == nullptr || other == nullptr || weight == nullptr || weight->size() != 3) return FlopCount::unknown();
  if (input->size() == 0 || input->size() != other->size()) return FlopCount::unknown();
  if ((*input)[input->size() - 1] != (*weight)[1] || (*other)[other->size() - 1] != (*weight)[2])
    return FlopCount::unknown();
  const FlopCount places = product(*input, 0, input->size() - 1);
  return places * (elements(*weight) + product(*weight, 0, 2)) * 2;
}

}  // namespace kymo::edge
