// The shapes of expressions.

#include "base/text.h"
#include "shader/emit/glsl_constants.h"
#include "shader/emit/glsl_resolve.h"

namespace kymo::shader::glsl {
namespace {

using ir::ExpressionKind;

// Whether a place can be reinterpreted as another type.
bool glsl_same_size(const Type* from, const Type* to) {
  return from->is_number() && to->is_number() && from->size == to->size && !from->packed && !to->packed;
}

Shape null_shape() {
  Shape null;
  null.is_kept = true;
  return null;
}

}  // namespace

void Resolver::visit(const ir::Expression& expression) {
  const Depth depth(*this, expression.at);
  if (types_.static_pointers(expression.type) != 0) {
    value(expression);
    return;
  }
  // Down the left side without recursion: sums are long to the left, and only sums may be.
  uint32_t down = depth_;
  for (const ir::Expression* at = &expression;;) {
    if (at->kind != ExpressionKind::Binary) check_depth(++down, at->at);
    switch (at->kind) {
      case ExpressionKind::Call:
        call(*at);
        return;
      case ExpressionKind::Variable:
      case ExpressionKind::Dereference:
      case ExpressionKind::Member:
      case ExpressionKind::Index:
      case ExpressionKind::Swizzle:
        place(*at);
        return;
      case ExpressionKind::Intrinsic:
        current_->asks_grid |=
            at->intrinsic == ir::Intrinsic::GridSize || at->intrinsic == ir::Intrinsic::FullGroupSize;
        break;
      default:
        break;
    }
    for (size_t i = 1; i < at->operands.size(); ++i) visit(*at->operands[i]);
    if (at->operands.empty()) return;
    at = at->operands[0];
    if (types_.static_pointers(at->type) != 0) {
      value(*at);
      return;
    }
  }
}

Shapes Resolver::value(const ir::Expression& expression) {
  const uint32_t count = types_.static_pointers(expression.type);
  if (count == 0) {
    visit(expression);
    return {};
  }
  const Depth depth(*this, expression.at);
  if (is_static_pointer(expression.type) && expression.kind != ExpressionKind::Call && !ir::is_place(expression))
    return {pointer(expression)};
  switch (expression.kind) {
    case ExpressionKind::Call: {
      Instance& callee = call(expression);
      callee.result.resize(count);
      return callee.result;
    }
    case ExpressionKind::Construct:
      return construct(expression);
    case ExpressionKind::Conditional: {
      visit(*expression.operands[0]);
      Shapes shapes = value(*expression.operands[1]);
      const Shapes others = value(*expression.operands[2]);
      for (size_t i = 0; i < shapes.size(); ++i) join(shapes[i], others[i], expression.at);
      return shapes;
    }
    case ExpressionKind::Zero: {
      Shapes shapes(count);
      for (Shape& shape : shapes) shape.is_kept = true;
      return shapes;
    }
    default:
      break;
  }
  if (ir::is_place(expression)) return read(place(expression), expression.type);
  if (expression.kind == ExpressionKind::Member) {
    const Shapes whole = value(*expression.operands[0]);
    const uint32_t first = types_.static_pointers_before(expression.operands[0]->type, expression.index);
    return {whole.begin() + first, whole.begin() + first + count};
  }
  if (expression.kind == ExpressionKind::Index) {
    visit(*expression.operands[1]);
    return value(*expression.operands[0]);
  }
  return Shapes(count);
}

Shape Resolver::pointer(const ir::Expression& expression) {
  switch (expression.kind) {
    case ExpressionKind::AddressOf:
    case ExpressionKind::Decay: {
      Spot spot = place(*expression.operands[0]);
      if (spot.cell == nullptr) return {};
      spot.cell->is_rooted = true;
      if (spot.cell->is_words) return {&spot.cell->storage(), path_of_bytes()};
      if (expression.kind == ExpressionKind::Decay) spot.path.push_back({true, 0, expression.operands[0]->type->count});
      return {spot.cell, std::move(spot.path)};
    }
    case ExpressionKind::PointerAdd: {
      Shape shape = value(*expression.operands[0])[0];
      const ir::Expression& count = *expression.operands[1];
      visit(count);
      // One object is an array of one: a number that is not known can only be 0.
      const bool may_be_zero = count.kind != ExpressionKind::Constant || count.bits == 0;
      if (shape.root != nullptr && !may_be_zero && (shape.path.empty() || !shape.path.back().is_element))
        throw Rejected{expression.at, "a pointer to something that is not in an array cannot be moved on Vulkan"};
      return shape;
    }
    case ExpressionKind::PointerCast:
      return converted(expression);
    case ExpressionKind::Conditional: {
      visit(*expression.operands[0]);
      Shape shape = value(*expression.operands[1])[0];
      join(shape, value(*expression.operands[2])[0], expression.at);
      return shape;
    }
    case ExpressionKind::Member:
    case ExpressionKind::Index: {
      // Of a value that is not a place.
      const Shapes whole = value(*expression.operands[0]);
      if (expression.kind == ExpressionKind::Index) visit(*expression.operands[1]);
      const bool is_member = expression.kind == ExpressionKind::Member;
      const uint32_t first =
          is_member ? types_.static_pointers_before(expression.operands[0]->type, expression.index) : 0;
      return first < whole.size() ? whole[first] : Shape{};
    }
    default:
      return null_shape();
  }
}

Shape Resolver::converted(const ir::Expression& cast) {
  const Type *from = cast.operands[0]->type, *to = cast.type->inner;
  if (cast.operands[0]->kind == ExpressionKind::Null) return null_shape();
  if (!is_static_pointer(from))
    throw Rejected{cast.at, base::format("a {} cannot be converted to a {} on Vulkan", TypeTable::name(from),
                                         TypeTable::name(cast.type))};
  Shape shape = value(*cast.operands[0])[0];
  if (from->inner == to || shape.root == nullptr || shape.root->is_words) return shape;
  // From an array to its first element, from a vector to its first component.
  const Type* inner = from->inner;
  for (; has_first_element(inner, to) && inner != to && !to->is_array(); inner = inner->inner)
    shape.path.push_back({true, 0, inner->count});
  if (inner == to || glsl_same_size(inner, to)) return shape;
  const Cell& root = *shape.root;
  if (!root.is_memory && to->size > root.type->size)
    throw Rejected{
        cast.at, base::format("a {} cannot be converted to a {} on Vulkan: \"{}\" has only {} bytes",
                              TypeTable::name(from), TypeTable::name(cast.type), root.variable->name, root.type->size)};
  if (root.variable->space == Space::Program && !has_known_bytes(*root.variable))
    throw Rejected{cast.at, base::format("a pointer to the constant \"{}\" cannot be converted to a {} on Vulkan: copy "
                                         "the constant to a variable, or use as_type on values",
                                         root.variable->name, TypeTable::name(cast.type))};
  if (!root.shapes.empty() || types_.static_pointers(to) != 0)
    throw Rejected{cast.at, base::format("a {} cannot be converted to a {} on Vulkan, because there are pointers to "
                                         "variables in it: pass them as parameters",
                                         TypeTable::name(from), TypeTable::name(cast.type))};
  throw Reinterpreted{root.variable};
}

Shapes Resolver::construct(const ir::Expression& expression) {
  Shapes shapes;
  for (const ir::Expression* part : expression.operands) {
    Shapes own_shapes = value(*part);
    for (Shape& shape : own_shapes) shape.is_kept = true;
    if (!expression.type->is_array()) {
      shapes.insert(shapes.end(), own_shapes.begin(), own_shapes.end());
      continue;
    }
    shapes.resize(own_shapes.size());
    for (size_t i = 0; i < shapes.size(); ++i) join(shapes[i], own_shapes[i], part->at);
  }
  shapes.resize(types_.static_pointers(expression.type));
  for (const Shape& shape : shapes)
    if (shape.indices() > 1)
      throw Rejected{expression.at, "a pointer into an array in a structure in an array cannot be kept on Vulkan"};
  return shapes;
}

Spot Resolver::place(const ir::Expression& expression) {
  const Depth depth(*this, expression.at);
  switch (expression.kind) {
    case ExpressionKind::Variable:
      return {&own(*expression.variable), {}};
    case ExpressionKind::Dereference:
      return dereference(expression);
    case ExpressionKind::Member: {
      Spot spot = place(*expression.operands[0]);
      if (spot.cell != nullptr) spot.path.push_back({false, expression.index, 0});
      return spot;
    }
    case ExpressionKind::Index: {
      visit(*expression.operands[1]);
      Spot spot = place(*expression.operands[0]);
      const Type* whole = expression.operands[0]->type;
      if (spot.cell != nullptr && whole->is_array()) spot.path.push_back({true, 0, whole->count});
      return spot;
    }
    case ExpressionKind::Swizzle:
      return place(*expression.operands[0]);
    default:
      value(expression);
      return {};
  }
}

Spot Resolver::dereference(const ir::Expression& expression) {
  if (const Direct direct = direct_place(expression); direct.place != nullptr) {
    if (direct.index != nullptr) visit(*direct.index);
    Spot spot = place(*direct.place);
    if (direct.is_element && spot.cell != nullptr) spot.path.push_back({true, 0, direct.place->type->count});
    return spot;
  }
  const ir::Expression& address = *expression.operands[0];
  if (!is_static_pointer(address.type)) {
    visit(address);
    return {};
  }
  Shape shape = value(address)[0];
  return {shape.root, std::move(shape.path)};
}

Instance& Resolver::call(const ir::Expression& expression) {
  Shapes arguments;
  for (const ir::Expression* argument : expression.operands) {
    Shapes own_shapes = value(*argument);
    arguments.insert(arguments.end(), own_shapes.begin(), own_shapes.end());
  }
  Instance& callee = instance_for(*expression.function, std::move(arguments), expression.at);
  resolve(callee);
  if (current_->calls.emplace(&expression, &callee).second) current_->callees.push_back(&callee);
  return callee;
}

}  // namespace kymo::shader::glsl
