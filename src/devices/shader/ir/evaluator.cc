#include "shader/ir/evaluator.h"

#include <algorithm>
#include <utility>

#include "shader/ir/scalar.h"

namespace kymo::shader::ir {

namespace {

// Whether it is a place without a swizzle on the way, which has no address.
bool evaluator_reaches(const Expression& e) {
  const Expression* at = &e;
  while (at->kind == ExpressionKind::Member || at->kind == ExpressionKind::Index) at = at->operands[0];
  return at->kind == ExpressionKind::Variable || at->kind == ExpressionKind::Dereference;
}

}  // namespace

class Evaluator::Nested {
 public:
  explicit Nested(int& depth) : depth_(depth) {
    if (++depth_ > kDeepest) throw NotConstant{};
  }
  ~Nested() { --depth_; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  int& depth_;
};

void Evaluator::step() {
  if (steps_ == 0) throw NotConstant{};
  --steps_;
}

// ---- Expressions ---------------------------------------------------------------------------------------------------

Evaluated Evaluator::value(const Expression& e) {
  const Nested nested(depth_);
  step();
  return node(e);
}

Evaluated Evaluator::node(const Expression& e) {
  switch (e.kind) {
    case ExpressionKind::Constant:
      return Evaluated::scalar(e.bits);
    case ExpressionKind::Null:
    case ExpressionKind::Zero: {
      auto made = make_evaluated(e.type, true, steps_);
      if (!made) throw NotConstant{};
      return std::move(*made);
    }
    case ExpressionKind::Variable:
    case ExpressionKind::Dereference:
    case ExpressionKind::Member:
    case ExpressionKind::Index:
      return evaluator_reaches(e) ? copy(place(e)) : operation(e);
    case ExpressionKind::AddressOf:
    case ExpressionKind::Decay: {
      Address address;
      place(*e.operands[0], &address);
      if (e.kind == ExpressionKind::Decay) address.path.push_back(0);
      return pointer_to(std::move(address));
    }
    case ExpressionKind::PointerAdd:
      return pointer_add(e);
    case ExpressionKind::PointerCast: {
      const Type* from = e.operands[0]->type;
      if (!from->is_pointer() || !e.type->is_pointer() || from->inner != e.type->inner) throw NotConstant{};
      return value(*e.operands[0]);
    }
    case ExpressionKind::PointerDifference:
      return Evaluated::scalar(static_cast<uint64_t>(difference(value(*e.operands[0]), value(*e.operands[1]))));
    case ExpressionKind::LogicalAnd:
    case ExpressionKind::LogicalOr:
    case ExpressionKind::Conditional:
      return choice(e);
    case ExpressionKind::Call:
      return call(e);
    case ExpressionKind::Binary:
      if (e.operands[0]->type->is_pointer()) return compare_pointers(e);
      return operation(e);
    case ExpressionKind::Swizzle:
    case ExpressionKind::Splat:
    case ExpressionKind::Construct:
    case ExpressionKind::Unary:
    case ExpressionKind::Convert:
    case ExpressionKind::Bitcast:
    case ExpressionKind::Intrinsic:
      return operation(e);
  }
  throw NotConstant{};
}

std::vector<Evaluated> Evaluator::operands_of(const Expression& e) {
  std::vector<Evaluated> operands;
  operands.reserve(e.operands.size());
  for (const Expression* operand : e.operands) operands.push_back(value(*operand));
  return operands;
}

Evaluated Evaluator::copy(const Evaluated& original) {
  step();
  Evaluated made{original.kind, original.bits, {}};
  made.parts.reserve(original.parts.size());
  for (const Evaluated& part : original.parts) made.parts.push_back(copy(part));
  return made;
}

bool Evaluator::truth(const Expression& e) { return integer(e) != 0; }

uint64_t Evaluator::integer(const Expression& e) {
  const Evaluated found = value(e);
  if (found.kind != EvaluatedKind::Scalar) throw NotConstant{};
  return found.bits;
}

Evaluated Evaluator::operation(const Expression& e) {
  auto made = evaluated_node(e, operands_of(e));
  if (!made) throw NotConstant{};
  return std::move(*made);
}

Evaluated Evaluator::choice(const Expression& e) {
  const bool first = truth(*e.operands[0]);
  if (e.kind == ExpressionKind::Conditional) return value(*e.operands[first ? 1 : 2]);
  const bool is_decided = first == (e.kind == ExpressionKind::LogicalOr);
  return is_decided ? Evaluated::scalar(first ? 1 : 0) : value(*e.operands[1]);
}

Evaluated Evaluator::compare_pointers(const Expression& e) {
  const Evaluated left = value(*e.operands[0]), right = value(*e.operands[1]);
  if (left.kind != EvaluatedKind::Pointer || right.kind != EvaluatedKind::Pointer) throw NotConstant{};
  if (e.op == Operator::Equal || e.op == Operator::NotEqual) {
    const bool same =
        left.bits == 0 || right.bits == 0 ? left.bits == right.bits : address_of(left) == address_of(right);
    return Evaluated::scalar(same == (e.op == Operator::Equal) ? 1 : 0);
  }
  const auto apart = static_cast<uint64_t>(difference(left, right));
  return Evaluated::scalar(*scalar_binary(e.op, TypeKind::Long, apart, TypeKind::Long, 0));
}

Evaluated Evaluator::call(const Expression& e) {
  const Function& function = *e.function;
  if (!function.is_defined || calls_ == kMaxCalls) throw NotConstant{};
  std::vector<Evaluated> arguments = operands_of(e);
  Frame frame;
  for (size_t i = 0; i < function.parameters.size(); ++i)
    frame[function.parameters[i]] = &objects_.emplace_back(std::move(arguments.at(i)));
  std::swap(frame, frame_);
  ++calls_;
  returned_ = {};
  const Flow flow = block(function.body);
  --calls_;
  std::swap(frame, frame_);
  if (flow != Flow::Return && !function.result->is(TypeKind::Void)) throw NotConstant{};
  return std::move(returned_);
}

// ---- Places --------------------------------------------------------------------------------------------------------

Evaluated& Evaluator::object(const Variable& variable) {
  if (variable.space == Space::Program) {
    Evaluated*& known = program_[&variable];
    if (known != nullptr) return *known;
    if (variable.value == nullptr) throw NotConstant{};
    auto made = evaluated_literal(*variable.value, steps_);
    if (!made) throw NotConstant{};
    known = &objects_.emplace_back(std::move(*made));
    return *known;
  }
  const auto found = frame_.find(&variable);
  if (found == frame_.end()) throw NotConstant{};
  return *found->second;
}

Evaluated& Evaluator::target(const Address& address) {
  Evaluated* at = address.object;
  for (const uint32_t part : address.path) {
    if (part >= at->parts.size()) throw NotConstant{};
    at = &at->parts[part];
  }
  return *at;
}

Evaluated& Evaluator::place(const Expression& e, Address* address) {
  const Nested nested(depth_);
  switch (e.kind) {
    case ExpressionKind::Variable: {
      Evaluated& found = object(*e.variable);
      if (address != nullptr) address->object = &found;
      return found;
    }
    case ExpressionKind::Dereference: {
      const Evaluated pointer = value(*e.operands[0]);
      const Address& to = address_of(pointer);
      if (address != nullptr) *address = to;
      return target(to);
    }
    case ExpressionKind::Member:
    case ExpressionKind::Index: {
      // The index first: its calls could change the variable of the place.
      const uint64_t part = e.kind == ExpressionKind::Member ? e.index : integer(*e.operands[1]);
      Evaluated& whole = place(*e.operands[0], address);
      if (part >= whole.parts.size()) throw NotConstant{};
      if (address != nullptr) address->path.push_back(static_cast<uint32_t>(part));
      return whole.parts[part];
    }
    default:
      throw NotConstant{};
  }
}

Evaluated Evaluator::pointer_to(Address address) {
  addresses_.push_back(std::move(address));
  return {EvaluatedKind::Pointer, addresses_.size(), {}};
}

const Evaluator::Address& Evaluator::address_of(const Evaluated& pointer) const {
  if (pointer.kind != EvaluatedKind::Pointer || pointer.bits == 0) throw NotConstant{};
  return addresses_[pointer.bits - 1];
}

Evaluated Evaluator::pointer_add(const Expression& e) {
  Evaluated pointer = value(*e.operands[0]);
  const auto elements = static_cast<int64_t>(integer(*e.operands[1]));
  if (elements == 0) return pointer;
  Address moved = address_of(pointer);
  if (moved.path.empty()) throw NotConstant{};
  const uint64_t last = moved.path.back() + static_cast<uint64_t>(elements);
  moved.path.pop_back();
  if (last > target(moved).parts.size()) throw NotConstant{};
  moved.path.push_back(static_cast<uint32_t>(last));
  return pointer_to(std::move(moved));
}

int64_t Evaluator::difference(const Evaluated& left, const Evaluated& right) const {
  const Address &first = address_of(left), &second = address_of(right);
  if (first == second) return 0;
  const bool same = first.object == second.object && first.path.size() == second.path.size() && !first.path.empty() &&
                    std::equal(first.path.begin(), first.path.end() - 1, second.path.begin());
  if (!same) throw NotConstant{};
  return static_cast<int64_t>(first.path.back()) - static_cast<int64_t>(second.path.back());
}

void Evaluator::store(const Expression& to, Evaluated given) {
  if (to.kind == ExpressionKind::Swizzle) {
    Evaluated& whole = place(*to.operands[0]);
    for (uint32_t i = 0; i < to.index; ++i) whole.parts.at(to.swizzle[i]) = std::move(given.parts.at(i));
    return;
  }
  if (to.kind != ExpressionKind::Member || !to.operands[0]->type->is_union) {
    place(to) = std::move(given);
    return;
  }
  Evaluated& whole = place(*to.operands[0]);
  for (Evaluated& other : whole.parts) other = {};
  whole.parts.at(to.index) = std::move(given);
}

}  // namespace kymo::shader::ir
