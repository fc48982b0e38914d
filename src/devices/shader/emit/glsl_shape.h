// Pointers to variables, which GLSL does not have: what is known about them when the text is written.
//
// Such a pointer points to a part of one variable, its root. The part is known except for array indices, so at run time
// it needs one int for each of them. A root is a global of the text. A pointer variable is an int (an array of ints if
// arrays are in structures in arrays), and often not needed at all. A function that takes such pointers is written once
// for each shape that is passed to it.
//
//   thread Pair& p = pairs[i];    shape: `pairs`, an element; at run time: i
//   thread float* x = &p.x;       shape: `pairs`, an element, the field x; at run time: i
//   *x = 1;                       pairs[i].x = 1.0;
//
// Arrays in arrays count as one long array, because pointers into them may move from one row to the next.
//
// A variable that is reinterpreted (pointers to it are converted to pointers to types of another size, as in
// `(threadgroup half*)bytes`) is an array of 32-bit words. A pointer to any part of it is an int, its offset in bytes.
// So is a variable if one pointer may point to different members of it. Variables to which one pointer may point are in
// one array of words, one after the other, and this array is the root.
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
// Of every pointer to a variable that is reinterpreted, and to memory whose length the caller sets.
Path path_of_bytes();

struct Shape {
  Cell* root = nullptr;  // null: the pointer is null, or was never assigned
  Path path;
  // It is an int even if no index is left, because it may be null or may change: kymo_null, or any other value.
  bool is_kept = false;

  uint32_t indices() const;  // runs of element steps
  uint32_t ints() const { return indices() == 0 && is_kept ? 1 : indices(); }
  bool operator==(const Shape&) const = default;
};
using Shapes = std::vector<Shape>;

// A variable in the text.
struct Cell {
  const ir::Variable* variable = nullptr;
  const Type* type = nullptr;
  bool is_memory = false;  // an array of `type`, whose length the caller sets
  bool is_rooted = false;  // pointers point to it: a global
  bool was_read = false;   // its shapes were used
  bool is_words = false;   // it is an array of words
  Cell* home = nullptr;    // of words: the cell with the array in which it is, from `offset` on; null: its own
  uint64_t offset = 0;
  uint64_t bytes = 0;  // of words: of the array
  Shapes shapes;       // of the static pointers in it
  std::string name;
  // The address of a kernel's value that is not copied; empty: it is here.
  std::string address;

  Cell& storage() { return home == nullptr ? *this : *home; }
  const Cell& storage() const { return home == nullptr ? *this : *home; }
};

// Thrown if a variable must be an array of words; `other`: one that must be in the same array, or null.
struct Reinterpreted {
  const ir::Variable* variable = nullptr;
  const ir::Variable* other = nullptr;
};

// A place: a part of a cell. No cell: it is in a buffer, is not a place, or is unknown.
struct Spot {
  Cell* cell = nullptr;
  Path path;
};

// Merges both shapes into the first; returns whether it changed. Throws Reinterpreted if there is no common shape, and
// Rejected if there can be none.
bool join(Shape& into, const Shape& from, const Location& at);

// A part of a cell: its type, and the index of its first shape among those of the cell.
struct Part {
  const Type* type = nullptr;
  uint32_t first = 0;
};
class Types;
Part part_of(Types& types, const Cell& cell, const Path& path);

}  // namespace kymo::shader::glsl
