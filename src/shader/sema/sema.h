// Converts a tree to functions: looks up names, resolves types, chooses overloads, instantiates templates on demand,
// and lowers the bodies that a kernel needs to the IR.
//
// It is one class in two halves that call each other: declarations (declare.cc, lookup.cc, resolve_type.cc, classes.cc,
// templates.cc, deduce.cc, overloads.cc, conversions.cc, kernels.cc) and code (expressions.cc, operators.cc, calls.cc,
// builtins.cc, initialize.cc, statements.cc, lambdas.cc). An error throws Rejected; statements and declarations catch
// it, report it and continue. While template arguments are tried, a Rejected means that the candidate does not match.
//
// Limits, each an error: depth of instantiation 200, instances 20,000, depth of expressions 250, expressions lowered
// Options::max_expressions.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kymo/translate.h"
#include "shader/ir/build.h"
#include "shader/sema/entity.h"

namespace kymo::shader {

// The cost of a conversion in overload resolution; lower is better.
enum class Rank : uint8_t { Exact, Qualification, Promotion, Conversion, Splat, User, Impossible };

// The function that a call chose.
struct Chosen {
  FunctionInstance* instance = nullptr;
  // Parameters without an argument, whose default values are used.
  std::vector<const ast::Declaration*> defaults;
};

struct Deduction;
struct Signature;
struct PlacedDeclaration;

class Meaning {
 public:
  // `user_file`: the source itself. All its functions are lowered, to find their errors; of other files only the needed
  // ones.
  Meaning(const ast::Tree& tree, const Options& options, Diagnostics& diagnostics, ir::Module& module,
          uint32_t user_file);
  ~Meaning();
  Meaning(const Meaning&) = delete;
  Meaning& operator=(const Meaning&) = delete;

  // All kernels, and everything they call.
  void lower();

 private:
  friend class MeaningTest;

  // ==== Declarations (first half) ===================================================================================

  // ---- declare.cc: creates a symbol for every declaration of the tree; nothing is resolved yet
  void declare_all();
  void declare(const ast::Declaration& declaration, Scope& scope, Class* owner);  // also local ones
  void declare_namespace(const ast::Declaration& declaration, Scope& scope);
  void declare_type(const ast::Declaration& declaration, Scope& scope, Class* owner);
  void declare_enum(const ast::Declaration& declaration, Scope& scope, Class* owner);
  void declare_function(const ast::Declaration& declaration, Scope& scope, Class* owner);
  void declare_variable(const ast::Declaration& declaration, Scope& scope, Class* owner);
  void declare_using(const ast::Declaration& declaration, Scope& scope);
  Scope& home_of(const ast::Declaration& declaration, Scope& scope);  // a::b::f: the namespace of f
  void check_assert(const ast::Declaration& declaration, Scope& scope);
  const ir::Expression* enumerator(const Symbol& symbol, Location at);  // its value, computed at its first use
  Scope& make_scope(Scope::Kind kind, Scope* parent);
  Symbol& make_symbol(Symbol::Kind kind, std::string_view name, Scope& scope);  // and adds it to the scope
  // Counts a step of the work; their number is limited: defaults that need defaults take 2^n steps in n lines.
  void spend_step(Location at);

  // ---- lookup.cc
  // By the rules of C++: from the scope outwards, following using-directives, searching bases. Empty: not found.
  std::vector<const Symbol*> find(std::string_view name, const Scope& from) const;
  // In that scope, its bases and used ones.
  std::vector<const Symbol*> find_in(std::string_view name, const Scope& in) const;
  // For a::b<c>::d: the scope in which the last part is looked up (null: an unqualified name).
  Scope* scope_of(const ast::Name& name, Scope& from, Location at);
  std::vector<const Symbol*> find(const ast::Name& name, Scope& from, Location at);
  // Functions of the namespaces of the arguments' types.
  void add_by_arguments(OverloadSet& set, std::span<const Value> arguments) const;

