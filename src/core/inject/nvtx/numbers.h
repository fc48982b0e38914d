// Numbers and characters of a payload: what a predefined type is, and from its bytes to a value.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kymo::inject::nvtx {

enum class NumberKind : uint8_t { None, Signed, Unsigned, Real, Pointer };

// The size of a predefined type; 0: it is not a number.
size_t number_size(uint64_t type) noexcept;
NumberKind number_kind(uint64_t type) noexcept;

// The value of number_size(type) bytes: an integer, sign-extended, or the bits of a double. Of integers with 128 bits
// the low half.
uint64_t number_bits(uint64_t type, const uint8_t* bytes) noexcept;

bool is_string(uint64_t type) noexcept;
bool is_character(uint64_t type) noexcept;  // also true for a string, which consists of them
size_t character_size(uint64_t type) noexcept;

}  // namespace kymo::inject::nvtx
