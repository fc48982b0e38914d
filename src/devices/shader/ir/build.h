// Creates expressions and statements, with the types that ir.h requires: for lowering, for passes, for tests.
//
// Nothing is checked here: wrong operands make a wrong module, which verify() of test_support/verify_ir.h detects.
// Trivial cases are simplified: a conversion to the same type is left out, a conversion of a constant is evaluated, *&x
// is x, and an element of an array that became a pointer is an Index of the array.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "shader/ir/ir.h"

namespace kymo::shader::ir {

// The result type of an intrinsic, from its operands; void for barriers and stores. Null if the operands are wrong.
const Type* intrinsic_type(TypeTable& types, Intrinsic intrinsic, const Operands& operands);

class Builder {
 public:
  using Value = const Expression*;
  using Values = Operands;

  explicit Builder(Module& module) : module_(module) {}

  Location at;  // the position of the next objects
  Module& module() { return module_; }
  TypeTable& types() { return module_.types; }
  const Type* type(TypeKind kind) { return module_.types.get(kind); }
  const Type* vector(TypeKind kind, uint32_t count) { return module_.types.vector(type(kind), count); }

  // ---- Values
  Value constant(const Type* scalar, uint64_t bits);
  Value constant_int(int64_t value, TypeKind kind = TypeKind::Int);
  Value constant_uint(uint64_t value, TypeKind kind = TypeKind::UInt);
  Value constant_float(float value, TypeKind kind = TypeKind::Float);  // rounded to the kind
  Value constant_bool(bool value);
  Value null(const Type* pointer);
  Value zero(const Type* wanted);  // a scalar's is a Constant, a pointer's Null
  Value variable(const Variable& named);

  Value unary(Operator op, Value operand);
  Value binary(Operator op, Value left, Value right);  // of pointers too
  Value logical_and(Value left, Value right);
  Value logical_or(Value left, Value right);
  Value logical_not(Value operand);
  Value conditional(Value condition, Value if_true, Value if_false);
  Value convert(const Type* to, Value value);  // through float if half or bfloat needs it
  Value splat(Value component, uint32_t count);
  Value construct(const Type* wanted, Values parts);
  Value bitcast(const Type* to, Value value);
  Value call(const Function& function, Values arguments);
  Value intrinsic(Intrinsic intrinsic, Values operands = {}, uint32_t index = 0);

  // ---- Places and pointers
  Value member(Value structure, uint32_t field);
  Value index(Value array_or_vector, Value position);
  Value index(Value array_or_vector, int32_t position);
  Value swizzle(Value vector, std::string_view components);  // "xzy"; of one component: an Index
  Value deref(Value pointer);
  Value address_of(Value place);  // both mark it in the variable
  Value decay(Value array);
  Value pointer_add(Value pointer, Value elements);  // any integer
  Value pointer_cast(const Type* to, Value value);
  Value pointer_difference(Value left, Value right);
  Space space_of(Value place);  // its address space

  // ---- Statements
  Variable& local(std::string name, const Type* type);  // a new one; not declared yet
  Statement* declare(const Variable& variable, Value value = nullptr);
  Statement* assign(Value place, Value value);
  Statement* evaluate(Value value);
  Statement* block(Block body);
  Statement* if_(Value condition, Block body, Block otherwise = {});
  Statement* loop(Value condition, Block body, Block step = {}, Block before = {});  // condition null: forever
  Statement* do_loop(Block body, Value condition, Block before = {});
  Statement* switch_(Value value, std::vector<Case> cases);
  Statement* break_();
  Statement* continue_();
  Statement* return_(Value value = nullptr);

 private:
  Expression& make(ExpressionKind kind, const Type* type, Values operands = {});
  Statement& statement(StatementKind kind, Value value = nullptr, Block body = {});
  bool place_is_const(Value place) const;
  void note_address(Value place);

  Module& module_;
};

// A copy of a function, with its own statements and variables. Not in a list yet. Not for kernels with bindings.
Function& clone_function(Module& module, const Function& function, std::string name);

}  // namespace kymo::shader::ir