  // ---- resolve_type.cc
  QualifiedType resolve(const ast::TypeName& type, Scope& scope);      // `auto` as is_auto
  const Type* resolve_plain(const ast::TypeName& type, Scope& scope);  // a complete type: no auto, const removed
  std::optional<QualifiedType> try_type(const ast::Expression& name, Scope& scope);  // a Name expression that is a type
  const Type* builtin_type(std::string_view name);  // "float4", "packed_half3"…; null: none
  QualifiedType deduce_auto(const QualifiedType& declared, const Value& from, Scope& scope, Location at);
  QualifiedType around_auto(const ast::TypeName& type, const QualifiedType& found);
  QualifiedType resolve_shape(const ast::TypeName& type, Scope& scope);  // structs may be incomplete after it
  QualifiedType resolve_named(const ast::TypeName& type, Scope& scope);
  QualifiedType type_named(const Symbol& symbol, const ast::NamePart& part, Scope& from, Location at);
  const Type* pointer_to(const QualifiedType& to);
  const Type* reference_to(const QualifiedType& to);
  // For a `constant` pointer or reference whose target is in Program or Thread memory: the type with that space.
  QualifiedType adapt(const QualifiedType& to, const Value& from);

  // ---- type_hooks.cc
  static bool is_type_hook(std::string_view name);
  static bool is_hook(const Symbol& symbol);
  QualifiedType type_hook(std::string_view name, const TemplateArguments& arguments, Location at);
  QualifiedType instantiate_type(const Symbol& symbol, const ast::NamePart& part, Scope& from, Location at);

  // ---- classes.cc
  // Chooses the specialisation.
  Class& instantiate_class(const Symbol& symbol, TemplateArguments arguments, Location at);
  void complete(Class& made, Location at);                                            // computes its fields; once
  Class* class_of(const Type* type);                                                  // completed; null: not a struct
  static Class* class_named(const Type* type);                                        // not completed
  const Field* find_field(const Type* type, std::string_view name, uint32_t& index);  // its own, not those of its bases
  const ast::Declaration* specialisation_of(const Symbol& symbol, const TemplateArguments& arguments, Scope*& bound,
                                            Location at);
  bool is_derived(const Class& derived, const Class& base) const;
  void complete_members(Class& made);
  void complete_value(const Type* type, Location at);
  // Completes the pointee, as soon as nothing else is being completed.
  void complete_pointee(const Type* type, Location at);

  // ---- templates.cc
  // Explicit arguments, checked against the parameters and completed with their defaults if `complete`.
  TemplateArguments arguments_of(const ast::NamePart& part, const ast::Declaration& of, Scope& scope);
  // With packs expanded.
  TemplateArguments evaluate_arguments(const std::vector<ast::TemplateArgument>& list, Scope& scope);
  Scope& bind(const std::vector<ast::TemplateParameter>& parameters, const TemplateArguments& arguments, Scope& parent);
  // The one instance of a function for these arguments. If parameters are `constant` pointers or references, there is
  // one instance for each address space of the arguments: a `constant T*` parameter accepts Constant, Program, and (for
  // a kernel's Value) Thread memory. Targets distinguish them.
  FunctionInstance& instance(const Symbol& function, const TemplateArguments& arguments, std::span<const Value> given,
                             const Value* object, Location at);
  const Symbol* template_named(const ast::TypeName& type, Scope& scope);
  TemplateArgument evaluate_argument(const ast::TemplateArgument& written, Scope& scope);
  static bool place_given(const std::vector<ast::TemplateParameter>& parameters, const TemplateArguments& given,
                          std::vector<std::optional<TemplateArgument>>& found);
  // Adds defaults for missing arguments and checks everything; `bound`: a scope with the names of the parameters.
  TemplateArguments complete_arguments(const ast::Declaration& of, Scope& declared_in, const TemplateArguments& given,
                                       Location at, Scope*& bound);
  TemplateArguments finish_arguments(const ast::Declaration& of, Scope& declared_in,
                                     std::vector<std::optional<TemplateArgument>>& found, Location at, Scope*& bound);
  void check_argument(const ast::TemplateParameter& parameter, TemplateArgument& argument, Scope& bound, Location at);

