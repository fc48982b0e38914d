// From written types to types: names, pointers and arrays, structs with their fields and layout, enums.
//
// A struct is created when its name is first used, and completed when its size or its members are needed: so a struct
// can contain a pointer to itself. One struct template has one Class for each list of arguments.
//
// Types knows names (Lookup). Arguments of templates, constants and decltype come through the calls upwards of Context.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "shader/sema/context.h"
#include "shader/sema/entity.h"
#include "shader/sema/lookup.h"

namespace kymo::shader {

class Types {
 public:
  Types(Context& context, Lookup& lookup) : context_(context), table_(context.table), lookup_(lookup) {}
  Types(const Types&) = delete;
  Types& operator=(const Types&) = delete;

  // ---- Written types (types.cc)
  QualifiedType resolve(const ast::TypeName& type, Scope& scope);        // `auto` as is_auto
  const Type* resolve_plain(const ast::TypeName& type, Scope& scope);    // a complete type: no auto, const removed
  QualifiedType resolve_shape(const ast::TypeName& type, Scope& scope);  // structs may be incomplete after it
  std::optional<QualifiedType> try_type(const ast::Expression& name, Scope& scope);  // a Name expression that is a type
  // The error for a struct template without arguments where they cannot be deduced.
  static Rejected needs_arguments(const QualifiedType& type, Location at);
  const Type* instance_of(const Symbol& symbol, TemplateArguments arguments, Location at);  // of a struct template
  // Whether it is one of the types that the standard library names but cannot define in Metal: vec<T, N>, atomic<T>.
  static bool is_hook(const Symbol& symbol);

  // ---- Pointers and references. What is in constant memory is const.
  const Type* pointer_to(const QualifiedType& to);
  const Type* reference_to(const QualifiedType& to);
  // For a `constant` pointer or reference whose target is in Program or Thread memory: the type with that space.
  QualifiedType adapt(const QualifiedType& to, const Value& from);

  // ---- Structs (classes.cc)
  Class& make_class();                                                                // without a type, for a lambda
  Class* class_of(const Type* type);                                                  // completed; null: not a struct
  const Field* find_field(const Type* type, std::string_view name, uint32_t& index);  // its own, not those of its bases
  bool is_derived(const Class& derived, const Class& base) const;
  // The scope with the members of the struct that `type` is, for the part S<int> of a name S<int>::member.
  Scope& members_of(const Symbol& type, const ast::NamePart& part, std::string_view member, Scope& from, Location at);
  Scope& members_of(const ast::Expression& value, Scope& from, Location at);  // the same for decltype(value)::member

  // ---- Enums and static_assert (classes.cc)
  const Type* enum_type(const ast::Declaration& declaration, Scope& inside);  // `inside` has its enumerators
  const ir::Expression* enumerator(const Symbol& symbol, Location at);        // its value, computed at its first use
  void check_assert(const ast::Declaration& declaration, Scope& scope);

  // The type in which two numbers are added or compared: the usual arithmetic conversions, vectors and splats.
  const Type* common_type(const Type* a, const Type* b, Location at);

 private:
  QualifiedType resolve_named(const ast::TypeName& type, Scope& scope);
  // The type that a symbol is, with the arguments that its name is written with.
  QualifiedType type_named(const Symbol& symbol, const ast::NamePart& part, Scope& from, Location at);

  static bool is_type_hook(std::string_view name);
  QualifiedType type_hook(std::string_view name, const TemplateArguments& arguments, Location at);
  QualifiedType instantiate_type(const Symbol& symbol, const ast::NamePart& part, Scope& from, Location at);

  static std::string scope_prefix(const Scope* scope);  // a::S<int>::, before a name in it
  Class& instantiate_class(const Symbol& symbol, TemplateArguments arguments, Location at);
  void complete(Class& made, Location at);  // computes its fields; once
  void complete_members(Class& made);
  uint32_t written_align(const ast::Declaration& declaration, Scope& scope);  // alignas; 1 without
  static constexpr uint64_t kLargestStruct = uint64_t{1} << 30;               // bytes
  void store_members(Class& made, std::vector<Field>& fields, uint32_t& align);
  void store_union(Class& made, std::vector<Field>& fields, uint32_t& align);
  void evaluate_enumerators(const ast::Declaration& declaration, Scope& inside);
  void complete_value(const Type* type, Location at);
  // Completes the pointee, as soon as nothing else is being completed.
  void complete_pointee(const Type* type, Location at);

  Context& context_;
  TypeTable& table_;
  Lookup& lookup_;
  std::deque<Class> classes_;
  std::unordered_map<std::string, Class*> classes_by_key_;  // by instance_key()
  std::unordered_map<const Symbol*, QualifiedType> aliases_;
  std::unordered_map<const Scope*, const Type*> enums_;  // by the scope of its enumerators
  std::unordered_set<const Scope*> enums_being_evaluated_;
  std::unordered_map<const Class*, Rejected> faults_;
  std::unordered_map<const Type*, uint32_t> parts_;   // of a struct: its fields, and their fields
  std::vector<std::pair<Class*, Location>> pending_;  // completed when no other class is being completed
  uint32_t completing_ = 0;
};

}  // namespace kymo::shader
