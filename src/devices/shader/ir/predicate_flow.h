// The implementation of predicate.h, for one function at a time.
//
// While all threads take the same way, statements stay unchanged. Where they may diverge, a region begins: all threads
// execute everything in it, and each region has a bool variable that says whether a thread is in it. Statements without
// simdgroup operations and barriers are collected and put under `if (active)`. Leaving a region (break, continue,
// return) sets the variables of all left regions to false.
//
// If these may not be in branches, every branch around one, and every jump over one, is treated as if threads diverged
// there. Only a loop that all threads execute equally often needs no vote. In it, they are all active until the first
// jump.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "shader/ir/build.h"
#include "shader/ir/ir.h"
#include "shader/ir/predicate.h"
#include "shader/ir/uniform.h"

namespace kymo::shader::ir {

class Predicator {
 public:
  using Functions = std::unordered_set<const Function*>;
  using Variants = std::unordered_map<const Function*, const Function*>;

  struct Collectives {
    const Functions& together;                                    // functions with simdgroup operations or barriers
    const Functions& simd;                                        // those of them with simdgroup operations
    const Functions& barriers;                                    // those of them with barriers
    const Functions& called_apart;                                // that not all threads of a group call together
    const std::unordered_set<const Expression*>& barriers_apart;  // that not all threads reach
  };
  // `guess` is for barriers, see make_collectives_uniform().
  struct Knowledge {
    const Uniformity &certain, &guess;
  };

  // `variants`: for functions that were already rewritten, the variants with the parameter `active`.
  Predicator(Module& module, const CollectiveRules& rules, const Knowledge& uniform, const Collectives& collectives,
             const Variants& variants)
      : b_(module), rules_(rules), uniform_(uniform), collectives_(collectives), variants_(variants) {}

  // A function that all threads of a group call together.
  void rewrite(Function& function);
  // A copy of a function that gets a parameter that says whether the thread is active in the call.
  void rewrite_variant(Function& variant, const Function& original);

 private:
  enum class RegionKind : uint8_t { Function, If, Loop, Turn, Switch };
  struct Region {
    RegionKind kind = RegionKind::If;
    const Variable* active = nullptr;
  };
  static constexpr uint8_t kBreaks = 1, kContinues = 2, kReturns = 4;
  struct Facts {
    bool has_together = false;  // simdgroup operations or barriers
    bool for_all = false;  // of these: what all threads must reach, simdgroup operations and barriers that some miss
    bool has_simd = false, has_barrier = false;
    uint8_t jumps = 0;  // that leave the statement
    void add(const Facts& more);
  };
  // The position of a jump's replacement within the unchanged statements.
  struct Inside {
    bool is_last = true;  // nothing follows it in the collected statements
    bool loop = false;    // a loop is around it: its own continue
    bool breakable = false;
  };

  Facts learn(const Block& statements);
  Facts learn(const Statement& s);
  bool diverges(const Statement& s) const;
  bool is_cut(const Statement& s) const;  // where all threads are active
  uint8_t jumps_of(const Block& statements) const;

  // ---- While all threads take the same way
  void keep(Block& statements);
  void keep(Statement& s, Block& out);
  void keep_round(Block& body);  // of a loop

  // ---- Regions
  void begin_function(Function& function, const Variable& active, Block& out);
  void end_function(const Function& function, Block& out);
  void enter(const Block& statements, Block& out, bool used_outside = false);
  Block entered(const Block& statements, bool by_all = false);  // by_all: all threads are active at its beginning
  void cut(Statement& s, Block& gathered, Block& out);
  void cut_collective(Statement& s, Block& gathered, Block& out);
  void cut_if(Statement& s, Block& out);
  void cut_loop(Statement& s, Block& out);
  void cut_whole_loop(Statement& s, Block& out);
  void cut_switch(Statement& s, Block& out);
  void put(Block made, Block& out);  // as its own block, if necessary
  void end_round(Block& out);        // of a loop
  void flush(Block& gathered, Block& out);
  const Expression* active();
  const Expression* if_active(const Expression* condition);  // and active
  const Variable& flag(const char* name, const Expression* value, Block& out);
  std::unordered_set<const Variable*> shared_variables(const Block& statements) const;
  void declare_outside(const Variable& variable, Block& out);

  // ---- Operands that only active threads may evaluate
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
  const CollectiveRules rules_;
  const Knowledge uniform_;
  const Collectives collectives_;
  const Variants& variants_;

  std::vector<Region> regions_;
  std::unordered_map<const Statement*, Facts> facts_;
  std::unordered_map<const Statement*, const Statement*> originals_;  // of a variant's statements
  bool is_called_apart_ = false;
  const Variable* result_ = nullptr;
  const Statement* last_ = nullptr;  // of the function: after it `active` is not needed
  bool needs_wrapper_ = false;       // replace_jumps() created a break that needs a loop
};

}  // namespace kymo::shader::ir
