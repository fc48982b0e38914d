// A ClickHouse server over HTTP: its address, what is sent to it, and what it answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "push/store.h"
#include "push/tables.h"

namespace kymo::push {

// clickhouse://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE[?cluster=NAME][&secure], where the password may have any
// characters: the last @ ends it.
struct Address {
  std::string host;   // an address of IPv6 is in brackets
  uint16_t port = 0;  // 8123, or 8443 with TLS
  std::string database;
  std::string user, password;  // empty: the server's default user; the password may also be in the environment
  bool is_secure = false;      // TLS; OpenSSL's SSL_CERT_FILE has the certificates that are trusted
  std::string cluster;         // read the tables of all servers of this cluster; empty: only those of this one

  // How long the server may be silent: no connection, or not one byte of an answer.
  std::chrono::milliseconds patience{30'000};

  // Without the password, for messages.
  std::string text() const;
};

inline constexpr std::string_view kScheme = "clickhouse://";
// The variables that have the password, or the file with it in its first line: it is not in the list of processes.
inline constexpr const char* kPasswordVariable = "KYMO_CLICKHOUSE_PASSWORD";
inline constexpr const char* kPasswordFileVariable = "KYMO_CLICKHOUSE_PASSWORD_FILE";

// The variable that has Address::patience, like "2m".
inline constexpr const char* kTimeoutVariable = "KYMO_CLICKHOUSE_TIMEOUT";

inline bool is_address(std::string_view text) { return text.find("://") != text.npos; }

// Throws kymo::InvalidArgument with the value and the form.
Address parse_address(std::string_view text);

// A table, for SQL: that of all servers of the cluster, if there is one.
std::string table_everywhere(const Address& address, const TableSpec& table);

// What a server answers, as TabSeparatedWithNames. Throws kymo::Error if it is not such a text: a row with another
// number of cells, an unknown escape, no last line feed.
Rows parse_rows(std::string_view body);

// Throws kymo::Error if they have another number of columns.
void expect_columns(const Rows& rows, size_t columns);

// One cell. Throws kymo::Error with the column's name if it is something else.
uint64_t parse_u64(std::string_view cell, std::string_view column);
int64_t parse_i64(std::string_view cell, std::string_view column);
double parse_real(std::string_view cell, std::string_view column);
// "[1,2.5]": of ClickHouse or DuckDB.
std::vector<double> parse_reals(std::string_view cell, std::string_view column);

struct ServerException {
  int code = 0;
  std::string text;  // one line, printable, not too long
};
// "Code: 47. DB::Exception: …". Nothing if it is not an exception.
std::optional<ServerException> parse_exception(std::string_view body);

// Every request has a time limit, and answers have a limited length.
class ClickHouseStore : public Store {
 public:
  explicit ClickHouseStore(Address address);
  ~ClickHouseStore() override;

  void prepare() override;
  uint64_t version() override;
  Rows ask(const std::string& statement) override;  // without FORMAT
  KnownTraces known(const std::vector<uint64_t>& traces, uint32_t from, uint32_t to) override;
  void publish(const SummaryBlocks& rows, uint32_t day) override;

 private:
  uint64_t version_in(const std::string& table);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kymo::push
