// The binary form of a program.
#include <cstring>

#include "base/bytes.h"
#include "base/hash.h"
#include "device/vulkan/program.h"
#include "kymo/error.h"

namespace kymo::device::vulkan {
namespace {

constexpr uint64_t kMagic = 0x33304B564F4D594B;  // "KYMOVK03"

}  // namespace

std::vector<std::byte> ProgramCode::encode() const {
  base::ByteWriter writer;
  writer.fixed(kMagic);
  writer.varint(modules.size());
  for (const ModuleCode& module : modules) {
    writer.string(module.name);
    writer.varint(module.words.size());
    writer.append(std::as_bytes(std::span(module.words)));
  }
  writer.varint(cache.size());
  writer.append(cache);
  writer.fixed(base::hash(writer.bytes()));
  return {writer.bytes().begin(), writer.bytes().end()};
}

std::optional<ProgramCode> ProgramCode::decode(std::span<const std::byte> bytes) {
  constexpr size_t kHashBytes = sizeof(uint64_t);
  if (bytes.size() < sizeof kMagic + kHashBytes) return std::nullopt;
  const base::Bytes content = bytes.first(bytes.size() - kHashBytes);
  if (base::load<uint64_t>(content.data()) != kMagic ||
      base::load<uint64_t>(bytes.data() + content.size()) != base::hash(content))
    return std::nullopt;
  try {
    base::ByteReader reader(content.subspan(sizeof kMagic));
    ProgramCode code;
    const size_t modules = reader.count();
    for (size_t i = 0; i < modules; ++i) {
      ModuleCode& module = code.modules.emplace_back();
      module.name = reader.string();
      module.words.resize(reader.count(sizeof(uint32_t)));
      const base::Bytes words = reader.take(module.words.size() * sizeof(uint32_t));
      std::memcpy(module.words.data(), words.data(), words.size());
    }
    const base::Bytes cache = reader.take(reader.count());
    code.cache.assign(cache.begin(), cache.end());
    return code;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace kymo::device::vulkan
