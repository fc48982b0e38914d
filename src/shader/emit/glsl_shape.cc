#include "shader/emit/glsl_shape.h"

#include "base/text.h"
#include "shader/emit/glsl_types.h"

namespace kymo::shader::glsl {
namespace {

std::string_view glsl_cell_name(const Cell& cell) {
  return cell.variable != nullptr && !cell.variable->name.empty() ? std::string_view(cell.variable->name)
                                                                  : "a temporary";
}

}  // namespace

Path path_of_bytes() { return {{true, 0, 0}}; }

uint32_t Shape::indices() const {
  uint32_t runs = 0;
  for (size_t i = 0; i < path.size(); ++i) runs += path[i].is_element && (i == 0 || !path[i - 1].is_element);
  return runs;
}

bool join(Shape& into, const Shape& from, const Location& at) {
  const bool kept = into.is_kept || from.is_kept;
  bool changed = kept != into.is_kept;
  if (into.root == nullptr && from.root != nullptr) {
    into = from;
    changed = true;
  } else if (from.root != nullptr && into.root != from.root) {
    throw Rejected{at, base::format("a pointer that may point to two different variables, \"{}\" and \"{}\", is not "
                                    "supported on Vulkan",
                                    glsl_cell_name(*into.root), glsl_cell_name(*from.root))};
  } else if (from.root != nullptr && into.path != from.path) {
    throw Rejected{
        at, base::format("a pointer that may point to two different members of \"{}\" is not supported on Vulkan",
                         glsl_cell_name(*into.root))};
  }
  into.is_kept = kept;
  return changed;
}

Part part_of(Types& types, const Cell& cell, const Path& path) {
  Part part{cell.type, 0};
  if (cell.is_words) return part;  // no static pointers are in it
  for (size_t i = 0; i < path.size(); ++i) {
    const Step& step = path[i];
    if (step.is_element) {
      if (i != 0 || !cell.is_memory) part.type = part.type->inner;
    } else {
      part.first += types.static_pointers_before(part.type, step.field);
      part.type = part.type->fields[step.field].type;
    }
  }
  return part;
}

}  // namespace kymo::shader::glsl
