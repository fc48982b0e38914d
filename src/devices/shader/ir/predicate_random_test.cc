// Kernels made at random (KYMO_RANDOM_COUNT of them), run thread by thread as Metal means them and again behind the
// pass: the same must come out, with all threads at every simdgroup operation and none doing what it would not have
// done.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "base/test_size.h"
#include "shader/ir/build.h"
#include "shader/ir/predicate.h"
#include "shader/ir/test_group_simulator.h"
#include "shader/ir/uniform.h"
#include "shader/ir/uses.h"
#include "shader/test_support/print_ir.h"
#include "shader/test_support/test_builder.h"
#include "shader/test_support/verify_ir.h"

namespace kymo::shader::ir {
namespace {

constexpr int32_t kInputs = 48;  // fewer than threads: who reads must have asked

class RandomKernel {
 public:
  RandomKernel(Module& module, uint32_t seed) : b_(module), random_(seed) {}

  Function& make() {
    const int callees = one_of(3);
    for (int i = 0; i < callees; ++i) callee();
    Function& kernel = b_.kernel("k");
    const Type* buffer = b_.types().pointer(integer(), Space::Device);
    out_ = &b_.binding(kernel, "out", BindingKind::Buffer, buffer);
    in_ = &b_.binding(kernel, "in", BindingKind::Buffer, buffer);
    known_ = {};
    const E thread = b_.binary(Operator::Add, b_.binary(Operator::Multiply, position(Intrinsic::SimdIndex), i(32)),
                               position(Intrinsic::SimdLane));
    thread_ = &declare(kernel.body, "thread", thread);
    returns_ = false;
    Block rest = block(4, false, false);
    kernel.body.insert(kernel.body.end(), rest.begin(), rest.end());
    return kernel;
  }

 private:
  using E = const Expression*;

  const Type* integer() { return b_.type(TypeKind::Int); }
  int one_of(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }
  E i(int64_t value) { return b_.constant_int(value); }
  E position(Intrinsic of) { return b_.convert(integer(), b_.intrinsic(of)); }
  E var(const Variable& variable) { return b_.variable(variable); }

  Variable& declare(Block& into, const char* name, E value) {
    Variable& made = b_.local(name, integer());
    into.push_back(b_.declare(made, value));
    known_.push_back(&made);
    return made;
  }

  void callee() {
    Function& made = b_.function("f", integer());
    known_ = {&b_.parameter(made, "x", integer()), &b_.parameter(made, "y", integer())};
    thread_ = nullptr;
    returns_ = true;
    made.body = block(2, false, false);
    made.body.push_back(b_.return_(value(2)));
    callees_.push_back(&made);
  }

  // Anything; `depth` is how large it may be.
  E value(int depth) {
    switch (one_of(depth > 0 ? (is_quiet_ ? 6 : 11) : 3)) {
      case 0:
        return i(one_of(7) - 1);
      case 1:
      case 2:
        if (!known_.empty()) return var(*known_[random_() % known_.size()]);
        return position(Intrinsic::SimdLane);
      case 3:
      case 4:
        return b_.binary(one_of(2) == 0 ? Operator::Add : Operator::Xor, value(depth - 1), value(depth - 1));
      case 5:
        return b_.binary(Operator::And, value(depth - 1), i(7));
      case 6:
        return b_.intrinsic(Intrinsic::SimdSum, {value(depth - 1)});
      case 7:
        return b_.convert(integer(), b_.intrinsic(Intrinsic::SimdBallot, {condition(depth - 1)}));
      case 8:
        return b_.intrinsic(Intrinsic::SimdShuffle,
                            {value(depth - 1), b_.convert(b_.type(TypeKind::UInt), value(depth - 1))});
      case 9:
        if (!callees_.empty())
          return b_.call(*callees_[random_() % callees_.size()], {value(depth - 1), value(depth - 1)});
        return position(Intrinsic::SimdIndex);
      default:
        return b_.conditional(condition(depth - 1), value(depth - 1), value(depth - 1));
    }
  }

