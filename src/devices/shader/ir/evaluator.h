// The implementation of evaluate.h: executes expressions and statements with values instead of memory.
//
// If something is not constant, it throws NotConstant. Objects live as long as the evaluator, so a pointer to a local
// that is gone is an error only in the source, not here.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "shader/ir/evaluated.h"
#include "shader/ir/ir.h"

namespace kymo::shader::ir {

struct NotConstant {};

class Evaluator {
 public:
  static constexpr uint64_t kMaxSteps = 1'000'000;
  static constexpr int kMaxCalls = 256;
  static constexpr int kDeepest = 2500;  // for everything that nests: expressions, statements and calls

  Evaluator() = default;
  explicit Evaluator(uint64_t steps) : steps_(steps) {}
  uint64_t steps_left() const { return steps_; }

  Evaluated value(const Expression& expression);
  // The body of a function without parameters, whose last statement returns `result`.
  Evaluated run(const Block& statements, const Expression& result);

 private:
  enum class Flow : uint8_t { Next, Break, Continue, Return };
  struct Address {
    Evaluated* object = nullptr;
    std::vector<uint32_t> path;  // of parts; the last may be one past the end
    bool operator==(const Address&) const = default;
  };
  using Frame = std::unordered_map<const Variable*, Evaluated*>;
  class Nested;

  void step();

  // ---- Expressions
  Evaluated node(const Expression& e);
  std::vector<Evaluated> operands_of(const Expression& e);
  Evaluated operation(const Expression& e);
  Evaluated copy(const Evaluated& original);  // takes steps for all its parts
  Evaluated choice(const Expression& e);
  Evaluated call(const Expression& e);
  Evaluated compare_pointers(const Expression& e);
  bool truth(const Expression& e);
  uint64_t integer(const Expression& e);

  // ---- Places
  // The contents of a place; also sets `address`, if passed.
  Evaluated& place(const Expression& e, Address* address = nullptr);
  Evaluated& object(const Variable& variable);
  Evaluated& target(const Address& address);
  Evaluated pointer_to(Address address);
  const Address& address_of(const Evaluated& pointer) const;
  Evaluated pointer_add(const Expression& e);
  int64_t difference(const Evaluated& left, const Evaluated& right) const;
  void store(const Expression& to, Evaluated given);

  // ---- Statements
  Flow block(const Block& statements);
  Flow statement(const Statement& s);
  Flow loop(const Statement& s);
  Flow do_loop(const Statement& s);
  Flow switch_(const Statement& s);

  uint64_t steps_ = kMaxSteps;
  int calls_ = 0, depth_ = 0;
  Frame frame_;
  Evaluated returned_;
  std::deque<Evaluated> objects_;
  std::unordered_map<const Variable*, Evaluated*> program_;
  std::vector<Address> addresses_;
};

}  // namespace kymo::shader::ir
