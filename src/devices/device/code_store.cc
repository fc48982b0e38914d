#include "device/code_store.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/cache_folder.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/temporary_file.h"
#include "base/text.h"

namespace kymo::device {
namespace {

constexpr uint64_t kMagic = 0x45444f434f4d594bull;  // "KYMOCODE"
constexpr uint32_t kVersion = 6;
constexpr uint64_t kLongestFile = uint64_t{1} << 30;

// A translated kernel's flags, and a parameter's.
enum : uint8_t { kTranslated = 1, kUsesSimdgroups = 2, kTakesGrid = 4, kUsesMatrices = 8 };
enum : uint8_t { kIsValue = 1, kIsAddresses = 2, kReportsErrors = 4, kIsWritten = 8 };

void put_kernel(base::ByteWriter& out, const KernelInfo& kernel) {
  out.string(kernel.name);
  out.byte(static_cast<uint8_t>((kernel.is_translated ? kTranslated : 0) |
                                (kernel.uses_simdgroups ? kUsesSimdgroups : 0) | (kernel.takes_grid ? kTakesGrid : 0) |
                                (kernel.uses_simdgroup_matrices ? kUsesMatrices : 0)));
  out.string(kernel.symbol);
  out.varint(kernel.order.size());
  for (const uint32_t place : kernel.order) out.varint(place);
  out.varint(kernel.max_threads_per_group);
  out.varint(kernel.execution_width);
  out.varint(kernel.group_memory);
  for (const uint64_t size : {kernel.required_group.x, kernel.required_group.y, kernel.required_group.z})
    out.varint(size);
  out.varint(kernel.parameters.size());
  for (const Parameter& parameter : kernel.parameters) {
    out.string(parameter.name);
    out.byte(static_cast<uint8_t>(parameter.kind));
    out.byte(parameter.type ? static_cast<uint8_t>(*parameter.type) : 0);
    out.varint(parameter.count);
    out.varint(parameter.bytes);
    out.byte(static_cast<uint8_t>((parameter.is_value ? kIsValue : 0) | (parameter.is_addresses ? kIsAddresses : 0) |
                                  (parameter.reports_errors ? kReportsErrors : 0) |
                                  (parameter.is_written ? kIsWritten : 0)));
    out.byte(static_cast<uint8_t>(parameter.texture));
    out.varint(parameter.value_offset);
    out.varint(parameter.inline_bytes);
  }
}

Parameter take_parameter(base::ByteReader& in) {
  Parameter parameter;
  parameter.name = in.string();
  const uint8_t kind = in.byte(), type = in.byte();
  if (kind < static_cast<uint8_t>(ParameterKind::Buffer) || kind > static_cast<uint8_t>(ParameterKind::Inline) ||
      type > static_cast<uint8_t>(DType::Bool)) {
    throw Error("a parameter has an unknown kind or type");
  }
  parameter.kind = static_cast<ParameterKind>(kind);
  if (type != 0) parameter.type = static_cast<DType>(type);
  parameter.count = in.varint_as<uint32_t>("count");
  parameter.bytes = in.varint_as<uint32_t>("size");
  const uint8_t flags = in.byte();
  parameter.is_value = (flags & kIsValue) != 0;
  parameter.is_addresses = (flags & kIsAddresses) != 0;
  parameter.reports_errors = (flags & kReportsErrors) != 0;
  parameter.is_written = (flags & kIsWritten) != 0;
  const uint8_t texture = in.byte();
  if (texture > static_cast<uint8_t>(shader::TextureShape::Volume)) throw Error("a texture has an unknown shape");
  parameter.texture = static_cast<shader::TextureShape>(texture);
  parameter.value_offset = in.varint_as<uint32_t>("offset");
  parameter.inline_bytes = in.varint_as<uint32_t>("size");
  if (parameter.kind == ParameterKind::Inline && (parameter.value_offset > parameter.inline_bytes ||
                                                  parameter.bytes > parameter.inline_bytes - parameter.value_offset)) {
    throw Error("a value is longer than its structure");
  }
  return parameter;
}

KernelInfo take_kernel(base::ByteReader& in) {
  KernelInfo kernel;
  kernel.name = in.string();
  const uint8_t flags = in.byte();
  kernel.is_translated = (flags & kTranslated) != 0;
  kernel.uses_simdgroups = (flags & kUsesSimdgroups) != 0;
  kernel.takes_grid = (flags & kTakesGrid) != 0;
  kernel.uses_simdgroup_matrices = (flags & kUsesMatrices) != 0;
  kernel.symbol = in.string();
  for (size_t left = in.count(); left > 0; --left) kernel.order.push_back(in.varint_as<uint32_t>("place"));
  kernel.max_threads_per_group = in.varint();
  kernel.execution_width = in.varint_as<uint32_t>("execution width");
  kernel.group_memory = in.varint();
  kernel.required_group.x = in.varint();
  kernel.required_group.y = in.varint();
  kernel.required_group.z = in.varint();
  for (size_t left = in.count(9); left > 0; --left) kernel.parameters.push_back(take_parameter(in));
  if (!kernel.order.empty() && kernel.order.size() != kernel.parameters.size())
    throw Error("the order does not list all parameters");
  for (const uint32_t place : kernel.order)
    if (place >= kernel.parameters.size()) throw Error("the order lists a parameter that does not exist");
  return kernel;
}

}  // namespace

std::vector<std::byte> encode_code(const StoredCode& code, std::string_view key) {
  base::ByteWriter rest;
  rest.string(key);
  rest.varint(code.kernels.size());
  for (const KernelInfo& kernel : code.kernels) put_kernel(rest, kernel);
  rest.string(code.warnings);
  rest.varint(code.binary.size());
  rest.append(code.binary);

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
    for (size_t left = in.count(11); left > 0; --left) code.kernels.push_back(take_kernel(in));
    code.warnings = in.string();
    const base::Bytes binary = in.take(in.count());
    code.binary.assign(binary.begin(), binary.end());
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
