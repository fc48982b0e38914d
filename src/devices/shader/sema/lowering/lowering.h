// From expressions and statements to the IR.
//
// Lowering starts with the kernels. A function is lowered when the first call needs it, before its caller; then the
// functions of the source that no kernel needs, to find their errors. An error of a statement or a declaration is
// reported, and the lowering continues after it.
//
// The base class CodeWriter writes statements in the right order. Each section below that names a file is in it.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "shader/sema/builtins.h"
#include "shader/sema/context.h"
#include "shader/sema/entity.h"
#include "shader/sema/lookup.h"
#include "shader/sema/lowering/code_writer.h"
#include "shader/sema/overloads.h"
#include "shader/sema/templates.h"
#include "shader/sema/types.h"

namespace kymo::shader {

class Lowering final : private CodeWriter {
 public:
  Lowering(Context& context, Lookup& lookup, Types& types, Templates& templates, Overloads& overloads);
  Lowering(const Lowering&) = delete;
  Lowering& operator=(const Lowering&) = delete;

  // All kernels, and everything they call; then the other functions of the source.
  void lower();

  // ---- For Types, Templates and Overloads. Code that an expression would need is dropped.
  // A constant. Throws Rejected with the name `what` if the value is not known during the translation.
  const ir::Expression* constant(const ast::Expression& expression, Scope& scope, std::string_view what);
  uint64_t constant_integer(const ast::Expression& expression, Scope& scope, std::string_view what);
  bool constant_bool(const ast::Expression& expression, Scope& scope, std::string_view what);
  // The type of an expression that is not evaluated: decltype, sizeof.
  const Type* type_of(const ast::Expression& expression, Scope& scope, bool* is_place = nullptr);
  // The values in {…}, to find a constructor for them.
  std::vector<Value> values_of(std::span<const ast::Expression* const> list, Scope& scope);
  // The name of a function, or its address, as a value; null: the expression is something else.
  const ir::Expression* function_named(const ast::Expression& expression, Scope& scope);
  // The type of a pointer to a function that is initialized with a value of this type.
  const Type* pointed_function(const QualifiedType& pointer, const Type* given, Location at);

 private:
  // ---- lowering.cc: bodies of functions
  // Lowers the body now, before the caller.
  void need(FunctionInstance& instance, Location at);
  void need_itself(FunctionInstance& instance, Location at);  // recursion
  void set_result(FunctionInstance& instance, const Type* result);
  void lower_body(FunctionInstance& instance);
  void lower_statements(FunctionInstance& instance, Scope& scope, bool is_kernel);
  void bind_parameters(FunctionInstance& instance, Scope& scope);
  Symbol& make_local(std::string_view name, const Value& value, Scope& scope);
  void lower_constructor(FunctionInstance& instance, Scope& scope);
  void initialize_member(Class& owner, uint32_t index, const Value& self, const ast::Declaration& constructor,
                         Scope& scope);
  bool base_is_named(const Class& base, const ast::Name& name, Scope& scope);

  void lower_other_functions();

  // ---- kernels.cc: kernels, and explicit instantiations with host_name
  bool is_wanted(const std::string& name);  // a kernel that is to be translated
  void check_wanted() const;                // throws if there is no kernel of a wanted name
  void lower_kernels();
  void lower_instantiation(const ast::Declaration& declaration, Scope& scope);
  Value typical_argument(const QualifiedType& type);
  const Symbol* instantiated_kernel(const ast::Declaration& function, Scope& scope, TemplateArguments& arguments);
  // Bindings, attributes, positions; then the body.
  void lower_kernel(FunctionInstance& instance, std::string host_name);

  // Parameters: buffers, values and positions.
  void bind_kernel_parameter(FunctionInstance& instance, const Parameter& parameter, Scope& locals,
                             std::vector<bool>& buffers);
  void make_parameter(const Parameter& parameter, const Value& value, Scope& locals);
  const ir::Variable& add_binding(FunctionInstance& instance, const Parameter& parameter, ir::Binding binding,
                                  const Type* held);
  std::string_view library_name(const Type* type);
  bool is_texture_or_sampler(const Type* type, ir::Binding& binding);
  void bind_texture(FunctionInstance& instance, const Parameter& parameter, const ast::Attribute* numbered,
                    ir::Binding binding, Scope& locals);
  void bind_null_texture(const Parameter& parameter, Scope& locals);
  void refuse_textures_in(const Type* type, Location at);
  void bind_position(const ast::Attribute& attribute, const Parameter& parameter, Scope& locals);
  // A uint or uint3; null: there is no such attribute. Then `others` gets the names of those that exist.
  const ir::Expression* position(std::string_view name, Location at, std::vector<std::string>* others = nullptr);