  // ---- specialise.cc
  Scope* fit_specialisation(const ast::Declaration& special, const Symbol& primary, const TemplateArguments& arguments,
                            Location at);
  static TemplateArgument argument_of(std::string_view name, const Scope& bound);

  // ---- packs.cc
  // One scope for each element of the packs in an expression or a type, in which the element is resolved.
  std::vector<Scope*> expansions(const ast::Expression* expression, const ast::TypeName* type, Scope& scope,
                                 Location at);
  size_t pack_size(std::string_view name, const Scope& scope, Location at) const;

  // ---- signatures.cc
  const Signature& signature(const Symbol& symbol, const TemplateArguments& arguments);
  const PlacedDeclaration* definition_of(const Symbol& member);
  void work_out(Signature& made);
  void read_parameters(Signature& made);
  void use_specialisation(Signature& made);
  void read_result(Signature& made);

  Value variable_template(const Symbol& variable, const TemplateArguments& arguments, Location at);

  // ---- deduce.cc
  // False: they do not match.
  bool deduce(const ast::Declaration& function, Scope& scope, const TemplateArguments& given,
              std::span<const Value> arguments, TemplateArguments& into);
  using Patterns = std::vector<ast::TemplateArgument>;
  bool match_type(const ast::TypeName& pattern, const QualifiedType& actual, Scope& scope, Deduction& deduction);
  bool match_named(const ast::Name& name, const QualifiedType& actual, Scope& scope, Deduction& deduction);
  bool match_class(const ast::NamePart& pattern, const Class& made, const Symbol* symbol, size_t index, Scope& scope,
                   Deduction& deduction);
  bool match_hook(const ast::NamePart& pattern, const Type* actual, Scope& scope, Deduction& deduction);
  bool match_argument(const ast::TemplateArgument& pattern, const TemplateArgument& actual, Scope& scope,
                      Deduction& deduction);
  bool match_arguments(const Patterns& patterns, const TemplateArguments& actual, Scope& scope, Deduction& deduction);
  bool match_pack(size_t count, const std::function<bool(Deduction&, size_t)>& each, Deduction& deduction);

  // ---- conversions.cc
  Rank rank(const Value& from, const QualifiedType& to);
  // The value converted to that type, in IR; for a Reference: a pointer to it (to a temporary if it is not a place).
  // Throws if that is not possible.
  const ir::Expression* convert(const Value& from, const QualifiedType& to, Location at, std::string_view what);
  // Also with explicit operators.
  const ir::Expression* convert_explicitly(const Value& from, const Type* to, Location at);
  // Any number to any number with the same components, half through float.
  const ir::Expression* convert_number(const ir::Expression* from, const Type* to, Location at);
  Rank rank_reference(const Value& from, const Type* reference);
  Rank rank_pointer(const Value& from, const Type* pointer);
  Rank rank_braces(const Value& from, const Type* to);
  Rank rank_user(const Value& from, const Type* to);
  // The only conversion of a struct: by a constructor of `to`, or by its own operator.
  struct UserConversion;
  std::optional<UserConversion> user_conversion(const Value& from, const Type* to);
  const ir::Expression* convert_reference(const Value& from, const Type* reference, Location at, std::string_view what);
  const ir::Expression* convert_pointer(const Value& from, const Type* pointer, Location at);
  // Usual arithmetic conversions, vectors and splats.
  const Type* common_type(const Type* a, const Type* b, Location at);

  // ---- overloads.cc
  // Throws with the candidates as notes if none or several match.
  Chosen choose(OverloadSet& set, std::span<const Value> arguments);
  std::optional<Chosen> try_choose(OverloadSet& set, std::span<const Value> arguments);  // empty: none matches
  struct Candidate;
  std::optional<Candidate> viable(const Symbol& symbol, const OverloadSet& set, std::span<const Value> arguments,
                                  std::string* why);
  Rank object_rank(const Symbol& function, const std::optional<Value>& object) const;
  std::optional<Chosen> choose_best(OverloadSet& set, std::span<const Value> arguments, std::vector<Report>* notes,
                                    bool gives_way);

