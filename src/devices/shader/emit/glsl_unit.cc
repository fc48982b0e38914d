#include "shader/emit/glsl_unit.h"

#include <algorithm>

#include "base/text.h"
#include "shader/embedded.h"
#include "shader/emit/glsl_text.h"

namespace kymo::shader::glsl {
namespace {

const CPieces& glsl_pieces() {
  static const CPieces pieces = read_pieces(embedded::prelude_glsl_comp);
  return pieces;
}

}  // namespace

Unit::Unit(const ir::Module& of)
    : module(of),
      names(reserved_words()),
      types(names, reserved_words()),
      resolver(of, types),
      prelude(glsl_pieces()),
      simd_(glsl_pieces()) {}

std::string Unit::reference(const std::string& type, uint32_t align) {
  for (const Reference& known : references_)
    if (known.type == type) return known.name;
  if (type.find('8') != std::string::npos) need(Extension::Bytes);
  if (type.find("16") != std::string::npos) need(Extension::Shorts);
  return references_.emplace_back(Reference{names.take_outermost(type + "_at"), type, align}).name;
}

std::string Unit::references() const {
  std::string out;
  for (const Reference& reference : references_)
    out += base::format("layout(buffer_reference, scalar, buffer_reference_align = {}) {}buffer {} {{ {} v; }};\n",
                        reference.align, is_coherent_ ? "coherent " : "", reference.name, reference.type);
  return out;
}

void Unit::declare(const Cell& cell, const KernelSet& kernels) {
  const Cell& declared = cell.storage();
  const auto [place, is_first] = cell_numbers_.emplace(&declared, cells_.size());
  if (is_first)
    cells_.emplace_back(&declared, kernels);
  else
    cells_[place->second].second.add(kernels);
}

std::string Unit::type_of(const Cell& cell) {
  if (cell.is_words)
    return cell.is_memory ? "uint" : base::format("uint[{}]", std::max<uint64_t>(1, (cell.bytes + 3) / 4));
  if (!is_static_pointer(cell.type)) return types.name(cell.type);
  return types.vector_name(TypeKind::Int, std::max(1U, cell.shapes[0].ints()));
}

std::string Unit::declaration(const Cell& cell) {
  const bool is_shared = cell.is_memory || cell.variable->space == Space::Threadgroup;
  return base::format("{}{} {}", is_shared ? "shared " : "", type_of(cell), cell.name);
}

std::vector<Unit::Piece> Unit::cells() {
  std::vector<Piece> pieces;
  for (const auto& [cell, kernels] : cells_)
    pieces.push_back({declaration(*cell) + ";\n", kernels, is_for_all(kernels)});
  return pieces;
}

std::vector<Unit::Piece> Unit::accessors() const {
  std::vector<Piece> pieces;
  for (const auto& [cell, text] : accessors_) {
    const KernelSet& kernels = accessor_kernels_.at(cell);
    pieces.push_back({text, kernels, is_for_all(kernels)});
  }
  return pieces;
}

void Unit::add_global(std::string text, const KernelSet* kernels) {
  const bool for_all = kernels == nullptr || is_for_all(*kernels);
  globals_.push_back({std::move(text), for_all ? KernelSet() : *kernels, for_all});
}

void Unit::add_function(std::string text, const KernelSet* kernels) {
  const bool for_all = kernels == nullptr || is_for_all(*kernels);
  functions_.push_back({std::move(text), for_all ? KernelSet() : *kernels, for_all});
}

std::string Unit::goes_on() {
  prelude.use("goes_on");
  return base::format("kymo_goes_on({}u)", loops_++);
}

bool Unit::is_for_all(const KernelSet& kernels) const {
  for (uint32_t i = 0; i < kernel_names.size(); ++i)
    if (!kernels.contains(i)) return false;
  return true;
}

std::string Unit::condition(const KernelSet& kernels) const {
  std::string names_of;
  for (uint32_t i = 0; i < kernel_names.size(); ++i)
    if (kernels.contains(i)) names_of += base::format("{}defined({})", names_of.empty() ? "" : " || ", kernel_names[i]);
  return base::format("#if {}\n", names_of);
}

void Unit::write(std::string& out, const std::vector<Piece>& pieces) const {
  const Piece* open = nullptr;
  const auto close = [&] {
    if (open != nullptr) out += "#endif\n";
    open = nullptr;
  };
  for (const Piece& piece : pieces) {
    if (piece.is_for_all || (open != nullptr && open->kernels != piece.kernels)) close();
    if (!piece.is_for_all && open == nullptr) {
      out += condition(piece.kernels);
      open = &piece;
    }
    out += piece.text;
  }
  close();
}

std::string Unit::extensions() const {
  std::string text;
  const auto enable = [&](std::string_view name) { text += base::format("#extension GL_{} : require\n", name); };
  enable("EXT_buffer_reference");
  enable("EXT_scalar_block_layout");
  enable("EXT_shader_explicit_arithmetic_types_int64");
  if (types.has_8_bits() || needs(Extension::Bytes)) enable("EXT_shader_explicit_arithmetic_types_int8");
  if (types.has_16_bits() || needs(Extension::Shorts)) enable("EXT_shader_explicit_arithmetic_types_int16");
  if (needs(Extension::Bytes)) enable("EXT_shader_8bit_storage");
  if (needs(Extension::Shorts)) enable("EXT_shader_16bit_storage");
  if (needs(Extension::Scopes)) enable("KHR_memory_scope_semantics");
  if (needs(Extension::LoopWishes)) enable("EXT_control_flow_attributes");
  if (needs(Extension::WideAtomics)) enable("EXT_shader_atomic_int64");
  return text;
}

std::string Unit::text() {
  const std::vector<Piece> cells_of_text = cells();  // first, as these may name further types
  // Replaces `precise`, with which glslang does not terminate if a structure is computed from its members.
  std::string out = "#version 450\n// For SPIR-V in which every operation on floats is NoContraction.\n" + extensions();
  for (const std::string& name : kernel_names) out += base::format("#pragma kernel {}\n", name);
  out += "layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;\n";
  const auto section = [&](const std::string& text) {
    if (!text.empty()) (out += '\n') += text;
  };
  const auto of_pieces = [&](const std::vector<Piece>& pieces) {
    std::string text;
    write(text, pieces);
    return text;
  };
  section(references() + types.declarations());
  section(prelude.text());
  if (!simd_.text().empty()) section(of_pieces({{simd_.text(), simd_kernels_, is_for_all(simd_kernels_)}}));
  section(of_pieces(globals_) + of_pieces(cells_of_text));
  section(of_pieces(accessors()));
  section(of_pieces(functions_));
  return out;
}

}  // namespace kymo::shader::glsl