  // ---- statements.cc
  void statement(const ast::Statement& statement, Scope& scope);
  void block(std::span<const ast::Statement* const> statements, Scope& scope, ir::Block& into);
  void nested(const ast::Statement& statement, Scope& scope, ir::Block& into);  // in a scope of its own
  const ir::Expression* condition(const ast::Statement& statement, Scope& scope);
  void if_statement(const ast::Statement& statement, Scope& scope);
  void return_statement(const ast::Statement& statement, Scope& scope);
  void deduce_result(const Value& value, Scope& scope, Location at);
  void declare_broken(const ast::Statement& statement, Scope& scope);
  void discard(const ast::Expression& expression, Scope& scope);  // only for its effects

  // Loops and switches.
  bool has_method(const Value& object, std::string_view name);
  Value call_method(const Value& object, std::string_view name, Scope& scope, Location at);  // without arguments
  void loop_statement(const ast::Statement& statement, Scope& scope);                        // for, while
  void do_statement(const ast::Statement& statement, Scope& scope);
  void range_for(const ast::Statement& statement, Scope& scope);
  void switch_statement(const ast::Statement& statement, Scope& scope);
  static bool declares_without_value(const ast::Statement& statement);

  // ---- variables.cc: declarations in functions
  void declare_local(const ast::Declaration& declaration, Scope& scope);
  void declare_variable_local(const ast::Declaration& declaration, Scope& scope);
  void declare_reference(const ast::Declaration& declaration, const QualifiedType& type, const Value& from,
                         Scope& scope);
  void declare_group_memory(const ast::Declaration& declaration, const QualifiedType& type, Scope& scope);
  void initialize_group_memory(const ast::Declaration& declaration, const Value& place, Scope& scope);
  void store_parts(const Value& place, const ir::Expression* value, Location at);
  void declare_value(const ast::Declaration& declaration, const QualifiedType& type, const ir::Expression* value,
                     Scope& scope);
  void declare_from(const ast::Declaration& declaration, QualifiedType type, const Value& value, Scope& scope);
  void take_result(const ir::Variable& variable);
  void declare_item(const ast::Declaration& declaration, const Value& item, Scope& scope);
  void declare_bindings(const ast::Declaration& declaration, Scope& scope);

  // Variables outside of functions. Each is a constant, or a place in Program space.
  Value lower_variable(const ast::Declaration& declaration, Scope& scope, Location at);
  Value variable_template(const Symbol& variable, const TemplateArguments& arguments, Location at);
  Value constant_variable(const ast::Declaration& declaration, Scope& scope);
  Value constant_value(std::string_view name, const ir::Expression* known);
  Value variable(const Symbol& symbol, Location at);  // lowered at its first use

  // Function constants: constants whose values are options of the translation
  std::optional<Value> function_constant(const ast::Declaration& declaration, Scope& scope, Location at);
  std::optional<double> given_number(const ast::Declaration& declaration, Scope& scope, std::string_view part);
  std::string function_constant_index(const ast::Declaration& declaration, Scope& scope);
  void check_constant_indices();
  void check_given_constants();
  void check_given_constant(const ast::Declaration& declaration, const Type* type, Scope& scope);
  void warn_about_unset_constants();
  Value function_constant_defined(const ast::Expression& call, Scope& scope);

  // ---- expressions.cc
  // Values that are known during the translation.
  // The result of the statements and then the value: a tree of constants; null if it is not constant.
  const ir::Expression* evaluated(const ir::Expression* value, const ir::Block& statements);
  // `what` has such a value, which is not constant; null: it has none.
  static Rejected not_constant(std::string_view what, const ir::Expression* value, Location at);