  // ---- kernels.cc
  void lower_kernels();  // kernels, explicit instantiations with host_name
  void lower_instantiation(const ast::Declaration& declaration, Scope& scope);
  const Symbol* instantiated_kernel(const ast::Declaration& function, Scope& scope, TemplateArguments& arguments);
  void bind_kernel_parameter(FunctionInstance& instance, const Parameter& parameter, Scope& locals,
                             std::vector<bool>& buffers);
  void bind_position(const ast::Attribute& attribute, const Parameter& parameter, Scope& locals);
  const ir::Expression* position(std::string_view name, Location at);  // a uint or uint3; null: no such attribute
  // Bindings, attributes, positions; then the body.
  void lower_kernel(FunctionInstance& instance, std::string host_name);

  // ==== Code (second half) ==========================================================================================

  // The function being lowered.
  struct Body {
    FunctionInstance* instance = nullptr;
    ir::Block* block = nullptr;  // receives the statements
    std::optional<Value> self;   // *this
    const Type* result = nullptr;
    bool is_kernel = false;
    bool is_unevaluated = false;         // decltype, sizeof: emitted code is dropped
    bool has_effects = false;            // it writes memory that is not its own, or works together with other threads
    bool is_constructor = false;         // `self` is a local that is returned
    bool deduces_result = false;         // from its first return
    int breakable = 0, continuable = 0;  // number of loops and switches around
  };
  // While one of these lives, statements go into another block.
  class Into;

  // ---- effects.cc
  void init_work();
  ir::Builder& build(Location at);  // for objects at this position
  void emit(ir::Statement* statement) { body_.block->push_back(statement); }
  Value rvalue(const ir::Expression* ir, const Type* type = nullptr);
  Value load(const Value& value);     // as a value, not a place: packed vectors unpacked
  Value decayed(const Value& value);  // an array becomes a pointer to its first element

  // ---- order.cc
  class Changes;
  bool is_settled(const ir::Expression& expression) const;  // nothing after it can change it
  bool is_stable(const ir::Expression& expression, const Changes* changes) const;
  // Stored in a temporary, unless it is settled, or the changes do not affect it.
  const ir::Expression* settle(const ir::Expression* value, const Changes* changes = nullptr);
  void settle_all(std::vector<const ir::Expression*>& earlier, size_t since);
  template <typename Making>
  void before(size_t since, Making making);
  Value freeze(const Value& place, const Changes* changes = nullptr);  // a place whose indices and pointers are settled
  Value reusable(const Value& place);                                  // a place that can be read and then written
  bool is_cheap(const ir::Expression& expression, int& budget) const;
  void protect_place(Value& earlier, size_t since);  // like protect, but a place stays a place
  void protect_places(std::span<Value> earlier, size_t since);

  // ---- functions.cc
  void lower_statements(FunctionInstance& instance, Scope& scope, bool is_kernel);
  void bind_parameters(FunctionInstance& instance, Scope& scope);
  void lower_constructor(FunctionInstance& instance, Scope& scope);
  void initialize_field(Class& owner, uint32_t index, const Value& self, const ast::Declaration& constructor,
                        Scope& scope);
  bool base_is_named(const Class& base, const ast::Name& name, Scope& scope);
  const Type* plain(const Type* type);    // a packed vector's: the vector
  void report(const Rejected& rejected);  // once: one without a text was already reported
  Symbol& make_local(std::string_view name, const Value& value, Scope& scope);

  // ---- variables.cc
  // At namespace or class scope, or an instance of a template: a constant, or a place in Program space.
  Value lower_variable(const ast::Declaration& declaration, Scope& scope, Location at);
  Value constant_variable(const ast::Declaration& declaration, Scope& scope);
  Value constant_value(std::string_view name, const ir::Expression* known);
  std::optional<Value> function_constant(const ast::Declaration& declaration, Scope& scope, Location at);
  std::optional<double> given_constant(const ast::Declaration& declaration, Scope& scope);
  Value function_constant_defined(const ast::Expression& call, Scope& scope);
  const ir::Variable& text_constant(std::string_view text);  // of a string literal

