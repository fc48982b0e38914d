// The bytes of a .kymolib file. docs/shaders.md has the format.
#include <algorithm>
#include <set>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/text.h"
#include "kymo/error.h"
#include "kymo/translate.h"
#include "shader/types/type.h"

namespace kymo::shader {
namespace {

constexpr std::string_view kMagic = "KYMOLIB\x02";
constexpr uint32_t kMaxValueBytes = 1u << 20;
constexpr uint32_t kMaxIndex = 4096;
constexpr size_t kSmallestKernel = 6, kSmallestParameter = 15, kSmallestPart = 3;

enum : uint8_t { kUsesSimdgroups = 1, kTakesGrid = 2, kUsesMatrices = 4 };
enum : uint8_t { kReportsErrors = 1, kIsConst = 2, kIsWritten = 4, kIsAddresses = 8 };

[[noreturn]] void damaged(std::string_view why) {
  throw Error(base::format("this library of kernels is damaged: {}. Write it again with kymo shader -o", why));
}

// ---- Writing -------------------------------------------------------------------------------------------------------

void put_parameter(base::ByteWriter& out, const KernelParameter& parameter) {
  out.string(parameter.name);
  out.string(parameter.type);
  out.byte(static_cast<uint8_t>(parameter.kind));
  out.byte(static_cast<uint8_t>(parameter.passing));
  out.byte(static_cast<uint8_t>(parameter.scalar));
  out.byte(static_cast<uint8_t>((parameter.reports_errors ? kReportsErrors : 0) | (parameter.is_const ? kIsConst : 0) |
                                (parameter.is_written ? kIsWritten : 0) | (parameter.is_addresses ? kIsAddresses : 0)));
  out.byte(static_cast<uint8_t>(parameter.texture));
  out.byte(static_cast<uint8_t>(parameter.access));
  for (const uint32_t number : {parameter.index, parameter.count, parameter.bytes, parameter.align,
                                parameter.inline_bytes, parameter.value_offset})
    out.varint(number);
}

void put_kernel(base::ByteWriter& out, const Kernel& kernel) {
  out.string(kernel.name);
  out.string(kernel.symbol);
  out.varint(kernel.group_memory);
  out.varint(kernel.max_threads);
  out.byte(static_cast<uint8_t>((kernel.uses_simdgroups ? kUsesSimdgroups : 0) | (kernel.takes_grid ? kTakesGrid : 0) |
                                (kernel.uses_simdgroup_matrices ? kUsesMatrices : 0)));
  out.varint(kernel.parameters.size());
  for (const KernelParameter& parameter : kernel.parameters) put_parameter(out, parameter);
}

// ---- Reading -------------------------------------------------------------------------------------------------------

// What the device runtime relies on when it copies an argument.
void check_parameter(const KernelParameter& parameter) {
  using Kind = KernelParameter::Kind;
  const auto check = [&](bool is_so, std::string_view what) {
    if (!is_so) damaged(base::format("the {} of parameter \"{}\" is wrong", what, parameter.name));
  };
  check((parameter.kind == Kind::Threadgroup) == (parameter.passing == Passing::Group), "kind");
  const bool is_value =
      parameter.kind != Kind::Buffer && parameter.kind != Kind::Threadgroup;  // a texture and a sampler are too
  check(is_value || parameter.passing != Passing::Inline, "kind");
  check((parameter.kind == Kind::Texture) == (parameter.texture != TextureShape::None), "kind of texture");
  check(parameter.kind != Kind::Texture || parameter.bytes == sizeof(TextureValue), "size of a texture");
  check(parameter.index < kMaxIndex, "index");
  check(parameter.bytes <= kMaxValueBytes && parameter.count <= kMaxValueBytes, "size");
  const uint64_t element =
      parameter.is_addresses ? sizeof(uint64_t) : scalar_bytes(static_cast<TypeKind>(parameter.scalar));
  check(parameter.count != 0 && element * parameter.count <= parameter.bytes, "count");
  check(parameter.align != 0 && (parameter.align & (parameter.align - 1)) == 0, "alignment");
  if (parameter.passing != Passing::Inline) return;
  check(parameter.inline_bytes <= kMaxValueBytes + 256 && parameter.value_offset >= sizeof(uint64_t) &&
            parameter.value_offset <= parameter.inline_bytes &&
            parameter.bytes <= parameter.inline_bytes - parameter.value_offset,
        "offset");
}

KernelParameter take_parameter(base::ByteReader& in) {
  KernelParameter parameter;
  parameter.name = in.string();
  parameter.type = in.string();
  const uint8_t kind = in.byte(), passing = in.byte(), scalar = in.byte(), flags = in.byte();
  const uint8_t texture = in.byte(), access = in.byte();
  if (kind > static_cast<uint8_t>(KernelParameter::Kind::Sampler) ||
      texture > static_cast<uint8_t>(TextureShape::Volume) || access > static_cast<uint8_t>(TextureAccess::ReadWrite) ||
      passing > static_cast<uint8_t>(Passing::Group) || scalar > static_cast<uint8_t>(Scalar::Float))
    damaged("a parameter has an unknown kind");
  parameter.kind = static_cast<KernelParameter::Kind>(kind);
  parameter.passing = static_cast<Passing>(passing);
  parameter.scalar = static_cast<Scalar>(scalar);
  parameter.texture = static_cast<TextureShape>(texture);
  parameter.access = static_cast<TextureAccess>(access);
  parameter.reports_errors = (flags & kReportsErrors) != 0;
  parameter.is_const = (flags & kIsConst) != 0;
  parameter.is_written = (flags & kIsWritten) != 0;
  parameter.is_addresses = (flags & kIsAddresses) != 0;
  for (uint32_t* number : {&parameter.index, &parameter.count, &parameter.bytes, &parameter.align,
                           &parameter.inline_bytes, &parameter.value_offset})
    *number = in.varint_as<uint32_t>("number of a parameter");
  check_parameter(parameter);
  return parameter;
}

Kernel take_kernel(base::ByteReader& in) {
  Kernel kernel;
  kernel.name = in.string();
  kernel.symbol = in.string();
  if (kernel.name.empty() || kernel.symbol.empty()) damaged("a kernel has no name");
  kernel.group_memory = in.varint_as<uint32_t>("group memory");
  kernel.max_threads = in.varint_as<uint32_t>("number of threads");
  const uint8_t flags = in.byte();
  kernel.uses_simdgroups = (flags & kUsesSimdgroups) != 0;
  kernel.takes_grid = (flags & kTakesGrid) != 0;
  kernel.uses_simdgroup_matrices = (flags & kUsesMatrices) != 0;
  for (size_t left = in.count(kSmallestParameter); left > 0; --left) kernel.parameters.push_back(take_parameter(in));
  return kernel;
}

KernelLibrary::Part take_part(base::ByteReader& in) {
  KernelLibrary::Part part;
  const uint8_t target = in.byte();
  if (target > static_cast<uint8_t>(Target::Glsl)) damaged("it has a part for an unknown target");
  part.target = static_cast<Target>(target);
  part.text = in.string();
  std::set<std::string> names;
  for (size_t left = in.count(kSmallestKernel); left > 0; --left) {
    part.kernels.push_back(take_kernel(in));
    if (!names.insert(part.kernels.back().name).second)
      damaged(base::format("it has two kernels \"{}\"", part.kernels.back().name));
  }
  return part;
}

}  // namespace

bool is_library(std::string_view bytes) { return bytes.starts_with(kMagic.substr(0, kMagic.size() - 1)); }

std::string encode_library(const KernelLibrary& library) {
  base::ByteWriter rest;
  rest.varint(library.parts.size());
  for (const KernelLibrary::Part& part : library.parts) {
    rest.byte(static_cast<uint8_t>(part.target));
    rest.string(part.text);
    rest.varint(part.kernels.size());
    for (const Kernel& kernel : part.kernels) put_kernel(rest, kernel);
  }
  base::ByteWriter file;
  file.append(base::as_bytes(kMagic));
  file.fixed(base::hash(rest.bytes()));
  file.append(rest.bytes());
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

KernelLibrary decode_library(std::string_view untrusted) {
  if (untrusted.starts_with("MTLB"))
    throw Error(
        "this is a library of Apple's compiler, which has no source in it: translate its source with kymo shader "
        "SOURCE -o NAME.kymolib");
  if (!is_library(untrusted))
    throw Error("this is not a library of kernels: kymo shader SOURCE -o NAME.kymolib writes one");
  if (!untrusted.starts_with(kMagic))
    throw Error("this library of kernels was written by another version of Kymo: write it again with kymo shader -o");
  KernelLibrary library;
  try {
    base::ByteReader in(base::as_bytes(untrusted.substr(kMagic.size())));
    const uint64_t checksum = in.fixed<uint64_t>();
    if (base::hash(base::as_bytes(untrusted).last(in.left())) != checksum) damaged("its checksum is wrong");
    for (size_t left = in.count(kSmallestPart); left > 0; --left) {
      KernelLibrary::Part part = take_part(in);
      if (library.find(part.target) != nullptr) damaged("it has two parts for one target");
      library.parts.push_back(std::move(part));
    }
    if (in.left() != 0) damaged("there are bytes after its end");
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with("this library")) throw;
    damaged(error.what());
  }
  return library;
}

}  // namespace kymo::shader
