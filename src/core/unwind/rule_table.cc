#include "unwind/rule_table.h"

#include <link.h>

#include <initializer_list>

#include "unwind/unwind_table.h"

namespace kymo::unwind {

constinit RuleTable rule_table;

namespace {

uint64_t rule_hash(const Rule& rule) noexcept {
  uint64_t hash = static_cast<uint64_t>(rule.kind) | uint64_t{rule.flags} << 8;
  for (const int32_t part : {rule.cfa_offset, rule.return_offset, rule.fp_offset})
    hash = (hash ^ static_cast<uint32_t>(part)) * 0x9e3779b97f4a7c15u;
  return hash >> 32;
}

constinit std::atomic<uint64_t> unloads_seen{0};

}  // namespace

// Two threads may add the same rule at the same time. The rule then has two numbers, which does no harm.
uint32_t RuleTable::number_of(const Rule& rule) noexcept {
  if (rule == Rule{}) return 0;
  uint64_t place = rule_hash(rule) % kIndexPlaces;
  for (uint32_t probe = 0; probe < kIndexPlaces; ++probe, place = (place + 1) % kIndexPlaces) {
    uint32_t found = index_[place].load(std::memory_order_acquire);
    if (found == 0) {
      if (rule_count_.load(std::memory_order_relaxed) >= kMaxRules - 1) return 0;
      const uint32_t number = rule_count_.fetch_add(1, std::memory_order_relaxed) + 1;
      if (number >= kMaxRules) return 0;
      rules_[number] = rule;
      if (index_[place].compare_exchange_strong(found, number, std::memory_order_acq_rel)) return number;
    }
    if (rules_[found] == rule) return found;
  }
  return 0;
}

const Rule& RuleTable::find(uintptr_t return_address, uintptr_t place) noexcept {
  const uint32_t number = number_of(find_rule(return_address - 1, return_address));
  if (return_address >> kAddressBits == 0) {
    words_[place ^ 1].store(words_[place].load(std::memory_order_relaxed), std::memory_order_release);
    words_[place].store(uint64_t{return_address} << kNumberBits | number, std::memory_order_release);
  }
  return rules_[number];
}

void RuleTable::forget() noexcept {
  for (auto& word : words_)  // words that were never written are not touched, so they cost no memory
    if (word.load(std::memory_order_relaxed) != 0) word.store(0, std::memory_order_relaxed);
}

void forget_after_unloading() noexcept {
  uint64_t unloads = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* argument) {
        *static_cast<uint64_t*>(argument) = info->dlpi_subs;
        return 1;  // all modules report the same number
      },
      &unloads);
  if (unloads_seen.load(std::memory_order_acquire) == unloads) return;
  rule_table.forget();
  unloads_seen.store(unloads, std::memory_order_release);  // last: a thread that sees this value finds no old rules
}

}  // namespace kymo::unwind
