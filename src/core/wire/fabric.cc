#include "wire/fabric.h"

#include <algorithm>
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

namespace {

using base::Bytes;

constexpr std::string_view kContextType = "ctxt", kPollType = "req";
constexpr size_t kContextBytes = 16;
constexpr size_t kPollHeadBytes = 16;
constexpr size_t kPidBytes = 4;

int32_t signed32(const std::byte* at) { return static_cast<int32_t>(base::load<uint32_t>(at)); }
int64_t signed64(const std::byte* at) { return static_cast<int64_t>(base::load<uint64_t>(at)); }

// The type for an error message. Unprintable characters become "?".
std::string printable_type(std::string_view type) {
  std::string shown;
  for (const char c : type) shown += c >= ' ' && c <= '~' ? c : '?';
  return shown;
}

struct FabricMessage {
  bool is_poll = false;  // false: a context
  Bytes payload;
};

base::Result<FabricMessage> split_datagram(Bytes untrusted) {
  if (untrusted.size() < kFabricHeaderBytes) {
    return base::Refusal{
        base::format("a datagram of {} bytes is too short for its header of {}", untrusted.size(), kFabricHeaderBytes)};
  }
  if (untrusted.size() > kFabricLargestDatagram) {
    return base::Refusal{
        base::format("a datagram of {} bytes is longer than {}", untrusted.size(), kFabricLargestDatagram)};
  }
  const auto claimed = base::load<uint64_t>(untrusted.data());
  const Bytes payload = untrusted.subspan(kFabricHeaderBytes);
  if (claimed != payload.size()) {
    return base::Refusal{base::format("the header announces {} bytes, and {} follow", claimed, payload.size())};
  }
  // The bytes after the first NUL are leftovers of the sender's memory.
  const char* text = reinterpret_cast<const char*>(untrusted.data()) + sizeof claimed;
  const std::string_view whole(text, kFabricTypeBytes);
  const std::string_view type = whole.substr(0, whole.find('\0'));
  if (type == kPollType) return FabricMessage{true, payload};
  if (type == kContextType) return FabricMessage{false, payload};
  return base::Refusal{
      base::format("a message of type \"{}\" is neither {} nor {}", printable_type(type), kContextType, kPollType)};
}

base::Check check_size(std::string_view type, size_t size, size_t expected) {
  if (size == expected) return {};
  return base::Refusal{base::format("a {} of {} bytes should have {}", type, size, expected)};
}

base::Result<FabricRequest> read_context(Bytes payload) {
  if (const base::Check size = check_size(kContextType, payload.size(), kContextBytes); !size)
    return base::Refusal{size.reason()};
  const FabricContext context{signed32(payload.data()), signed32(payload.data() + 4), signed64(payload.data() + 8)};
  if (context.pid <= 0) return base::Refusal{base::format("a {} names {} as a process", kContextType, context.pid)};
  return FabricRequest(context);
}

base::Result<FabricRequest> read_poll(Bytes payload) {
  if (payload.size() < kPollHeadBytes) {
    return base::Refusal{base::format("a {} of {} bytes has at least {}", kPollType, payload.size(), kPollHeadBytes)};
  }
  FabricPoll poll;
  poll.ready_for = base::load<uint32_t>(payload.data());
  const int32_t pids = signed32(payload.data() + 4);
  poll.job = signed64(payload.data() + 8);
  if (pids <= 0 || static_cast<size_t>(pids) > kFabricMaxPids) {
    return base::Refusal{base::format("a {} states {} processes; 1 to {} are good", kPollType, pids, kFabricMaxPids)};
  }
  const size_t expected = kPollHeadBytes + kPidBytes * static_cast<size_t>(pids);
  if (const base::Check size = check_size(kPollType, payload.size(), expected); !size)
    return base::Refusal{size.reason()};
  for (size_t at = kPollHeadBytes; at < expected; at += kPidBytes) {
    poll.pids.push_back(signed32(payload.data() + at));
    if (poll.pids.back() <= 0)
      return base::Refusal{base::format("a {} names {} as a process", kPollType, poll.pids.back())};
  }
  return FabricRequest(std::move(poll));
}

std::vector<std::byte> datagram_of(std::string_view type, Bytes payload) {
  std::vector<std::byte> datagram(kFabricHeaderBytes + payload.size());
  base::store(datagram.data(), static_cast<uint64_t>(payload.size()));
  std::ranges::copy(base::as_bytes(type), datagram.begin() + sizeof(uint64_t));
  std::ranges::copy(payload, datagram.begin() + kFabricHeaderBytes);
  return datagram;
}

}  // namespace

base::Result<FabricRequest> read_fabric_request(Bytes untrusted) {
  const auto message = split_datagram(untrusted);
  if (!message) return base::Refusal{message.reason()};
  return message->is_poll ? read_poll(message->payload) : read_context(message->payload);
}

base::Result<FabricReply> read_fabric_reply(Bytes untrusted) {
  const auto message = split_datagram(untrusted);
  if (!message) return base::Refusal{message.reason()};
  const Bytes payload = message->payload;
  if (message->is_poll) {
    return FabricReply(FabricConfig{std::string(reinterpret_cast<const char*>(payload.data()), payload.size())});
  }
  if (const base::Check size = check_size("ctxt reply", payload.size(), sizeof(int32_t)); !size)
    return base::Refusal{size.reason()};
  const FabricRegistered registered{signed32(payload.data())};
  if (registered.count < 0) return base::Refusal{base::format("a ctxt reply counts {} processes", registered.count)};
  return FabricReply(registered);
}

base::Result<std::vector<std::byte>> fabric_datagram(const FabricRequest& request) {
  base::ByteWriter out;
  if (const auto* context = std::get_if<FabricContext>(&request)) {
    out.fixed(static_cast<uint32_t>(context->gpu));
    out.fixed(static_cast<uint32_t>(context->pid));
    out.fixed(static_cast<uint64_t>(context->job));
    return datagram_of(kContextType, out.bytes());
  }
  const auto& poll = *std::get_if<FabricPoll>(&request);
  if (poll.pids.empty() || poll.pids.size() > kFabricMaxPids) {
    return base::Refusal{base::format("{} processes cannot be stated; 1 to {} can", poll.pids.size(), kFabricMaxPids)};
  }
  out.fixed(poll.ready_for);
  out.fixed(static_cast<uint32_t>(poll.pids.size()));
  out.fixed(static_cast<uint64_t>(poll.job));
  for (const int32_t pid : poll.pids) out.fixed(static_cast<uint32_t>(pid));
  return datagram_of(kPollType, out.bytes());
}

base::Result<std::vector<std::byte>> fabric_datagram(const FabricReply& reply) {
  if (const auto* registered = std::get_if<FabricRegistered>(&reply)) {
    base::ByteWriter out;
    out.fixed(static_cast<uint32_t>(registered->count));
    return datagram_of(kContextType, out.bytes());
  }
  const std::string& text = std::get_if<FabricConfig>(&reply)->text;
  if (text.size() > kFabricLargestPayload) {
    return base::Refusal{base::format("a config of {} bytes is longer than {}", text.size(), kFabricLargestPayload)};
  }
  return datagram_of(kPollType, base::as_bytes(text));
}

}  // namespace kymo::wire
