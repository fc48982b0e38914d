// The loaded file that contains an address: the program, a library, or the vDSO.
//
// Takes no lock if the C library supports this (glibc 2.35 and later), so it may be called inside malloc from any
// caller.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace kymo::unwind {

struct LoadedCode {
  uintptr_t begin = 0, end = 0;  // the whole mapped range
  uintptr_t offset = 0;          // difference between loaded addresses and addresses in the file
  const ElfW(Phdr) * segments = nullptr;
  size_t segment_count = 0;
  const char* path = "";  // empty: the program itself
};

// What dl_iterate_phdr() reports. Nothing is loaded if `begin` is not below `end`.
LoadedCode loaded_code(const dl_phdr_info& info) noexcept;

// False if not found.
bool find_loaded_code(uintptr_t address, LoadedCode& found) noexcept;

// The loaded segment with these rights (PF_R, PF_X) that contains all of [address, address + bytes); null: not found.
const ElfW(Phdr) * segment_at(const LoadedCode& code, uintptr_t address, size_t bytes, uint32_t rights) noexcept;

// The build id: the bytes by which the linker identifies the build. Returns their number; 0: none.
inline constexpr size_t kMaxBuildIdBytes = 64;
size_t build_id_of(const LoadedCode& code, uint8_t (&bytes)[kMaxBuildIdBytes]) noexcept;

}  // namespace kymo::unwind