  E condition(int depth) {
    if (one_of(4) == 0) return uniform_condition();
    switch (one_of(depth > 0 ? 6 : 3)) {
      case 0:
        return b_.binary(Operator::Less, position(Intrinsic::SimdLane), i(one_of(40)));
      case 1:
        return b_.binary(Operator::Equal, position(Intrinsic::SimdIndex), i(one_of(2)));
      case 2:
        return b_.binary(Operator::Less, value(0), value(0));
      case 3:
        return b_.binary(Operator::NotEqual, b_.binary(Operator::And, value(depth - 1), i(3)), i(1));
      case 4:
        return b_.logical_and(condition(depth - 1), condition(depth - 1));
      default:
        return b_.logical_or(condition(depth - 1), b_.logical_not(condition(depth - 1)));
    }
  }

  // The same for all threads.
  E uniform_condition() {
    const E group = b_.convert(integer(), b_.index(b_.intrinsic(Intrinsic::GroupIndex), 0));
    return b_.binary(one_of(2) == 0 ? Operator::Less : Operator::Equal, group, i(one_of(3)));
  }

  Block block(int depth, bool in_loop, bool in_breakable) {
    const size_t known = known_.size();
    const bool was_quiet = is_quiet_;
    is_quiet_ = is_quiet_ || one_of(4) == 0;
    Block made;
    const int count = 1 + one_of(4);
    for (int n = 0; n < count; ++n) statement(made, depth, in_loop, in_breakable);
    known_.resize(known);
    is_quiet_ = was_quiet;
    return made;
  }

  void statement(Block& made, int depth, bool in_loop, bool in_breakable) {
    switch (one_of(depth > 0 ? 15 : 7)) {
      case 0:
        declare(made, "v", value(2));
        return;
      case 6:
        if (is_quiet_) return change(made);
        made.push_back(b_.evaluate(b_.intrinsic(Intrinsic::GroupBarrier, {}, 2)));
        return;
      case 1:
      case 2:
        return change(made);
      case 3:
        return note(made, value(2));
      case 4:
        return read(made);
      case 5:
        return jump(made, in_loop, in_breakable);
      case 7:
      case 8:
      case 9:
        made.push_back(b_.if_(condition(2), block(depth - 1, in_loop, in_breakable),
                              one_of(2) == 0 ? Block{} : block(depth - 1, in_loop, in_breakable)));
        return;
      case 10:
      case 11:
      case 12:
        return loop(made, depth);
      case 13:
        return switch_(made, depth, in_loop);
      default:
        made.push_back(b_.block(block(depth - 1, in_loop, in_breakable)));
        return;
    }
  }

  void change(Block& made) {
    if (known_.size() < 2) return note(made, value(1));
    const Variable* some = known_[random_() % known_.size()];
    if (some == thread_ || fixed_.contains(some)) return note(made, var(*some));
    made.push_back(b_.assign(var(*some), value(2)));
  }

  // out[thread] = out[thread] * 31 + value: what came when is seen in it.
  void note(Block& made, E value) {
    if (thread_ == nullptr) {
      made.push_back(b_.evaluate(value));
      return;
    }
    const E place = b_.element(var(*out_), var(*thread_));
    made.push_back(b_.assign(place, b_.binary(Operator::Add, b_.binary(Operator::Multiply, place, i(31)), value)));
  }

  // In a branch where the place is good, an operand that must not be looked at elsewhere.
  void read(Block& made) {
    if (thread_ == nullptr || is_quiet_) return change(made);
    const E inside = b_.binary(Operator::Less, var(*thread_), i(kInputs));
    Block body;
    note(body, b_.intrinsic(Intrinsic::SimdSum, {b_.element(var(*in_), var(*thread_))}));
    made.push_back(b_.if_(inside, std::move(body)));
  }