  // ---- constants.cc
  // The result of the statements and then the value: a tree of constants; null if it is not constant.
  const ir::Expression* evaluated(const ir::Expression* value, const ir::Block& statements);

  // ---- members.cc
  std::optional<Value> field_of(const Value& object, std::string_view name, Location at);  // also those of its bases
  Value base_of(const Value& object, const Class& base, Location at);
  Value self_member(const Symbol& symbol, Location at);             // a field without an object
  Value pointee(const Value& pointer, Location at);                 // *p
  Value element(const Value& of, const Value& index, Location at);  // a[i]

  // ---- expressions.cc
  Value expression(const ast::Expression& expression, Scope& scope);
  Value name(const ast::Expression& expression, Scope& scope);
  Value member(const ast::Expression& expression, Scope& scope);
  Value literal(const ast::Expression& expression);
  Value swizzle(const Value& of, std::string_view letters, Location at);
  Value variable(const Symbol& symbol, Location at);  // at namespace or class scope: lowered when first used
  const Type* type_of(const ast::Expression& expression, Scope& scope, bool* is_place = nullptr);  // unevaluated
  std::vector<Value> arguments(std::span<const ast::Expression* const> list, Scope& scope);        // packs spread out
  // A constant, or Rejected with the name `what`.
  const ir::Expression* constant(const ast::Expression& expression, Scope& scope, std::string_view what);
  uint64_t constant_integer(const ast::Expression& expression, Scope& scope, std::string_view what);
  bool constant_bool(const ast::Expression& expression, Scope& scope, std::string_view what);

  // Effects go into the block before the expression. Values that were lowered earlier and could be affected are first
  // stored in a temporary.
  size_t mark() const;                                    // of the block being written
  void protect(Value& earlier, size_t since);             // stores it in a temporary if statements were written since
  Value keep(const Value& value, std::string_view name);  // in a temporary
  void assign(const Value& place, const ir::Expression* value, Location at);
  ir::Variable& local(std::string_view name, const Type* type, const ir::Expression* value, Location at);
  const ir::Expression* read(const Value& value);  // as a value: packed vectors unpacked, pointers loaded
  const ir::Expression* address(const Value& place, Location at);
  Value place_at(const ir::Expression* pointer, bool is_const);  // *pointer

  // ---- operators.cc
  Value unary(const ast::Expression& expression, Scope& scope);
  Value postfix(const ast::Expression& expression, Scope& scope);
  Value binary(const ast::Expression& expression, Scope& scope);
  Value binary(std::string_view op, Value left, Value right, Location at);  // builtin types; half and bfloat by float
  Value assignment(const ast::Expression& expression, Scope& scope);
  Value conditional(const ast::Expression& expression, Scope& scope);
  Value logical(const ast::Expression& expression, Scope& scope);
  Value fold(const ast::Expression& expression, Scope& scope);
  Value binary_of(std::string_view op, Value left, Value right, Scope& scope, Location at);  // overloads, then builtin
  Value arithmetic(std::string_view op, const Value& left, const Value& right, Location at);
  Value shift(std::string_view op, const Value& left, const Value& right, Location at);
  Value pointer_operation(std::string_view op, const Value& left, const Value& right, Location at);
  Value step(const Value& place, bool up, Location at);                   // ++ and --
  Value negated(std::string_view op, const Value& operand, Location at);  // - ~ + of numbers
  Value number_of(const Value& value, Location at);  // a struct by its conversion operator, else itself
  const ir::Expression* as_number(const Value& value, const Type* to, Location at);     // splats too
  const ir::Expression* truth(const Value& value, Location at, std::string_view what);  // as a bool
  const ir::Expression* folded(const ir::Expression* expression);                       // of constants: the constant
  template <typename Right>
  Value short_circuit(std::string_view op, const Value& left, Right right, Location at);
  Value choose_value(const ir::Expression* condition, Value if_true, Value if_false, ir::Block true_block,
                     ir::Block false_block, Location at);
  Value conditional_place(const ast::Expression& expression, Scope& scope);
  std::optional<Value> overloaded(std::string_view op, std::span<Value> operands, Scope& scope, Location at);

