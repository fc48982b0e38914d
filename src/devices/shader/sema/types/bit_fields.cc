// The layout of bit-fields: Clang's, on little-endian machines.
//
// A bit-field begins at the next bit, unless it would then cross a boundary of its type: then it begins there. One of 0
// bits moves to such a boundary. Neighbours share bytes, also with the padding of the member before them.
//
// The type of the struct has unsigned integers where the bit-fields are. They have no meaning of their own: one may
// hold several bit-fields, and a bit-field may be in several of them.

#include <algorithm>

#include "base/text.h"
#include "shader/sema/types/types.h"

namespace kymo::shader {
namespace {

constexpr uint64_t kByte = 8;  // bits

uint64_t bits_round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

}  // namespace

void Types::set_width(Class& owner, Member& member, const ast::Declaration& declaration) {
  const auto name = [&] { return member.name.empty() ? "a bit-field" : base::format("\"{}\"", member.name); };
  if (!member.type->is_integer() && !member.type->is(TypeKind::Bool))
    throw Rejected{declaration.at, base::format("a bit-field has a type of integers or bool, and {} is {}", name(),
                                                in_quotes(member.type))};
  const Location at = declaration.bit_width->at;
  const uint64_t width =
      context_.expressions->constant_integer(*declaration.bit_width, *owner.scope, "the number of bits");
  const uint64_t most = member.type->is(TypeKind::Bool) ? 1 : member.type->size * kByte;
  if (width > most)
    throw Rejected{at, base::format("{} has {} bits, and {} has only {}", name(), static_cast<int64_t>(width),
                                    in_quotes(member.type), most)};
  if (width == 0 && !member.name.empty())
    throw Rejected{at, base::format("{} has 0 bits: only a bit-field without a name may have so few", name())};
  member.is_bits = true;
  member.width = static_cast<uint32_t>(width);
  owner.has_bits = true;
}

void Types::store_bits(Class& made, std::vector<Field>& fields, uint32_t& align) {
  uint64_t next = 0;    // bit
  uint64_t stored = 0;  // bytes that have a field already
  // Fields for the bytes of bit-fields before `next`, as large as the bytes until `end` allow.
  const auto store_until = [&](uint64_t end) {
    while (stored * kByte < next) {
      const TypeKind kind = stored % 4 == 0 && stored + 4 <= end   ? TypeKind::UInt
                            : stored % 2 == 0 && stored + 2 <= end ? TypeKind::UShort
                                                                   : TypeKind::UChar;
      fields.push_back({"bits", table_.get(kind)});
      stored += table_.get(kind)->size;
    }
  };
  for (Member& member : made.members) {
    const uint64_t unit = member.type->size * kByte;
    if (member.is_bits) {
      if (member.align > member.type->align) next = bits_round_up(next, member.align * kByte);
      if (member.width == 0 || next % unit + member.width > unit) next = bits_round_up(next, unit);
      member.bit = next;
      next += member.width;
      if (!member.name.empty()) align = std::max(align, member.align);
      continue;
    }
    if (member.type->size > kLargestStruct || stored > kLargestStruct)
      throw Rejected{made.declaration->at,
                     base::format("\"{}\" is larger than {} bytes", made.type->name, kLargestStruct)};
    const uint64_t offset = bits_round_up(bits_round_up(next, kByte) / kByte, member.align);
    store_until(offset);
    member.field = static_cast<uint32_t>(fields.size());
    fields.push_back({member.name, member.type, 0, member.align});
    align = std::max(align, member.align);
    stored = offset + member.type->size;
    next = stored * kByte;
  }
  store_until(bits_round_up(bits_round_up(next, kByte) / kByte, align));
  std::erase_if(made.members, [](const Member& member) { return member.is_bits && member.name.empty(); });
}

}  // namespace kymo::shader
