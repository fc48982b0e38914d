// Unwind rules by code address, remembered for all threads: a lookup is one or two loads, and nobody waits.
//
// A place holds an address and the number of its rule in one word, so a place may be overwritten at any time; the rules
// themselves are only ever added to. All of it is memory that is touched as it is used.
#pragma once

#include <atomic>
#include <cstdint>

#include "unwind/rule.h"

namespace kymo::unwind {

class RuleTable {
 public:
  constexpr RuleTable() = default;

  // The rule of a return address. An address that execution stands at itself is asked for as itself + 1.
  const Rule& at(uintptr_t return_address) noexcept {
    const uintptr_t place = place_of(return_address);
    const uint64_t first = words_[place].load(std::memory_order_acquire);
    if (__builtin_expect(first >> kNumberBits == return_address, 1)) return rules_[first & kNumberMask];
    const uint64_t second = words_[place ^ 1].load(std::memory_order_acquire);
    if (second >> kNumberBits == return_address) return rules_[second & kNumberMask];
    return find(return_address, place);
  }

  // Code was unloaded: other code may come to lie at its addresses.
  void forget() noexcept;

 private:
  static constexpr unsigned kPlaceBits = 16, kNumberBits = 64 - kAddressBits;
  static constexpr uint64_t kNumberMask = (uint64_t{1} << kNumberBits) - 1;
  static constexpr uint32_t kMostRules = 1 << 14, kIndexPlaces = 2 * kMostRules;

  static uintptr_t place_of(uintptr_t address) noexcept {
    return static_cast<uintptr_t>((address * 0x9e3779b97f4a7c15u) >> (64 - kPlaceBits));
  }
  const Rule& find(uintptr_t return_address, uintptr_t place) noexcept;
  uint32_t number_of(const Rule& rule) noexcept;

  std::atomic<uint64_t> words_[uintptr_t{1} << kPlaceBits] = {};
  Rule rules_[kMostRules] = {};  // the first: none
  std::atomic<uint32_t> rule_count_{0};
  std::atomic<uint32_t> index_[kIndexPlaces] = {};  // numbers of rules, by their hash
};

// The process's.
extern RuleTable rule_table;

// Has it forget if the loader unloaded something since the last call: for whoever does not hear of that otherwise. Some
// 40 ns, and the loader's lock.
void forget_after_unloading() noexcept;

}  // namespace kymo::unwind
