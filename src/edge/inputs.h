// The inputs of an operation, from the bytes that kymo/edge_engine.h's Inputs put together.
//
// The bytes are untrusted: reading ends where they stop making sense, and what was understood until then stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kymo/edge_engine.h"
#include "kymo/edge_result.h"

namespace kymo::edge {

// Numbers where they lie, aligned or not.
template <class T>
class PackedNumbers {
 public:
  PackedNumbers() = default;
  PackedNumbers(const std::byte* data, uint32_t count) : data_(data), count_(count) {}
  uint32_t size() const { return count_; }
  T operator[](uint32_t at) const {
    T value;
    std::memcpy(&value, data_ + at * sizeof(T), sizeof value);
    return value;
  }

 private:
  const std::byte* data_ = nullptr;
  uint32_t count_ = 0;
};

// One input, in place. Which members hold something is said by the tag.
struct InputView {
  Inputs::Tag tag = Inputs::Tag::None;
  Element element = Element::Unknown;     // Tensor
  bool has_strides = false;               // Tensor
  PackedNumbers<int64_t> sizes, strides;  // Tensor
  int64_t integer = 0;                    // Integer; Boolean: 0 or 1
  double real = 0;                        // Real
  std::string_view text;                  // Text
  PackedNumbers<int64_t> integers;        // Integers
  PackedNumbers<double> reals;            // Reals
  std::span<const std::byte> booleans;    // Booleans
  uint32_t list_count = 0;                // TensorList: as many inputs after it are its elements
};

// Walks over the inputs without allocating.
//
//   for (InputReader reader(bytes); reader.next(input);) …
class InputReader {
 public:
  explicit InputReader(std::span<const std::byte> untrusted) : rest_(untrusted) {}
  // False at the end, and where the bytes are not inputs.
  bool next(InputView& input);

 private:
  const std::byte* take(size_t size);  // null: there is less

  std::span<const std::byte> rest_;
};

std::vector<EdgeInput> decode_inputs(std::span<const std::byte> untrusted);

// What Kineto calls it: "float", "long int", "c10::Half"; an input's: also "Scalar", "ScalarList", "TensorList", "".
std::string_view type_text(Element element);
std::string_view type_text(const InputView& input);

// The value of what is not a tensor, as Kineto writes it: "1", "0.5", "2.", "True", "[1, 1]". Empty for the rest.
void append_value(std::string& out, const InputView& input);

// "[[64, 64], [], [[8], [8]]]": an input each, tensors and lists of them by their sizes.
std::string shapes_text(std::span<const std::byte> untrusted);

}  // namespace kymo::edge
