// The meaning of a source: functions without templates, overloads, references or members, with known types and
// structured control flow. The emitters write it in the language of a target, and need no knowledge of Metal.
//
// Conventions that all stages rely on:
//  - Expressions have no side effects except through Call and Intrinsic. Assignments are statements. Operands may be
//    evaluated in any order: if an order matters, lowering has created temporaries.
//  - A *place* is an expression that denotes memory: Variable, Dereference, Member, Index, Swizzle of a place. If a
//    value is needed, a place stands for its contents.
//  - Arithmetic is done in int, uint, long, ulong and float, on scalars; and componentwise on vectors of any of the
//    integer types and of float. It never uses half and bfloat: every single operation has a Convert to float before it
//    and a Convert back after it, which rounds to nearest even. Bool is used only in logic, by And, Or, Xor, Not,
//    Equal, NotEqual.
//  - The operands of Binary have the same type, and so has its result (for a comparison: bool, or a vector of bool);
//    but the right operand of a shift is any integer (or a vector with the same count), less than the width.
//  - A packed vector appears only as the type of a place: it is converted (Convert) to the plain vector when read, and
//    from it when written.
//  - No recursion: after lowering, recursion.h makes loops and copies of it.
//  - A variable is declared once, before it is used, and is visible to the end of the block that declares it. Each body
//    of a Case is its own block. Declarations in a loop's `before` are visible in its `value`, and in a Loop's `body`
//    and `step`; declarations in its `body` only in the body. Break, Continue and Return are in bodies, not in `before`
//    or `step`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shader/containers.h"
#include "shader/diagnostic.h"
#include "shader/types/type.h"

