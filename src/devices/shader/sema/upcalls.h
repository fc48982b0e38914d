// The calls from a class of the semantic analysis to a class above it.
//
//   Lookup  ◀─  Types  ◀─  Templates  ◀─  Overloads  ◀─  Lowering        each class uses all classes on its left
//
// The language is not a chain: a::S<sizeof(x)>::f is a name that contains a type, template arguments and an expression.
// Where a class needs a class on its right, it calls one of these three interfaces. There are no other ways back.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "shader/sema/entity.h"

namespace kymo::shader {

// Lookup calls Types.
class StructScopes {
 public:
  // The scope with the members of the struct that `type` is, for the part S<int> of a name S<int>::member.
  virtual Scope& members_of(const Symbol& type, const ast::NamePart& part, std::string_view member, Scope& from,
                            Location at) = 0;
  // The same for decltype(value)::member.
  virtual Scope& members_of(const ast::Expression& value, Scope& from, Location at) = 0;

 protected:
  ~StructScopes() = default;
};

// Types calls Templates.
class TemplateUses {
 public:
  // The arguments in <…>, with packs expanded.
  virtual TemplateArguments evaluate_arguments(const std::vector<ast::TemplateArgument>& list, Scope& scope) = 0;
  // Adds defaults for missing arguments and checks everything; `bound`: a scope with the names of the parameters.
  virtual TemplateArguments complete_arguments(const ast::Declaration& of, Scope& declared_in,
                                               const TemplateArguments& given, Location at, Scope*& bound) = 0;
  // The declaration that these arguments choose: a specialisation, or the template itself.
  virtual const ast::Declaration* specialisation_of(const Symbol& symbol, const TemplateArguments& arguments,
                                                    Scope*& bound, Location at) = 0;

 protected:
  ~TemplateUses() = default;
};

// Types, Templates and Overloads call Lowering. Code that an expression would need is dropped.
class ExpressionUses {
 public:
  // A constant. Throws Rejected with the name `what` if the value is not known during the translation.
  virtual const ir::Expression* constant(const ast::Expression& expression, Scope& scope, std::string_view what) = 0;
  virtual uint64_t constant_integer(const ast::Expression& expression, Scope& scope, std::string_view what) = 0;
  virtual bool constant_bool(const ast::Expression& expression, Scope& scope, std::string_view what) = 0;
  // The type of an expression that is not evaluated: decltype, sizeof.
  virtual const Type* type_of(const ast::Expression& expression, Scope& scope, bool* is_place = nullptr) = 0;
  // The name of a function, or its address, as a value; null: the expression is something else.
  virtual const ir::Expression* function_named(const ast::Expression& expression, Scope& scope) = 0;
  // The type of a pointer to a function that is initialized with a value of this type.
  virtual const Type* pointed_function(const QualifiedType& pointer, const Type* given, Location at) = 0;
  // The values in {…}, to find a constructor for them.
  virtual std::vector<Value> values_of(std::span<const ast::Expression* const> list, Scope& scope) = 0;

 protected:
  ~ExpressionUses() = default;
};

}  // namespace kymo::shader
