// The position of a walk along a stack: its start, and the result of each step.
#pragma once

#include <cstdint>

namespace kymo::unwind {

// A return address, and the stack and frame pointer in the function that it returns to.
struct Registers {
  uintptr_t pc = 0, sp = 0, fp = 0;
};

// From the registers inside a function to those of its caller, by the function's unwind rule.
Registers caller_of(const Registers& here, uintptr_t return_address) noexcept;

}  // namespace kymo::unwind

// The registers of the caller of the current function, as they will be after the return: the innermost frame is the
// caller. The function must not be inlined. If the compiler does not know the caller's stack pointer, it is looked up.
#if !defined(__clang__)
#define KYMO_CALLER_REGISTERS()                                                        \
  (::kymo::unwind::Registers{reinterpret_cast<uintptr_t>(__builtin_return_address(0)), \
                             reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa()),       \
                             *static_cast<const uintptr_t*>(__builtin_frame_address(0))})
#else
#if defined(__aarch64__)
#define KYMO_READ_REGISTERS(pc, sp, fp) \
  asm volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29" : "=r"(pc), "=r"(sp), "=r"(fp))
#else
#define KYMO_READ_REGISTERS(pc, sp, fp) \
  asm volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2" : "=r"(pc), "=r"(sp), "=r"(fp))
#endif
#define KYMO_CALLER_REGISTERS()                                                                     \
  (__extension__({                                                                                  \
    ::kymo::unwind::Registers kymo_here;                                                            \
    KYMO_READ_REGISTERS(kymo_here.pc, kymo_here.sp, kymo_here.fp);                                  \
    ::kymo::unwind::caller_of(kymo_here, reinterpret_cast<uintptr_t>(__builtin_return_address(0))); \
  }))
#endif
