// The type that `auto` stands for.

#include "base/text.h"
#include "shader/sema/templates/templates.h"

namespace kymo::shader {
namespace {

const std::vector<ast::TemplateParameter>& auto_parameter() {
  static const std::vector<ast::TemplateParameter> kList = [] {
    std::vector<ast::TemplateParameter> list(1);
    list[0].name = "auto";
    return list;
  }();
  return kList;
}

}  // namespace

// The written type with `found` in the place of `auto`.
QualifiedType Templates::around_auto(const ast::TypeName& type, const QualifiedType& found) {
  QualifiedType made = found;
  if (type.form != ast::TypeForm::Named) {
    const QualifiedType inner = around_auto(*type.inner, found);
    made = {};
    if (type.form == ast::TypeForm::Pointer)
      made.type = types_.pointer_to(inner);
    else if (inner.type->is(TypeKind::Reference))
      made.type = inner.type;
    else if (type.form == ast::TypeForm::RvalueReference && !inner.space)
      made = inner;
    else
      made.type = types_.reference_to(inner);
  }
  made.is_const = made.is_const || type.is_const;
  if (type.space) made.space = type.space;
  return made;
}

QualifiedType Templates::deduce_auto(const QualifiedType& declared, const Value& from, Scope& scope, Location at) {
  if (!declared.is_auto) return declared;
  if (from.type == nullptr || from.braces != nullptr || from.is_null || from.type->is(TypeKind::Void))
    throw Rejected{at, "auto needs a value that has a type: name the type instead"};
  if (declared.function != nullptr)
    return {.type = context_.expressions->pointed_function(declared, from.type, at), .is_const = declared.is_const};
  const ast::TypeName& pattern = *declared.declared;
  QualifiedType actual{.type = from.type};
  if (pattern.form == ast::TypeForm::Reference || pattern.form == ast::TypeForm::RvalueReference) {
    actual.is_const = from.is_const && from.is_place;
    if (from.is_place) actual.space = from.space;
  } else if (from.type->is_array()) {
    actual.type = types_.pointer_to({.type = from.type->inner, .is_const = from.is_const, .space = from.space});
  } else if (from.type->is_vector() && from.type->packed) {
    actual.type = table_.vector(from.type->inner, from.type->count);
  }
  Deduction deduction(auto_parameter());
  if (!match_type(pattern, actual, scope, deduction) || !deduction.found[0])
    throw Rejected{at, base::format("{} does not fit the type that is written around auto", in_quotes(from.type))};
  QualifiedType made = around_auto(pattern, deduction.found[0]->type);
  // const and space of the declaration itself.
  made.is_const = made.is_const || declared.is_const;
  if (declared.space) made.space = declared.space;
  return made;
}

}  // namespace kymo::shader
