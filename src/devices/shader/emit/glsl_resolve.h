// Finds the functions of the text: each function once for every combination of shapes (glsl_shape.h) of the static
// pointers that are passed to it, and the functions that each of them calls.
//
// Walks from the kernels through everything they call, and repeats while a walk finds new shapes. It starts again if it
// finds a variable that must be an array of words. Throws Rejected if a pointer has no shape.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "shader/emit/glsl_shape.h"
#include "shader/emit/glsl_types.h"
#include "shader/ir/ir.h"

namespace kymo::shader::glsl {

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
