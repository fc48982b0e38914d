// Pointers to variables, which GLSL does not have: what is known of them when the text is written.
//
// Such a pointer is to a part of one variable, its root, and which part is known but for the indices of arrays. What is
// left at run time is one int for each of these. So a root is a global of the text, a pointer variable is an int (a row
// of ints where arrays lie in structures in arrays), often nothing at all, and a function that takes such pointers is
// written once for each shape that is passed to it.
//
//   thread Pair& p = pairs[i];    shape: `pairs`, an element; left: i
//   thread float* x = &p.x;       shape: `pairs`, an element, the field x; left: i
//   *x = 1;                       pairs[i].x = 1.0;
//
// Arrays in arrays count as one long array, as pointers into them may walk from one row into the next.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shader/diagnostic.h"
#include "shader/ir/ir.h"

namespace kymo::shader::glsl {

struct Cell;

// From a whole to a part of it.
struct Step {
  bool is_element = false;
  uint32_t field = 0;  // of a structure
  uint32_t count = 0;  // of the array's elements
  bool operator==(const Step&) const = default;
};
using Path = std::vector<Step>;

struct Shape {
  Cell* root = nullptr;  // null: it is null, or nothing was ever assigned to it
  Path path;
  // It is an int even where no index is left, because it may be null or may change: kymo_null, or anything else.
  bool is_kept = false;

  uint32_t indices() const;  // runs of element steps
  uint32_t ints() const { return indices() == 0 && is_kept ? 1 : indices(); }
  bool operator==(const Shape&) const = default;
};
using Shapes = std::vector<Shape>;

// A variable, as the text has it.
struct Cell {
  const ir::Variable* variable = nullptr;
  const Type* type = nullptr;
  bool is_memory = false;  // a row of `type`, as many as the caller says
  bool is_rooted = false;  // pointers are to it: a global
  bool was_read = false;   // its shapes were used
  Shapes shapes;           // of the static pointers in it
  std::string name;
  // The address of a kernel's value that stays where it is; empty: it is here.
  std::string address;
};

// A place: a part of a cell. No cell: in a buffer, no place at all, or nowhere that is known.
struct Spot {
  Cell* cell = nullptr;
  Path path;
};

// One shape for both, into the first; whether that changed. Throws Rejected where there is none.
bool join(Shape& into, const Shape& from, const Location& at);

// A part of a cell: its type, and where its shapes begin among those of the cell.
struct Part {
  const Type* type = nullptr;
  uint32_t first = 0;
};
class Types;
Part part_of(Types& types, const Cell& cell, const Path& path);

}  // namespace kymo::shader::glsl
