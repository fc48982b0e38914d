#include "shader/ir/evaluated.h"

#include <algorithm>
#include <array>
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
    parts.resize(e.type->fields.size());  // a union's other fields
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
  const size_t count = type->is_struct() && type->is_union ? 1 : value.parts.size();
  made.operands.reserve(count);
  for (size_t i = 0; i < count; ++i) {
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

}  // namespace kymo::shader::ir
