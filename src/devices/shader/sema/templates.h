// The arguments of templates: written in <…>, completed by defaults, deduced from values, and bound to the names of the
// parameters.
//
// The tree of a template is never copied. An instance is the same tree in a scope of kind Template, in which the names
// of the parameters are bound: bind(), or the `bound` of complete_arguments().
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shader/sema/context.h"
#include "shader/sema/entity.h"
#include "shader/sema/lookup.h"
#include "shader/sema/types.h"

namespace kymo::shader {

// The parameters of a template while their arguments are deduced.
struct Deduction {
  explicit Deduction(const std::vector<ast::TemplateParameter>& list) : parameters(list), found(list.size()) {}

  const std::vector<ast::TemplateParameter>& parameters;
  std::vector<std::optional<TemplateArgument>> found;
  // The elements of a pack are matched one by one, each as if the pack were a separate parameter.
  bool in_pack = false;
  // If a parameter is deduced with two different results: its index, and the second result.
  size_t conflict = SIZE_MAX;
  TemplateArgument second;

  size_t index_of(std::string_view name) const {
    for (size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i].name == name && !name.empty()) return i;
    return SIZE_MAX;
  }
};

class Templates {
 public:
  Templates(Context& context, Lookup& lookup, Types& types)
      : context_(context), table_(context.table), lookup_(lookup), types_(types) {}
  Templates(const Templates&) = delete;
  Templates& operator=(const Templates&) = delete;

  // ---- Written arguments
  // The arguments in <…>, with packs expanded.
  TemplateArguments evaluate_arguments(const std::vector<ast::TemplateArgument>& list, Scope& scope);
  // Adds defaults for missing arguments and checks everything; `bound`: a scope with the names of the parameters.
  TemplateArguments complete_arguments(const ast::Declaration& of, Scope& declared_in, const TemplateArguments& given,
                                       Location at, Scope*& bound);
  // The same, for arguments by the index of their parameter; empty ones get their defaults.
  TemplateArguments finish_arguments(const ast::Declaration& of, Scope& declared_in,
                                     std::vector<std::optional<TemplateArgument>>& found, Location at, Scope*& bound);
  Scope& bind(const std::vector<ast::TemplateParameter>& parameters, const TemplateArguments& arguments, Scope& parent);

  // ---- Specialisations of structs and variables. Throws if several match equally well.
  const ast::Declaration* specialisation_of(const Symbol& symbol, const TemplateArguments& arguments, Scope*& bound,
                                            Location at);

  // ---- Packs
  // One scope for each element of the packs in an expression or a type, in which the element is resolved.
  std::vector<Scope*> expansions(const ast::Expression* expression, const ast::TypeName* type, Scope& scope,
                                 Location at);
  size_t pack_size(std::string_view name, const Scope& scope, Location at) const;

  // ---- Deduction
  // The arguments of a function template for the arguments of a call. False: they do not match, and conflict() says why
  // if that is known.
  bool deduce(const ast::Declaration& function, Scope& scope, const TemplateArguments& given,
              std::span<const Value> arguments, TemplateArguments& into);
  const std::string& conflict() const { return conflict_; }
  // Adds to the deduction what the parameters in `pattern` must be to make it `actual`. False: nothing does.
  bool match_type(const ast::TypeName& pattern, const QualifiedType& actual, Scope& scope, Deduction& deduction);
  QualifiedType deduce_auto(const QualifiedType& declared, const Value& from, Scope& scope, Location at);

 private:
  using Patterns = std::vector<ast::TemplateArgument>;

  const Symbol* template_named(const ast::TypeName& type, Scope& scope);
  TemplateArgument evaluate_argument(const ast::TemplateArgument& written, Scope& scope);
  static bool place_given(const std::vector<ast::TemplateParameter>& parameters, const TemplateArguments& given,
                          std::vector<std::optional<TemplateArgument>>& found);
  void check_argument(const ast::TemplateParameter& parameter, TemplateArgument& argument, Scope& bound, Location at);
  Scope* fit_specialisation(const ast::Declaration& special, const Symbol& primary, const TemplateArguments& arguments,
                            Location at);

  bool match_named(const ast::Name& name, const QualifiedType& actual, Scope& scope, Deduction& deduction);
  bool match_class(const ast::NamePart& pattern, const Class& made, const Symbol* symbol, size_t index, Scope& scope,
                   Deduction& deduction);
  bool match_hook(const ast::NamePart& pattern, const Type* actual, Scope& scope, Deduction& deduction);
  bool match_argument(const ast::TemplateArgument& pattern, const TemplateArgument& actual, Scope& scope,
                      Deduction& deduction);
  bool match_arguments(const Patterns& patterns, const TemplateArguments& actual, Scope& scope, Deduction& deduction);
  bool match_pack(size_t count, const std::function<bool(Deduction&, size_t)>& each, Deduction& deduction);
  QualifiedType around_auto(const ast::TypeName& type, const QualifiedType& found);

  Context& context_;
  TypeTable& table_;
  Lookup& lookup_;
  Types& types_;
  std::string conflict_;
};

}  // namespace kymo::shader