  void jump(Block& made, bool in_loop, bool in_breakable) {
    Statement* leaving = nullptr;
    if (one_of(3) == 0) leaving = b_.return_(returns_ ? value(1) : nullptr);
    if (leaving == nullptr && in_loop && one_of(2) == 0) leaving = b_.continue_();
    if (leaving == nullptr && in_breakable) leaving = b_.break_();
    if (leaving == nullptr) return note(made, value(1));
    made.push_back(b_.if_(condition(2), {leaving}));
  }

  void loop(Block& made, int depth) {
    Variable& k = declare(made, "k", i(0));
    fixed_.insert(&k);
    Statement* step = b_.assign(var(k), b_.binary(Operator::Add, var(k), i(1)));
    const E last = one_of(2) == 0 ? i(3) : b_.binary(Operator::And, value(1), i(3));
    const size_t known = known_.size();
    if (one_of(3) == 0) {
      Block before = {step}, body = block(depth - 1, true, true);
      Variable& limit = declare(before, "limit", last);
      made.push_back(b_.do_loop(std::move(body), b_.binary(Operator::Less, var(k), var(limit)), std::move(before)));
    } else {
      Block before;
      Variable& limit = declare(before, "limit", last);
      const E condition = b_.binary(Operator::Less, var(k), var(limit));
      made.push_back(b_.loop(condition, block(depth - 1, true, true), {step}, std::move(before)));
    }
    known_.resize(known);
  }

  void switch_(Block& made, int depth, bool in_loop) {
    std::vector<Case> cases;
    const int count = 1 + one_of(4);
    const int fallback = one_of(6);
    for (int n = 0; n < count; ++n) {
      Case one{{int64_t{2} * n}, n == fallback, block(depth - 1, in_loop, true)};
      if (one_of(3) == 0) one.values.push_back(int64_t{2} * n + 1);
      if (one_of(2) == 0) one.body.push_back(b_.break_());
      cases.push_back(std::move(one));
    }
    made.push_back(b_.switch_(b_.binary(Operator::And, value(1), i(7)), std::move(cases)));
  }

  TestBuilder b_;
  std::mt19937 random_;
  std::vector<const Variable*> known_;
  std::unordered_set<const Variable*> fixed_;  // counters of loops
  std::vector<const Function*> callees_;
  const Variable *thread_ = nullptr, *out_ = nullptr, *in_ = nullptr;
  bool returns_ = false;
  bool is_quiet_ = false;  // no simdgroup operations here: what the pass may leave together
};

std::vector<int32_t> simulated(const Function& kernel, uint32_t threads, bool all_must_come, std::string& fault,
                               uint32_t& collectives) {
  std::vector<std::vector<int32_t>> buffers = {std::vector<int32_t>(threads), std::vector<int32_t>(kInputs)};
  for (int32_t i = 0; i < kInputs; ++i) buffers[1][static_cast<size_t>(i)] = i * 7 - 3;
  GroupSimulator simulator(threads, buffers, all_must_come);
  simulator.run(kernel);
  fault = simulator.fault();
  collectives += simulator.collectives();
  return buffers[0];
}

// Where the module has a simdgroup operation, a barrier or a vote that PoCL may execute wrongly: in a branch, or after
// a jump but the one that leaves a loop. Empty: nowhere.
class FlatCheck {
 public:
  explicit FlatCheck(const Module& module) {
    const Uses uses(module);
    for (const Function* function : module.functions)
      if (uses.of(*function).has_simd_collectives() || uses.of(*function).has_barriers()) together_.insert(function);
    for (const Function* function : module.functions) block(function->body, false);
  }
  const std::string& fault() const { return fault_; }

