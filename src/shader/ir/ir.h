// What a source means: functions without templates, overloads, references or members, every type known, structured
// control flow. The emitters write it down in a target's language, and need to know nothing of Metal.
//
// Conventions that all stages rest on:
//  - Expressions have no side effects but through Call and Intrinsic. Assignments are statements. Operands may be
//    evaluated in any order: where an order matters, lowering made temporaries.
//  - A *place* is an expression that denotes memory: Variable, Dereference, Member, Index, Swizzle of a place. Where a
//    value is wanted, a place stands for what it holds.
//  - Arithmetic is done in int, uint, long, ulong and float, on scalars; and componentwise on vectors of any of the
//    integer types and of float. Half and bfloat never take part: a Convert to float comes before and a Convert back,
//    which rounds to nearest even, behind every single operation. Bool takes part in logic only, by And, Or, Xor, Not,
//    Equal, NotEqual.
//  - The operands of Binary have the same type, and so has its result (of a comparison: bool, or a vector of bool);
//    but the right operand of a shift is any integer (or a vector of as many), less than the width.
//  - A packed vector appears only as the type of a place: it is converted (Convert) to the plain vector when read, and
//    from it when written.
//  - No recursion.
//  - A variable is declared once, before it is used, and is known to the end of the block that declares it. Each body
//    of a Case is a block of its own. What a loop's `before` declares is known in its `value`, and in a Loop's `body`
//    and `step`; what its `body` declares in the body only. Break, Continue and Return stand in bodies, not in `before`
//    or `step`.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

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
  bool address_taken = false;                // AddressOf or Decay is applied to (a part of) it
  uint32_t id = 0;                           // in its module
  const struct Expression* value = nullptr;  // a Program variable's: Constant, or Construct of such
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

// What a target must be able to do. `T` is float unless said otherwise, a scalar or a vector, componentwise.
enum class Intrinsic : uint8_t {
  // float -> float
  Abs, Floor, Ceil, Trunc, Rint, Sqrt, Rsqrt, Exp, Exp2, Exp10, Log, Log2, Log10, Sin, Cos, Tan, Asin, Acos, Atan, Sinh,
  Cosh, Tanh, Asinh, Acosh, Atanh,
  // float, float -> float. Fmin and Fmax: where one is NaN, the other
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
  // operands[0] is a pointer to an atomic, of int, uint or float (ulong where the target has them); relaxed
  AtomicLoad, AtomicStore, AtomicExchange,
  AtomicCompareExchange,  // (pointer, expected value, desired) -> the value that was there
  AtomicAdd, AtomicSubtract, AtomicAnd, AtomicOr, AtomicXor, AtomicMin, AtomicMax,
  // Barriers for all threads of a group (of a simdgroup). `index`: 1 device memory, 2 threadgroup memory, or both
  GroupBarrier, SimdBarrier, Fence,
  // Among the threads of a simdgroup of 32, or of the fewer that the last of a group has. int, uint, long, ulong, float
  // scalars. Sums and products go by a tree: v[i] op v[i ^ 16], then 8, 4, 2, 1, threads that there are not left out,
  // so that all targets give the same bits.
  SimdSum, SimdProduct, SimdMin, SimdMax, SimdAnd, SimdOr, SimdXor,
  SimdInclusiveSum, SimdExclusiveSum, SimdInclusiveProduct, SimdExclusiveProduct,  // in the order of lanes
  SimdShuffle,  // (value, uint lane): that lane's value; the own where there is no such lane
  SimdBallot,   // (bool) -> uint: a bit for each lane that has true
  // Each of these, and SimdBarrier, may have one more operand at the end, `active` (bool): threads where it is false
  // come along, but take no part, as if they were not there; what they get back means nothing. predicate.h makes it.
  GroupAny,  // (bool) -> bool: whether any thread of the group has true. Made by predicate.h only, for all of a group
  // Where the thread is: uint3. Groups at the edge are as large as the threads that they have.
  GridPosition, GroupPosition, GroupIndex, GridSize, GroupSize, GroupCount,
  FullGroupSize,        // of a group that is not at the edge
  SimdLane, SimdIndex,  // uint: in the simdgroup; of the simdgroup in the group
};
// clang-format on

struct Expression {
  ExpressionKind kind = ExpressionKind::Constant;
  const Type* type = nullptr;
  Location at;
  std::vector<const Expression*> operands;
  uint64_t bits = 0;  // of a Constant: an integer sign- or zero-extended; a bool 0 or 1; a float, half or bfloat as the
                      // bits of a float
  uint32_t index = 0;
  uint8_t swizzle[4] = {};
  Operator op = Operator::Add;
  ir::Intrinsic intrinsic = ir::Intrinsic::Abs;
  const ir::Variable* variable = nullptr;
  const Function* function = nullptr;
};

bool is_place(const Expression& expression);
const Expression& place_root(const Expression& place);  // the Variable or Dereference that it is a part of

// ---- Statements ----------------------------------------------------------------------------------------------------

enum class StatementKind : uint8_t {
  Declare,   // `variable`, with `value` (null: whatever; of Threadgroup space always null)
  Assign,    // `place` = `value`. Evaluates the place once
  Evaluate,  // `value`, for what it does
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
  Value,        // `constant T&`: the variable is a T, in Thread space, which nobody writes
  Threadgroup,  // `threadgroup T*`, as large as the caller says: the variable is a pointer
};

// A kernel's parameter that a caller gives; those with positions are variables of the body instead.
struct Binding {
  const Variable* variable = nullptr;
  BindingKind kind = BindingKind::Buffer;
  uint32_t index = 0;           // [[buffer(n)]], [[threadgroup(n)]], or in the order of the parameters
  bool reports_errors = false;  // a c10::metal::ErrorMessages: the runtime gives it where the caller does not
  bool is_const = false;        // the kernel does not write to it
};

struct Function {
  std::string name;       // as in the source, for people
  std::string host_name;  // of a kernel: what it is called by
  const Type* result = nullptr;
  std::vector<const Variable*> parameters;  // a kernel's: in the order of its bindings, which is that of the source
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
  std::vector<Function*> functions;  // called before callers
  std::vector<Variable*> constants;  // of Program space, that are used
  std::vector<Function*> kernels() const;

  Expression& make_expression(ExpressionKind kind, const Type* type, Location at = {});
  Statement& make_statement(StatementKind kind, Location at = {});
  Variable& make_variable(std::string name, const Type* type, Space space = Space::Thread);
  Function& make_function(std::string name);  // in no list yet
  // One of this module's, for who may change it.
  Variable& changeable(const Variable& variable) { return variables_[variable.id - 1]; }

 private:
  std::deque<Expression> expressions_;
  std::deque<Statement> statements_;
  std::deque<Variable> variables_;
  std::deque<Function> functions_;
};

// For reading and for tests: a text that says all there is.
std::string print(const Module& module);
std::string print(const Function& function);
std::string print(const Expression& expression);

// Everything above that can be checked, is: an empty text, or what is wrong. For tests, and behind lowering in debug
// builds. It does not follow what nests 1,000 deep.
std::string verify(const Module& module);

}  // namespace kymo::shader::ir