namespace kymo::shader::ir {

struct Function;

// ---- Variables -----------------------------------------------------------------------------------------------------

struct Variable {
  std::string name;  // as in the source; emitters make it unique and legal
  const Type* type = nullptr;
  // Thread: a local or a parameter. Threadgroup: declared in a kernel. Program: a constant.
  Space space = Space::Thread;
  bool is_parameter = false;
  bool address_taken = false;                // AddressOf or Decay is applied to it or a part of it
  uint32_t id = 0;                           // in its module
  const struct Expression* value = nullptr;  // of a Program variable: Constant, or Construct of such
};

// ---- Expressions ---------------------------------------------------------------------------------------------------

enum class ExpressionKind : uint8_t {
  Constant,     // a scalar: `bits`
  Null,         // the null pointer of `type`
  Variable,     // a place
  Dereference,  // a place: operands[0] is a pointer
  Member,       // of a struct: operands[0], field number `index`. A place where operands[0] is
  Index,        // operands[0] an array or a vector, operands[1] an integer. A place where operands[0] is
  Swizzle,      // operands[0] a vector: `swizzle`, `index` components (2 to 4). A place where operands[0] is, if none
                // comes twice
  AddressOf,    // operands[0] a place: a pointer to it. Never of a swizzle or of a vector's component
  Decay,        // operands[0] a place that is an array: a pointer to its first element
  PointerAdd,   // operands[0] a pointer, operands[1] an int or long, in elements
  PointerCast,  // a pointer to another type, in the same space; or between ulong and a pointer
  PointerDifference,  // operands: pointers; a long, in elements
  Unary,              // `op`: Negate, Complement, Not
  Binary,             // `op`; of pointers: comparisons
  LogicalAnd,         // && and ||: the right operand is evaluated only where it decides
  LogicalOr,
  Conditional,  // bool ? a : b: only one is evaluated. Of any type but arrays
  Convert,      // a scalar to a scalar, a vector to a vector of as many, packed to plain and back. To bool: is not 0.
                // From bool: 0 or 1. From floating to integer: towards 0. Half and bfloat to and from float only
  Splat,        // a vector of operands[0], a scalar of its component type
  Construct,    // a vector, array or struct of its parts: one operand each (of a vector: scalars and vectors)
  Zero,         // any type, all of it 0
  Bitcast,      // as_type: the same bytes, another type, scalars and vectors
  Call,         // `function`, operands
  Intrinsic,    // `intrinsic`, operands
};

// clang-format off
enum class Operator : uint8_t {
  Add, Subtract, Multiply, Divide, Remainder,  // Remainder: of integers, with the sign of the left
  ShiftLeft, ShiftRight, And, Or, Xor,
  Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual,
  Negate, Complement, Not,
};

// The operations that a target must support. `T` is float unless stated otherwise, a scalar or a vector, componentwise.
enum class Intrinsic : uint8_t {
  // float -> float
  Abs, Floor, Ceil, Trunc, Rint, Sqrt, Rsqrt, Exp, Exp2, Exp10, Log, Log2, Log10, Sin, Cos, Tan, Asin, Acos, Atan, Sinh,
  Cosh, Tanh, Asinh, Acosh, Atanh,
  // float, float -> float. Fmin and Fmax: if one is NaN, the other
  Fmin, Fmax, Fmod, Pow, Atan2, Copysign,
  Fma,  // one rounding
  // float -> bool
  IsNan, IsInf,
  // int, uint, long, ulong and vectors of any integer type
  Min, Max, PopCount, CountLeadingZeros, ReverseBits,
  MulHi,  // int and uint
  // bool vectors
  Any, All,
  Select,  // (T if_false, T if_true, bool or vector of bool): componentwise, both evaluated; any number type
  // operands[0] is a pointer to an atomic of int, uint or float (ulong if the target has it); relaxed
  AtomicLoad, AtomicStore, AtomicExchange,
  AtomicCompareExchange,  // (pointer, expected value, desired) -> the value that was there
  AtomicAdd, AtomicSubtract, AtomicAnd, AtomicOr, AtomicXor, AtomicMin, AtomicMax,
  // Barriers for all threads of a group (or of a simdgroup). `index`: 1 device memory, 2 threadgroup memory, or both;
  // kEndOfLoop: only for compilers that need a barrier there (predicate.h)
  GroupBarrier, SimdBarrier, Fence,
  // Among the threads of a simdgroup of 32, or of fewer in the last simdgroup of a group. int, uint, long, ulong, float
  // scalars. Sums and products use a tree: v[i] op v[i ^ 16], then 8, 4, 2, 1, without threads that do not exist. So
  // all targets give the same bits.
  SimdSum, SimdProduct, SimdMin, SimdMax, SimdAnd, SimdOr, SimdXor,
  SimdInclusiveSum, SimdExclusiveSum, SimdInclusiveProduct, SimdExclusiveProduct,  // in the order of lanes
  // (a, b, sum: float2) -> float2: a product of 8 x 8 x 8. CUDA: by a matrix unit. Lane n holds two neighbours of row
  // n / 4, those of columns 2 * (n % 4) and the next. a and b are rounded to half (`index` 0) or bfloat (1). OpenCL: in
  // float, and in the order of Apple's devices. GLSL does not have it.
  SimdMatrix,
  SimdShuffle,  // (value, uint lane): the value of that lane; its own value if there is no such lane. `index` 1: all 32
                // lanes exist and come to it, and without a use of its result it need not be executed
  SimdBallot,   // (bool) -> uint: a bit for each lane that has true
  // Each of these, and SimdBarrier, may have one more operand at the end, `active` (bool). Threads with false execute
  // the operation, but do not take part, as if they did not exist; their result is undefined. predicate.h adds it.
  // (bool) -> bool: whether any thread of the group has true; `index` is 0 if no barrier depends on it, and those of the
  // simdgroup are enough. Only predicate.h creates it.
  GroupAny,
  // The position of the thread: uint3. The size of a group at the edge is the number of its threads.
  GridPosition, GroupPosition, GroupIndex, GridSize, GroupSize, GroupCount,
  FullGroupSize,        // of a group that is not at the edge
  SimdLane, SimdIndex,  // uint: in the simdgroup; of the simdgroup in the group
};
// clang-format on

inline constexpr uint32_t kEndOfLoop = 4;

using Operands = ShortList<const struct Expression*, 2>;

struct Expression {
  ExpressionKind kind = ExpressionKind::Constant;
  Operator op = Operator::Add;
  ir::Intrinsic intrinsic = ir::Intrinsic::Abs;
  uint8_t swizzle[4] = {};
  uint32_t index = 0;
  Location at;
  const Type* type = nullptr;
  Operands operands;
  uint64_t bits = 0;  // of a Constant: an integer sign- or zero-extended; a bool 0 or 1; a float, half or bfloat as the
                      // bits of a float
  const ir::Variable* variable = nullptr;
  const Function* function = nullptr;
};

bool is_place(const Expression& expression);
const Expression& place_root(const Expression& place);  // the Variable or Dereference that it is a part of

// ---- Statements ----------------------------------------------------------------------------------------------------

enum class StatementKind : uint8_t {
  Declare,   // `variable`, with `value` (null: undefined; always null in Threadgroup space)
  Assign,    // `place` = `value`. Evaluates the place once
  Evaluate,  // `value`, for its effects
  Block,     // `body`
  If,        // `value`; `body`, `otherwise`
  Loop,      // for (;;) { `before`; if (!value) break; body; `step` }. No value: forever; Continue goes to `step`
  DoLoop,    // do { body; (Continue goes here) `before` } while (value)
  Switch,    // `value` an int, uint, long or ulong; `cases`, with fall-through; Break leaves it
  Break,
  Continue,
  Return,  // `value`, or null
};

struct Statement;
using Block = std::vector<Statement*>;

struct Case {
  std::vector<int64_t> values;  // none: default. Several labels of one body
  bool is_default = false;      // also
  Block body;
};

struct Statement {
  StatementKind kind = StatementKind::Evaluate;
  uint16_t unroll =
      0;  // of a Loop: the rounds that the source wants one after another (preprocess/lexer.h); 0: no wish
  Location at;
  const Variable* variable = nullptr;
  const Expression* place = nullptr;
  const Expression* value = nullptr;
  Block body, otherwise, before, step;
  std::vector<Case> cases;
};

// ---- Functions -----------------------------------------------------------------------------------------------------

enum class BindingKind : uint8_t {
  Buffer,       // `device T*`, `constant T*`, `device T&`: the variable is a pointer
  Value,        // `constant T&`: the variable is a T, in Thread space, and is never written
  Threadgroup,  // `threadgroup T*`, whose size the caller sets: the variable is a pointer
};

// A parameter of a kernel that the caller passes; position parameters are variables of the body instead.
struct Binding {
  const Variable* variable = nullptr;
  BindingKind kind = BindingKind::Buffer;
  uint32_t index = 0;           // [[buffer(n)]], [[threadgroup(n)]], or in the order of the parameters
  bool reports_errors = false;  // a c10::metal::ErrorMessages: the runtime passes it if the caller does not
  bool is_const = false;        // the kernel does not write to it
  bool is_sampler = false;      // a Value
  TextureShape texture = TextureShape::None;  // a Value; the others are of a texture only
  TextureAccess access = TextureAccess::Sample;
  const Type* texture_component = nullptr;
};

struct Function {
  std::string name;       // as in the source, for people
  std::string host_name;  // of a kernel: the name for callers
  const Type* result = nullptr;
  // Of a kernel: in the order of its bindings, which is the order of the source.
  std::vector<const Variable*> parameters;
  std::vector<Binding> bindings;
  Block body;
  bool is_kernel = false;
  bool is_defined = false;   // its body was lowered
  uint32_t max_threads = 0;  // [[max_total_threads_per_threadgroup(n)]]; 0: none
  Location at;
  uint32_t id = 0;
};

class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  TypeTable types;
  std::vector<Function*> functions;  // callees before callers
  std::vector<Variable*> constants;  // in Program space, only the used ones
  std::vector<Function*> kernels() const;

  Expression& make_expression(ExpressionKind kind, const Type* type, Location at = {});
  Statement& make_statement(StatementKind kind, Location at = {});
  Variable& make_variable(std::string name, const Type* type, Space space = Space::Thread);
  Function& make_function(std::string name);  // not in a list yet
  // A variable of this module, for code that may change it.
  Variable& changeable(const Variable& variable) { return variables_[variable.id - 1]; }

 private:
  Pool<Expression> expressions_;
  Pool<Statement> statements_;
  Pool<Variable> variables_;
  Pool<Function> functions_;
};

}  // namespace kymo::shader::ir
