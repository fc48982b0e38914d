// The differences between OpenCL C and CUDA C++: the spelling of types, vectors and built-in functions.
//
// The text arguments are operands in value form (c_types.h). There is one object per translation: it collects the parts
// of the prelude that are needed. Throws Rejected for what the target does not support.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shader/emit/c_prelude.h"
#include "shader/emit/emit.h"
#include "shader/emit/names.h"
#include "shader/ir/ir.h"

namespace kymo::shader {

// The precedence of operators. Weakest first, as in C.
enum class Binding : uint8_t {
  Conditional,
  LogicalOr,
  LogicalXor,  // of GLSL
  LogicalAnd,
  Or,
  Xor,
  And,
  Equality,
  Relation,
  Shift,
  Sum,
  Product,
  Prefix,   // -x, (type)x, *x
  Postfix,  // x.y, f(x), names and numbers
};

// A piece of an expression, with the precedence of its outermost operator, so that brackets are written only if needed.
struct CText {
  std::string text;
  Binding binding = Binding::Postfix;

  // As an operand of an operator with this precedence.
  std::string in(Binding wanted) && { return binding >= wanted ? std::move(text) : "(" + text + ")"; }
};

inline CText c_prefix(std::string_view sign, CText operand) {
  // Avoids "--x" and "& &x".
  if (!operand.text.empty() && operand.text.front() == sign.back()) operand.binding = Binding::Conditional;
  std::string text(sign);
  text += std::move(operand).in(Binding::Prefix);
  return {std::move(text), Binding::Prefix};
}

inline CText c_cast(std::string_view type, CText operand) {
  std::string text = "(";
  ((text += type) += ')') += std::move(operand).in(Binding::Prefix);
  return {std::move(text), Binding::Prefix};
}

inline CText c_member(CText object, std::string_view name) {
  std::string text = std::move(object).in(Binding::Postfix);
  (text += '.') += name;
  return {std::move(text)};
}

// a, b, c
inline std::string c_list(std::span<const CText> texts) {
  std::string list;
  for (const CText& text : texts) (list += list.empty() ? "" : ", ") += text.text;
  return list;
}

inline CText c_call_with(std::string_view function, std::span<const CText> operands) {
  std::string text(function);
  ((text += '(') += c_list(operands)) += ')';
  return {std::move(text)};
}

template <class... Operands>
CText c_call(std::string_view function, Operands... operands) {
  const CText all[] = {std::move(operands)...};
  return c_call_with(function, all);
}

// How a function accesses data that only its kernel has; empty: it does not.
struct CHidden {
  std::string_view simd;  // a pointer to the memory of simdgroups
  std::string_view grid;  // the runtime's description of the launch
};

struct CTraits {
  bool unrolls_without_wish = false;  // loops that should_unroll() names
  bool pointers_lose_const = false;   // a pointer to a constant of the program needs a cast
  bool needs_simd_memory = false;
  bool pieces_need_grid = false;        // a kernel with simdgroups is launched in pieces
  bool group_memory_by_offset = false;  // a parameter of it is an offset in the prelude's kymo_group_memory, no pointer
  // The compiler combines accesses to neighbours in group memory if it knows that an array begins at 16 bytes.
  bool aligns_group_arrays = false;
  bool trusts_argument_types = false;  // compilers take it that a pointer argument is aligned for its type
  // Vectors are native: a swizzle can be written, and writing a component writes the whole vector.
  bool has_swizzles = false;
};

class CDialect {
 public:
  CDialect(const CPieces& pieces, const CTraits& own) : traits(own), prelude(pieces) {}
  CDialect(const CDialect&) = delete;
  CDialect& operator=(const CDialect&) = delete;
  virtual ~CDialect() = default;

  const CTraits traits;
  CPrelude prelude;
  const SourceFiles* lines = nullptr;  // for #line directives

  virtual const Reserved& reserved() const = 0;
  virtual std::string_view opening() const = 0;  // the first lines of a text

