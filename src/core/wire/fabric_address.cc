#include "wire/fabric_address.h"

#include <cstddef>
#include <cstring>

#include "base/text.h"

namespace kymo::wire {
namespace {

constexpr size_t kPathOffset = offsetof(sockaddr_un, sun_path);

}  // namespace

base::Result<FabricAddress> fabric_address(std::string_view name, std::string_view folder) {
  if (name.empty()) return base::Refusal{"a socket needs a name"};
  if (name.find('\0') != name.npos || folder.find('\0') != folder.npos) {
    return base::Refusal{"the name of a socket cannot hold a NUL"};
  }
  FabricAddress result;
  result.address.sun_family = AF_UNIX;
  if (folder.empty()) {
    if (name.size() > kFabricLongestName) {
      return base::Refusal{
          base::format("a socket's name of {} bytes is longer than {}", name.size(), kFabricLongestName)};
    }
    std::memcpy(result.address.sun_path + 1, name.data(), name.size());
    result.length = static_cast<socklen_t>(kPathOffset + 1 + name.size() + 1);
    return result;
  }
  if (name.find('/') != name.npos)
    return base::Refusal{base::format("a socket's name in a folder has no slash: {}", name)};
  const std::string path = base::format("{}/{}", folder, name);
  if (path.size() > kFabricLongestPath) {
    return base::Refusal{base::format("the path of a socket is longer than {} bytes, choose a shorter folder: {}",
                                      kFabricLongestPath, path)};
  }
  std::memcpy(result.address.sun_path, path.data(), path.size());
  result.length = static_cast<socklen_t>(kPathOffset + path.size() + 1);
  return result;
}

base::Result<FabricPeer> read_fabric_peer(const sockaddr_un& untrusted, socklen_t length) {
  if (length <= kPathOffset) return base::Refusal{"the sender's socket has no name, so it cannot be answered"};
  if (length > sizeof untrusted) {
    return base::Refusal{base::format("an address of {} bytes is longer than {}", length, sizeof untrusted)};
  }
  if (untrusted.sun_family != AF_UNIX) {
    return base::Refusal{base::format("an address of family {} is no Unix socket's", untrusted.sun_family)};
  }
  std::string_view path(untrusted.sun_path, length - kPathOffset);
  if (path[0] != '\0') return FabricPeer{std::string(path.substr(0, path.find('\0'))), false, true};
  path.remove_prefix(1);
  const bool ends_in_nul = path.ends_with('\0');
  if (ends_in_nul) path.remove_suffix(1);
  if (path.empty()) return base::Refusal{"the sender's name is empty"};
  return FabricPeer{std::string(path), true, ends_in_nul};
}

std::string fabric_client_name(std::array<uint8_t, 16> random) {
  constexpr uint8_t kVersion4 = 0x40, kVariant1 = 0x80;
  random[6] = static_cast<uint8_t>((random[6] & 0x0f) | kVersion4);
  random[8] = static_cast<uint8_t>((random[8] & 0x3f) | kVariant1);
  std::string name(kFabricClientName);
  const std::string digits = base::hex(random);
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) name += '-';
    name += digits[i];
  }
  return name;
}

}  // namespace kymo::wire