  // Expressions and names.
  Value expression(const ast::Expression& expression, Scope& scope);
  Value name(const ast::Expression& expression, Scope& scope);
  std::vector<Value> arguments(std::span<const ast::Expression* const> list, Scope& scope);  // packs spread out
  uint64_t offset_in(const Type* type, const ast::Name& members);                            // offsetof, in bytes

  // Literals: numbers, characters and texts.
  Value text_value(std::string_view text, Location at);
  const ir::Variable& text_constant(std::string_view text);  // of a string literal
  Value literal(const ast::Expression& expression);
  const ir::Expression* text_array(const Type* type, std::string_view text, Location at);

  // Fields, components and elements of objects.
  std::optional<Value> field_of(const Value& object, std::string_view name, Location at);  // also those of its bases
  bool has_mutable_members(const Type* type);
  Value member_place(const Value& object, const Member& member, Location at);  // also a pointer that is a reference
  Value union_member(const Value& object, const Type* type, Location at);      // of a union that is stored in words
  Value base_of(const Value& object, const Class& base, Location at);
  Value self_member(const Symbol& symbol, Location at);             // a field without an object
  Value pointee(const Value& pointer, Location at);                 // *p
  Value element(const Value& of, const Value& index, Location at);  // a[i]
  Value member(const ast::Expression& expression, Scope& scope);
  Value swizzle(const Value& of, std::string_view letters, Location at);

  // ---- operators.cc: operators as they are written; overloads first, then those of the language
  Value unary(const ast::Expression& expression, Scope& scope);
  Value postfix(const ast::Expression& expression, Scope& scope);
  Value binary(const ast::Expression& expression, Scope& scope);
  Value assignment(const ast::Expression& expression, Scope& scope);
  bool copy_by_elements(const Value& place, const ir::Expression* value, Location at);
  Value binary_of(std::string_view op, Value left, Value right, Scope& scope, Location at);  // overloads, then builtin
  Value step(const Value& place, bool up, Location at);                                      // ++ and --
  std::optional<Value> overloaded(std::string_view op, std::span<Value> operands, Scope& scope, Location at);

  // Operators of numbers and pointers; half and bfloat are computed in float
  Value binary(std::string_view op, Value left, Value right, Location at);
  Value arithmetic(std::string_view op, const Value& left, const Value& right, Location at);
  Value shift(std::string_view op, const Value& left, const Value& right, Location at);
  Value pointer_operation(std::string_view op, const Value& left, const Value& right, Location at);
  Value negated(std::string_view op, const Value& operand, Location at);  // - ~ + of numbers
  Value number_of(const Value& value, Location at);  // a struct by its conversion operator, else itself
  const ir::Expression* as_number(const Value& value, const Type* to, Location at);     // splats too
  const ir::Expression* truth(const Value& value, Location at, std::string_view what);  // as a bool
  const ir::Expression* folded(const ir::Expression* expression);                       // of constants: the constant

  // && || ?: and folds.
  Value conditional(const ast::Expression& expression, Scope& scope);
  Value logical(const ast::Expression& expression, Scope& scope);
  Value fold(const ast::Expression& expression, Scope& scope);
  Value choose_value(const ir::Expression* condition, Value if_true, Value if_false, ir::Block true_block,
                     ir::Block false_block, Location at);
  Value conditional_place(const ast::Expression& expression, Scope& scope);
  template <typename Right>
  Value short_circuit(std::string_view op, const Value& left, Right right, Location at);

  // ---- initialize.cc: new objects
  // Copy constructors of the source.
  bool is_copy_constructor(const Symbol& constructor);
  std::vector<const Symbol*> copy_constructors(const Class& made);
  bool has_own_copies(const Type* type);  // a copy calls a function of the source
  const ir::Expression* copied(const Value& from, Location at);
  bool has_own_assignment(const Type* type);
  void assign_object(const Value& to, const Value& from, Scope& scope, Location at);
  std::unordered_map<const Type*, bool> own_copies_, own_assignments_;

