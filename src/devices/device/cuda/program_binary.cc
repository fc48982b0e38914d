#include "device/cuda/program_binary.h"

#include <cstdint>
#include <cstring>
#include <string_view>

namespace kymo::device::cuda {
namespace {

constexpr std::string_view kMagic = "KYMOCUDA";
constexpr uint32_t kVersion = 2;

template <class T>
void put(std::vector<std::byte>& to, T value) {
  for (size_t i = 0; i < sizeof value; ++i) to.push_back(static_cast<std::byte>(value >> (8 * i)));
}

void put(std::vector<std::byte>& to, std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  to.insert(to.end(), bytes, bytes + text.size());
}

class Input {
 public:
  explicit Input(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
  bool number(T& value) {
    if (rest_.size() < sizeof value) return false;
    value = 0;
    for (size_t i = 0; i < sizeof value; ++i) value |= static_cast<T>(rest_[i]) << (8 * i);
    rest_ = rest_.subspan(sizeof value);
    return true;
  }

  bool bytes(uint64_t count, std::span<const std::byte>& value) {
    if (rest_.size() < count) return false;
    value = rest_.first(count);
    rest_ = rest_.subspan(count);
    return true;
  }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace

std::vector<std::byte> pack_binary(std::span<const std::string> names, bool stamps, std::span<const std::byte> cubin) {
  std::vector<std::byte> bytes;
  put(bytes, kMagic);
  put(bytes, kVersion);
  put(bytes, static_cast<uint32_t>(names.size()));
  put(bytes, uint32_t{stamps});
  for (const std::string& name : names) {
    put(bytes, static_cast<uint32_t>(name.size()));
    put(bytes, std::string_view(name));
  }
  put(bytes, uint64_t{cubin.size()});
  bytes.insert(bytes.end(), cubin.begin(), cubin.end());
  return bytes;
}

std::optional<UnpackedBinary> unpack_binary(std::span<const std::byte> untrusted) {
  Input input(untrusted);
  std::span<const std::byte> magic;
  uint32_t version = 0, count = 0, stamps = 0;
  if (!input.bytes(kMagic.size(), magic) || std::memcmp(magic.data(), kMagic.data(), kMagic.size()) != 0) return {};
  if (!input.number(version) || version != kVersion || !input.number(count) || !input.number(stamps)) return {};
  UnpackedBinary unpacked;
  unpacked.stamps = stamps != 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t length = 0;
    std::span<const std::byte> name;
    if (!input.number(length) || !input.bytes(length, name)) return {};
    unpacked.names.emplace_back(reinterpret_cast<const char*>(name.data()), name.size());
  }
  uint64_t length = 0;
  if (!input.number(length) || !input.bytes(length, unpacked.cubin) || length == 0) return {};
  return unpacked;
}

}  // namespace kymo::device::cuda
