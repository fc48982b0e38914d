// Places: variables, their parts, and memory of buffers.

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
        return {Place::Kind::Bytes, expression.type, {"0"}, known.offset, {}, {}, nullptr, &known.storage()};
      if (!known.address.empty()) return {Place::Kind::Buffer, expression.type, {known.address}, 0, {}, {}, nullptr};
      return {Place::Kind::Here, expression.type, {known.name}, 0, {}, {}, nullptr};
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
      return {Place::Kind::Here, expression.type, value(expression), 0, {}, {}, nullptr};
  }
}

Place Writer::dereference(const ir::Expression& expression) {
  if (const Direct direct = direct_place(expression); direct.place != nullptr)
    return direct.is_element ? element(place(*direct.place), direct.index) : place(*direct.place);
  const ir::Expression& to = *expression.operands[0];
  if (!is_static_pointer(to.type)) return {Place::Kind::Buffer, expression.type, value(to), 0, {}, {}, nullptr};
  const Pointer known = pointer(to);
  if (known.shape.root == nullptr) return {Place::Kind::Nowhere, expression.type, {}, 0, {}, {}, nullptr};
  if (known.shape.root->is_words)
    return {Place::Kind::Bytes, expression.type, known.ints[0], 0, {}, {}, nullptr, known.shape.root};
  Place there{Place::Kind::Here, expression.type, target(known), 0, {}, {}, nullptr};
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
      if (whole_type->is_union) {
        part.kind = Place::Kind::Words;
        part.words = {operand(part.text, Level::Postfix) + ".words", 0, {}};
      } else {
        part.text = {base::format("{}.{}", operand(part.text, Level::Postfix),
                                  unit_.types.field_name(whole_type, expression.index))};
      }
      break;
    case Place::Kind::Buffer:
    case Place::Kind::Bytes:
      part.offset += field.offset;
      break;
    case Place::Kind::Words:
      part.words.offset += field.offset;
      break;
    case Place::Kind::Nowhere:
      break;
  }
  return part;
}

// A reinterpreted place, as a value with components.
Place Writer::plain(const Place& from) {
  if (from.really == nullptr) return from;
  return {Place::Kind::Here, from.type, read(from), 0, {}, {}, nullptr};
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
    return {Place::Kind::Here,
            type->inner,
            {base::format("{}[{}]", operand(read(from), Level::Postfix), index(*position).text)},
            0,
            {},
            {},
            nullptr};
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
    case Place::Kind::Words:
      if (is_known) {
        part.words.offset += known_index * type->inner->size;
      } else {
        std::string more = base::format("uint({})", index(*position).text);
        if (type->inner->size != 1) more += base::format(" * {}u", type->inner->size);
        part.words.moving = from.words.moving.empty() ? more : from.words.moving + " + " + more;
      }
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
    case Place::Kind::Words:
      text = memory_.get(from.type, from.words);
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

}  // namespace kymo::shader::glsl
