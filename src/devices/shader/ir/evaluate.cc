#include "shader/ir/evaluate.h"

#include <algorithm>
#include <array>
#include <deque>
#include <unordered_map>
#include <utility>

#include "shader/ir/scalar.h"

namespace kymo::shader::ir {
namespace {

bool evaluated_is_zero(const Evaluated& value) {
  if (value.kind != EvaluatedKind::Parts) return value.kind == EvaluatedKind::Scalar && value.bits == 0;
  return std::ranges::all_of(value.parts, evaluated_is_zero);
}

std::optional<uint64_t> evaluated_component(const Expression& e, const std::vector<Evaluated>& operands, size_t part) {
  std::array<uint64_t, 3> scalars{};
  if (operands.empty() || operands.size() > scalars.size()) return std::nullopt;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Evaluated* value = &operands[i];
    if (value->kind == EvaluatedKind::Parts) {
      if (part >= value->parts.size()) return std::nullopt;
      value = &value->parts[part];
    }
    if (value->kind != EvaluatedKind::Scalar) return std::nullopt;
    scalars[i] = value->bits;
  }
  const TypeKind kind = e.operands[0]->type->scalar()->kind;
  switch (e.kind) {
    case ExpressionKind::Unary:
      return scalar_unary(e.op, kind, scalars[0]);
    case ExpressionKind::Binary:
      return scalar_binary(e.op, kind, scalars[0], e.operands[1]->type->scalar()->kind, scalars[1]);
    case ExpressionKind::Convert:
      return scalar_converted(kind, e.type->scalar()->kind, scalars[0]);
    case ExpressionKind::Intrinsic:
      return scalar_intrinsic(e.intrinsic, kind, std::span(scalars).first(operands.size()));
    default:
      return std::nullopt;
  }
}

std::optional<Evaluated> evaluated_any_or_all(bool all, const Evaluated& value) {
  if (value.kind != EvaluatedKind::Parts) return value;
  bool result = all;
  for (const Evaluated& part : value.parts) {
    if (part.kind != EvaluatedKind::Scalar) return std::nullopt;
    result = all ? result && part.bits != 0 : result || part.bits != 0;
  }
  return Evaluated::scalar(result ? 1 : 0);
}

std::optional<Evaluated> evaluated_bitcast(const Type* from, const Type* to, const Evaluated& value) {
  std::array<uint8_t, 32> bytes{};
  const uint64_t from_size = from->scalar()->size, to_size = to->scalar()->size;
  if (from_size * from->components() > bytes.size() || to_size * to->components() > bytes.size()) return std::nullopt;
  for (uint32_t i = 0; i < from->components(); ++i) {
    const Evaluated& part = value.kind == EvaluatedKind::Parts ? value.parts[i] : value;
    if (part.kind != EvaluatedKind::Scalar) return std::nullopt;
    const uint64_t memory = scalar_to_memory(from->scalar()->kind, part.bits);
    for (uint64_t b = 0; b < from_size; ++b) bytes[i * from_size + b] = static_cast<uint8_t>(memory >> (8 * b));
  }
  std::vector<Evaluated> parts;
  for (uint32_t i = 0; i < to->components(); ++i) {
    uint64_t memory = 0;
    for (uint64_t b = 0; b < to_size; ++b) memory |= static_cast<uint64_t>(bytes[i * to_size + b]) << (8 * b);
    parts.push_back(Evaluated::scalar(scalar_from_memory(to->scalar()->kind, memory)));
  }
  return to->is_vector() ? Evaluated::of(std::move(parts)) : parts[0];
}

std::optional<Evaluated> evaluated_operation(const Expression& e, const std::vector<Evaluated>& operands) {
  if (operands.empty()) return std::nullopt;
  if (e.kind == ExpressionKind::Intrinsic && (e.intrinsic == Intrinsic::Any || e.intrinsic == Intrinsic::All))
    return evaluated_any_or_all(e.intrinsic == Intrinsic::All, operands[0]);
  if (!e.type->is_vector()) {
    const auto bits = evaluated_component(e, operands, 0);
    return bits ? std::optional(Evaluated::scalar(*bits)) : std::nullopt;
  }
  std::vector<Evaluated> parts(e.type->count);
  for (uint32_t i = 0; i < e.type->count; ++i) {
    const auto bits = evaluated_component(e, operands, i);
    if (!bits) return std::nullopt;
    parts[i] = Evaluated::scalar(*bits);
  }
  return Evaluated::of(std::move(parts));
}

std::optional<Evaluated> evaluated_part(const Expression& e, std::vector<Evaluated>& operands) {
  std::vector<Evaluated>& parts = operands[0].parts;
  if (e.kind == ExpressionKind::Swizzle) {
    std::vector<Evaluated> chosen;
    for (uint32_t i = 0; i < e.index; ++i) {
      if (e.swizzle[i] >= parts.size()) return std::nullopt;
      chosen.push_back(parts[e.swizzle[i]]);
    }
    return Evaluated::of(std::move(chosen));
  }
  const bool is_index = e.kind == ExpressionKind::Index;
  if (is_index && operands[1].kind != EvaluatedKind::Scalar) return std::nullopt;
  const uint64_t part = is_index ? operands[1].bits : e.index;  // a negative one is too large
  if (part >= parts.size()) return std::nullopt;
  return std::move(parts[part]);
}

Evaluated evaluated_whole(const Expression& e, std::vector<Evaluated> parts) {
  if (e.kind == ExpressionKind::Splat) {
    parts.resize(e.type->count, Evaluated(parts[0]));
  } else if (e.type->is_struct()) {
    parts.resize(e.type->fields.size());
  } else if (e.type->is_vector() && parts.size() != e.type->count) {
    std::vector<Evaluated> components;  // it is made of smaller vectors
    for (Evaluated& part : parts) {
      if (part.kind == EvaluatedKind::Parts)
        std::ranges::move(part.parts, std::back_inserter(components));
      else
        components.push_back(std::move(part));
    }
    parts = std::move(components);
  }
  return Evaluated::of(std::move(parts));
}

}  // namespace

