// The results of the IR's operations for scalars, in the form of Constants (Expression::bits). This is the only place
// that defines the result of an overflow and the rounding of a conversion, for folding and for evaluation.
//
// The result is empty if the language leaves it undefined or there is none: a division by zero, a shift by the width or
// more, an operator that the type does not have.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

inline float float_of(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
inline uint64_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }

// An integer with the bits of this kind, as in a Constant: sign- or zero-extended. Other kinds are unchanged.
uint64_t scalar_normalized(TypeKind kind, uint64_t bits);

// Integers wrap; floating to integer saturates, NaN gives 0; half and bfloat round to nearest even.
uint64_t scalar_converted(TypeKind from, TypeKind to, uint64_t bits);

// As in memory, in the lowest bytes: a half as its 16 bits. And the reverse.
uint64_t scalar_to_memory(TypeKind kind, uint64_t bits);
uint64_t scalar_from_memory(TypeKind kind, uint64_t bytes);

std::optional<uint64_t> scalar_unary(Operator op, TypeKind kind, uint64_t value);
// The result of a comparison is a bool. `right_kind` differs from `kind` in shifts only.
std::optional<uint64_t> scalar_binary(Operator op, TypeKind kind, uint64_t left, TypeKind right_kind, uint64_t right);
// For one component: the float and integer functions, Select. Empty for those that need memory or other threads.
std::optional<uint64_t> scalar_intrinsic(Intrinsic intrinsic, TypeKind kind, std::span<const uint64_t> operands);

bool is_comparison(Operator op);

}  // namespace kymo::shader::ir

namespace kymo::shader {

// The two 16-bit number types. As everywhere in the IR, they are held as floats that have one of their values. These
// functions round a float to such a value: to nearest even, with subnormals, infinities and NaN.

float round_to_half(float value);
float round_to_bfloat(float value);

// The 16 bits in memory. Other values are rounded first; NaN stays NaN.
uint16_t half_bits(float value);
uint16_t bfloat_bits(float value);
float half_from_bits(uint16_t bits);
float bfloat_from_bits(uint16_t bits);

}  // namespace kymo::shader