  // ---- calls.cc
  Value call(const ast::Expression& expression, Scope& scope);
  Value call(const Chosen& chosen, const std::optional<Value>& object, std::span<const Value> given, Location at);
  Value call_overloads(OverloadSet& set, std::span<const Value> given, Scope& scope, Location at);
  Value call_value(const Value& callee, std::span<const Value> given, Scope& scope, Location at);  // x(…)
  Value call_named(const ast::Expression& callee, const ast::Expression& call, Scope& scope);
  Value call_member(const ast::Expression& callee, const ast::Expression& call, Scope& scope);
  Value call_library(std::string_view name, std::span<const Value> given, Location at);  // metal::name
  void keep_conversions(OverloadSet& set, const ast::TypeName& to, Scope& scope);        // operator T()
  Value unevaluated(const Type* type, Location at);
  Value finish_call(const ir::Function& function, std::vector<const ir::Expression*> operands, Location at);
  const ir::Expression* folded_call(const ir::Expression* made);
  Value object_place(const Value& object, Location at);      // stored in a temporary if it is not a place
  static bool has_object(const FunctionInstance& instance);  // a member function that is not static, nor a constructor

  // Names of functions as values, pointers to functions
  OverloadSet overload_set(const ast::Name& name, std::span<const Symbol* const> found, Scope& scope, Location at);
  Value function_object(const ast::Name& name, std::span<const Symbol* const> found, Scope& scope, Location at);
  Class& make_function_class(std::string name, Scope& scope);
  bool takes_parameters(const OverloadSet& set, std::span<const QualifiedType> parameters);
  Value call_function_object(const Class& object, std::span<const Value> given, Scope& scope, Location at);

  // Lambdas: a lambda is a struct of the captured values with an operator()
  Value lambda(const ast::Expression& expression, Scope& scope);
  void bind_captures(const FunctionInstance& instance, Scope& scope);

  // ---- builtins.cc: functions that the standard library cannot express in Metal
  // Empty: there is no such builtin.
  std::optional<Value> builtin(std::string_view name, const TemplateArguments& explicit_arguments,
                               std::span<const Value> given, Location at);
  Value builtin_trait(const BuiltinRow& row, const TemplateArguments& arguments, Location at);
  const Type* unified(std::span<const Value> given, bool as_float, std::string_view name, Location at);

  // Type traits: __is_empty(T) and others.
  bool type_trait(const ast::Expression& expression, Scope& scope);
  bool is_convertible(const QualifiedType& from, const QualifiedType& to);
  bool is_constructible(const QualifiedType& type, std::span<const TemplateArgument> from, Location at);

  // Builtin functions of numbers.
  Value builtin_float(const BuiltinRow& row, std::span<const Value> given, Location at);
  Value builtin_minmax(const BuiltinRow& row, std::span<const Value> given, Location at);
  Value builtin_bits(const BuiltinRow& row, std::span<const Value> given, Location at);
  Value builtin_flags(const BuiltinRow& row, std::span<const Value> given, Location at);
  Value builtin_library(const BuiltinRow& row, std::span<const Value> given, Location at);
  Value builtin_components(const BuiltinRow& row, std::span<const Value> given, Location at);

  // Atomics, barriers and simdgroups.
  Value builtin_atomic(const BuiltinRow& row, std::span<const Value> given, Location at);
  Value builtin_exchange(const ir::Expression* pointer, std::span<const Value> given, Location at);
  Value builtin_barrier(const BuiltinRow& row, std::span<const Value> given, Location at);
  Value shuffled_parts(const BuiltinRow& row, const Value& value, const Value& lane, Location at);
  Value builtin_simd(const BuiltinRow& row, std::span<const Value> given, Location at);
  uint32_t matrix_unit(const TemplateArguments& arguments, Location at);
  Value builtin_matrix(const BuiltinRow& row, const TemplateArguments& arguments, std::span<const Value> given,
                       Location at);
  Value effect(ir::Intrinsic which, std::vector<const ir::Expression*> operands, Location at, uint32_t index = 0);

  // ---- conversions.cc: implicit conversions, and casts
  // The value converted to that type, in IR; for a Reference: a pointer to it (to a temporary if it is not a place).
  // Throws if that is not possible.
  const ir::Expression* convert(const Value& from, const QualifiedType& to, Location at, std::string_view what);
  // Also with explicit operators.
  const ir::Expression* convert_explicitly(const Value& from, const Type* to, Location at);
  // Any number to any number with the same components, half through float.
  const ir::Expression* convert_number(const ir::Expression* from, const Type* to, Location at);
  const ir::Expression* convert_reference(const Value& from, const Type* reference, Location at, std::string_view what);
  const ir::Expression* convert_pointer(const Value& from, const Type* pointer, Location at);

