// The names that one thread used, a number each.
//
// An engine gives the same text again and again, mostly from the same place in memory: a small table of places finds
// its number with one comparison of the text, which makes sure that nobody has written another name there meanwhile.
// What is not found so is looked up by the text's hash.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "edge/blocks.h"

namespace kymo::edge {

class Names {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // The number of `name`, which is copied where it is new. kNone: there is no memory.
  uint32_t number_of(std::string_view name) noexcept {
    Recent& recent = recent_[place_of(name)];
    if (recent.from == name.data() && recent.size == name.size() &&
        (name.empty() || std::memcmp(recent.text, name.data(), name.size()) == 0) && recent.text != nullptr)
      return recent.number;
    return look_up(name, recent);
  }

  const std::string& operator[](uint32_t number) const noexcept { return texts_[number]; }
  uint32_t size() const noexcept { return texts_.size(); }

 private:
  struct Recent {
    const char* from = nullptr;  // where the engine had it
    const char* text = nullptr;  // the copy
    size_t size = 0;
    uint32_t number = kNone;
  };
  static constexpr size_t kRecent = 64;

  static size_t place_of(std::string_view name) noexcept {
    const uint64_t mixed = reinterpret_cast<uintptr_t>(name.data()) + (name.size() << 48);
    return (mixed * 0x9e3779b97f4a7c15u) >> 58;
  }
  uint32_t look_up(std::string_view name, Recent& recent) noexcept;
  void enlarge();

  std::array<Recent, kRecent> recent_{};
  Blocks<std::string> texts_;
  std::vector<uint32_t> table_;  // numbers by hash, a power of two of places, half of them empty at least
};

}  // namespace kymo::edge
