// Copies of objects: by the copy constructor or operator= of the source, if their struct has one, or one of its
// members.
//
// A value that is not a place was made for this use, and is not copied again, as in C++17.

#include <algorithm>

#include "shader/sema/lowering/lowering.h"

namespace kymo::shader {

// S(thread const S&), also with more parameters that have defaults; no template.
bool Lowering::is_copy_constructor(const Symbol& constructor) {
  const ast::Declaration& declaration = *constructor.declaration;
  if (declaration.is_template || declaration.is_defaulted || declaration.parameters.empty()) return false;
  const ast::TypeName* first = declaration.parameters[0]->type;
  if (first == nullptr || first->form != ast::TypeForm::Reference) return false;
  if (!std::all_of(declaration.parameters.begin() + 1, declaration.parameters.end(),
                   [](const ast::Declaration* each) { return each->initializer != nullptr; }))
    return false;
  const Signature& types = overloads_.signature(constructor, {});
  return !types.fault && types.parameters[0].type.type->is(TypeKind::Reference) &&
         types.parameters[0].type.type->inner == constructor.owner->type;
}

std::vector<const Symbol*> Lowering::copy_constructors(const Class& made) {
  std::vector<const Symbol*> found;
  if (const auto own = made.scope->symbols.find(kConstructorName); own != made.scope->symbols.end())
    std::copy_if(own->second.begin(), own->second.end(), std::back_inserter(found),
                 [&](const Symbol* each) { return is_copy_constructor(*each); });
  return found;
}

bool Lowering::has_own_copies(const Type* type) {
  while (type->is_array()) type = type->inner;
  const Class* made = types_.class_of(type);
  if (made == nullptr) return false;
  if (const auto known = own_copies_.find(type); known != own_copies_.end()) return known->second;
  own_copies_[type] = false;
  const bool has = !copy_constructors(*made).empty() ||
                   (!made->in_words && !type->is_union &&
                    std::any_of(made->members.begin(), made->members.end(),
                                [&](const Member& member) { return has_own_copies(member.type); }));
  return own_copies_[type] = has;
}

const ir::Expression* Lowering::copied(const Value& from, Location at) {
  if (!from.is_place || from.type == nullptr || !(from.type->is_struct() || from.type->is_array()) ||
      body_.is_unevaluated || !has_own_copies(from.type))
    return read(from);
  const Value object = freeze(from.kept != nullptr || from.viewed != nullptr ? keep(from, "copied") : from);
  std::vector<const ir::Expression*> parts;
  const auto add = [&](const ir::Expression* part, size_t since) {
    settle_all(parts, since);
    count_part(at);
    parts.push_back(part);
  };
  if (object.type->is_array()) {
    for (uint32_t i = 0; i < object.type->count; ++i) {
      const size_t since = mark();
      add(copied(element(object, rvalue(build(at).constant_int(i)), at), at), since);
    }
    return build(at).construct(object.type, std::move(parts));
  }
  Class& made = *types_.class_of(object.type);
  OverloadSet set;
  set.name = kConstructorName;
  set.at = at;
  set.is_qualified = true;
  set.candidates = copy_constructors(made);
  if (!set.candidates.empty()) {
    for (const Symbol* each : set.candidates)
      if (each->declaration->is_deleted)
        throw Rejected{at, in_quotes(made.type) + " cannot be copied: its copy constructor is deleted"};
    return read(call(overloads_.choose(set, std::span(&object, 1)), std::nullopt, std::span(&object, 1), at));
  }
  if (made.has_bits) return read(object);
  for (const Member& member : made.members) {
    const size_t since = mark();
    if (member.field == Member::kNoField) {
      add(build(at).zero(member.type), since);
      continue;
    }
    add(has_own_copies(member.type) ? copied(member_place(object, member, at), at)
                                    : build(at).member(object.ir, member.field),
        since);
  }
  return composed(made, std::move(parts), at);
}

// ---- Assignment ----------------------------------------------------------------------------------------------------

bool Lowering::has_own_assignment(const Type* type) {
  while (type->is_array()) type = type->inner;
  const Class* made = types_.class_of(type);
  if (made == nullptr || made->in_words || type->is_union) return false;
  if (const auto known = own_assignments_.find(type); known != own_assignments_.end()) return known->second;
  own_assignments_[type] = false;
  bool has = std::any_of(made->members.begin(), made->members.end(),
                         [&](const Member& member) { return has_own_assignment(member.type); });
  if (const auto own = made->scope->symbols.find("operator="); own != made->scope->symbols.end())
    has = has || std::any_of(own->second.begin(), own->second.end(), [](const Symbol* each) {
            return each->kind == Symbol::Kind::Function && !each->declaration->is_defaulted;
          });
  return own_assignments_[type] = has;
}

// Both are places.
void Lowering::assign_object(const Value& to, const Value& from, Scope& scope, Location at) {
  if (!has_own_assignment(to.type)) return assign(to, read(from), at);
  if (to.type->is_array()) {
    for (uint32_t i = 0; i < to.type->count; ++i) {
      count_part(at);
      const Value index = rvalue(build(at).constant_int(i));
      assign_object(element(to, index, at), element(from, index, at), scope, at);
    }
    return;
  }
  Value operands[] = {to, from};
  if (overloaded("=", operands, scope, at)) return;
  const Class& made = *types_.class_of(to.type);
  for (const Member& member : made.members) {
    if (member.field == Member::kNoField) continue;
    assign_object(member_place(to, member, at), member_place(from, member, at), scope, at);
  }
}

}  // namespace kymo::shader