uint64_t part_count(const Type* type) {
  if (type->is_vector() || type->is_array()) return type->count;
  return type->is_struct() ? type->fields.size() : 0;
}

const Type* part_type(const Type* type, uint64_t part) {
  return type->is_struct() ? type->fields[part].type : type->inner;
}

std::optional<Evaluated> make_evaluated(const Type* type, bool zero, uint64_t& steps) {
  if (steps == 0) return std::nullopt;
  --steps;
  if (type->is_pointer()) return Evaluated{zero ? EvaluatedKind::Pointer : EvaluatedKind::Nothing, 0, {}};
  if (type->is_scalar() || type->is(TypeKind::Atomic))
    return Evaluated{zero ? EvaluatedKind::Scalar : EvaluatedKind::Nothing, 0, {}};
  const uint64_t count = part_count(type);
  if (count > steps) return std::nullopt;
  Evaluated made = Evaluated::of({});
  made.parts.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    auto part = make_evaluated(part_type(type, i), zero, steps);
    if (!part) return std::nullopt;
    made.parts.push_back(std::move(*part));
  }
  return made;
}

bool is_literal(const Expression& expression) {
  const auto search = [](const auto& self, const Expression& e, int levels) -> bool {
    if (e.kind == ExpressionKind::Constant || e.kind == ExpressionKind::Zero) return true;
    if ((e.kind != ExpressionKind::Construct && e.kind != ExpressionKind::Splat) || levels == 0) return false;
    return std::ranges::all_of(e.operands, [&](const Expression* part) { return self(self, *part, levels - 1); });
  };
  return search(search, expression, 3);
}

std::optional<Evaluated> evaluated_literal(const Expression& e, uint64_t& steps) {
  if (steps == 0) return std::nullopt;
  --steps;
  switch (e.kind) {
    case ExpressionKind::Constant:
      return Evaluated::scalar(e.bits);
    case ExpressionKind::Null:
    case ExpressionKind::Zero:
      return make_evaluated(e.type, true, steps);
    case ExpressionKind::Construct:
    case ExpressionKind::Splat:
      break;
    default:
      return std::nullopt;
  }
  std::vector<Evaluated> parts;
  parts.reserve(e.operands.size());
  for (const Expression* operand : e.operands) {
    auto part = evaluated_literal(*operand, steps);
    if (!part) return std::nullopt;
    parts.push_back(std::move(*part));
  }
  return evaluated_whole(e, std::move(parts));
}

