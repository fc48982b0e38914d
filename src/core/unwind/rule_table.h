// A cache of unwind rules by code address, for all threads. A lookup is one or two loads and never waits.
//
// An entry has an address and the number of its rule in one word, so it may be overwritten at any time. Rules are only
// added. Memory is used only for the parts that are touched.
#pragma once

#include <atomic>
#include <cstdint>

#include "unwind/rule.h"

namespace kymo::unwind {

class RuleTable {
 public:
  constexpr RuleTable() = default;

  // The rule of a return address. For the address of the current instruction, pass the address + 1.
  const Rule& at(uintptr_t return_address) noexcept {
    const uintptr_t place = place_of(return_address);
    const uint64_t first = words_[place].load(std::memory_order_acquire);
    if (__builtin_expect(first >> kNumberBits == return_address, 1)) return rules_[first & kNumberMask];
    const uint64_t second = words_[place ^ 1].load(std::memory_order_acquire);
    if (second >> kNumberBits == return_address) return rules_[second & kNumberMask];
    return find(return_address, place);
  }

  // Call it when code was unloaded: other code may be loaded at its addresses.
  void forget() noexcept;

 private:
  static constexpr unsigned kPlaceBits = 16, kNumberBits = 64 - kAddressBits;
  static constexpr uint64_t kNumberMask = (uint64_t{1} << kNumberBits) - 1;
  static constexpr uint32_t kMaxRules = 1 << 14, kIndexPlaces = 2 * kMaxRules;

  static uintptr_t place_of(uintptr_t address) noexcept {
    return static_cast<uintptr_t>((address * 0x9e3779b97f4a7c15u) >> (64 - kPlaceBits));
  }
  const Rule& find(uintptr_t return_address, uintptr_t place) noexcept;
  uint32_t number_of(const Rule& rule) noexcept;

  std::atomic<uint64_t> words_[uintptr_t{1} << kPlaceBits] = {};
  Rule rules_[kMaxRules] = {};  // the first one is Kind::None
  std::atomic<uint32_t> rule_count_{0};
  std::atomic<uint32_t> index_[kIndexPlaces] = {};  // numbers of rules, by hash
};

// The table of the process.
extern RuleTable rule_table;

// Calls rule_table.forget() if the loader unloaded something since the last call. For code that is not notified of
// unloading. Costs about 40 ns, and takes the loader's lock.
void forget_after_unloading() noexcept;

}  // namespace kymo::unwind
