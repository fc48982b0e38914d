// What `auto` stands for, and `constant` where it is not a buffer's.

#include "base/text.h"
#include "shader/sema/sema.h"
#include "shader/sema/tables.h"
#include "shader/sema/work.h"

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

// A type written around `auto`, which is `found`.
QualifiedType Meaning::around_auto(const ast::TypeName& type, const QualifiedType& found) {
  QualifiedType made = found;
  if (type.form != ast::TypeForm::Named) {
    const QualifiedType inner = around_auto(*type.inner, found);
    made = {};
    if (type.form == ast::TypeForm::Pointer)
      made.type = pointer_to(inner);
    else if (inner.type->is(TypeKind::Reference))
      made.type = inner.type;
    else if (type.form == ast::TypeForm::RvalueReference && !inner.space)
      made = inner;
    else
      made.type = reference_to(inner);
  }
  made.is_const = made.is_const || type.is_const;
  if (type.space) made.space = type.space;
  return made;
}

QualifiedType Meaning::deduce_auto(const QualifiedType& declared, const Value& from, Scope& scope, Location at) {
  if (!declared.is_auto) return declared;
  if (from.type == nullptr || from.braces != nullptr || from.is_null || from.type->is(TypeKind::Void))
    throw Rejected{at, "auto needs a value that has a type: name the type instead"};
  const ast::TypeName& pattern = *declared.declared;
  QualifiedType actual{.type = from.type};
  if (pattern.form == ast::TypeForm::Reference || pattern.form == ast::TypeForm::RvalueReference) {
    actual.is_const = from.is_const && from.is_place;
    if (from.is_place) actual.space = from.space;
  } else if (from.type->is_array()) {
    actual.type = pointer_to({.type = from.type->inner, .is_const = from.is_const, .space = from.space});
  } else if (from.type->is_vector() && from.type->packed) {
    actual.type = types_.vector(from.type->inner, from.type->count);
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

// What lies in constant memory is const, whether that is said or not.
const Type* Meaning::pointer_to(const QualifiedType& to) {
  const Space space = to.space.value_or(Space::Thread);
  return types_.pointer(to.type, space, to.is_const || is_read_only(space));
}

const Type* Meaning::reference_to(const QualifiedType& to) {
  const Space space = to.space.value_or(Space::Thread);
  return types_.reference(to.type, space, to.is_const || is_read_only(space));
}

QualifiedType Meaning::adapt(const QualifiedType& to, const Value& from) {
  if (to.type == nullptr || to.type->space != Space::Constant || from.type == nullptr || from.braces != nullptr)
    return to;
  Space actual = Space::Constant;
  if (to.type->is_pointer()) {
    if (from.type->is_pointer())
      actual = from.type->space;
    else if (from.type->is_array())
      actual = from.space;
  } else if (to.type->is(TypeKind::Reference)) {
    actual = from.is_place ? from.space : Space::Thread;
  }
  if (actual != Space::Program && actual != Space::Thread) return to;
  QualifiedType adapted = to;
  adapted.type = to.type->is_pointer() ? types_.pointer(to.type->inner, actual, to.type->is_const)
                                       : types_.reference(to.type->inner, actual, to.type->is_const);
  return adapted;
}

}  // namespace kymo::shader
