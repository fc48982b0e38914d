// The state of the half of Meaning that lowers bodies, and a few helpers that its files share.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "shader/sema/sema.h"

namespace kymo::shader {

struct Meaning::Work {
  // Written once, at the declaration: references, `this`, temporaries.
  std::unordered_set<const ir::Variable*> settled;
  std::unordered_set<const ir::Function*> with_effects;
  std::unordered_map<const ast::Declaration*, std::map<const Scope*, Value>> variables;  // lowered ones
  std::set<std::pair<const ast::Declaration*, const Scope*>> lowering;                   // being computed
  std::map<std::string, const ir::Variable*, std::less<>> texts;
  uint64_t parts = 0;           // of initializers
  uint64_t steps = 10'000'000;  // the total budget for evaluating constants
  uint32_t whole_depth = 0;     // of expressions, over all functions that are being lowered
};

class Meaning::Into {
 public:
  Into(Meaning& meaning, ir::Block& block) : meaning_(meaning), before_(meaning.body_.block) {
    meaning.body_.block = &block;
  }
  ~Into() { meaning_.body_.block = before_; }
  Into(const Into&) = delete;
  Into& operator=(const Into&) = delete;

 private:
  Meaning& meaning_;
  ir::Block* before_;
};

// The nesting depth: an expression within an expression, a call within a call.
class DepthGuard {
 public:
  DepthGuard(uint32_t& depth, uint32_t most, const Location& at, std::string_view what) : depth_(depth) {
    if (depth_ >= most) {
      throw Rejected{at, std::string(what) + " nests deeper than " + std::to_string(most) + " levels: split it"};
    }
    ++depth_;
  }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  uint32_t& depth_;
};

// Restores a value when it is destroyed, also after an exception.
template <typename T>
class Restore {
 public:
  explicit Restore(T& value) : value_(value), before_(value) {}
  ~Restore() { value_ = std::move(before_); }
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

 private:
  T& value_;
  T before_;
};

inline std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }
inline std::string in_quotes(const Type* type) { return in_quotes(TypeTable::name(type)); }

inline bool is_small_float(const Type* type) {
  return type->scalar()->is(TypeKind::Half) || type->scalar()->is(TypeKind::BFloat);
}

inline bool is_void(const Value& value) { return value.type != nullptr && value.type->is(TypeKind::Void); }

inline bool is_read_only(Space space) { return space == Space::Constant || space == Space::Program; }

}  // namespace kymo::shader
