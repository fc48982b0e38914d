#include "device/code_store.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/cache_folder.h"
#include "base/field_codec.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/temporary_file.h"
#include "base/text.h"

namespace kymo::device {
namespace {

constexpr uint64_t kMagic = 0x45444f434f4d594bull;  // "KYMOCODE"
constexpr uint32_t kVersion = 7;
constexpr uint64_t kLongestFile = uint64_t{1} << 30;

}  // namespace

static void fields(auto& io, base::MaybeConst<Parameter> auto& parameter) {
  io(parameter.name);
  io.one_of(parameter.kind, ParameterKind::Buffer, ParameterKind::Inline, "kind of parameter");
  DType type = parameter.type.value_or(DType{});  // 0: it has none
  io.one_of(type, DType{}, DType::Bool, "dtype");
  io(parameter.count, parameter.bytes);
  io.flags(parameter.is_value, parameter.is_addresses, parameter.reports_errors, parameter.is_written);
  io.one_of(parameter.texture, shader::TextureShape{}, shader::TextureShape::Volume, "shape of a texture");
  io(parameter.value_offset, parameter.inline_bytes);
  io.when_read(parameter, [&](auto& read) {
    if (type != DType{}) read.type = type;
    if (read.kind == ParameterKind::Inline &&
        (read.value_offset > read.inline_bytes || read.bytes > read.inline_bytes - read.value_offset))
      throw Error("a value is longer than its structure");
  });
}

static void fields(auto& io, base::MaybeConst<KernelInfo> auto& kernel) {
  io(kernel.name);
  io.flags(kernel.is_translated, kernel.uses_simdgroups, kernel.takes_grid, kernel.uses_simdgroup_matrices);
  io(kernel.symbol, kernel.order, kernel.max_threads_per_group, kernel.execution_width, kernel.group_memory);
  io(kernel.required_group.x, kernel.required_group.y, kernel.required_group.z, kernel.parameters);
  io.when_read(kernel, [](const auto& read) {
    if (!read.order.empty() && read.order.size() != read.parameters.size())
      throw Error("the order does not list all parameters");
    if (std::ranges::any_of(read.order, [&](uint32_t place) { return place >= read.parameters.size(); }))
      throw Error("the order lists a parameter that does not exist");
  });
}

static void fields(auto& io, base::MaybeConst<StoredCode> auto& code) { io(code.kernels, code.warnings, code.binary); }

std::vector<std::byte> encode_code(const StoredCode& code, std::string_view key) {
  base::ByteWriter rest;
  rest.string(key);
  base::FieldWriter{rest}(code);

  base::ByteWriter file;
  file.fixed(kMagic);
  file.fixed(kVersion);
  file.fixed(base::hash(rest.bytes()));
  file.append(rest.bytes());
  return {file.bytes().begin(), file.bytes().end()};
}

std::optional<StoredCode> decode_code(base::Bytes untrusted, std::string_view key) {
  try {
    base::ByteReader in(untrusted);
    if (in.fixed<uint64_t>() != kMagic || in.fixed<uint32_t>() != kVersion) return std::nullopt;
    const uint64_t checksum = in.fixed<uint64_t>();
    const base::Bytes rest = untrusted.last(in.left());
    if (base::hash(rest) != checksum) return std::nullopt;
    return decode_contents(rest, key);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<StoredCode> decode_contents(base::Bytes untrusted, std::string_view key) {
  try {
    base::ByteReader in(untrusted);
    if (in.string() != key) return std::nullopt;
    StoredCode code;
    base::FieldReader{in}(code);
    return code;
  } catch (const Error&) {
    return std::nullopt;
  }
}

CodeStore::CodeStore(std::string_view device, std::string_view key)
    : key_(base::format("{}\n{}\n{}", kVersion, device, key)) {
  const std::string base = base::cache_folder();
  if (base.empty()) return;
  const uint64_t first = base::hash(base::as_bytes(key_)), second = base::hash(base::as_bytes(key_ + "\n2"));
  path_ = base::format("{}/code/{:016x}{:016x}", base, first, second);
}

std::optional<StoredCode> CodeStore::read() const {
  if (path_.empty()) return std::nullopt;
  const base::FileDescriptor file(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  try {
    const uint64_t size = base::size_of(file, path_);
    if (size > kLongestFile) return std::nullopt;
    std::vector<std::byte> bytes(size);
    bytes.resize(base::read_at(file, path_, 0, bytes));
    return decode_code(bytes, key_);
  } catch (const Error&) {
    return std::nullopt;
  }
}

void CodeStore::write(const StoredCode& code) const {
  if (path_.empty()) return;
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  std::filesystem::create_directories(folder, ignored);
  try {
    base::AtomicFile file(path_);
    file.write(encode_code(code, key_));
    file.commit();
  } catch (const Error&) {  // a cache that cannot be written is not used
  }
}

}  // namespace kymo::device