const Expression* to_expression(Module& module, const Type* type, const Evaluated& value, Location at) {
  switch (value.kind) {
    case EvaluatedKind::Nothing:
      return nullptr;
    case EvaluatedKind::Pointer:
      return value.bits == 0 ? &module.make_expression(ExpressionKind::Null, type, at) : nullptr;
    case EvaluatedKind::Scalar: {
      Expression& made = module.make_expression(ExpressionKind::Constant, type, at);
      made.bits = value.bits;
      return &made;
    }
    case EvaluatedKind::Parts:
      break;
  }
  if (evaluated_is_zero(value)) return &module.make_expression(ExpressionKind::Zero, type, at);
  Expression& made = module.make_expression(ExpressionKind::Construct, type, at);
  made.operands.reserve(value.parts.size());
  for (size_t i = 0; i < value.parts.size(); ++i) {
    const Expression* part = to_expression(module, part_type(type, i), value.parts[i], at);
    if (part == nullptr) return nullptr;
    made.operands.push_back(part);
  }
  return &made;
}

std::optional<Evaluated> evaluated_node(const Expression& e, std::vector<Evaluated> operands) {
  if (operands.empty() && e.kind != ExpressionKind::Construct) return std::nullopt;
  switch (e.kind) {
    case ExpressionKind::Unary:
    case ExpressionKind::Binary:
    case ExpressionKind::Convert:
    case ExpressionKind::Intrinsic:
      return evaluated_operation(e, operands);
    case ExpressionKind::Bitcast:
      return evaluated_bitcast(e.operands[0]->type, e.type, operands[0]);
    case ExpressionKind::Member:
    case ExpressionKind::Index:
    case ExpressionKind::Swizzle:
      return evaluated_part(e, operands);
    case ExpressionKind::Splat:
    case ExpressionKind::Construct:
      return evaluated_whole(e, std::move(operands));
    default:
      return std::nullopt;
  }
}

namespace {

// Whether it is a place without a swizzle on the way, which has no address.
bool evaluator_reaches(const Expression& e) {
  const Expression* at = &e;
  while (at->kind == ExpressionKind::Member || at->kind == ExpressionKind::Index) at = at->operands[0];
  return at->kind == ExpressionKind::Variable || at->kind == ExpressionKind::Dereference;
}

struct NotConstant {};

// Executes expressions and statements with values instead of memory.
//
// If something is not constant, it throws NotConstant. Objects live as long as the evaluator, so a pointer to a local
// that is gone is an error only in the source, not here.
class Evaluator {
 public:
  static constexpr uint64_t kMaxSteps = 1'000'000;
  static constexpr int kMaxCalls = 256;
  static constexpr int kDeepest = 2500;  // for everything that nests: expressions, statements and calls

  explicit Evaluator(uint64_t steps) : steps_(steps) {}
  uint64_t steps_left() const { return steps_; }

  Evaluated value(const Expression& e) {
    const Nested nested(depth_);
    step();
    return node(e);
  }

  // The body of a function without parameters, whose last statement returns `result`.
  Evaluated run(const Block& statements, const Expression& result) {
    if (block(statements) != Flow::Next) throw NotConstant{};
    return value(result);
  }

 private:
  enum class Flow : uint8_t { Next, Break, Continue, Return };
  struct Address {
    Evaluated* object = nullptr;
    std::vector<uint32_t> path;  // of parts; the last may be one past the end
    bool operator==(const Address&) const = default;
  };
  using Frame = std::unordered_map<const Variable*, Evaluated*>;
  class Nested {
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

  void step() {
    if (steps_ == 0) throw NotConstant{};
    --steps_;
  }

  static Evaluated known(std::optional<Evaluated> value) {
    if (!value) throw NotConstant{};
    return std::move(*value);
  }