 private:
  void look_at(const Expression* expression, bool is_skipped) {
    for_each_expression(expression, [&](const Expression& e) {
      const bool is_vote = e.kind == ExpressionKind::Intrinsic && e.intrinsic == Intrinsic::GroupAny;
      if (is_skipped && (is_vote || is_together(e, together_))) fault_ = print(e);
    });
  }
  void block(const Block& statements, bool is_skipped) {
    for (const Statement* s : statements) {
      look_at(s->value, is_skipped);
      const bool is_branch = s->kind == StatementKind::If || s->kind == StatementKind::Switch;
      const bool is_exit = is_branch && s->otherwise.empty() && s->body.size() == 1 &&
                           s->body[0]->kind == StatementKind::Break && !has_jumped_;
      if (is_exit) {
        has_jumped_ = true;  // a loop has only one
        continue;
      }
      const bool is_loop = s->kind == StatementKind::Loop || s->kind == StatementKind::DoLoop;
      const bool had_jumped = has_jumped_;
      if (is_loop) has_jumped_ = s->value != nullptr;
      for (const Block* inner : {&s->before, &s->body, &s->otherwise, &s->step}) block(*inner, is_skipped || is_branch);
      for (const Case& one : s->cases) block(one.body, true);
      if (is_loop) has_jumped_ = had_jumped;
      is_skipped = is_skipped || leaves(*s);
    }
  }
  static bool leaves(const Statement& s) {
    bool found = s.kind == StatementKind::Return || s.kind == StatementKind::Break || s.kind == StatementKind::Continue;
    if (s.kind == StatementKind::Loop || s.kind == StatementKind::DoLoop || s.kind == StatementKind::Switch) {
      for_each_statement(Block{const_cast<Statement*>(&s)},
                         [&](const Statement& inner) { found |= inner.kind == StatementKind::Return; });
      return found;
    }
    for (const Block* inner : {&s.body, &s.otherwise})
      for (const Statement* one : *inner) found = found || leaves(*one);
    return found;
  }

  std::unordered_set<const Function*> together_;
  bool has_jumped_ = true;  // outside of loops
  std::string fault_;
};

void test_random_kernels(const CollectiveRules& rules) {
  uint32_t collectives = 0, endless = 0, in_branches = 0;
  const char* count = std::getenv("KYMO_RANDOM_COUNT");
  const auto kernels = static_cast<uint32_t>(count != nullptr     ? std::strtoul(count, nullptr, 10)
                                             : base::kIsSanitized ? 50
                                                                  : 150);
  for (uint32_t seed = 0; seed < kernels; ++seed) {
    Module module;
    const Function& kernel = RandomKernel(module, seed).make();
    ASSERT_EQ(verify(module), "") << seed;
    const uint32_t threads = seed % 3 == 0 ? 64 : 33 + seed % 31;
    const std::string before = print(module);
    std::string fault;
    const std::vector<int32_t> wanted = simulated(kernel, threads, false, fault, collectives);
    if (!fault.empty()) {
      ++endless;
      continue;
    }
    make_collectives_uniform(module, rules);
    ASSERT_EQ(verify(module), "") << seed << "\n" << before << print(module);
    // The analysis does not know that a flag is uniform until some threads change it: the simulator does.
    if (rules.may_be_in_branches) {
      ASSERT_TRUE(Uniformity(module).collectives_apart().empty()) << seed << "\n" << before << print(module);
      in_branches += FlatCheck(module).fault().empty() ? 0 : 1;
    } else {
      ASSERT_EQ(FlatCheck(module).fault(), "") << seed << "\n" << before << print(module);
    }
    uint32_t unused = 0;
    const std::vector<int32_t> found = simulated(kernel, threads, true, fault, unused);
    ASSERT_EQ(fault, "") << seed << "\n" << before << print(module);
    ASSERT_EQ(found, wanted) << seed << "\n" << before << print(module);
  }
  EXPECT_GT(collectives, kernels * 5);
  EXPECT_LE(endless, kernels / 10);
  // Few kernels need not have one: this shows that the check finds them.
  if (rules.may_be_in_branches && kernels >= 150) {
    EXPECT_GT(in_branches, 0u);
  }
}

TEST(PredicateRandomTest, ThePassKeepsTheResultsOfKernels) { test_random_kernels({}); }

TEST(PredicateRandomTest, ThePassKeepsTheResultsWithoutBarriersInBranches) {
  test_random_kernels({.may_be_in_branches = false, .may_leave_pointers_unset = false});
}

}  // namespace
}  // namespace kymo::shader::ir
