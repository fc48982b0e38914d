// The addresses of Kineto's fabric: datagram sockets, found by name.
//
// A name is in Linux's abstract namespace, with one NUL at its end that is part of the address. Without the NUL it is
// another address, and nobody answers. If both sides are given a folder, it is instead a file in that folder; this is
// how containers share a daemon.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kymo::wire {

inline constexpr std::string_view kFabricDaemonName = "dynolog";
inline constexpr std::string_view kFabricClientName = "dynoconfigclient";  // followed by a random UUID
inline constexpr size_t kFabricLongestName = sizeof(sockaddr_un::sun_path) - 2;
inline constexpr size_t kFabricLongestPath = sizeof(sockaddr_un::sun_path) - 1;

// For bind, sendto and so on.
struct FabricAddress {
  sockaddr_un address{};
  socklen_t length = 0;
};

// If `folder` is empty, the abstract namespace is used. Refuses an empty name, a name with a NUL, and a name that, with
// the folder, does not fit into an address. A name in a folder must not contain a slash.
base::Result<FabricAddress> fabric_address(std::string_view name, std::string_view folder = {});

// The sender of a datagram, as recvmsg gives it.
struct FabricPeer {
  std::string name;  // in a folder: the complete path
  bool is_abstract = true;
  bool ends_in_nul = true;  // the reply must use the same form: an abstract peer may have bound without the NUL
  bool operator==(const FabricPeer&) const = default;
};

// Refuses a sender without a name, which cannot be answered, and an address that is not a Unix socket.
base::Result<FabricPeer> read_fabric_peer(const sockaddr_un& untrusted, socklen_t length);

// A client's own name, from 16 random bytes.
std::string fabric_client_name(std::array<uint8_t, 16> random);

}  // namespace kymo::wire
