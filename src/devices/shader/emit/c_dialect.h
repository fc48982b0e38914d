// The differences between OpenCL C and CUDA C++: the spelling of types, vectors and built-in functions.
//
// The text arguments are operands in value form (c_types.h). There is one object per translation: it collects the parts
// of the prelude that are needed. Throws Rejected for what the target does not support.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shader/emit/c_prelude.h"
#include "shader/emit/c_text.h"
#include "shader/emit/names.h"
#include "shader/ir/ir.h"

namespace kymo::shader {

// How a function accesses data that only its kernel has; empty: it does not.
struct CHidden {
  std::string_view simd;  // a pointer to the memory of simdgroups
  std::string_view grid;  // the runtime's description of the launch
};

class CDialect {
 public:
  explicit CDialect(const CPieces& pieces) : prelude(pieces) {}
  CDialect(const CDialect&) = delete;
  CDialect& operator=(const CDialect&) = delete;
  virtual ~CDialect() = default;

  CPrelude prelude;

  virtual Reserved reserved() const = 0;
  virtual std::string_view opening() const = 0;  // the first lines of a text

  // ---- Declarations
  virtual std::string_view scalar(TypeKind kind) const = 0;  // not half and bfloat, which no dialect has
  virtual std::string vector(TypeKind component, uint32_t count) = 0;
  virtual std::string_view space(Space space) const = 0;  // the text before the pointee type
  // Makes the name known as a type: directly before its definition, or long before.
  virtual std::string forward(std::string_view structure, bool is_defined_next) const = 0;
  // Defines `alias` as the type whose objects may be the bytes of any other; empty: all types are so.
  virtual std::string aliasing(std::string_view type, std::string_view alias) const = 0;
  virtual std::string structure(std::string_view name, uint32_t align) const = 0;  // its first line; align 0: natural
  virtual std::string aligned(uint32_t align) const = 0;                           // before the type of a member
  virtual std::string_view function_head(bool has_simd_memory) const = 0;
  virtual std::string kernel_head(uint32_t max_threads) const = 0;
  virtual std::string_view group_head() const = 0;    // of a variable in threadgroup memory
  virtual std::string_view program_head() const = 0;  // of a constant of the program
  virtual std::string aggregate(std::string_view type, std::string_view parts) const = 0;  // (S){1, 2}
  virtual std::string_view zeros() const = 0;  // the parts of an aggregate in which everything is 0
  // Lines before a loop with this wish (unroll_wish.h).
  virtual std::string unrolling(uint16_t wish) const = 0;
  virtual bool unrolls_without_wish() const = 0;  // loops that should_unroll() names
  virtual bool pointers_lose_const() const = 0;   // a pointer to a constant of the program needs a cast
  virtual bool needs_simd_memory() const = 0;
  // Whether a kernel (or a function it calls) needs the description of the launch for this intrinsic.
  virtual bool needs_grid(ir::Intrinsic intrinsic, bool is_kernel) const = 0;
  virtual bool pieces_need_grid() const = 0;  // a kernel with simdgroups is launched in pieces
  // A parameter of group memory is an offset in the prelude's kymo_group_memory, not a pointer.
  virtual bool group_memory_by_offset() const = 0;
  // The compiler combines accesses to neighbours in group memory if it knows that an array begins at 16 bytes.
  virtual bool aligns_group_arrays() const = 0;
  // Compilers take it that a pointer argument is aligned for its type.
  virtual bool trusts_argument_types() const = 0;

  // ---- Numbers
  virtual std::string float_of_bits(uint32_t bits) const = 0;         // infinities and NaN
  virtual std::string float_of_bits_static(uint32_t bits) const = 0;  // the same, in places that allow only constants
  // A function of the prelude on 16-bit numbers, for a scalar or each component.
  virtual CText convert16(std::string_view function, bool gives_bits, uint32_t count, CText operand) = 0;
  virtual CText bitcast(std::string_view type, CText bits) = 0;  // the same number of bytes, in memory form

  // ---- Vectors: `type` is the operands'
  virtual CText unary(ir::Operator op, const Type* type, CText operand) = 0;
  virtual CText binary(ir::Operator op, const Type* type, const Type* right_type, CText left, CText right) = 0;
  virtual CText convert(const Type* from, const Type* to, CText operand) = 0;  // neither 16-bit floats nor packed
  virtual CText splat(const Type* type, CText component) = 0;
  // From scalars and vectors. `type` is spelled as passed, `component` are its parts.
  virtual CText construct(std::string_view type, std::string_view component, bool has_vectors,
                          std::span<const CText> parts) = 0;
  virtual std::string initializer(std::string_view type, std::string_view components) const = 0;  // of a constant
  virtual CText component(const Type* type, CText vector, CText index) = 0;  // with a variable index
  virtual CText swizzle(CText vector, std::span<const uint8_t> components) = 0;
  // Vectors are native: a swizzle can be written, and writing a component writes the whole vector.
  virtual bool has_swizzles() const = 0;
  // A component as a place, with a variable index; `scalar` as in memory, `space` before it.
  virtual CText component_place(std::string_view scalar, std::string_view space, CText vector, CText index) = 0;

  // A vector in memory that may be aligned only as its components, of the type `scalar`, are.
  virtual CText loose_load(uint32_t count, std::string_view scalar, std::string_view space, CText place) = 0;
  virtual std::string loose_store(uint32_t count, std::string_view scalar, std::string_view space, CText place,
                                  CText value) = 0;

  // A component of a position (walk.h).
  virtual CText position(ir::Intrinsic intrinsic, uint32_t component, const CHidden& hidden) = 0;
  virtual CText intrinsic(const ir::Expression& expression, std::span<CText> operands, const CHidden& hidden) = 0;
};

// "xyzw"[i]
inline std::string_view component_name(uint32_t index) { return std::string_view("xyzw").substr(index, 1); }
std::string_view operator_sign(ir::Operator op);
Binding operator_binding(ir::Operator op);
// `a op b`, in brackets if C's rules of precedence are not well known.
CText c_joined(std::string_view sign, Binding binding, CText left, CText right);
CText c_binary(ir::Operator op, CText left, CText right);

// The type of a number in value form: half and bfloat are held as float.
inline TypeKind held_as(const Type* scalar) {
  return scalar->is(TypeKind::Half) || scalar->is(TypeKind::BFloat) ? TypeKind::Float : scalar->kind;
}

}  // namespace kymo::shader
