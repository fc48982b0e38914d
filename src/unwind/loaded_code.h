// The loaded file that an address belongs to: the program, a library, the system's own page.
//
// Found without a lock where the C library can (glibc 2.35 and later), so that it may be asked from inside malloc,
// whoever called that.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace kymo::unwind {

struct LoadedCode {
  uintptr_t begin = 0, end = 0;  // all that is mapped of it
  uintptr_t offset = 0;          // what its own addresses are moved by
  const ElfW(Phdr) * segments = nullptr;
  size_t segment_count = 0;
  const char* path = "";  // empty: the program itself
};

// False: the address belongs to none.
bool find_loaded_code(uintptr_t address, LoadedCode& found) noexcept;

// A loaded segment with these rights (PF_R, PF_X) that holds all of [address, address + bytes); null: there is none.
const ElfW(Phdr) * segment_at(const LoadedCode& code, uintptr_t address, size_t bytes, uint32_t rights) noexcept;

// The bytes that the linker put into it to tell it from every other build. Returns how many; 0: there are none.
inline constexpr size_t kMostBuildIdBytes = 64;
size_t build_id_of(const LoadedCode& code, uint8_t (&bytes)[kMostBuildIdBytes]) noexcept;

}  // namespace kymo::unwind
