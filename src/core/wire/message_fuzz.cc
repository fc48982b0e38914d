// Bytes that claim to be a message of Kymo's own protocol: as they came, and as the fields of each kind of message.
#include <vector>

#include "wire/message.h"

namespace {

using namespace kymo;

void hold(bool promise) {
  if (!promise) __builtin_trap();
}

void check(base::Bytes bytes) {
  const wire::Packet packet = wire::read_message(bytes);
  hold((packet.kind == wire::PacketKind::Good) == packet.reason.empty());
  if (packet.kind == wire::PacketKind::Good) {
    // A message that was read can be written, and reads back the same. It may be longer, because fields that were
    // missing are written.
    const auto again = wire::message_packet(packet.message, packet.serial);
    hold(again || again.reason().find("more than 65536") != std::string::npos ||
         again.reason().find("too long") != std::string::npos);
    if (again) hold(wire::read_message(*again).message == packet.message);
  } else if (packet.kind != wire::PacketKind::Foreign) {
    hold(static_cast<bool>(wire::message_packet(wire::refusal_of(packet), packet.serial)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check(bytes);
  if (size == 0) return 0;
  std::vector<std::byte> framed(wire::kMessageHeaderBytes);
  base::store(framed.data(), wire::kMessageMagic);
  base::store(framed.data() + 4, static_cast<uint16_t>(data[0] % 64));  // the type
  base::store(framed.data() + 6, wire::kMessageLayout);
  base::store(framed.data() + 8, static_cast<uint32_t>(size - 1));
  framed.insert(framed.end(), bytes.begin() + 1, bytes.end());
  check(framed);
  return 0;
}
