// Reads the inputs of an operation, from the bytes that Inputs of kymo/edge_engine.h wrote.
//
// The bytes are untrusted: reading stops at the first invalid byte, and the inputs before it are used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kymo/edge_engine.h"
#include "kymo/edge_result.h"

namespace kymo::edge {

// Numbers in place, aligned or not.
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

// One input, in place. The tag says which members are set.
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
  uint32_t list_count = 0;                // TensorList: the number of the following inputs that are its elements
};

// Iterates over the inputs without allocation.
//
//   for (InputReader reader(bytes); reader.next(input);) …
class InputReader {
 public:
  explicit InputReader(std::span<const std::byte> untrusted) : rest_(untrusted) {}
  // False at the end, and if the bytes are not inputs.
  bool next(InputView& input);

 private:
  const std::byte* take(size_t size);  // null: fewer bytes are left

  std::span<const std::byte> rest_;
};

std::vector<EdgeInput> decode_inputs(std::span<const std::byte> untrusted);

// Kineto's name for it: "float", "long int", "c10::Half"; for an input also "Scalar", "ScalarList", "TensorList", "".
std::string_view type_text(Element element);
std::string_view type_text(const InputView& input);

// The value of an input that is not a tensor, as Kineto writes it: "1", "0.5", "2.", "True", "[1, 1]". Empty for
// others.
void append_value(std::string& out, const InputView& input);

// The inputs of an operation as the four texts of a file, each a JSON array (input_texts() of kymo/edge_engine.h).
// Operations repeat: equal inputs are converted to text once.
class InputTextCache {
 public:
  // Valid until the next call. The bytes must stay at their address while this object lives.
  const InputTexts& of(std::span<const std::byte> untrusted);

 private:
  struct Entry {
    std::span<const std::byte> bytes;
    InputTexts texts;
  };
  static constexpr size_t kMax = 1 << 14;  // limits the memory for a program whose inputs never repeat

  std::unordered_map<uint64_t, Entry> entries_;  // by the hash of the bytes
};

}  // namespace kymo::edge
