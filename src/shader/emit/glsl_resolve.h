// Which functions the text will have: each once for every combination of shapes (glsl_shape.h) that static pointers are
// passed to it with, and what each of them calls.
//
// Walks from the kernels through all they call, over again while a walk finds shapes that an earlier one did not know.
// Throws Rejected for what has no shape.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "shader/emit/glsl_shape.h"
#include "shader/emit/glsl_types.h"
#include "shader/ir/ir.h"

namespace kymo::shader::glsl {

// Of the kernels of a module, by their number.
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
  std::unordered_map<const ir::Variable*, Cell*> cells;        // of variables with static pointers in them
  std::unordered_map<const ir::Expression*, Instance*> calls;  // by the Call
  std::vector<Instance*> callees;                              // the same in their order, some several times
  bool asks_grid = false;                                      // for the size of the grid, or of a full group
  KernelSet kernels;                                           // that reach it
  std::string name;
  uint32_t walk = 0;  // the last one that came here
};

class Resolver {
 public:
  Resolver(const ir::Module& module, Types& types) : module_(module), types_(types) {}
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // All that the kernels reach, with themselves, callees before callers.
  const std::vector<Instance*>& run();

  Cell& cell(Instance& instance, const ir::Variable& variable);
  // Of a static pointer in a function that was walked through.
  Shape shape(Instance& instance, const ir::Expression& pointer);
  // What a kernel's pointer to threadgroup memory is to.
  Cell& memory(const ir::Variable& variable);
  std::deque<Cell>& cells() { return cells_; }

 private:
  // Counts how deep the walk is: in expressions, statements and calls.
  class Depth {
   public:
    Depth(Resolver& resolver, const Location& at);
    ~Depth() { --depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

   private:
    uint32_t& depth_;
  };

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
  Shape pointer(const ir::Expression& expression);  // of one that is a static pointer
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
  std::deque<Instance> instances_;
  std::unordered_map<const ir::Function*, std::vector<Instance*>> by_function_;
  std::vector<Instance*> order_;
  Instance* current_ = nullptr;
  uint32_t walk_ = 0, depth_ = 0;
  bool is_changed_ = false;
};

// A pointer without what only makes it a pointer to constants, or to variables.
const ir::Expression& without_casts(const ir::Expression& pointer);

// A place behind a pointer that was taken of it in the same breath, which then need not be a pointer: *&x is x, *(a +
// i) is a[i]. Null: another pointer.
struct Direct {
  const ir::Expression* place = nullptr;
  bool is_element = false;                // of `place`, an array
  const ir::Expression* index = nullptr;  // null: the first
};
Direct direct_place(const ir::Expression& dereference);

}  // namespace kymo::shader::glsl