  // T(x), (T)x, static_cast, as_type.
  Value cast(const ast::Expression& expression, Scope& scope);
  // The type of S(a, b) without the arguments of the template S
  QualifiedType deduce_class(const Symbol& symbol, std::span<const Value> given, Location at);
  Value cast_to(const QualifiedType& type, const Value& value, std::string_view how, Location at);
  std::vector<Value> arguments_or_void(const ast::Expression& expression, const Type* type, Scope& scope);
  Value cast_bits(const Type* type, const Value& value, Location at);

  // ---- initialize.cc: new objects
  // An object with the initializer of its declaration: = x, (a, b), {a, b}, or none.
  const ir::Expression* initialize(const QualifiedType& type, const ast::Declaration& declaration, Scope& scope);
  const ir::Expression* construct(const Type* type, std::span<const Value> given, Location at);  // T(a, b)
  // Without a value: null if the object can stay uninitialised.
  const ir::Expression* default_value(const Type* type, Location at);
  const ir::Expression* construct_class(Class& made, std::span<const Value> given, Location at);
  const ir::Expression* construct_vector(const Type* type, std::span<const Value> given, Location at);
  bool has_constructors(const Class& made) const;
  bool has_default_constructor(const Class& made) const;
  const ast::Declaration* field_declaration(const Class& owner, std::string_view name) const;
  const ir::Expression* field_default(Class& owner, uint32_t index, Location at);
  bool has_defaults(const Class& made);  // its fields have initializers, or need constructing

  // T{…}.
  const ir::Expression* union_of(const Type* type, const Member& member, const Value& value, Location at);
  const ir::Expression* composed(const Class& made, std::vector<const ir::Expression*> parts, Location at);
  const ir::Expression* indexed(const Type* type, const ast::Expression& braces, Scope& scope);
  std::pair<uint64_t, uint64_t> indices(const ast::Expression& item, uint64_t next, Scope& scope);  // first and last
  const ir::Expression* designated(const Type* type, const ast::Expression& braces, Scope& scope);
  const ir::Expression* from_braces(const Type* type, const ast::Expression& braces, Scope& scope);  // T{a, b}
  const ir::Expression* aggregate(const Type* type, std::span<const Value> items, size_t& next, Location at);
  const ir::Expression* aggregate_part(const Type* type, std::span<const Value> items, size_t& next, Location at);
  void count_part(Location at);
  // T[]: with the size of its initializer.
  const Type* sized(const Type* type, const ast::Declaration& declaration, Scope& scope);

  // ---- State
  const Options& options_;
  Diagnostics& diagnostics_;
  Lookup& lookup_;
  Types& types_;
  Templates& templates_;
  Overloads& overloads_;

  uint32_t call_depth_ = 0;
  uint32_t expression_depth_ = 0;  // in the function being lowered
  uint32_t whole_depth_ = 0;       // of expressions, over all functions that are being lowered
  std::unordered_map<const ast::Declaration*, std::map<const Scope*, Value>> variables_;  // lowered ones
  std::set<std::pair<const ast::Declaration*, const Scope*>> open_variables_;             // variables being computed
  std::unordered_map<std::string, Value> variable_instances_;       // of templates, by instance_key()
  std::unordered_map<std::string, const Class*> function_objects_;  // by candidates and signature
  std::deque<OverloadSet> functions_;
  std::deque<ast::Declaration> deduced_constructors_;              // constructors as function templates
  std::set<const ast::Declaration*> unset_constants_;              // function constants without a value that are used
  std::map<std::string, const ir::Variable*, std::less<>> texts_;  // string literals
  std::map<std::string, Location, std::less<>> host_names_;        // of kernels
  std::vector<std::string> unwanted_;                              // the names of those that are not translated
  uint64_t parts_ = 0;                                             // of initializers
  uint64_t steps_ = 10'000'000;                                    // the total budget for evaluating constants
};

}  // namespace kymo::shader
