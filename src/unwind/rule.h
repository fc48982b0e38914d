// How to get from a frame to the one that called it: what one code address's unwind table says, in sixteen bytes.
//
// The whole of what a frame must give back is where it was called from, where the caller's stack pointer stood (the
// CFA, the canonical frame address) and the caller's frame pointer. Rules are plain values; the same few hundred serve
// all of a program's code.
#pragma once

#include <cstdint>

namespace kymo::unwind {

struct Rule {
  enum class Kind : uint8_t {
    None,          // nothing is known: the stack is cut here
    End,           // the outermost frame: nobody called it
    Table,         // as below
    Signal,        // the system's trampoline: the registers of what was interrupted lie on the stack
    FramePointer,  // no table, or one too complicated: the frame record that the frame pointer points to
  };
  enum Flag : uint8_t {
    kCfaByFramePointer = 1,    // CFA = frame pointer + cfa_offset; otherwise stack pointer + cfa_offset
    kCfaLoaded = 2,            // … and the CFA is what lies there (a frame with a realigned stack)
    kFramePointerSaved = 4,    // the caller's frame pointer lies at CFA + fp_offset
    kSavedByFramePointer = 8,  // … or at frame pointer + fp_offset
    kReturnInRegister = 16,    // the return address is still in its register: only where a signal came between
  };

  Kind kind = Kind::None;
  uint8_t flags = 0;
  int32_t cfa_offset = 0;
  int32_t return_offset = 0;  // the return address lies at CFA + return_offset
  int32_t fp_offset = 0;

  bool operator==(const Rule&) const = default;
};
inline constexpr Rule kByFramePointer{Rule::Kind::FramePointer, Rule::kCfaByFramePointer};

// Does a step by a rule with these flags depend on the frame pointer? If not, the register may hold anything: most code
// for x86-64 uses it as any other.
constexpr bool needs_frame_pointer(unsigned flags) noexcept {
  return (flags & (Rule::kCfaByFramePointer | Rule::kSavedByFramePointer)) != 0;
}
static_assert(sizeof(Rule) == 16);

// The registers' numbers in unwind tables, and what of a return address is address.
#if defined(__aarch64__)
inline constexpr bool kCanUnwind = true;
inline constexpr uint64_t kFramePointerColumn = 29, kStackPointerColumn = 31, kReturnColumn = 30;
#elif defined(__x86_64__)
inline constexpr bool kCanUnwind = true;
inline constexpr uint64_t kFramePointerColumn = 6, kStackPointerColumn = 7, kReturnColumn = 16;
#else
inline constexpr bool kCanUnwind = false;
inline constexpr uint64_t kFramePointerColumn = 0, kStackPointerColumn = 0, kReturnColumn = 0;
#endif

// Addresses of programs have 48 bits at most. Above them a signed return address has its signature.
inline constexpr unsigned kAddressBits = 48;
constexpr uintptr_t without_signature(uintptr_t address) { return address & ((uintptr_t{1} << kAddressBits) - 1); }

}  // namespace kymo::unwind
