// What the operations of the IR give for scalars, in the form that Constants have (Expression::bits): the one place
// that says what a sum overflows to and which way a conversion rounds, for folding and for evaluating.
//
// Nothing comes back where the language leaves the result open or there is none: a division by zero, a shift by the
// width or more, an operator that the type does not have.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

inline float float_of(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
inline uint64_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }

// An integer of so many bits, as a Constant of the kind holds it: sign- or zero-extended. Other kinds as they are.
uint64_t scalar_normalized(TypeKind kind, uint64_t bits);

// Integers wrap; floating to integer saturates, NaN gives 0; half and bfloat round to nearest even.
uint64_t scalar_converted(TypeKind from, TypeKind to, uint64_t bits);

// As memory has them, in the lowest bytes: a half as its 16 bits. And back.
uint64_t scalar_to_memory(TypeKind kind, uint64_t bits);
uint64_t scalar_from_memory(TypeKind kind, uint64_t bytes);

std::optional<uint64_t> scalar_unary(Operator op, TypeKind kind, uint64_t value);
// Of comparisons the result is a bool. `right_kind` is another than `kind` in shifts only.
std::optional<uint64_t> scalar_binary(Operator op, TypeKind kind, uint64_t left, TypeKind right_kind, uint64_t right);
// Of one component: the float and integer functions, Select. Nothing for those that need memory or other threads.
std::optional<uint64_t> scalar_intrinsic(Intrinsic intrinsic, TypeKind kind, std::span<const uint64_t> operands);

bool is_comparison(Operator op);

}  // namespace kymo::shader::ir