  // ---- Expressions
  Evaluated node(const Expression& e) {
    switch (e.kind) {
      case ExpressionKind::Constant:
        return Evaluated::scalar(e.bits);
      case ExpressionKind::Null:
      case ExpressionKind::Zero:
        return known(make_evaluated(e.type, true, steps_));
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

  std::vector<Evaluated> operands_of(const Expression& e) {
    std::vector<Evaluated> operands;
    operands.reserve(e.operands.size());
    for (const Expression* operand : e.operands) operands.push_back(value(*operand));
    return operands;
  }

  Evaluated operation(const Expression& e) { return known(evaluated_node(e, operands_of(e))); }

  // Takes steps for all its parts.
  Evaluated copy(const Evaluated& original) {
    step();
    Evaluated made{original.kind, original.bits, {}};
    made.parts.reserve(original.parts.size());
    for (const Evaluated& part : original.parts) made.parts.push_back(copy(part));
    return made;
  }

  Evaluated choice(const Expression& e) {
    const bool first = truth(*e.operands[0]);
    if (e.kind == ExpressionKind::Conditional) return value(*e.operands[first ? 1 : 2]);
    const bool is_decided = first == (e.kind == ExpressionKind::LogicalOr);
    return is_decided ? Evaluated::scalar(first ? 1 : 0) : value(*e.operands[1]);
  }

  Evaluated call(const Expression& e) {
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

  Evaluated compare_pointers(const Expression& e) {
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

  bool truth(const Expression& e) { return integer(e) != 0; }

  uint64_t integer(const Expression& e) {
    const Evaluated found = value(e);
    if (found.kind != EvaluatedKind::Scalar) throw NotConstant{};
    return found.bits;
  }

  // ---- Places
  // The contents of a place; also sets `address`, if passed.
  Evaluated& place(const Expression& e, Address* address = nullptr) {
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

  Evaluated& object(const Variable& variable) {
    if (variable.space == Space::Program) {
      Evaluated*& found = program_[&variable];
      if (found != nullptr) return *found;
      if (variable.value == nullptr) throw NotConstant{};
      found = &objects_.emplace_back(known(evaluated_literal(*variable.value, steps_)));
      return *found;
    }
    const auto found = frame_.find(&variable);
    if (found == frame_.end()) throw NotConstant{};
    return *found->second;
  }

  Evaluated& target(const Address& address) {
    Evaluated* at = address.object;
    for (const uint32_t part : address.path) {
      if (part >= at->parts.size()) throw NotConstant{};
      at = &at->parts[part];
    }
    return *at;
  }

  Evaluated pointer_to(Address address) {
    addresses_.push_back(std::move(address));
    return {EvaluatedKind::Pointer, addresses_.size(), {}};
  }

  const Address& address_of(const Evaluated& pointer) const {
    if (pointer.kind != EvaluatedKind::Pointer || pointer.bits == 0) throw NotConstant{};
    return addresses_[pointer.bits - 1];
  }

  Evaluated pointer_add(const Expression& e) {
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

  int64_t difference(const Evaluated& left, const Evaluated& right) const {
    const Address &first = address_of(left), &second = address_of(right);
    if (first == second) return 0;
    const bool same = first.object == second.object && first.path.size() == second.path.size() && !first.path.empty() &&
                      std::equal(first.path.begin(), first.path.end() - 1, second.path.begin());
    if (!same) throw NotConstant{};
    return static_cast<int64_t>(first.path.back()) - static_cast<int64_t>(second.path.back());
  }

  void store(const Expression& to, Evaluated given) {
    if (to.kind == ExpressionKind::Swizzle) {
      Evaluated& whole = place(*to.operands[0]);
      for (uint32_t i = 0; i < to.index; ++i) whole.parts.at(to.swizzle[i]) = std::move(given.parts.at(i));
      return;
    }
    place(to) = std::move(given);
  }

  // ---- Statements
  Flow block(const Block& statements) {
    const Nested nested(depth_);
    Flow flow = Flow::Next;
    for (size_t i = 0; i < statements.size() && flow == Flow::Next; ++i) flow = statement(*statements[i]);
    return flow;
  }

  Flow statement(const Statement& s) {
    step();
    switch (s.kind) {
      case StatementKind::Declare: {
        if (s.variable->space != Space::Thread) throw NotConstant{};
        auto made = s.value != nullptr ? value(*s.value) : make_evaluated(s.variable->type, false, steps_);
        // One object for each iteration: pointers to an older one keep its value.
        frame_[s.variable] = &objects_.emplace_back(known(std::move(made)));
        return Flow::Next;
      }
      case StatementKind::Assign:
        store(*s.place, value(*s.value));
        return Flow::Next;
      case StatementKind::Evaluate:
        value(*s.value);
        return Flow::Next;
      case StatementKind::Block:
        return block(s.body);
      case StatementKind::If:
        return block(truth(*s.value) ? s.body : s.otherwise);
      case StatementKind::Loop:
        return loop(s);
      case StatementKind::DoLoop:
        return do_loop(s);
      case StatementKind::Switch:
        return switch_(s);
      case StatementKind::Break:
        return Flow::Break;
      case StatementKind::Continue:
        return Flow::Continue;
      case StatementKind::Return:
        returned_ = s.value == nullptr ? Evaluated{} : value(*s.value);
        return Flow::Return;
    }
    throw NotConstant{};
  }

  Flow loop(const Statement& s) {
    while (true) {
      step();
      if (block(s.before) == Flow::Return) return Flow::Return;
      if (s.value != nullptr && !truth(*s.value)) return Flow::Next;
      const Flow flow = block(s.body);
      if (flow == Flow::Return) return flow;
      if (flow == Flow::Break) return Flow::Next;
      if (block(s.step) == Flow::Return) return Flow::Return;
    }
  }

  Flow do_loop(const Statement& s) {
    do {
      step();
      const Flow flow = block(s.body);
      if (flow == Flow::Return) return flow;
      if (flow == Flow::Break) return Flow::Next;
      if (block(s.before) == Flow::Return) return Flow::Return;
    } while (truth(*s.value));
    return Flow::Next;
  }

  Flow switch_(const Statement& s) {
    const auto chosen = static_cast<int64_t>(integer(*s.value));
    const auto has_value = [&](const Case& one) { return std::ranges::find(one.values, chosen) != one.values.end(); };
    const auto is_default = [](const Case& one) { return one.is_default || one.values.empty(); };
    auto at = std::ranges::find_if(s.cases, has_value);
    if (at == s.cases.end()) at = std::ranges::find_if(s.cases, is_default);
    for (; at != s.cases.end(); ++at) {
      const Flow flow = block(at->body);
      if (flow == Flow::Break) return Flow::Next;
      if (flow != Flow::Next) return flow;
    }
    return Flow::Next;
  }

  uint64_t steps_;
  int calls_ = 0, depth_ = 0;
  Frame frame_;
  Evaluated returned_;
  std::deque<Evaluated> objects_;
  std::unordered_map<const Variable*, Evaluated*> program_;
  std::vector<Address> addresses_;
};

// ---- Folding --------------------------------------------------------------------------------------------------------

constexpr uint64_t kFoldSteps = 4096;  // larger expressions are left to evaluate_to_expression()

// The same bits on every target: functions that targets may round differently are not folded.
bool fold_is_exact(Intrinsic intrinsic) {
  switch (intrinsic) {
    case Intrinsic::Abs:
    case Intrinsic::Floor:
    case Intrinsic::Ceil:
    case Intrinsic::Trunc:
    case Intrinsic::Rint:
    case Intrinsic::Fmin:
    case Intrinsic::Fmax:
    case Intrinsic::Copysign:
    case Intrinsic::Fma:
    case Intrinsic::IsNan:
    case Intrinsic::IsInf:
      return true;
    default:
      return intrinsic >= Intrinsic::Min && intrinsic <= Intrinsic::Select;
  }
}

bool fold_is_operation(const Expression& e) {
  switch (e.kind) {
    case ExpressionKind::Unary:
    case ExpressionKind::Binary:
    case ExpressionKind::Convert:
    case ExpressionKind::Bitcast:
    case ExpressionKind::Member:
    case ExpressionKind::Index:
    case ExpressionKind::Swizzle:
      return true;
    case ExpressionKind::Intrinsic:
      return fold_is_exact(e.intrinsic);
    default:
      return false;
  }
}

// x && y and the like, where one side is known.
const Expression* fold_logical(const Expression& e) {
  const bool deciding = e.kind == ExpressionKind::LogicalOr;
  const Expression *left = e.operands[0], *right = e.operands[1];
  if (left->kind == ExpressionKind::Constant) return (left->bits != 0) == deciding ? left : right;
  const bool is_neutral = right->kind == ExpressionKind::Constant && (right->bits != 0) != deciding;
  return is_neutral ? left : &e;
}

// An element of a table of the program, without a copy of the table. Null: it is none, or its place is not constant.
const Expression* fold_constant_place(const Expression& e) {
  if (e.kind == ExpressionKind::Variable) return e.variable->space == Space::Program ? e.variable->value : nullptr;
  if (e.kind != ExpressionKind::Member && e.kind != ExpressionKind::Index) return nullptr;
  const Expression* whole = fold_constant_place(*e.operands[0]);
  if (whole == nullptr || whole->kind != ExpressionKind::Construct) return nullptr;
  uint64_t part = e.index;
  if (e.kind == ExpressionKind::Index) {
    if (e.operands[1]->kind != ExpressionKind::Constant) return nullptr;
    part = e.operands[1]->bits;
  }
  const bool has_parts = whole->operands.size() == part_count(whole->type);  // a vector may be made of smaller ones
  return has_parts && part < whole->operands.size() ? whole->operands[part] : nullptr;
}

// Whether its value begins with one that only a running kernel has. Most values that are asked about are such ones, and
// an exception of the evaluator is slow.
bool begins_at_run_time(const Expression& expression) {
  const Expression* first = &expression;
  while (!first->operands.empty()) first = first->operands[0];
  if (first->kind == ExpressionKind::Variable) return first->variable->space != Space::Program;
  return first->kind == ExpressionKind::Intrinsic;
}

}  // namespace

const Expression* evaluate_to_expression(Module& module, const Block& statements, const Expression& value,
                                         uint64_t* steps) {
  if (value.kind == ExpressionKind::Constant && statements.empty()) return &value;
  if (statements.empty() && begins_at_run_time(value)) return nullptr;
  const uint64_t allowed = steps == nullptr ? Evaluator::kMaxSteps : std::min(*steps, Evaluator::kMaxSteps);
  Evaluator evaluator(allowed);
  const Expression* found = nullptr;
  try {
    found = to_expression(module, value.type, evaluator.run(statements, value), value.at);
  } catch (const NotConstant&) {
  }
  if (steps != nullptr) *steps -= allowed - std::min(allowed, evaluator.steps_left());
  return found;
}

const Expression* fold_node(Module& module, const Expression& e) {
  switch (e.kind) {
    case ExpressionKind::LogicalAnd:
    case ExpressionKind::LogicalOr:
      return fold_logical(e);
    case ExpressionKind::Conditional:
      if (e.operands[0]->kind != ExpressionKind::Constant) return &e;
      return e.operands[e.operands[0]->bits != 0 ? 1 : 2];
    default:
      break;
  }
  if (!fold_is_operation(e) && e.kind != ExpressionKind::Variable) return &e;
  if (e.type->is_scalar()) {
    const Expression* part = fold_constant_place(e);
    if (part != nullptr && part->kind == ExpressionKind::Constant) return part;
  }
  if (e.operands.empty() || !e.type->is_number()) return &e;
  if (!std::ranges::all_of(e.operands, [](const Expression* operand) { return is_literal(*operand); })) return &e;
  uint64_t steps = kFoldSteps;
  std::vector<Evaluated> operands;
  for (const Expression* operand : e.operands) {
    auto known = evaluated_literal(*operand, steps);
    if (!known) return &e;
    operands.push_back(std::move(*known));
  }
  const auto made = evaluated_node(e, std::move(operands));
  const Expression* folded = made ? to_expression(module, e.type, *made, e.at) : nullptr;
  return folded != nullptr ? folded : &e;
}

}  // namespace kymo::shader::ir
