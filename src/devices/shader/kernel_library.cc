// The bytes of a .kymolib file. docs/shaders.md has the format.
#include <set>

#include "base/field_codec.h"
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

[[noreturn]] void damaged(std::string_view why) {
  throw Error(base::format("this library of kernels is damaged: {}. Write it again with kymo shader -o", why));
}

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

}  // namespace

static void fields(auto& io, base::MaybeConst<KernelParameter> auto& parameter) {
  io(parameter.name, parameter.type);
  io.one_of(parameter.kind, KernelParameter::Kind{}, KernelParameter::Kind::Sampler, "kind of parameter");
  io.one_of(parameter.passing, Passing{}, Passing::Group, "way to pass a parameter");
  io.one_of(parameter.scalar, Scalar{}, Scalar::Float, "type");
  io.flags(parameter.reports_errors, parameter.is_const, parameter.is_written, parameter.is_addresses);
  io.one_of(parameter.texture, TextureShape{}, TextureShape::Volume, "shape of a texture");
  io.one_of(parameter.access, TextureAccess{}, TextureAccess::ReadWrite, "access to a texture");
  io(parameter.index, parameter.count, parameter.bytes, parameter.align, parameter.inline_bytes,
     parameter.value_offset);
  io.when_read(parameter, [](const auto& read) { check_parameter(read); });
}

static void fields(auto& io, base::MaybeConst<Kernel> auto& kernel) {
  io(kernel.name, kernel.symbol, kernel.group_memory, kernel.max_threads);
  io.flags(kernel.uses_simdgroups, kernel.takes_grid, kernel.uses_simdgroup_matrices);
  io(kernel.parameters);
  io.when_read(kernel, [](const auto& read) {
    if (read.name.empty() || read.symbol.empty()) damaged("a kernel has no name");
  });
}

static void fields(auto& io, base::MaybeConst<KernelLibrary::Part> auto& part) {
  io.one_of(part.target, Target{}, Target::Glsl, "target");
  io(part.text, part.kernels);
  io.when_read(part, [](const auto& read) {
    std::set<std::string_view> names;
    for (const Kernel& kernel : read.kernels)
      if (!names.insert(kernel.name).second) damaged(base::format("it has two kernels \"{}\"", kernel.name));
  });
}

bool is_library(std::string_view bytes) { return bytes.starts_with(kMagic.substr(0, kMagic.size() - 1)); }

std::string encode_library(const KernelLibrary& library) {
  base::ByteWriter rest;
  base::FieldWriter{rest}(library.parts);
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
    base::FieldReader{in}(library.parts);
    for (const KernelLibrary::Part& part : library.parts)
      if (library.find(part.target) != &part) damaged("it has two parts for one target");
    if (in.left() != 0) damaged("there are bytes after its end");
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with("this library")) throw;
    damaged(error.what());
  }
  return library;
}

}  // namespace kymo::shader
