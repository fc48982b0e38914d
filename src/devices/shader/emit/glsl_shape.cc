#include "shader/emit/glsl_shape.h"

#include "base/text.h"
#include "shader/emit/glsl_types.h"

namespace kymo::shader::glsl {
namespace {

std::string_view glsl_cell_name(const Cell& cell) {
  return cell.variable != nullptr && !cell.variable->name.empty() ? std::string_view(cell.variable->name)
                                                                  : "a temporary";
}

// Constants are written as values of their types.
bool glsl_may_be_words(const Cell& cell) { return cell.variable->space != Space::Program && cell.shapes.empty(); }

// Nothing can follow memory whose length the caller sets.
bool glsl_may_be_together(const Cell& a, const Cell& b) {
  const auto is_shared = [](const Cell& cell) { return cell.variable->space == Space::Threadgroup; };
  return glsl_may_be_words(a) && glsl_may_be_words(b) && !a.is_memory && !b.is_memory && is_shared(a) == is_shared(b);
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
    if (glsl_may_be_together(*into.root, *from.root)) throw Reinterpreted{into.root->variable, from.root->variable};
    const auto has_pointers = [](const Cell& cell) {
      return !glsl_may_be_words(cell) && cell.variable->space == Space::Thread;
    };
    if (has_pointers(*into.root) && has_pointers(*from.root))
      throw Rejected{at,
                     base::format("a pointer that may point to two different variables, \"{}\" and \"{}\", is not "
                                  "supported on Vulkan if these contain pointers: use an array, and indices instead "
                                  "of pointers",
                                  glsl_cell_name(*into.root), glsl_cell_name(*from.root))};
    throw Rejected{at, base::format("a pointer that may point to two different variables, \"{}\" and \"{}\", is not "
                                    "supported on Vulkan if they are constants, or memory that the caller gives: copy "
                                    "them to variables",
                                    glsl_cell_name(*into.root), glsl_cell_name(*from.root))};
  } else if (from.root != nullptr && into.path != from.path) {
    if (glsl_may_be_words(*into.root)) throw Reinterpreted{into.root->variable};
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
