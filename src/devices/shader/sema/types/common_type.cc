// The usual arithmetic conversions.

#include "base/text.h"
#include "shader/sema/types/types.h"

namespace kymo::shader {

const Type* Types::common_type(const Type* a, const Type* b, Location at) {
  if (a->is_enum()) a = a->underlying;
  if (b->is_enum()) b = b->underlying;
  if (!a->is_number() || !b->is_number())
    throw Rejected{at, base::format("{} and {} are not both numbers", in_quotes(a), in_quotes(b))};
  if (a->is_vector() && b->is_vector()) {
    if (a->count != b->count)
      throw Rejected{at, base::format("{} and {} differ in their number of components", in_quotes(a), in_quotes(b))};
    if (a->inner != b->inner)
      throw Rejected{at, base::format("{} and {} are not converted to each other: write {}(...) around one of them",
                                      in_quotes(a), in_quotes(b), TypeTable::name(table_.vector(a->inner, a->count)))};
    return table_.vector(a->inner, a->count);
  }
  if (a->is_vector()) return table_.vector(a->inner, a->count);
  if (b->is_vector()) return table_.vector(b->inner, b->count);
  if (a->is_floating() || b->is_floating()) {
    if (a == b || !b->is_floating()) return a;
    if (!a->is_floating()) return b;
    return table_.get(TypeKind::Float);  // half and bfloat, or either and float
  }
  const Type* integer = table_.get(TypeKind::Int);
  if (a->size < 4) a = integer;
  if (b->size < 4) b = integer;
  if (a->size != b->size) return a->size > b->size ? a : b;
  return a->is_signed() ? b : a;
}

}  // namespace kymo::shader
