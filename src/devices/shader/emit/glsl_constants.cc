#include "shader/emit/glsl_constants.h"

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "base/text.h"
#include "shader/emit/glsl_types.h"
#include "shader/ir/evaluated.h"

namespace kymo::shader::glsl {
namespace {

constexpr uint64_t kMostConstantValues = 1 << 20;

std::optional<ir::Evaluated> glsl_constant_value(const ir::Variable& constant) {
  uint64_t steps = kMostConstantValues;
  if (constant.value == nullptr) return ir::make_evaluated(constant.type, true, steps);
  return ir::evaluated_literal(*constant.value, steps);
}

void glsl_put_bytes(const Type* type, const ir::Evaluated& value, std::span<uint8_t> into) {
  if (value.kind == ir::EvaluatedKind::Scalar)
    for (size_t i = 0; i < type->size && i < sizeof(value.bits); ++i)
      into[i] = static_cast<uint8_t>(value.bits >> (i * 8));
  for (size_t i = 0; i < value.parts.size(); ++i) {
    const Type* part = ir::part_type(type, i);
    glsl_put_bytes(part, value.parts[i], into.subspan(type->is_struct() ? type->fields[i].offset : i * part->size));
  }
}

}  // namespace

bool has_known_bytes(const ir::Variable& constant) { return glsl_constant_value(constant).has_value(); }

std::string words_text(const ir::Variable& constant) {
  std::vector<uint8_t> bytes(words_of(constant.type) * sizeof(uint32_t));
  if (const std::optional<ir::Evaluated> value = glsl_constant_value(constant))
    glsl_put_bytes(constant.type, *value, bytes);
  std::string words;
  for (size_t i = 0; i < bytes.size(); i += sizeof(uint32_t)) {
    uint32_t word = 0;
    std::memcpy(&word, &bytes[i], sizeof(word));
    base::format_to(words, "{}{}u", words.empty() ? "" : ", ", word);
  }
  return base::format("uint[]({})", words);
}

}  // namespace kymo::shader::glsl