  // ---- calls.cc
  Value call(const ast::Expression& expression, Scope& scope);
  Value call(const Chosen& chosen, const std::optional<Value>& object, std::span<const Value> given, Location at);
  Value call_overloads(OverloadSet& set, std::span<const Value> given, Scope& scope, Location at);
  Value call_value(const Value& callee, std::span<const Value> given, Scope& scope, Location at);  // x(…)
  Value call_named(const ast::Expression& callee, const ast::Expression& call, Scope& scope);
  Value call_member(const ast::Expression& callee, const ast::Expression& call, Scope& scope);
  Value call_library(std::string_view name, std::span<const Value> given, Location at);  // metal::name
  Value unevaluated(const Type* type, Location at);
  bool has_method(const Value& object, std::string_view name);
  Value call_method(const Value& object, std::string_view name, Scope& scope, Location at);  // without arguments
  Value finish_call(const ir::Function& function, std::vector<const ir::Expression*> operands, Location at);
  const ir::Expression* folded_call(const ir::Expression* made);
  Value object_place(const Value& object, Location at);      // stored in a temporary if it is not a place
  static bool has_object(const FunctionInstance& instance);  // a member function that is not static, nor a constructor
  // Lowers its body now, before the caller; recursion is refused.
  void need(FunctionInstance& instance, Location at);

  // ---- builtins.cc: functions that the standard library cannot express in Metal
  // Empty: there is no such builtin.
  std::optional<Value> builtin(std::string_view name, const TemplateArguments& explicit_arguments,
                               std::span<const Value> given, Location at);
  bool is_builtin(std::string_view name) const;
  struct BuiltinRow;
  static const BuiltinRow* builtin_row(std::string_view name);
  Value builtin_float(const BuiltinRow& row, std::span<const Value> given, Location at);
  Value builtin_minmax(const BuiltinRow& row, std::span<const Value> given, Location at);
  Value builtin_bits(const BuiltinRow& row, std::span<const Value> given, Location at);
  Value builtin_flags(const BuiltinRow& row, std::span<const Value> given, Location at);
  Value builtin_library(const BuiltinRow& row, std::span<const Value> given, Location at);
  Value builtin_components(const BuiltinRow& row, std::span<const Value> given, Location at);
  Value builtin_atomic(const BuiltinRow& row, std::span<const Value> given, Location at);
  Value builtin_exchange(const ir::Expression* pointer, std::span<const Value> given, Location at);
  Value builtin_barrier(const BuiltinRow& row, std::span<const Value> given, Location at);
  Value builtin_simd(const BuiltinRow& row, std::span<const Value> given, Location at);
  Value builtin_trait(const BuiltinRow& row, const TemplateArguments& arguments, Location at);
  Value effect(ir::Intrinsic which, std::vector<const ir::Expression*> operands, Location at, uint32_t index = 0);
  const Type* unified(std::span<const Value> given, bool as_float, std::string_view name, Location at);

  // ---- initialize.cc
  // A new object of the type: = x, (a, b), {a, b}, nothing (zero only if `zero`).
  const ir::Expression* initialize(const QualifiedType& type, const ast::Declaration& declaration, Scope& scope);
  const ir::Expression* construct(const Type* type, std::span<const Value> given, Location at);      // T(a, b)
  const ir::Expression* from_braces(const Type* type, const ast::Expression& braces, Scope& scope);  // T{a, b}
  // Without a value: null if the object can stay uninitialised.
  const ir::Expression* default_value(const Type* type, Location at);
  const ir::Expression* construct_class(Class& made, std::span<const Value> given, Location at);
  const ir::Expression* construct_vector(const Type* type, std::span<const Value> given, Location at);
  const ir::Expression* aggregate(const Type* type, std::span<const Value> items, size_t& next, Location at);
  const ir::Expression* aggregate_part(const Type* type, std::span<const Value> items, size_t& next, Location at);
  void count_part(Location at);
  const ir::Expression* text_array(const Type* type, std::string_view text, Location at);
  // T[]: with the size of its initializer.
  const Type* sized(const Type* type, const ast::Declaration& declaration, Scope& scope);
  bool has_constructors(const Class& made) const;
  bool has_default_constructor(const Class& made) const;
  const ast::Declaration* field_declaration(const Class& owner, std::string_view name) const;
  const ir::Expression* field_default(Class& owner, uint32_t index, Location at);
  bool has_defaults(const Class& made);  // its fields have initializers, or need constructing

