// The address of a database: clickhouse://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE[?cluster=NAME]
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace kymo::push {

struct Address {
  std::string host = "localhost";
  uint16_t port = 8123;
  std::string database;
  std::string user, password;  // empty: the server's default user; the password may also be in the environment
  std::string cluster;         // read the tables of all servers of this cluster; empty: only those of this one

  // How long the server may be silent: no connection, or not one byte of an answer.
  std::chrono::milliseconds patience{30'000};

  // Without the password, for messages.
  std::string text() const;
};

inline constexpr std::string_view kScheme = "clickhouse://";
// The variable that has the password, which does not appear in the list of processes.
inline constexpr const char* kPasswordVariable = "KYMO_CLICKHOUSE_PASSWORD";

// The variable that has Address::patience, like "2m".
inline constexpr const char* kTimeoutVariable = "KYMO_CLICKHOUSE_TIMEOUT";

inline bool is_address(std::string_view text) { return text.find("://") != text.npos; }

// Throws kymo::InvalidArgument with the value and the form.
Address parse_address(std::string_view text);

}  // namespace kymo::push
