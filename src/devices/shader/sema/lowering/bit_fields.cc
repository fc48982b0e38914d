// Reads and writes bit-fields: shifts and masks of the unsigned integers in which types/bit_fields.cc stores them.
//
// A bit-field is a Value whose `type` is the declared one, whose `bits` is the member, and whose `viewed` is the type
// of the struct. Its `ir` is the struct; in a union that is stored in words it is the words.

#include <algorithm>

#include "shader/sema/lowering/code_writer.h"

namespace kymo::shader {

// The bits that one of the integers has.
struct CodeWriter::BitsPart {
  Value storage;
  uint32_t shift = 0;     // of the bits in the integer
  uint32_t count = 0;     // of bits
  uint32_t position = 0;  // of the bits in the bit-field
};

namespace {

constexpr uint32_t kByte = 8, kInt = 32;  // bits

// The type in which the bits are collected.
TypeKind bits_wide(const Member& member) { return member.width > kInt ? TypeKind::ULong : TypeKind::UInt; }

uint64_t bits_mask(uint32_t count) { return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }

}  // namespace

Value CodeWriter::bit_field(const Value& object, const Member& member) {
  Value made = object;
  made.type = member.type;
  made.viewed = object.type;
  made.bits = &member;
  made.home = nullptr;
  made.kept = nullptr;
  // Integral promotion goes by the number of bits: a uint of 3 bits is an int in arithmetic.
  if (member.type->is_integer() && member.width <= kInt)
    made.promoted = table_.get(member.width < kInt || member.type->is_signed() ? TypeKind::Int : TypeKind::UInt);
  return made;
}

std::vector<CodeWriter::BitsPart> CodeWriter::parts_of(const Value& field) {
  const Member& member = *field.bits;
  const Type* structure = field.viewed;
  Value object = field;
  object.bits = nullptr;
  object.promoted = nullptr;
  object.kept = nullptr;
  object.type = structure;
  if (!object.in_words) object.viewed = nullptr;
  std::vector<BitsPart> parts;
  const auto add = [&](const Type* type, uint64_t byte, uint32_t index) {
    const uint64_t from = std::max(member.bit, byte * kByte),
                   to = std::min(member.bit + member.width, (byte + type->size) * kByte);
    if (from >= to) return;
    BitsPart& part = parts.emplace_back();
    part.shift = static_cast<uint32_t>(from - byte * kByte);
    part.count = static_cast<uint32_t>(to - from);
    part.position = static_cast<uint32_t>(from - member.bit);
    part.storage = object;
    if (object.in_words) {
      part.storage = view_or_word(view_part(object, type, byte));
      return;
    }
    part.storage.ir = build(field.ir->at).member(object.ir, index);
    part.storage.type = type;
  };
  for (uint32_t i = 0; i < structure->fields.size(); ++i) {
    const Field& stored = structure->fields[i];
    if (!stored.type->is_array()) {
      if (stored.type->is_integer()) add(stored.type, stored.offset, i);
      continue;
    }
    if (!object.in_words) continue;
    // The words of a union. A bit-field begins at bit 0.
    const uint64_t bits = stored.type->inner->size * kByte;
    const uint64_t words = std::min<uint64_t>(stored.type->count, (member.width + bits - 1) / bits);
    for (uint64_t k = 0; k < words; ++k) add(stored.type->inner, k * stored.type->inner->size, i);
  }
  return parts;
}

const ir::Expression* CodeWriter::read_bits(const Value& field) {
  using ir::Operator;
  const Member& member = *field.bits;
  const TypeKind wide = bits_wide(member);
  const Type* type = table_.get(wide);
  const uint32_t wide_bits = static_cast<uint32_t>(type->size) * kByte;
  const ir::Expression* all = nullptr;
  for (const BitsPart& part : parts_of(field)) {
    const ir::Expression* bits = read(part.storage);
    ir::Builder& make = build(field.ir->at);
    const uint32_t stored = static_cast<uint32_t>(bits->type->size) * kByte;
    bits = make.convert(type, bits);
    if (part.shift != 0) bits = make.binary(Operator::ShiftRight, bits, make.constant_int(part.shift));
    if (part.shift + part.count < stored)
      bits = make.binary(Operator::And, bits, make.constant_uint(bits_mask(part.count), wide));
    if (part.position != 0) bits = make.binary(Operator::ShiftLeft, bits, make.constant_int(part.position));
    all = all == nullptr ? bits : make.binary(Operator::Or, all, bits);
  }
  ir::Builder& make = build(field.ir->at);
  if (member.type->is_signed()) {
    const ir::Expression* unused = make.constant_int(wide_bits - member.width);
    all = make.binary(Operator::ShiftLeft, all, unused);
    all = make.convert(table_.get(wide == TypeKind::UInt ? TypeKind::Int : TypeKind::Long), all);
    all = make.binary(Operator::ShiftRight, all, unused);
  }
  return make.convert(member.type, all);
}

void CodeWriter::write_bits(const Value& field, const ir::Expression* value, Location at) {
  using ir::Operator;
  const Member& member = *field.bits;
  const TypeKind wide = bits_wide(member);
  const Type* type = table_.get(wide);
  const ir::Expression* number = settle(build(at).convert(type, build(at).convert(member.type, value)));
  for (const BitsPart& part : parts_of(field)) {
    const ir::Expression* before = read(part.storage);
    ir::Builder& make = build(at);
    const uint32_t stored = static_cast<uint32_t>(before->type->size) * kByte;
    const ir::Expression* bits = number;
    if (part.position != 0) bits = make.binary(Operator::ShiftRight, bits, make.constant_int(part.position));
    if (part.count < stored) {
      const Type* unit = table_.get(TypeKind::UInt);  // no storage is larger
      const auto mask = [&](uint64_t which) { return make.constant_uint(which & bits_mask(kInt)); };
      bits = make.binary(Operator::And, make.convert(unit, bits), mask(bits_mask(part.count)));
      if (part.shift != 0) bits = make.binary(Operator::ShiftLeft, bits, make.constant_int(part.shift));
      const ir::Expression* rest =
          make.binary(Operator::And, make.convert(unit, before), mask(~(bits_mask(part.count) << part.shift)));
      bits = make.binary(Operator::Or, rest, bits);
    }
    assign(part.storage, make.convert(before->type, bits), at);
  }
}

}  // namespace kymo::shader
