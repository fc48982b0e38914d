// Places: variables, their parts, memory of buffers, and pointers to variables.

#include <algorithm>

#include "base/text.h"
#include "shader/emit/glsl_writer.h"

namespace kymo::shader::glsl {
namespace {

using ir::ExpressionKind;

// The number that was widened to be an index: GLSL indexes with ints.
const ir::Expression& glsl_unwidened(const ir::Expression& index) {
  const ir::Expression* at = &index;
  while (at->kind == ExpressionKind::Convert && at->type->is_integer()) {
    const Type* from = at->operands[0]->type;
    // Narrowing changes it, and so does another meaning of the highest bit, unless there are no more bits.
    if (!from->is_integer() || from->size > at->type->size || (from->size == at->type->size && from->size < 8)) break;
    at = at->operands[0];
  }
  return *at;
}

Text glsl_pick(const Text& vector, std::string_view components) {
  return {base::format("{}.{}", operand(vector, Level::Postfix), components)};
}

}  // namespace

Text Writer::index(const ir::Expression& expression) {
  const ir::Expression& plain = glsl_unwidened(expression);
  const Text text = value(plain);
  if (plain.type->is(TypeKind::Int) || plain.type->is(TypeKind::UInt)) return text;
  if (plain.kind == ExpressionKind::Constant) return literal(TypeKind::Int, plain.bits);
  return {base::format("int({})", text.text)};
}

Text Writer::int_index(const ir::Expression& expression) {
  const ir::Expression& plain = glsl_unwidened(expression);
  if (plain.kind == ExpressionKind::Constant) return literal(TypeKind::Int, plain.bits);
  const Text text = value(plain);
  return plain.type->is(TypeKind::Int) ? text : Text{base::format("int({})", text.text)};
}

Text Writer::index_bytes(const ir::Expression& expression, uint64_t size) {
  const ir::Expression& plain = glsl_unwidened(expression);
  const Text text = value(plain);
  if (plain.type->is(TypeKind::ULong)) return product(text, size, true);
  return product({base::format("uint64_t({})", text.text)}, size, true);
}

Place Writer::place(const ir::Expression& expression) {
  switch (expression.kind) {
    case ExpressionKind::Variable: {
      const Cell& known = cell(*expression.variable);
      if (known.is_words)
        return {.kind = Place::Kind::Bytes,
                .type = expression.type,
                .text = {"0"},
                .offset = known.offset,
                .cell = &known.storage()};
      if (!known.address.empty())
        return {.kind = Place::Kind::Buffer, .type = expression.type, .text = {known.address}};
      return {.type = expression.type, .text = {known.name}};
    }
    case ExpressionKind::Dereference:
      return dereference(expression);
    case ExpressionKind::Member:
      return member(expression);
    case ExpressionKind::Index:
      return element(place(*expression.operands[0]), expression.operands[1]);
    case ExpressionKind::Swizzle: {
      Place whole_vector = plain(place(*expression.operands[0]));
      std::string components;
      for (uint32_t i = 0; i < expression.index; ++i) components += kComponents[expression.swizzle[i]];
      if (!whole_vector.picked.empty()) {
        std::string again;
        for (uint32_t i = 0; i < expression.index; ++i) again += whole_vector.picked[expression.swizzle[i]];
        components = again;
      }
      if (whole_vector.kind == Place::Kind::Here)
        whole_vector.text = glsl_pick(whole_vector.text, components);
      else
        whole_vector.picked = components;
      if (whole_vector.kind == Place::Kind::Here || whole_vector.kind == Place::Kind::Nowhere) {
        whole_vector.type = expression.type;
        whole_vector.picked.clear();
      }
      return whole_vector;
    }
    default:
      return {.type = expression.type, .text = value(expression)};
  }
}

Place Writer::dereference(const ir::Expression& expression) {
  if (const Direct direct = direct_place(expression); direct.place != nullptr)
    return direct.is_element ? element(place(*direct.place), direct.index) : place(*direct.place);
  const ir::Expression& to = *expression.operands[0];
  if (!is_static_pointer(to.type)) return {.kind = Place::Kind::Buffer, .type = expression.type, .text = value(to)};
  const Pointer known = pointer(to);
  if (known.shape.root == nullptr) return {.kind = Place::Kind::Nowhere, .type = expression.type};
  if (known.shape.root->is_words)
    return {.kind = Place::Kind::Bytes, .type = expression.type, .text = known.ints[0], .cell = known.shape.root};
  Place there{.type = expression.type, .text = target(known)};
  const Type* really = part_of(unit_.types, *known.shape.root, known.shape.path).type;
  if (really != expression.type && really->is_number() && expression.type->is_number()) there.really = really;
  return there;
}

Place Writer::member(const ir::Expression& expression) {
  Place part = place(*expression.operands[0]);
  const Type* whole_type = part.type;
  const Field& field = whole_type->fields[expression.index];
  part.type = field.type;
  switch (part.kind) {
    case Place::Kind::Here:
      part.text = {base::format("{}.{}", operand(part.text, Level::Postfix),
                                unit_.types.field_name(whole_type, expression.index))};
      break;
    case Place::Kind::Buffer:
    case Place::Kind::Bytes:
      part.offset += field.offset;
      break;
    case Place::Kind::Nowhere:
      break;
  }
  return part;
}

// A reinterpreted place, as a value with components.
Place Writer::plain(const Place& from) {
  if (from.really == nullptr) return from;
  return {.type = from.type, .text = read(from)};
}

// Of an array or a vector; no index: the first.
Place Writer::element(const Place& whole_place, const ir::Expression* position) {
  const Place from = plain(whole_place);
  Place part = from;
  const Type* type = from.type;
  part.type = type->inner;
  const ir::Expression* plain = position == nullptr ? nullptr : &glsl_unwidened(*position);
  const bool is_known = plain == nullptr || plain->kind == ExpressionKind::Constant;
  // A constant index out of range can be only in code that never runs, but compilers refuse it.
  const uint64_t known_index = plain == nullptr || (is_known && plain->bits >= type->count) ? 0 : plain->bits;
  if (!from.picked.empty()) {
    if (is_known) {
      part.picked = from.picked[known_index];
      part.type = type;
      return part;
    }
    return {.type = type->inner,
            .text = {base::format("{}[{}]", operand(read(from), Level::Postfix), index(*position).text)}};
  }
  switch (from.kind) {
    case Place::Kind::Here: {
      if (type->is_vector() && is_known) {
        part.text = glsl_pick(from.text, kComponents[known_index]);
      } else {
        const std::string at = is_known ? std::to_string(known_index) : index(*position).text;
        part.text = {base::format("{}[{}]", operand(from.text, Level::Postfix), at)};
      }
      break;
    }
    case Place::Kind::Buffer:
      if (is_known) {
        part.offset += known_index * type->inner->size;
      } else {
        part.text = sum(address_plus(from.text, from.offset), index_bytes(*position, type->inner->size));
        part.offset = 0;
      }
      break;
    case Place::Kind::Bytes:
      if (is_known)
        part.offset += known_index * type->inner->size;
      else
        part.text = sum(from.text, product(int_index(*position), type->inner->size, false));
      break;
    case Place::Kind::Nowhere:
      break;
  }
  return part;
}

Text Writer::read(const Place& from) {
  Text text;
  switch (from.kind) {
    case Place::Kind::Here:
      return from.really == nullptr ? from.text : memory_.bitcast(from.type, from.really, from.text);
    case Place::Kind::Nowhere:
      return memory_.zero(from.type);
    case Place::Kind::Buffer:
    case Place::Kind::Bytes:
      if (from.picked.size() == 1) {
        const auto which = static_cast<uint64_t>(std::string_view("xyzw").find(from.picked[0]));
        return read_memory(from.type->inner, from, which * from.type->inner->size);
      }
      text = read_memory(from.type, from, 0);
      break;
  }
  return from.picked.empty() ? text : glsl_pick(text, from.picked);
}

Text Writer::read_memory(const Type* type, const Place& from, uint64_t more) {
  if (from.kind == Place::Kind::Buffer) return memory_.load(type, address_plus(from.text, from.offset + more));
  return memory_.load(type, *from.cell, sum(from.text, {std::to_string(from.offset + more)}), instance_.kernels);
}

std::string Writer::write_memory(const Type* type, const Place& to, uint64_t more, const Text& given) {
  if (to.kind == Place::Kind::Buffer) return memory_.store(type, address_plus(to.text, to.offset + more), given);
  return memory_.store(type, *to.cell, sum(to.text, {std::to_string(to.offset + more)}), given, instance_.kernels);
}

Text Writer::address(const ir::Expression& expression) {
  const ir::Expression& inner = *expression.operands[0];
  switch (expression.kind) {
    case ExpressionKind::AddressOf:
    case ExpressionKind::Decay: {
      const Place at = place(inner);
      if (at.kind != Place::Kind::Buffer) return {"0ul"};
      return address_plus(at.text, at.offset);
    }
    case ExpressionKind::PointerAdd: {
      const ir::Expression& count = *expression.operands[1];
      const uint64_t size = std::max<uint64_t>(1, expression.type->inner->size);
      const Text from = value(inner);
      if (count.kind != ExpressionKind::Constant) return sum(from, index_bytes(count, size));
      const auto bytes = static_cast<int64_t>(count.bits * size);
      if (bytes >= 0) return address_plus(from, static_cast<uint64_t>(bytes));
      return glsl::binary(from, "-", {number(0 - static_cast<uint64_t>(bytes))}, Level::Sum);
    }
    default:
      if (inner.kind == ExpressionKind::Null) return {"0ul"};
      if (is_static_pointer(inner.type))
        unit_.refuse(base::format("a {} has no address on Vulkan", TypeTable::name(inner.type)));
      if (expression.type->is(TypeKind::Long) || inner.type->is(TypeKind::Long))
        return {base::format("{}({})", unit_.types.name(expression.type), value(inner).text)};
      return value(inner);
  }
}

// ---- Static pointers: see glsl_resolve.h ----------------------------------------------------------------------------

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
