#include <utility>

#include "shader/ir/scalar.h"
#include "shader/ir/test_group_simulator.h"
#include "shader/ir/uses.h"
#include "shader/test_support/print_ir.h"

namespace kymo::shader::ir {
namespace {

constexpr uint64_t kGarbage = 0x5a5a;  // of variables without a value, and of what inactive threads get
constexpr uint32_t kBufferShift = 32;  // a pointer is a buffer's number and a place in it
constexpr uint32_t kMaxSimulatedSteps = 200'000;

}  // namespace

GroupSimulator::GroupSimulator(uint32_t threads, std::vector<std::vector<int32_t>>& buffers, bool all_must_come)
    : threads_(threads),
      all_(threads == 64 ? ~Mask{0} : (Mask{1} << threads) - 1),
      buffers_(buffers),
      all_must_come_(all_must_come) {}

void GroupSimulator::fail(const std::string& text) {
  if (fault_.empty()) fault_ = text;
}

void GroupSimulator::run(const Function& kernel) {
  for (size_t i = 0; i < kernel.parameters.size(); ++i)
    frame_.variables[kernel.parameters[i]].fill(static_cast<uint64_t>(i) << kBufferShift);
  block(kernel.body, all_);
}

int32_t* GroupSimulator::element(uint64_t pointer) {
  std::vector<int32_t>& buffer = buffers_[pointer >> kBufferShift];
  const auto place = static_cast<uint32_t>(pointer);
  if (place >= buffer.size()) {
    fail("a thread goes outside of a buffer");
    return nullptr;
  }
  return &buffer[place];
}

// ---- Statements

GroupSimulator::Mask GroupSimulator::block(const Block& statements, Mask mask) {
  for (const Statement* s : statements) {
    if (mask == 0 || !fault_.empty()) return 0;
    mask = statement(*s, mask);
  }
  return mask;
}

GroupSimulator::Mask GroupSimulator::statement(const Statement& s, Mask mask) {
  if (++steps_ > kMaxSimulatedSteps) fail("it does not end");
  switch (s.kind) {
    case StatementKind::Declare: {
      const bool is_new = !frame_.variables.contains(s.variable);
      if (is_new) frame_.variables[s.variable].fill(kGarbage);
      const Lanes given = s.value != nullptr ? value(*s.value, mask) : Lanes{};
      for (uint32_t i = 0; i < threads_; ++i)
        if ((mask >> i & 1) != 0) frame_.variables[s.variable][i] = s.value != nullptr ? given[i] : kGarbage;
      return mask;
    }
    case StatementKind::Assign:
      assign(*s.place, value(*s.value, mask), mask);
      return mask;
    case StatementKind::Evaluate:
      value(*s.value, mask);
      return mask;
    case StatementKind::Block:
      return block(s.body, mask);
    case StatementKind::If: {
      const Mask yes = truth(*s.value, mask);
      const Mask left = block(s.body, yes);
      return left | block(s.otherwise, mask & ~yes);
    }
    case StatementKind::Loop:
    case StatementKind::DoLoop:
      return loop(s, mask);
    case StatementKind::Switch:
      return switch_(s, mask);
    case StatementKind::Break:
      broken_ |= mask;
      return 0;
    case StatementKind::Continue:
      continued_ |= mask;
      return 0;
    case StatementKind::Return: {
      if (s.value == nullptr) return 0;
      const Lanes given = value(*s.value, mask);
      for (uint32_t i = 0; i < threads_; ++i)
        if ((mask >> i & 1) != 0) frame_.returned[i] = given[i];
      return 0;
    }
  }
  return mask;
}

GroupSimulator::Mask GroupSimulator::loop(const Statement& s, Mask mask) {
  const Mask broken = std::exchange(broken_, 0), continued = std::exchange(continued_, 0);
  const bool asks_first = s.kind == StatementKind::Loop;
  Mask in = mask, done = 0;
  while (in != 0 && fault_.empty()) {
    const auto ask = [&] {
      in = block(s.before, in);
      const Mask yes = s.value != nullptr ? truth(*s.value, in) : in;
      done |= in & ~yes;
      in = yes;
    };
    if (asks_first) ask();
    broken_ = continued_ = 0;
    in = block(s.body, in) | continued_;
    done |= broken_;
    in = block(s.step, in);
    if (!asks_first) ask();
    if (++steps_ > kMaxSimulatedSteps) fail("it does not end");
  }
  broken_ = broken;
  continued_ = continued;
  return done;
}

GroupSimulator::Mask GroupSimulator::switch_(const Statement& s, Mask mask) {
  const Mask broken = std::exchange(broken_, 0);
  const Lanes chosen = value(*s.value, mask);
  Mask unmatched = mask, in = 0;
  std::vector<Mask> begins(s.cases.size(), 0);
  for (size_t c = 0; c < s.cases.size(); ++c) {
    for (const int64_t label : s.cases[c].values)
      for (uint32_t i = 0; i < threads_; ++i)
        if ((mask >> i & 1) != 0 && chosen[i] == static_cast<uint64_t>(label)) begins[c] |= Mask{1} << i;
    unmatched &= ~begins[c];
  }
  for (size_t c = 0; c < s.cases.size(); ++c) {
    const bool is_default = s.cases[c].is_default || s.cases[c].values.empty();
    if (is_default) begins[c] |= std::exchange(unmatched, 0);
    in = block(s.cases[c].body, in | begins[c]);
  }
  return std::exchange(broken_, broken) | in | unmatched;
}

void GroupSimulator::assign(const Expression& place, const Lanes& given, Mask mask) {
  if (place.kind == ExpressionKind::Variable) {
    Lanes& lanes = frame_.variables[place.variable];
    for (uint32_t i = 0; i < threads_; ++i)
      if ((mask >> i & 1) != 0) lanes[i] = given[i];
    return;
  }
  const Lanes pointers = value(*place.operands[0], mask);
  for (uint32_t i = 0; i < threads_; ++i)
    if ((mask >> i & 1) != 0)
      if (int32_t* to = element(pointers[i])) *to = static_cast<int32_t>(given[i]);
}

// ---- Expressions

GroupSimulator::Mask GroupSimulator::truth(const Expression& e, Mask mask) {
  const Lanes lanes = value(e, mask);
  Mask yes = 0;
  for (uint32_t i = 0; i < threads_; ++i)
    if ((mask >> i & 1) != 0 && lanes[i] != 0) yes |= Mask{1} << i;
  return yes;
}

GroupSimulator::Lanes GroupSimulator::load(const Expression& e, Mask mask) {
  Lanes found{};
  const Lanes pointers = value(*e.operands[0], mask);
  for (uint32_t i = 0; i < threads_; ++i)
    if ((mask >> i & 1) != 0)
      if (const int32_t* from = element(pointers[i])) found[i] = static_cast<uint64_t>(static_cast<int64_t>(*from));
  return found;
}

GroupSimulator::Lanes GroupSimulator::value(const Expression& e, Mask mask) {
  Lanes found{};
  switch (e.kind) {
    case ExpressionKind::Constant:
      found.fill(e.bits);
      return found;
    case ExpressionKind::Variable:
      return frame_.variables[e.variable];
    case ExpressionKind::Dereference:
      return load(e, mask);
    case ExpressionKind::Call:
      return call(e, mask);
    case ExpressionKind::Intrinsic:
      return intrinsic(e, mask);
    case ExpressionKind::Index:  // of a position
      return value(*e.operands[0], mask);
    case ExpressionKind::LogicalAnd:
    case ExpressionKind::LogicalOr: {
      const Mask left = truth(*e.operands[0], mask);
      const bool is_and = e.kind == ExpressionKind::LogicalAnd;
      const Mask right = truth(*e.operands[1], is_and ? left : mask & ~left);
      for (uint32_t i = 0; i < threads_; ++i) found[i] = (is_and ? right : left | right) >> i & 1;
      return found;
    }
    case ExpressionKind::Conditional: {
      const Mask yes = truth(*e.operands[0], mask);
      const Lanes first = value(*e.operands[1], yes), second = value(*e.operands[2], mask & ~yes);
      for (uint32_t i = 0; i < threads_; ++i) found[i] = (yes >> i & 1) != 0 ? first[i] : second[i];
      return found;
    }
    default:
      break;
  }
  const Lanes left = value(*e.operands[0], mask);
  const Lanes right = e.operands.size() > 1 ? value(*e.operands[1], mask) : Lanes{};
  const TypeKind kind = e.operands[0]->type->kind;
  for (uint32_t i = 0; i < threads_; ++i) {
    if ((mask >> i & 1) == 0) continue;
    std::optional<uint64_t> made;
    if (e.kind == ExpressionKind::PointerAdd) made = left[i] + static_cast<uint32_t>(right[i]);
    if (e.kind == ExpressionKind::Unary) made = scalar_unary(e.op, kind, left[i]);
    if (e.kind == ExpressionKind::Convert) made = scalar_converted(kind, e.type->kind, left[i]);
    if (e.kind == ExpressionKind::Binary)
      made = scalar_binary(e.op, kind, left[i], e.operands[1]->type->kind, right[i]);
    if (!made) fail("`" + print(e) + "` has no value");
    found[i] = made.value_or(0);
  }
  return found;
}

GroupSimulator::Lanes GroupSimulator::call(const Expression& e, Mask mask) {
  Frame frame;
  for (size_t i = 0; i < e.operands.size(); ++i)
    frame.variables[e.function->parameters[i]] = value(*e.operands[i], mask);
  std::swap(frame, frame_);
  const Mask broken = std::exchange(broken_, 0), continued = std::exchange(continued_, 0);
  block(e.function->body, mask);
  broken_ = broken;
  continued_ = continued;
  std::swap(frame, frame_);
  return frame.returned;
}

GroupSimulator::Lanes GroupSimulator::intrinsic(const Expression& e, Mask mask) {
  Lanes found{};
  if (e.intrinsic == Intrinsic::SimdLane || e.intrinsic == Intrinsic::SimdIndex) {
    for (uint32_t i = 0; i < threads_; ++i) found[i] = e.intrinsic == Intrinsic::SimdLane ? i % 32 : i / 32;
    return found;
  }
  if (e.intrinsic == Intrinsic::GroupIndex) {
    found.fill(1);
    return found;
  }
  if (all_must_come_ && mask != all_) fail("not all threads come to `" + print(e) + "`");
  if (e.intrinsic == Intrinsic::GroupAny) {
    found.fill(truth(*e.operands[0], mask) != 0 ? 1 : 0);
    return found;
  }
  if (e.intrinsic == Intrinsic::GroupBarrier) return found;
  const size_t own = e.intrinsic == Intrinsic::SimdShuffle ? 2 : e.intrinsic == Intrinsic::SimdBarrier ? 0 : 1;
  const Mask there = e.operands.size() > own ? truth(*e.operands.back(), mask) : mask;
  if (there != 0) ++collectives_;
  return collective(e, mask, there);
}

GroupSimulator::Lanes GroupSimulator::collective(const Expression& e, Mask mask, Mask there) {
  Lanes found{};
  found.fill(kGarbage);
  if (e.intrinsic == Intrinsic::SimdBarrier) return found;
  const Lanes given = value(*e.operands[0], mask);
  const Lanes lanes = e.intrinsic == Intrinsic::SimdShuffle ? value(*e.operands[1], mask) : Lanes{};
  for (uint32_t i = 0; i < threads_; ++i) {
    if ((there >> i & 1) == 0) continue;
    const uint32_t first = i / 32 * 32;
    if (e.intrinsic == Intrinsic::SimdShuffle) {
      const uint64_t from = first + lanes[i];
      found[i] = lanes[i] < 32 && from < threads_ && (there >> from & 1) != 0 ? given[from] : given[i];
      continue;
    }
    uint64_t sum = 0;
    for (uint32_t k = first; k < first + 32 && k < threads_; ++k) {
      if ((there >> k & 1) == 0) continue;
      sum += e.intrinsic == Intrinsic::SimdBallot ? given[k] << (k - first) : given[k];
    }
    found[i] = scalar_normalized(e.type->kind, sum);
  }
  return found;
}

}  // namespace kymo::shader::ir
