// Where the ends of Kineto's fabric are: datagram sockets, found by name.
//
// A name is in Linux's abstract namespace, with one NUL behind it that counts as part of the address; without it, it is
// another address and nobody answers. Or, where both sides are told a folder, it is a file in that folder, which is how
// containers share a daemon.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "wire/result.h"

namespace kymo::wire {

inline constexpr std::string_view kFabricDaemonName = "dynolog";
inline constexpr std::string_view kFabricClientName = "dynoconfigclient";  // and a random UUID
inline constexpr size_t kFabricLongestName = sizeof(sockaddr_un::sun_path) - 2;
inline constexpr size_t kFabricLongestPath = sizeof(sockaddr_un::sun_path) - 1;

// For bind, sendto and the like.
struct FabricAddress {
  sockaddr_un address{};
  socklen_t length = 0;
};

// `folder` empty: the abstract namespace. Refused: an empty name, one with a NUL, and what does not fit into an
// address, the folder counted. A name in a folder holds no slash.
Result<FabricAddress> fabric_address(std::string_view name, std::string_view folder = {});

// Whose datagram it was, as recvmsg tells it.
struct FabricPeer {
  std::string name;  // in a folder: the whole path
  bool is_abstract = true;
  bool ends_in_nul = true;  // how it must be answered: an abstract peer may have bound its name without
  bool operator==(const FabricPeer&) const = default;
};

// Refused: a sender without a name, which cannot be answered, and an address that is no Unix socket's.
Result<FabricPeer> read_fabric_peer(const sockaddr_un& untrusted, socklen_t length);

// A client's own name, from 16 random bytes.
std::string fabric_client_name(std::array<uint8_t, 16> random);

}  // namespace kymo::wire
