// Bytes that claim to be a datagram of Kineto's fabric, and an address that claims to be its sender's.
#include <algorithm>
#include <cstring>

#include "wire/fabric.h"

namespace {

using namespace kymo;

void hold(bool promise) {
  if (!promise) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto request = wire::read_fabric_request(bytes)) {
    const auto datagram = wire::fabric_datagram(*request);
    hold(datagram && datagram->size() == size && *wire::read_fabric_request(*datagram) == *request);
  }
  if (const auto reply = wire::read_fabric_reply(bytes)) {
    const auto datagram = wire::fabric_datagram(*reply);
    hold(datagram && datagram->size() == size && *wire::read_fabric_reply(*datagram) == *reply);
  }

  // With a valid header; otherwise few payloads would be tested.
  std::vector<std::byte> framed(wire::kFabricHeaderBytes);
  base::store(framed.data(), static_cast<uint64_t>(size));
  for (const std::string_view type : {"ctxt", "req"}) {
    std::memset(framed.data() + 8, 0, wire::kFabricTypeBytes);
    std::memcpy(framed.data() + 8, type.data(), type.size());
    framed.resize(wire::kFabricHeaderBytes);
    framed.insert(framed.end(), bytes.begin(), bytes.end());
    const auto request = wire::read_fabric_request(framed);
    hold(!request || *wire::fabric_datagram(*request) == framed);
    const auto reply = wire::read_fabric_reply(framed);
    hold(!reply || *wire::fabric_datagram(*reply) == framed);
  }

  sockaddr_un address{};
  const size_t length = std::min(size, sizeof address);
  std::memcpy(&address, data, length);
  if (const auto peer = wire::read_fabric_peer(address, static_cast<socklen_t>(length)); peer && peer->is_abstract) {
    const auto again = wire::fabric_address(peer->name);
    hold(!again || again->length <= sizeof address);
    hold(!again || !peer->ends_in_nul || std::memcmp(&again->address, &address, length) == 0);
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto in_folder = wire::fabric_address(text.substr(0, size / 2), text.substr(size / 2));
  hold(!in_folder || in_folder->length <= sizeof address);
  return 0;
}
