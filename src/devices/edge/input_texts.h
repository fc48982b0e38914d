// The inputs of an operation as the four texts of a file, each a JSON array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "kymo/edge_engine.h"

namespace kymo::edge {

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
