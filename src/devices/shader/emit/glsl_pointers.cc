// Static pointers: see glsl_shape.h.

#include <algorithm>

#include "base/text.h"
#include "shader/emit/glsl_writer.h"

namespace kymo::shader::glsl {
namespace {

using ir::ExpressionKind;
using ir::Operator;

constexpr uint32_t kMaxIndices = 4;

// Into a variable that is reinterpreted.
bool glsl_is_bytes(const Pointer& pointer) { return pointer.shape.root != nullptr && pointer.shape.root->is_words; }

Pointer glsl_behind(Pointer pointer, const Text& bytes) {
  pointer.ints[0] = sum(pointer.ints[0], bytes);
  pointer.shape.is_kept = false;
  return pointer;
}

}  // namespace

Pointer Writer::pointer(const ir::Expression& expression) {
  switch (expression.kind) {
    case ExpressionKind::AddressOf:
      return pointer_to(*expression.operands[0]);
    case ExpressionKind::Decay: {
      Pointer first = pointer_to(*expression.operands[0]);
      if (glsl_is_bytes(first)) return first;
      add_element(first, expression.operands[0]->type->count, {"0"});
      return first;
    }
    case ExpressionKind::PointerAdd: {
      Pointer moved = pointer(*expression.operands[0]);
      const bool is_element = !moved.shape.path.empty() && moved.shape.path.back().is_element;
      if (!is_element || moved.shape.root == nullptr) return moved;
      const uint64_t size = glsl_is_bytes(moved) ? expression.type->inner->size : 1;
      moved.ints.back() = sum(moved.ints.back(), product(int_index(*expression.operands[1]), size, false));
      return moved;
    }
    case ExpressionKind::PointerCast: {
      if (!is_static_pointer(expression.operands[0]->type)) return null_pointer();
      Pointer cast = pointer(*expression.operands[0]);
      if (cast.shape.root == nullptr || glsl_is_bytes(cast)) return cast;
      const Type* to = expression.type->inner;
      for (const Type* from = expression.operands[0]->type->inner;
           has_first_element(from, to) && from != to && !to->is_array(); from = from->inner)
        add_element(cast, from->count, {"0"});
      return cast;
    }
    case ExpressionKind::Conditional:
      return choose_pointer(expression);
    case ExpressionKind::Null:
    case ExpressionKind::Zero:
      return null_pointer();
    default:
      return kept_pointer(expression);
  }
}

Pointer Writer::null_pointer() {
  unit_.prelude.use("null");
  Pointer null;
  null.shape.is_kept = true;
  null.ints = {{"kymo_null"}};
  return null;
}

// One that is in a variable, or that a function gave.
Pointer Writer::kept_pointer(const ir::Expression& expression) {
  Pointer kept{unit_.resolver.shape(instance_, expression), {}};
  const uint32_t ints = kept.shape.ints();
  if (expression.kind == ExpressionKind::Call && kept.shape.root == nullptr && ints == 0) return kept;
  if (ints == 0) return kept;
  if (ints > kMaxIndices)
    unit_.refuse("a pointer into arrays in arrays of structures this deep is not supported on Vulkan");
  Text text = expression.kind == ExpressionKind::Call ? call(expression) : read(place(expression));
  if (ints == 1) {
    kept.ints = {text};
    return kept;
  }
  if (expression.kind == ExpressionKind::Call) {
    if (guards_ != 0)
      unit_.refuse("a pointer into nested arrays cannot be returned in the middle of a condition on Vulkan");
    text = {temporary(unit_.types.vector_name(TypeKind::Int, ints), text, "at")};
  }
  for (uint32_t i = 0; i < ints; ++i) kept.ints.push_back({base::format("{}.{}", text.text, kComponents[i])});
  return kept;
}

Pointer Writer::choose_pointer(const ir::Expression& expression) {
  Pointer chosen{unit_.resolver.shape(instance_, expression), {}};
  Text condition_text = value(*expression.operands[0]);
  const std::vector<Text> yes = fit(pointer(*expression.operands[1]), chosen.shape);
  const std::vector<Text> no = fit(pointer(*expression.operands[2]), chosen.shape);
  if (yes.size() > 1 && guards_ == 0) condition_text = {temporary("bool", condition_text, "chosen")};
  for (size_t i = 0; i < yes.size(); ++i)
    chosen.ints.push_back({base::format("{} ? {} : {}", operand(condition_text, Level::LogicalOr),
                                        operand(yes[i], Level::LogicalOr), operand(no[i], Level::Conditional)),
                           Level::Conditional});
  return chosen;
}

Pointer Writer::pointer_to(const ir::Expression& place_expression) {
  switch (place_expression.kind) {
    case ExpressionKind::Variable: {
      Pointer whole_variable;
      Cell& known = cell(*place_expression.variable);
      whole_variable.shape.root = &known.storage();
      if (known.is_words) {
        whole_variable.shape.path = path_of_bytes();
        whole_variable.ints = {{std::to_string(known.offset)}};
      }
      return whole_variable;
    }
    case ExpressionKind::Member: {
      Pointer part = pointer_to(*place_expression.operands[0]);
      const Type* type = place_expression.operands[0]->type;
      if (glsl_is_bytes(part)) return glsl_behind(part, {std::to_string(type->fields[place_expression.index].offset)});
      if (type->is_union)
        unit_.refuse(
            base::format("a pointer to a member of the union {} is not supported on Vulkan: copy it to a "
                         "variable first",
                         type->name));
      part.shape.path.push_back({false, place_expression.index, 0});
      part.shape.is_kept = false;
      if (part.shape.indices() == 0) part.ints.clear();
      return part;
    }
    case ExpressionKind::Index: {
      Pointer part = pointer_to(*place_expression.operands[0]);
      const Text at = int_index(*place_expression.operands[1]);
      if (glsl_is_bytes(part)) return glsl_behind(part, product(at, place_expression.type->size, false));
      add_element(part, place_expression.operands[0]->type->count, at);
      return part;
    }
    case ExpressionKind::Dereference: {
      const Direct direct = direct_place(place_expression);
      if (direct.place == nullptr) return pointer(*place_expression.operands[0]);
      Pointer part = pointer_to(*direct.place);
      if (!direct.is_element) return part;
      const Text at = direct.index == nullptr ? Text{"0"} : int_index(*direct.index);
      if (glsl_is_bytes(part)) return glsl_behind(part, product(at, place_expression.type->size, false));
      add_element(part, direct.place->type->count, at);
      return part;
    }
    default:
      return {};
  }
}

void Writer::add_element(Pointer& to, uint32_t count, const Text& at) {
  Path& path = to.shape.path;
  const bool is_row = !path.empty() && path.back().is_element;
  if (to.shape.indices() == 0) to.ints.clear();
  path.push_back({true, 0, count});
  to.shape.is_kept = false;
  if (to.shape.root == nullptr) {
    to.shape.path.clear();
    to.shape.is_kept = true;
    if (to.ints.empty()) to.ints.push_back({"0"});
  } else if (is_row) {
    to.ints.back() = to.ints.back().text == "0" ? at : sum(product(to.ints.back(), std::max(1U, count), false), at);
  } else {
    to.ints.push_back(at);
  }
}

Text Writer::target(const Pointer& known) {
  const Cell& root = *known.shape.root;
  const Path& path = known.shape.path;
  if (root.is_words) return {base::format("{}[{} / 4]", root.name, operand(known.ints[0], Level::Product))};
  std::string text = root.name;
  const Type* type = root.type;
  size_t next = 0;
  for (size_t i = 0; i < path.size(); ++i) {
    if (!path[i].is_element) {
      text += '.' + unit_.types.field_name(type, path[i].field);
      type = type->fields[path[i].field].type;
      continue;
    }
    // A run of elements: one index for all its dimensions.
    const size_t first = i;
    size_t end = i;
    uint64_t inner = 1;
    while (end + 1 < path.size() && path[end + 1].is_element) inner *= std::max(1U, path[++end].count);
    const Text& at = known.ints[next++];
    for (; i <= end; ++i) {
      Text part = at;
      if (inner != 1) part = glsl::binary(part, "/", {std::to_string(inner)}, Level::Product);
      if (i != first) part = glsl::binary(part, "%", {std::to_string(std::max(1U, path[i].count))}, Level::Product);
      text += base::format("[{}]", part.text);
      if (i < end) inner /= std::max(1U, path[i + 1].count);
      if (i != 0 || !root.is_memory) type = type->inner;
    }
    i = end;
  }
  return {text};
}

std::vector<Text> Writer::fit(const Pointer& given, const Shape& shape) {
  std::vector<Text> ints = given.ints;
  ints.resize(shape.ints(), {"0"});
  if (given.shape.root == nullptr && !ints.empty()) {
    unit_.prelude.use("null");
    ints[0] = {"kymo_null"};
  }
  return ints;
}

Text Writer::whole(const std::vector<Text>& ints) {
  if (ints.empty()) return {"0"};
  if (ints.size() == 1) return ints[0];
  if (ints.size() > kMaxIndices)
    unit_.refuse("a pointer into arrays in arrays of structures this deep is not supported on Vulkan");
  std::string parts;
  for (const Text& part : ints) (parts += parts.empty() ? "" : ", ") += part.text;
  return {base::format("ivec{}({})", ints.size(), parts)};
}

Text Writer::as_value(const ir::Expression& expression) {
  const Pointer known = pointer(expression);
  if (known.ints.size() > 1)
    unit_.refuse("a pointer into an array in a structure in an array cannot be kept on Vulkan");
  return whole(known.ints);
}

Text Writer::compare_pointers(const ir::Expression& expression) {
  const ir::Expression &left = *expression.operands[0], &right = *expression.operands[1];
  const bool is_equal = expression.op == Operator::Equal, is_different = expression.op == Operator::NotEqual;
  const std::string_view sign = is_equal                               ? "=="
                                : is_different                         ? "!="
                                : expression.op == Operator::Less      ? "<"
                                : expression.op == Operator::LessEqual ? "<="
                                : expression.op == Operator::Greater   ? ">"
                                                                       : ">=";
  const Level level = is_equal || is_different ? Level::Equality : Level::Relation;
  if (!is_static_pointer(left.type)) return glsl::binary(value(left), sign, value(right), level);
  const Pointer a = pointer(left), b = pointer(right);
  const auto is_null = [](const Pointer& known) { return known.shape.root == nullptr; };
  if (is_null(a) || is_null(b)) {
    // Whether a pointer is null is known only where it is stored.
    const Pointer& other = is_null(a) ? b : a;
    if (is_null(other) || !other.shape.is_kept) return {is_null(other) == is_equal ? "true" : "false"};
    unit_.prelude.use("null");
    return glsl::binary(other.ints[0], sign, {"kymo_null"}, level);
  }
  if (a.shape.root != b.shape.root || a.shape.path != b.shape.path) return {is_different ? "true" : "false"};
  const Shape& both = a.shape.is_kept ? a.shape : b.shape;
  const std::vector<Text> x = fit(a, both), y = fit(b, both);
  if (x.empty())
    return {is_equal || expression.op == Operator::LessEqual || expression.op == Operator::GreaterEqual ? "true"
                                                                                                        : "false"};
  if (level == Level::Relation) return glsl::binary(x.back(), sign, y.back(), level);
  return glsl::binary(whole(x), sign, whole(y), level);
}

Text Writer::pointer_difference(const ir::Expression& expression) {
  const ir::Expression &left = *expression.operands[0], &right = *expression.operands[1];
  if (!is_static_pointer(left.type)) {
    const uint64_t size = std::max<uint64_t>(1, left.type->inner->size);
    const Text bytes = glsl::binary(value(left), "-", value(right), Level::Sum);
    const Text difference{base::format("int64_t({})", bytes.text)};
    return size == 1 ? difference : glsl::binary(difference, "/", literal(TypeKind::Long, size), Level::Product);
  }
  const Pointer a = pointer(left), b = pointer(right);
  if (a.shape.root == nullptr || a.shape.root != b.shape.root || a.ints.empty() || b.ints.empty()) return {"0l"};
  Text difference = glsl::binary(a.ints.back(), "-", b.ints.back(), Level::Sum);
  if (glsl_is_bytes(a) && left.type->inner->size > 1)
    difference = glsl::binary(difference, "/", {std::to_string(left.type->inner->size)}, Level::Product);
  return {base::format("int64_t({})", difference.text)};
}

}  // namespace kymo::shader::glsl
