// Bytes that claim to be a frame of dyno's calls, and JSON that claims to be a request or a reply.
#include <array>
#include <string>

#include "wire/dyno/rpc.h"
#include "wire/dyno/test_dyno.h"

namespace {

using namespace kymo;

void hold(bool promise) {
  if (!promise) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto frame = wire::read_rpc_frame(bytes); frame && *frame) {
    const auto again = wire::rpc_frame(**frame);
    hold(again && again->size() == size);
  }

  const wire::RpcReading reading = wire::read_rpc_request(text);
  hold(reading.request.has_value() == reading.reason.empty());
  hold(!reading.request || reading.answer.empty());
  if (reading.request) {
    const wire::RpcReading again = wire::read_rpc_request(wire::rpc_request(*reading.request));
    hold(again.request && *again.request == *reading.request);
    if (const auto* trigger = std::get_if<wire::RpcTrigger>(&*reading.request)) {
      wire::rpc_selects(*trigger, 0, std::array<int32_t, 2>{7, 1});
    }
  }
  if (const auto triggered = wire::read_rpc_triggered(text)) {
    hold(*wire::read_rpc_triggered(wire::rpc_triggered(*triggered)) == *triggered);
  }
  if (const auto status = wire::read_rpc_status(text))
    hold(*wire::read_rpc_status(wire::rpc_status(*status)) == *status);
  if (const auto version = wire::read_rpc_version(text)) {
    hold(*wire::read_rpc_version(wire::rpc_version(*version)) == *version);
  }
  return 0;
}
