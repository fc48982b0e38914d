#include "device/cuda/reflection.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "device/cuda/signature.h"
#include "kymo/error.h"

namespace kymo::device::cuda {
namespace {

constexpr uint32_t kPointerBytes = 8;

// NVRTC writes .u32 for int and for unsigned. So without a declaration an integer is treated as signed, like C's int.
// In hand-written PTX the letter is correct.
std::optional<DType> ptx_type(std::string_view type, bool by_hand) {
  const bool is_unsigned = by_hand && (type[0] == 'u' || type[0] == 'b');
  if (type == "f16") return DType::F16;
  if (type == "bf16") return DType::BF16;
  if (type == "f32") return DType::F32;
  if (type == "f64") return DType::F64;
  const std::string_view bits = type.substr(1);
  if (bits == "8") return is_unsigned ? DType::U8 : DType::I8;
  if (bits == "16") return is_unsigned ? DType::U16 : DType::I16;
  if (bits == "32") return is_unsigned ? DType::U32 : DType::I32;
  if (bits == "64") return is_unsigned ? DType::U64 : DType::I64;
  return {};
}

// From the PTX alone.
Parameter from_ptx(const PtxParameter& ptx, bool marks_pointers, bool by_hand) {
  Parameter parameter;
  parameter.bytes = ptx.bytes;
  parameter.kind = ParameterKind::Unknown;
  if (ptx.array || ptx.type.size() < 2) return parameter;
  if (ptx.pointer) {
    parameter.kind = ParameterKind::Buffer;
    return parameter;
  }
  // If no pointer is marked, an integer with the size of an address may be a pointer.
  if (!marks_pointers && ptx.bytes == kPointerBytes && ptx.type != "f64") {
    parameter.kind = ParameterKind::Word;
    parameter.type = DType::U64;
    return parameter;
  }
  parameter.type = ptx_type(ptx.type, by_hand);
  if (parameter.type) parameter.kind = ParameterKind::Value;
  return parameter;
}

Parameter from_declaration(const PtxParameter& ptx, const DeclaredParameter& declared, const Aliases& aliases,
                           bool marks_pointers) {
  Parameter parameter;
  parameter.name = declared.name;
  parameter.bytes = ptx.bytes;
  const NamedType type = type_named(declared.type, aliases);
  if (type.pointer && !ptx.array && ptx.bytes == kPointerBytes) {
    parameter.kind = ParameterKind::Buffer;
    parameter.type = type.element;
  } else if (!type.pointer && type.element && size_of(*type.element) * type.count == ptx.bytes) {
    parameter.kind = ParameterKind::Value;
    parameter.type = type.element;
    parameter.count = type.count;
  } else {
    // A structure, an enumeration, an alias from a header.
    parameter = from_ptx(ptx, marks_pointers, false);
    parameter.name = declared.name;
  }
  return parameter;
}

// The only declaration with this name and this number of parameters; none if there are several.
const Signature* declaration_of(const SourceScan& scan, std::string_view name, size_t parameters) {
  const Signature* found = nullptr;
  for (const Signature& kernel : scan.kernels) {
    if (kernel.name != name || kernel.parameters.size() != parameters) continue;
    bool named = true;  // an explicit instantiation has no names
    for (const DeclaredParameter& parameter : kernel.parameters) named &= !parameter.name.empty();
    if (!named && found != nullptr) continue;
    bool found_named = found != nullptr;
    if (found != nullptr)
      for (const DeclaredParameter& parameter : found->parameters) found_named &= !parameter.name.empty();
    if (found != nullptr && found_named) return nullptr;
    found = &kernel;
  }
  return found;
}

KernelInfo reflect_entry(const PtxProgram& program, const PtxEntry& entry, const SourceScan& scan, bool by_hand) {
  KernelInfo info;
  info.name = entry.name;
  std::optional<Signature> mangled = demangle_signature(entry.name);
  if (mangled) info.name = mangled->name;
  if (mangled && mangled->parameters.size() != entry.parameters.size()) mangled.reset();
  const Signature* declared = declaration_of(scan, unqualified(info.name), entry.parameters.size());
  for (size_t i = 0; i < entry.parameters.size(); ++i) {
    const PtxParameter& ptx = entry.parameters[i];
    if (mangled) {  // its types have no aliases: a type that is not a pointer here is never one
      if (declared != nullptr) mangled->parameters[i].name = declared->parameters[i].name;
      info.parameters.push_back(from_declaration(ptx, mangled->parameters[i], {}, true));
    } else if (declared != nullptr) {
      info.parameters.push_back(from_declaration(ptx, declared->parameters[i], scan.aliases, program.marks_pointers));
    } else {
      info.parameters.push_back(from_ptx(ptx, program.marks_pointers, by_hand));
    }
  }
  if (entry.dynamic_shared) {
    Parameter shared;
    shared.name = "shared memory";
    shared.kind = ParameterKind::Local;
    info.parameters.push_back(std::move(shared));
  }
  info.required_group = {entry.required_group[0], entry.required_group[1], entry.required_group[2]};
  return info;
}

}  // namespace

std::vector<KernelInfo> reflect(const PtxProgram& program, std::string_view source) {
  const SourceScan scan = scan_source(source);
  std::vector<KernelInfo> kernels;
  std::map<std::string, size_t> uses;
  for (const PtxEntry& entry : program.entries) {
    kernels.push_back(reflect_entry(program, entry, scan, source.empty()));
    ++uses[kernels.back().name];
  }
  // Overloads are distinguished by their types.
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (uses[kernels[i].name] < 2) continue;
    const std::optional<Signature> mangled = demangle_signature(program.entries[i].name);
    if (!mangled) continue;
    std::string types;
    for (const DeclaredParameter& parameter : mangled->parameters) {
      if (!types.empty()) types += ", ";
      types += parameter.type;
    }
    kernels[i].name += "(" + types + ")";
  }
  return kernels;
}

void check_translated(const PtxProgram& program, std::span<const KernelInfo> kernels) {
  for (const KernelInfo& kernel : kernels) {
    const auto entry = std::ranges::find(program.entries, kernel.symbol, &PtxEntry::name);
    const size_t wanted = kernel.parameters.size() + (kernel.takes_grid ? 1 : 0);
    if (entry != program.entries.end() && entry->parameters.size() == wanted) continue;
    const std::string text = base::format("kernel {} with {} parameters not found", kernel.symbol, wanted);
    throw CompileError(text, kernel.symbol, 0, 0, text);
  }
}

}  // namespace kymo::device::cuda
