// Where the RPC listens: numeric addresses of this host, and who is at the other end of a connection within it.
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
  bool is_loopback = false;  // reached from this host alone
  std::string text() const;  // "127.0.0.1:1778", "[::1]:1778"
};

// "127.0.0.1", "0.0.0.0:1779", "::1", "[::]:1778", separated by commas. Throws kymo::InvalidArgument.
std::vector<TcpAddress> parse_tcp_addresses(std::string_view text, uint16_t default_port);

// The address of either end of a connection, or where a socket listens.
std::optional<TcpAddress> own_address(int socket);
std::optional<TcpAddress> peer_address(int socket);

// Which user's the other end of a connection within this host is, by the kernel's table. Nothing where nobody holds
// that end any more: it could be anyone's.
std::optional<uint32_t> owner_of_peer(int connection);

}  // namespace kymo::daemon
