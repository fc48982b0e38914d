// The addresses where the RPC server listens (numeric ones), and the user at the other end of a local connection.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kymo::daemon {

struct TcpAddress {
  sockaddr_storage address{};
  socklen_t length = 0;
  bool is_loopback = false;  // can be reached only from this host
  std::string text() const;  // "127.0.0.1:1778", "[::1]:1778"
};

// "127.0.0.1", "0.0.0.0:1779", "::1", "[::]:1778", separated by commas. Throws kymo::InvalidArgument.
std::vector<TcpAddress> parse_tcp_addresses(std::string_view text, uint16_t default_port);

// The address of either end of a connection, or of a socket that listens.
std::optional<TcpAddress> own_address(int socket);
std::optional<TcpAddress> peer_address(int socket);

// The user of the other end of a local connection, according to the kernel. Nothing if that end is already closed: then
// its user is not known.
std::optional<uint32_t> owner_of_peer(int connection);

}  // namespace kymo::daemon
