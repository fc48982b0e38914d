// Pointers and references, and `constant` memory that is not a buffer.

#include "shader/sema/types/types.h"

namespace kymo::shader {

// Constant memory is const, also without the word.
const Type* Types::pointer_to(const QualifiedType& to) {
  const Space space = to.space.value_or(Space::Thread);
  return table_.pointer(to.type, space, to.is_const || is_read_only(space));
}

const Type* Types::reference_to(const QualifiedType& to) {
  const Space space = to.space.value_or(Space::Thread);
  return table_.reference(to.type, space, to.is_const || is_read_only(space));
}

QualifiedType Types::adapt(const QualifiedType& to, const Value& from) {
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
  adapted.type = to.type->is_pointer() ? table_.pointer(to.type->inner, actual, to.type->is_const)
                                       : table_.reference(to.type->inner, actual, to.type->is_const);
  return adapted;
}

}  // namespace kymo::shader
