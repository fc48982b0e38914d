#include "shader/sema/builtin_types.h"

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"

namespace kymo::shader {
namespace {

struct TypeSpelling {
  TypeKind kind;
  uint32_t count = 1;
  bool packed = false;
  bool atomic = false;
};

// All names that Metal has for numbers, vectors of them, and atomics.
std::unordered_map<std::string_view, TypeSpelling> type_spellings() {
  static constexpr std::pair<std::string_view, TypeKind> kScalars[] = {
      {"bool", TypeKind::Bool},     {"char", TypeKind::Char}, {"uchar", TypeKind::UChar},   {"short", TypeKind::Short},
      {"ushort", TypeKind::UShort}, {"int", TypeKind::Int},   {"uint", TypeKind::UInt},     {"long", TypeKind::Long},
      {"ulong", TypeKind::ULong},   {"half", TypeKind::Half}, {"bfloat", TypeKind::BFloat}, {"float", TypeKind::Float}};
  static std::vector<std::string> texts;  // the keys; filled once
  texts.reserve(std::size(kScalars) * 7);
  std::unordered_map<std::string_view, TypeSpelling> known;
  for (const auto& [name, kind] : kScalars) {
    known[name] = {kind};
    for (uint32_t count = 2; count <= 4; ++count) {
      known[texts.emplace_back(base::format("{}{}", name, count))] = {kind, count};
      known[texts.emplace_back(base::format("packed_{}{}", name, count))] = {kind, count, true};
    }
  }
  known["void"] = {TypeKind::Void};
  known["size_t"] = {TypeKind::ULong};
  known["ptrdiff_t"] = {TypeKind::Long};
  known["atomic_int"] = {TypeKind::Int, 1, false, true};
  known["atomic_uint"] = {TypeKind::UInt, 1, false, true};
  known["atomic_bool"] = {TypeKind::Bool, 1, false, true};
  known["atomic_ulong"] = {TypeKind::ULong, 1, false, true};
  known["atomic_float"] = {TypeKind::Float, 1, false, true};
  return known;
}

}  // namespace

const Type* builtin_type(TypeTable& table, std::string_view name) {
  static const std::unordered_map<std::string_view, TypeSpelling> kKnown = type_spellings();
  const auto found = kKnown.find(name);
  if (found == kKnown.end()) return nullptr;
  const TypeSpelling& spelling = found->second;
  const Type* scalar = table.get(spelling.kind);
  if (spelling.atomic) return table.atomic(scalar);
  return spelling.count == 1 ? scalar : table.vector(scalar, spelling.count, spelling.packed);
}

}  // namespace kymo::shader
