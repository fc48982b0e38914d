// A cache of unwind rules by code address, for all threads. A lookup is one or two loads and never waits.
//
// An entry has an address and the number of its rule in one word, so it may be overwritten at any time. Rules are only
// added. Memory is used only for the parts that are touched.
#pragma once

#include <atomic>
#include <cstdint>

namespace kymo::unwind {

// How to get from a frame to its caller: the content of the unwind table for one code address, in 16 bytes.
//
// A step needs only three results: the return address, the caller's stack pointer (the CFA, the canonical frame
// address) and the caller's frame pointer. Rules are plain values; a few hundred are enough for all code of a program.
struct Rule {
  enum class Kind : uint8_t {
    None,          // nothing is known: the stack ends here, incomplete
    End,           // the outermost frame: it has no caller
    Table,         // as below
    Signal,        // the system's trampoline: the interrupted registers are on the stack
    FramePointer,  // no table, or a table that is too complex: use the frame record at the frame pointer
  };
  enum Flag : uint8_t {
    kCfaByFramePointer = 1,  // CFA = frame pointer + cfa_offset; otherwise stack pointer + cfa_offset
    kCfaLoaded = 2,          // … and the CFA is the word at that address + cfa_added (a frame with a realigned stack)
    kFramePointerSaved = 4,  // the caller's frame pointer is at CFA + fp_offset
    kSavedByFramePointer = 8,  // … or at frame pointer + fp_offset
    kReturnInRegister = 16,    // the return address is still in its register: only after a signal
  };

  Kind kind = Kind::None;
  uint8_t flags = 0;
  int16_t cfa_added = 0;  // to the word of kCfaLoaded
  int32_t cfa_offset = 0;
  int32_t return_offset = 0;  // the return address is at CFA + return_offset
  int32_t fp_offset = 0;

  bool operator==(const Rule&) const = default;
};
inline constexpr Rule kByFramePointer{Rule::Kind::FramePointer, Rule::kCfaByFramePointer};

// True if a step with these flags depends on the frame pointer. If not, the register may have any value: most code for
// x86-64 uses it for other things.
constexpr bool needs_frame_pointer(unsigned flags) noexcept {
  return (flags & (Rule::kCfaByFramePointer | Rule::kSavedByFramePointer)) != 0;
}
static_assert(sizeof(Rule) == 16);

// The numbers of the registers in unwind tables.
#if defined(__aarch64__)
inline constexpr bool kCanUnwind = true;
inline constexpr uint64_t kFramePointerColumn = 29, kStackPointerColumn = 31, kReturnColumn = 30;
inline constexpr uint64_t kInstructionColumn = 32;
#elif defined(__x86_64__)
inline constexpr bool kCanUnwind = true;
inline constexpr uint64_t kFramePointerColumn = 6, kStackPointerColumn = 7, kReturnColumn = 16;
inline constexpr uint64_t kInstructionColumn = 16;
#else
inline constexpr bool kCanUnwind = false;
inline constexpr uint64_t kFramePointerColumn = 0, kStackPointerColumn = 0, kReturnColumn = 0;
inline constexpr uint64_t kInstructionColumn = 0;
#endif

// Addresses of programs have at most 48 bits. Above them, a signed return address has its signature.
inline constexpr unsigned kAddressBits = 48;
constexpr uintptr_t without_signature(uintptr_t address) { return address & ((uintptr_t{1} << kAddressBits) - 1); }

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
