// The rewriting behind predicate.h, of one function at a time.
//
// Where all threads go together, statements stay. From where they may part, a region begins: everything in it is walked
// by all, and each region has a bool variable that says whether a thread is in it. What has no part in simdgroup
// operations is gathered and put under `if (active)`; leaving a region (break, continue, return) sets the variables of
// all that is left to false.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "shader/ir/build.h"
#include "shader/ir/ir.h"
#include "shader/ir/uniform.h"

namespace kymo::shader::ir {

class Predicator {
 public:
  using Functions = std::unordered_set<const Function*>;
  using Variants = std::unordered_map<const Function*, const Function*>;

  // `together`: functions with simdgroup operations or barriers. `simd`: those of them with simdgroup operations.
  // `variants`: of functions that were rewritten already, those with the parameter `active`.
  Predicator(Module& module, const Uniformity& uniformity, const Functions& together, const Functions& simd,
             const Variants& variants)
      : b_(module), uniformity_(uniformity), together_(together), simd_(simd), variants_(variants) {}

  // A function that all threads of a group call together.
  void rewrite(Function& function);
  // A function that gets a parameter for whether the thread really calls it.
  void rewrite_variant(Function& function);

 private:
  enum class RegionKind : uint8_t { Function, If, Loop, Turn, Switch };
  struct Region {
    RegionKind kind = RegionKind::If;
    const Variable* active = nullptr;
  };
  static constexpr uint8_t kBreaks = 1, kContinues = 2, kReturns = 4;
  struct Facts {
    bool has_together = false;  // simdgroup operations or barriers
    bool has_simd = false;
    uint8_t jumps = 0;  // that leave the statement
  };
  // Where a jump's replacement stands, among what is left as it is.
  struct Inside {
    bool is_last = true;  // nothing comes behind it in what was gathered
    bool loop = false;    // a loop is around it: its own continue
    bool breakable = false;
  };

  Facts learn(const Block& statements);
  Facts learn(const Statement& s);

  // ---- Where all go together
  void keep(Block& statements);
  void keep(Statement& s, Block& out);

  // ---- Regions
  void begin_function(Function& function, const Variable& active, Block& out);
  void end_function(const Function& function, Block& out);
  void enter(const Block& statements, Block& out, bool used_outside = false);
  Block entered(const Block& statements);
  void cut(Statement& s, Block& gathered, Block& out);
  void cut_collective(Statement& s, Block& gathered, Block& out);
  void cut_if(Statement& s, Block& out);
  void cut_loop(Statement& s, Block& out);
  void cut_switch(Statement& s, Block& out);
  void put(Block made, Block& out);  // as a block of its own, where it needs to be one
  void flush(Block& gathered, Block& out);
  const Expression* active();
  const Expression* if_active(const Expression* condition);  // and active
  const Variable& flag(const char* name, const Expression* value, Block& out);
  std::unordered_set<const Variable*> shared_variables(const Block& statements) const;
  void declare_outside(const Variable& variable, Block& out);

  // ---- Operands that only active threads may work out
  bool is_harmless(const Expression& e) const;
  bool is_harmless_address(const Expression& place) const;
  const Expression* guarded(const Expression* e, Block& gathered, Block& out);
  const Expression* guarded_address(const Expression* e, Block& gathered, Block& out);

  // ---- Jumps
  void leave(const Statement& jump, Block& out);
  void replace_jumps(Block& statements, Inside inside);
  bool is_own_jump(StatementKind kind, const Inside& inside) const;
  bool leaves(const Statement& s, const Inside& inside) const;

  Builder b_;
  const Uniformity& uniformity_;
  const Functions &together_, &simd_;
  const Variants& variants_;

  std::vector<Region> regions_;
  std::unordered_map<const Statement*, Facts> facts_;
  const Variable* result_ = nullptr;
  const Statement* last_ = nullptr;  // of the function: behind it nobody asks who is active
  bool needs_wrapper_ = false;       // replace_jumps() made a break that needs a loop
};

}  // namespace kymo::shader::ir
