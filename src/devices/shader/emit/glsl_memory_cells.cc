// Values in variables that are reinterpreted: each access is a function of the variable and the type.
//
//   shared uint[1024] tile;
//   float load_half_tile(uint at) { return kymo_from_half(uint16_t(tile[(at) / 4u] >> int((at) % 4u) * 8)); }

#include <algorithm>

#include "base/text.h"
#include "shader/emit/glsl_memory.h"

namespace kymo::shader::glsl {
namespace {

constexpr uint32_t kGlslCellWordBytes = 4;

bool glsl_is_shared(const Cell& cell) { return cell.is_memory || cell.variable->space == Space::Threadgroup; }

bool glsl_is_narrow(const Type* type) { return type->is_scalar() && type->size < kGlslCellWordBytes; }

// Vectors of small numbers that no other value shares a word with.
bool glsl_has_own_words(const Type* type) {
  return type->is_vector() && glsl_is_narrow(type->inner) && type->align % kGlslCellWordBytes == 0;
}

Text glsl_element_at(const Type* element) {
  return {base::format("at + uint(i) * {}u", std::max<uint64_t>(1, element->size)), Level::Sum};
}

Text glsl_at_plus(uint64_t bytes) {
  return bytes == 0 ? Text{"at"} : Text{base::format("at + {}u", bytes), Level::Sum};
}

void glsl_check_union(const Unit& unit, const Type* type) {
  if (type->is_struct() && type->is_union && type->align % kGlslCellWordBytes != 0)
    unit.refuse(
        base::format("the union {} has no member of 4 bytes, and is in memory that is converted to other types: "
                     "this is not supported on Vulkan",
                     type->name));
}

}  // namespace

Text Memory::load(const Type* type, const Cell& cell, const Text& at, const KernelSet& kernels) {
  const std::string& function =
      unit_.accessor(cell, kernels, base::format("load {} {}", cell.name, type->id),
                     base::format("load_{}_{}", name_part(type), cell.name),
                     [&](const std::string& name) { return load_function(type, cell, name, kernels); });
  return {base::format("{}({})", function, at.text)};
}

std::string Memory::store(const Type* type, const Cell& cell, const Text& at, const Text& value,
                          const KernelSet& kernels) {
  const std::string& function =
      unit_.accessor(cell, kernels, base::format("store {} {}", cell.name, type->id),
                     base::format("store_{}_{}", name_part(type), cell.name),
                     [&](const std::string& name) { return store_function(type, cell, name, kernels); });
  return base::format("{}({}, {});", function, at.text, value.text);
}

std::string Memory::load_function(const Type* type, const Cell& cell, const std::string& name,
                                  const KernelSet& kernels) {
  glsl_check_union(unit_, type);
  const std::string result = unit_.types.name(type);
  std::string body;
  if (type->is_array()) {
    body = base::format("  {} values;\n  for (int i = 0; i < {}; ++i) values[i] = {};\n  return values;\n", result,
                        std::max(1U, type->count), load(type->inner, cell, glsl_element_at(type->inner), kernels).text);
  } else if (type->is_struct() && !type->is_union) {
    std::string parts;
    for (const Field& field : type->fields)
      (parts += parts.empty() ? "" : ", ") += load(field.type, cell, glsl_at_plus(field.offset), kernels).text;
    body = base::format("  return {}({});\n", result, parts.empty() ? "0" : parts);
  } else {
    body = base::format("  return {};\n", get(type, {cell.name, 0, "at", type->align}).text);
  }
  return base::format("{} {}(uint at) {{\n{}}}\n", result, name, body);
}

std::string Memory::store_function(const Type* type, const Cell& cell, const std::string& name,
                                   const KernelSet& kernels) {
  glsl_check_union(unit_, type);
  std::string body;
  const auto line = [&](const std::string& statement) { body += "  " + statement + "\n"; };
  if (type->is_array()) {
    line(base::format("for (int i = 0; i < {}; ++i) {}", std::max(1U, type->count),
                      store(type->inner, cell, glsl_element_at(type->inner), {"value[i]"}, kernels)));
  } else if (type->is_struct() && !type->is_union) {
    for (uint32_t i = 0; i < type->fields.size(); ++i)
      line(store(type->fields[i].type, cell, glsl_at_plus(type->fields[i].offset),
                 {"value." + unit_.types.field_name(type, i)}, kernels));
  } else if (glsl_has_own_words(type)) {
    const uint32_t in_word = kGlslCellWordBytes / static_cast<uint32_t>(type->inner->size), bits = 32 / in_word;
    for (uint32_t i = 0; i < type->count; ++i) {
      const std::string part =
          base::format("({} & {}u) << {}", bits_of(type->inner->kind, {base::format("value[{}]", i)}),
                       (uint64_t{1} << bits) - 1, i % in_word * bits);
      const bool is_first = i % in_word == 0, is_last = i % in_word == in_word - 1 || i == type->count - 1;
      if (is_first) body += base::format("  {}[at / 4u + {}u] = ", cell.name, i / in_word);
      body += part + (is_last ? ";\n" : " | ");
    }
  } else if (type->is_vector()) {
    for (uint32_t i = 0; i < type->count; ++i)
      line(store(type->inner, cell, glsl_at_plus(i * type->inner->size), {base::format("value[{}]", i)}, kernels));
  } else if (glsl_is_narrow(type) && glsl_is_shared(cell)) {
    line(base::format("{}(at, {}u, {});", insert_function(cell, kernels),
                      (uint64_t{1} << scalar_bytes(type->kind) * 8) - 1, bits_of(type->kind, {"value"})));
  } else {
    body = put(type, {cell.name, 0, "at", type->align}, {"value"}, "  ");
  }
  return base::format("void {}(uint at, {} value) {{\n{}}}\n", name, unit_.types.name(type), body);
}

// Several threads may write different parts of a word at the same time.
const std::string& Memory::insert_function(const Cell& cell, const KernelSet& kernels) {
  return unit_.accessor(cell, kernels, base::format("insert {}", cell.name), "insert_" + cell.name,
                        [&](const std::string& name) {
                          return base::format(
                              "void {}(uint at, uint mask, uint bits) {{\n"
                              "  uint shift = at % 4u * 8u, seen = {}[at / 4u], found;\n"
                              "  for (; {}; seen = found) {{\n"
                              "    uint next = seen & ~(mask << shift) | (bits & mask) << shift;\n"
                              "    if (next == seen) break;\n"
                              "    found = atomicCompSwap({}[at / 4u], seen, next);\n"
                              "    if (found == seen) break;\n"
                              "  }}\n"
                              "}}\n",
                              name, cell.name, unit_.goes_on(), cell.name);
                        });
}

}  // namespace kymo::shader::glsl
