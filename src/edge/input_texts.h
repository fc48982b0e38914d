// The inputs of an operation as the four texts that a file has of them, each an array in JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "kymo/edge_engine.h"

namespace kymo::edge {

// Operations repeat themselves: the same inputs are put into words once.
class InputTextCache {
 public:
  // Good until the next call. The bytes must stay where they are while this lives.
  const InputTexts& of(std::span<const std::byte> untrusted);

 private:
  struct Entry {
    std::span<const std::byte> bytes;
    InputTexts texts;
  };
  static constexpr size_t kMost = 1 << 14;  // a program whose inputs never repeat must not fill the memory

  std::unordered_map<uint64_t, Entry> entries_;  // by the hash of the bytes
};

}  // namespace kymo::edge
