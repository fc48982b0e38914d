#include "device/opencl/types.h"

#include <array>
#include <utility>

namespace kymo::device::opencl {
namespace {

constexpr std::array<std::pair<std::string_view, DType>, 21> kScalars = {{
    {"char", DType::I8},
    {"signed char", DType::I8},
    {"uchar", DType::U8},
    {"unsigned char", DType::U8},
    {"short", DType::I16},
    {"ushort", DType::U16},
    {"unsigned short", DType::U16},
    {"int", DType::I32},
    {"signed int", DType::I32},
    {"uint", DType::U32},
    {"unsigned int", DType::U32},
    {"unsigned", DType::U32},
    {"long", DType::I64},
    {"signed long", DType::I64},
    {"ulong", DType::U64},
    {"unsigned long", DType::U64},
    {"half", DType::F16},
    {"float", DType::F32},
    {"double", DType::F64},
    {"signed short", DType::I16},
    {"bool", DType::Bool},
}};

constexpr std::string_view kQualifiers[] = {"const",    "volatile", "restrict", "__global",  "global",  "__constant",
                                            "constant", "__local",  "local",    "__private", "private", "__restrict"};

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\0')) text.remove_suffix(1);
  return text;
}

// Some drivers write qualifiers into the name. Intel's driver writes the size after it: "const float*;8".
std::string without_qualifiers(std::string_view text) {
  text = text.substr(0, text.find(';'));
  std::string plain;
  while (!(text = trimmed(text)).empty()) {
    const size_t end = std::min(text.find_first_of(" *"), text.size());
    const std::string_view word = end == 0 ? text.substr(0, 1) : text.substr(0, end);
    text.remove_prefix(word.size());
    bool is_qualifier = false;
    for (const std::string_view qualifier : kQualifiers) is_qualifier |= word == qualifier;
    if (is_qualifier) continue;
    if (!plain.empty() && word != "*") plain += ' ';
    plain += word;
  }
  return plain;
}

}  // namespace

std::optional<NumberType> number_type(std::string_view name) {
  const std::string plain = without_qualifiers(name);
  std::string_view base = plain;
  uint32_t count = 1;
  const size_t digits = base.find_first_of("0123456789");
  if (digits != std::string_view::npos) {
    const std::string_view number = base.substr(digits);
    if (number == "2" || number == "3" || number == "4" || number == "8") {
      count = static_cast<uint32_t>(number[0] - '0');
    } else if (number == "16") {
      count = 16;
    } else {
      return std::nullopt;
    }
    base = base.substr(0, digits);
  }
  for (const auto& [scalar, type] : kScalars)
    if (base == scalar) return NumberType{type, count};
  return std::nullopt;
}

std::string name_of(const NumberType& type) {
  for (const std::string_view scalar :
       {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float", "double", "bool"})
    if (number_type(scalar)->type == type.type)
      return std::string(scalar) + (type.count == 1 ? "" : std::to_string(type.count));
  return {};
}

bool may_be_bytes(std::string_view type_name) {
  const std::string plain = without_qualifiers(type_name);
  for (const std::string_view opaque :
       {"image", "sampler_t", "pipe", "queue_t", "event_t", "clk_event_t", "reserve_id_t"})
    if (plain.starts_with(opaque)) return false;
  return !plain.empty();
}

Parameter parameter_of(std::string_view name, std::string_view type_name, bool is_local, bool is_private) {
  Parameter parameter;
  parameter.name = std::string(trimmed(name));
  const std::string plain = without_qualifiers(type_name);
  if (plain.ends_with('*')) {
    parameter.kind = is_local ? ParameterKind::Local : ParameterKind::Buffer;
    const auto pointee = number_type(std::string_view(plain).substr(0, plain.size() - 1));
    if (pointee) parameter.type = pointee->type;
    return parameter;
  }
  const auto number = is_private ? number_type(plain) : std::nullopt;
  if (!number) {
    parameter.kind = ParameterKind::Unknown;
    return parameter;
  }
  parameter.kind = ParameterKind::Value;
  parameter.type = number->type;
  parameter.count = number->count;
  parameter.bytes = number->bytes();
  return parameter;
}

}  // namespace kymo::device::opencl
