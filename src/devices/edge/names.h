// The names that one thread used, with a number for each.
//
// An engine passes the same texts again and again, mostly from the same address. A small table of addresses finds the
// number with one comparison of the text; the comparison is needed because the text at the address may have changed.
// Other texts are looked up by their hash.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "edge/blocks.h"
#include "record/name_cache.h"

namespace kymo::edge {

class Names {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // The number of `name`, which is copied if it is new. kNone: there is no memory.
  [[gnu::always_inline]] uint32_t number_of(std::string_view name) noexcept {
    Recent& recent = recent_[place_of(name)];
    if (recent.from == name.data() && recent.size == name.size() && recent.text != nullptr &&
        record::same_text(recent.text, name.data(), static_cast<uint32_t>(name.size())))
      return recent.number;
    return look_up(name, recent);
  }

  const std::string& operator[](uint32_t number) const noexcept { return texts_[number]; }
  uint32_t size() const noexcept { return texts_.size(); }

 private:
  struct Recent {
    const char* from = nullptr;  // the engine's address of it
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
  std::vector<uint32_t> table_;  // numbers by hash; the size is a power of two, and at least half are empty
};

}  // namespace kymo::edge