  // ---- Declarations
  virtual std::string_view scalar(TypeKind kind) const = 0;  // not half and bfloat, which no dialect has
  virtual std::string vector(TypeKind component, uint32_t count) = 0;
  virtual std::string_view space(Space space) const = 0;  // the text before the pointee type
  // Makes the name known as a type: directly before its definition, or long before.
  virtual std::string forward(std::string_view structure, bool is_defined_next) const = 0;
  // Defines `alias` as the type whose objects may be the bytes of any other; empty: all types are so.
  virtual std::string aliasing(std::string_view type, std::string_view alias) const = 0;
  std::string structure(std::string_view name, uint32_t align) const;  // its first line; align 0: natural
  virtual std::string aligned(uint32_t align) const = 0;               // before the type of a member
  virtual std::string_view function_head(bool has_simd_memory) const = 0;
  virtual std::string kernel_head(uint32_t max_threads) const = 0;
  virtual std::string_view group_head() const = 0;    // of a variable in threadgroup memory
  virtual std::string_view program_head() const = 0;  // of a constant of the program
  virtual std::string aggregate(std::string_view type, std::string_view parts) const = 0;  // (S){1, 2}
  virtual std::string_view zeros() const = 0;  // the parts of an aggregate in which everything is 0
  // Lines before a loop with this wish (preprocess/lexer.h).
  virtual std::string unrolling(uint16_t wish) const = 0;
  // Whether a kernel (or a function it calls) needs the description of the launch for this intrinsic.
  virtual bool needs_grid(ir::Intrinsic intrinsic, bool is_kernel) const = 0;

  // ---- Numbers
  virtual std::string float_of_bits(uint32_t bits) const = 0;  // infinities and NaN
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
  // A component as a place, with a variable index; `scalar` as in memory, `space` before it.
  virtual CText component_place(std::string_view scalar, std::string_view space, CText vector, CText index) = 0;

  // A vector in memory that may be aligned only as its components, of the type `scalar`, are.
  virtual CText loose_load(uint32_t count, std::string_view scalar, std::string_view space, CText place) = 0;
  virtual std::string loose_store(uint32_t count, std::string_view scalar, std::string_view space, CText place,
                                  CText value) = 0;

  // A component of a position: ir::is_position().
  virtual CText position(ir::Intrinsic intrinsic, uint32_t component, const CHidden& hidden) = 0;
  CText intrinsic(const ir::Expression& expression, std::span<CText> operands, const CHidden& hidden);

 protected:
  // The intrinsics: a function of numbers, a barrier or a fence; an atomic operation on memory that is cast to
  // `memory`, but no load; an operation of a simdgroup or a group; a position with all its components.
  virtual CText function(const ir::Expression& expression, std::span<CText> operands) = 0;
  virtual CText atomic(const ir::Expression& expression, const std::string& memory, std::span<CText> operands) = 0;
  virtual CText collective(const ir::Expression& expression, std::span<CText> operands, const CHidden& hidden) = 0;
  virtual CText whole_position(ir::Intrinsic intrinsic, const CHidden& hidden) = 0;
};

// "xyzw"[i]
inline std::string_view component_name(uint32_t index) { return std::string_view("xyzw").substr(index, 1); }
std::string_view operator_sign(ir::Operator op);
Binding operator_binding(ir::Operator op);
// `a op b`, in brackets if C's rules of precedence are not well known.
CText c_joined(std::string_view sign, Binding binding, CText left, CText right);
CText c_binary(ir::Operator op, CText left, CText right);

std::string_view position_name(ir::Intrinsic position);  // of the function in the prelude that gives it
// "sum", "product", "min", … of a reduction in a simdgroup, or of a scan.
std::string_view reduction_name(ir::Intrinsic reduction);
inline bool is_scan(ir::Intrinsic intrinsic) {
  return intrinsic >= ir::Intrinsic::SimdInclusiveSum && intrinsic <= ir::Intrinsic::SimdExclusiveProduct;
}
inline bool is_inclusive(ir::Intrinsic scan) {
  return scan == ir::Intrinsic::SimdInclusiveSum || scan == ir::Intrinsic::SimdInclusiveProduct;
}

// The type of a number in value form: half and bfloat are held as float.
inline TypeKind held_as(const Type* scalar) {
  return scalar->is(TypeKind::Half) || scalar->is(TypeKind::BFloat) ? TypeKind::Float : scalar->kind;
}

std::unique_ptr<CDialect> opencl_dialect();
std::unique_ptr<CDialect> cuda_dialect();

// The kernels of a module in this dialect.
Emitted emit_c(const ir::Module& module, CDialect& dialect);

}  // namespace kymo::shader
