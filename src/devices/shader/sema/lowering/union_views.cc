// Members of unions whose members differ in shape: a vector and an array, a struct and a number.
//
// Such a union is stored as an array of words: uint, or ushort or uchar if its alignment is smaller. A member is a
// *view*: a Value whose `ir` is this array, whose `type` is the type of the member, and whose first byte is `view_at`
// plus `view_index`. Its numbers are read and written word by word, so that no target needs pointers to other types.
// A number that is aligned to its size is never larger than a word, or it is two words.

#include <bit>

#include "base/text.h"
#include "shader/sema/lowering/code_writer.h"

namespace kymo::shader {

namespace {

constexpr uint32_t kMaxViewParts = 256;  // of an array that is read or written as a whole

uint64_t view_part_size(const Type* whole) { return whole->inner->size; }  // of an array or a vector

const Type* view_word_type(const Value& view) { return view.ir->type->inner; }

void view_check_count(const Type* type, Location at) {
  if (type->is_array() && type->count > kMaxViewParts)
    throw Rejected{
        at, base::format("{} in a union is too large to be copied: copy its elements in a loop", in_quotes(type))};
}

}  // namespace

Value CodeWriter::view_part(const Value& view, const Type* type, uint64_t offset) {
  Value part = view;
  part.type = part.viewed = type;
  part.view_at += static_cast<uint32_t>(offset);
  part.kept = nullptr;
  return part;
}

// A view of one word of the union is the word itself: it has an address.
Value CodeWriter::view_or_word(const Value& view) {
  if (view.type != view_word_type(view)) return view;
  Value word = view;
  word.ir = view_word(view, 0);
  word.viewed = nullptr;
  word.view_index = nullptr;
  word.in_words = false;
  word.view_at = 0;
  return word;
}

Value CodeWriter::view_element(const Value& view, const ir::Expression* position, Location at) {
  ir::Builder& make = build(at);
  Value part = view_part(view, view.type->inner, 0);
  if (position->kind == ir::ExpressionKind::Constant)
    return view_part(part, part.type, position->bits * view_part_size(view.type));
  const Type* wide = table_.get(TypeKind::Int);
  const ir::Expression* offset = make.binary(ir::Operator::Multiply, make.convert(wide, position),
                                             make.constant_int(static_cast<int64_t>(view_part_size(view.type))));
  part.view_index = view.view_index == nullptr ? offset : make.binary(ir::Operator::Add, view.view_index, offset);
  return part;
}

// The offset of a byte of the view, as an int.
const ir::Expression* CodeWriter::view_offset(const Value& view, uint32_t byte) {
  ir::Builder& make = build(view.ir->at);
  const ir::Expression* constant = make.constant_int(view.view_at + byte);
  return view.view_index == nullptr ? constant : make.binary(ir::Operator::Add, view.view_index, constant);
}

const ir::Expression* CodeWriter::view_word(const Value& view, uint32_t byte) {
  ir::Builder& make = build(view.ir->at);
  const uint64_t size = view_word_type(view)->size;
  if (view.view_index == nullptr) return make.index(view.ir, static_cast<int32_t>((view.view_at + byte) / size));
  const int64_t bits = std::countr_zero(size);
  return make.index(view.ir, make.binary(ir::Operator::ShiftRight, view_offset(view, byte), make.constant_int(bits)));
}

// How far a number of 1 or 2 bytes is shifted in its word.
const ir::Expression* CodeWriter::view_shift(const Value& view) {
  ir::Builder& make = build(view.ir->at);
  const uint64_t size = view_word_type(view)->size;
  if (view.view_index == nullptr) return make.constant_int(static_cast<int64_t>(view.view_at % size * 8));
  const ir::Expression* last = make.constant_int(static_cast<int64_t>(size - 1));
  return make.binary(ir::Operator::Multiply, make.binary(ir::Operator::And, view_offset(view, 0), last),
                     make.constant_int(8));
}

// A pointer to the first byte of a view: as a number it is somewhere in a word, as a pointer it is anywhere.
const ir::Expression* CodeWriter::view_address(const Value& view) {
  ir::Builder& make = build(view.ir->at);
  const bool is_const = view.is_const || is_read_only(view.space);
  const ir::Expression* storage = make.address_of(view.ir);
  if (!view.in_words) {
    if (view.view_index == nullptr) return storage;
    const Type* element = table_.pointer(view.viewed->inner, view.space, is_const);
    return make.pointer_add(make.pointer_cast(element, storage), view.view_index);
  }
  const Type* bytes = table_.pointer(table_.get(TypeKind::UChar), view.space, is_const);
  return make.pointer_add(make.pointer_cast(bytes, storage), view_offset(view, 0));
}

const ir::Expression* CodeWriter::read_view(const Value& view) {
  const Type* type = view.type;
  ir::Builder& make = build(view.ir->at);
  view_check_count(type, view.ir->at);
  if (type->is_scalar()) {
    const Type* word = view_word_type(view);
    if (type->size > word->size) {
      const Type* pair = table_.vector(word, 2);
      return make.bitcast(type, make.construct(pair, {view_word(view, 0), view_word(view, 4)}));
    }
    const ir::Expression* number = view_word(view, 0);
    if (type->size < word->size) {
      const Type* narrow = table_.get(type->size == 1 ? TypeKind::UChar : TypeKind::UShort);
      const ir::Expression* bits = make.convert(table_.get(TypeKind::UInt), number);
      number = make.convert(narrow, make.binary(ir::Operator::ShiftRight, bits, view_shift(view)));
    }
    return type->is(TypeKind::Bool) ? make.convert(type, number) : make.bitcast(type, number);
  }
  std::vector<const ir::Expression*> parts;
  if (type->is_struct()) {
    for (const Field& field : type->fields) parts.push_back(read(view_part(view, field.type, field.offset)));
    return make.construct(type, std::move(parts));
  }
  for (uint32_t i = 0; i < type->count; ++i)
    parts.push_back(read(view_part(view, type->inner, i * view_part_size(type))));
  const bool is_packed = type->is_vector() && type->packed;
  return build(view.ir->at).construct(is_packed ? table_.vector(type->inner, type->count) : type, std::move(parts));
}

void CodeWriter::write_view(const Value& view, const ir::Expression* value, Location at) {
  const Type* type = view.type;
  view_check_count(type, at);
  const Type* word = view_word_type(view);
  if (type->is_scalar()) {
    const ir::Expression* number = settle(build(at).convert(type, value));
    ir::Builder& make = build(at);
    if (type->size > word->size) {
      const ir::Expression* pair = settle(make.bitcast(table_.vector(word, 2), number));
      emit(make.assign(view_word(view, 0), make.index(pair, 0)));
      return emit(make.assign(view_word(view, 4), make.index(pair, 1)));
    }
    const Type* narrow = table_.get(type->size == 1 ? TypeKind::UChar : TypeKind::UShort);
    const bool is_bool = type->is(TypeKind::Bool);
    if (type->size == word->size) {
      const ir::Expression* bits = is_bool ? make.convert(word, number) : make.bitcast(word, number);
      return emit(make.assign(view_word(view, 0), bits));
    }
    const Type* wide = table_.get(TypeKind::UInt);
    const ir::Expression* bits =
        make.convert(wide, is_bool ? make.convert(narrow, number) : make.bitcast(narrow, number));
    const ir::Expression* shift = settle(view_shift(view));
    const ir::Expression* mask =
        make.binary(ir::Operator::ShiftLeft, make.constant_uint(type->size == 1 ? 0xff : 0xffff), shift);
    const ir::Expression* rest = make.binary(ir::Operator::And, make.convert(wide, view_word(view, 0)),
                                             make.unary(ir::Operator::Complement, mask));
    const ir::Expression* all = make.binary(ir::Operator::Or, rest, make.binary(ir::Operator::ShiftLeft, bits, shift));
    return emit(make.assign(view_word(view, 0), make.convert(word, all)));
  }
  ir::Variable& kept = local("view", value->type, value, at);
  const ir::Expression* whole = build(at).variable(kept);
  if (type->is_struct()) {
    for (uint32_t i = 0; i < type->fields.size(); ++i)
      assign(view_part(view, type->fields[i].type, type->fields[i].offset), build(at).member(whole, i), at);
    return;
  }
  for (uint32_t i = 0; i < type->count; ++i)
    assign(view_part(view, type->inner, i * view_part_size(type)), build(at).index(whole, static_cast<int32_t>(i)), at);
}

}  // namespace kymo::shader