  // ---- casts.cc
  Value cast(const ast::Expression& expression, Scope& scope);
  Value cast_to(const QualifiedType& type, const Value& value, std::string_view how, Location at);
  std::vector<Value> arguments_or_void(const ast::Expression& expression, const Type* type, Scope& scope);
  Value cast_bits(const Type* type, const Value& value, Location at);

  // ---- statements.cc
  void lower_body(FunctionInstance& instance);
  void statement(const ast::Statement& statement, Scope& scope);
  void block(std::span<const ast::Statement* const> statements, Scope& scope, ir::Block& into);
  void declare_local(const ast::Declaration& declaration, Scope& scope);
  void nested(const ast::Statement& statement, Scope& scope, ir::Block& into);  // in a scope of its own
  const ir::Expression* condition(const ast::Statement& statement, Scope& scope);
  void if_statement(const ast::Statement& statement, Scope& scope);
  void loop_statement(const ast::Statement& statement, Scope& scope);  // for, while
  void do_statement(const ast::Statement& statement, Scope& scope);
  void range_for(const ast::Statement& statement, Scope& scope);
  void switch_statement(const ast::Statement& statement, Scope& scope);
  static bool declares_without_value(const ast::Statement& statement);
  void return_statement(const ast::Statement& statement, Scope& scope);
  void deduce_result(const Value& value, Scope& scope, Location at);
  void declare_broken(const ast::Statement& statement, Scope& scope);
  void discard(const ast::Expression& expression, Scope& scope);  // only for its effects
  // ---- locals.cc
  void declare_variable_local(const ast::Declaration& declaration, Scope& scope);
  void declare_reference(const ast::Declaration& declaration, const QualifiedType& type, const Value& from,
                         Scope& scope);
  void declare_group_memory(const ast::Declaration& declaration, const QualifiedType& type, Scope& scope);
  void declare_value(const ast::Declaration& declaration, const QualifiedType& type, const ir::Expression* value,
                     Scope& scope);
  void declare_from(const ast::Declaration& declaration, QualifiedType type, const Value& value, Scope& scope);
  void take_result(const ir::Variable& variable);
  void declare_item(const ast::Declaration& declaration, const Value& item, Scope& scope);
  void declare_bindings(const ast::Declaration& declaration, Scope& scope);

  // ---- lambdas.cc
  Value lambda(const ast::Expression& expression, Scope& scope);
  void bind_captures(const FunctionInstance& instance, Scope& scope);

  // ==== State =======================================================================================================
  const ast::Tree& tree_;
  const Options& options_;
  Diagnostics& diagnostics_;
  ir::Module& module_;
  TypeTable& types_;
  Body body_;
  Scope* global_ = nullptr;
  Scope* metal_ = nullptr;  // namespace metal, with the standard library

  std::deque<Scope> scopes_;
  std::deque<Symbol> symbols_;
  std::deque<Class> classes_;
  std::deque<FunctionInstance> instances_;
  std::deque<Value> values_;
  struct Tables;  // instances by their keys
  std::unique_ptr<Tables> tables_;
  uint32_t depth_ = 0;
  uint32_t expression_depth_ = 0;
  struct Work;                  // the state of the second half
  std::shared_ptr<Work> work_;  // shared, so that the type can be incomplete here
  ir::Builder build_;
};

// The whole stage.
void give_meaning(const ast::Tree& tree, const Options& options, Diagnostics& diagnostics, ir::Module& module,
                  uint32_t user_file);

}  // namespace kymo::shader
