// Finds the functions of the text: each function once for every combination of shapes of the static
// pointers that are passed to it, and the functions that each of them calls.
//
// Walks from the kernels through everything they call, and repeats while a walk finds new shapes. It starts again if it
// finds a variable that must be an array of words. Throws Rejected if a pointer has no shape.
//
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
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "shader/diagnostic.h"
#include "shader/emit/glsl_types.h"
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
Part part_of(Types& types, const Cell& cell, const Path& path);

// A set of kernels of a module, by their number.
class KernelSet {
 public:
  void add(uint32_t kernel);
  void add(const KernelSet& other);
  bool contains(uint32_t kernel) const {
    return kernel / 64 < bits_.size() && (bits_[kernel / 64] >> kernel % 64 & 1) != 0;
  }
  bool operator==(const KernelSet&) const = default;

 private:
  std::vector<uint64_t> bits_;
};

// A function for certain shapes.
struct Instance {
  const ir::Function* function = nullptr;
  Shapes arguments;  // of the static pointers in its parameters
  Shapes result;
  std::unordered_map<const ir::Variable*, Cell*> cells;        // of variables that contain static pointers
  std::unordered_map<const ir::Expression*, Instance*> calls;  // by the Call
  std::vector<Instance*> callees;                              // the same in order, some several times
  bool asks_grid = false;                                      // it reads the size of the grid, or of a full group
  KernelSet kernels;                                           // that call it, directly or not
  std::string name;
  uint32_t walk = 0;  // the last walk that visited it
};

class Resolver {
 public:
  Resolver(const ir::Module& module, Types& types) : module_(module), types_(types) {}
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Everything that the kernels call, including themselves, callees before callers.
  const std::vector<Instance*>& run();

  Cell& cell(Instance& instance, const ir::Variable& variable);
  // For a static pointer in a function that was visited.
  Shape shape(Instance& instance, const ir::Expression& pointer);
  // The memory that a kernel's pointer to threadgroup memory points to.
  Cell& memory(const ir::Variable& variable);
  std::deque<Cell>& cells() { return cells_; }

 private:
  // Counts the depth of the walk: in expressions, statements and calls.
  class Depth {
   public:
    Depth(Resolver& resolver, const Location& at);
    ~Depth() { --depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

   private:
    uint32_t& depth_;
  };

  bool walk(const std::vector<ir::Function*>& kernels);  // returns whether variables were found to be reinterpreted
  void put_into_words(const Reinterpreted& found);
  void set_words(Instance& instance, Cell& cell);
  void forget();
  static void check_depth(uint32_t depth, const Location& at);
  void resolve(Instance& instance);
  void seed(Instance& instance);
  void collect(Instance& instance, uint32_t kernel);
  Instance& instance_for(const ir::Function& function, Shapes arguments, const Location& at);

  void block(const ir::Block& block);
  void statement(const ir::Statement& statement);
  void declare(const ir::Statement& statement);
  void assign(const ir::Statement& statement);

  void visit(const ir::Expression& expression);
  Shapes value(const ir::Expression& expression);   // of the static pointers in it
  Shape pointer(const ir::Expression& expression);  // of a static pointer
  Shape converted(const ir::Expression& cast);
  Shapes construct(const ir::Expression& expression);
  Spot place(const ir::Expression& expression);
  Spot dereference(const ir::Expression& expression);
  Instance& call(const ir::Expression& expression);
  Shapes read(const Spot& spot, const Type* type);
  void write(const Spot& spot, const Shapes& shapes, const Location& at);
  Cell& own(const ir::Variable& variable) { return cell(*current_, variable); }

  const ir::Module& module_;
  Types& types_;
  std::deque<Cell> cells_;
  std::unordered_map<const ir::Variable*, Cell*> plain_, memories_;  // cells that all instances share
  // Variables that are arrays of words, with all variables in the same array, in order.
  using Together = std::shared_ptr<std::vector<const ir::Variable*>>;
  std::unordered_map<const ir::Variable*, Together> reinterpreted_;
  std::deque<Instance> instances_;
  std::unordered_map<const ir::Function*, std::vector<Instance*>> by_function_;
  std::vector<Instance*> order_;
  Instance* current_ = nullptr;
  uint32_t walk_ = 0, depth_ = 0;
  bool is_changed_ = false;
};

// A pointer without the casts that only change it to a pointer to constants, or to variables.
const ir::Expression& without_casts(const ir::Expression& pointer);

// A place behind a pointer that was created in the same expression, so that no pointer is needed: *&x is x, *(a + i) is
// a[i]. Null: another pointer.
struct Direct {
  const ir::Expression* place = nullptr;
  bool is_element = false;                // of `place`, an array
  const ir::Expression* index = nullptr;  // null: the first element
};
Direct direct_place(const ir::Expression& dereference);

}  // namespace kymo::shader::glsl
