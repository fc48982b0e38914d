#include "push/address.h"

#include <charconv>

#include "base/environment.h"
#include "base/printable.h"
#include "base/quantity.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::push {
namespace {

constexpr size_t kLongestName = 200;
constexpr std::chrono::milliseconds kLeastPatience{100}, kMostPatience{std::chrono::hours(24)};

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw InvalidArgument(base::format("'{}' is not a database: {}; write it like clickhouse://host:8123/database",
                                     base::printable(std::string(text)), why));
}

bool is_name(std::string_view name) {
  if (name.empty() || name.size() > kLongestName) return false;
  for (const char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
          c == '.'))
      return false;
  return true;
}

// "%41" becomes "A".
std::string decoded(std::string_view text, std::string_view whole) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (text.size() - i < 3) refuse(whole, "a % without two hexadecimal digits");
    unsigned value = 0;
    const char* const from = text.data() + i + 1;
    const auto [end, error] = std::from_chars(from, from + 2, value, 16);
    if (error != std::errc() || end != from + 2) refuse(whole, "a % without two hexadecimal digits");
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

std::chrono::milliseconds parse_patience(std::string_view text) {
  const std::chrono::milliseconds time(base::parse_duration_ns(text, "30s or 5m") / 1'000'000);
  if (time >= kLeastPatience && time <= kMostPatience) return time;
  throw InvalidArgument(
      base::format("{}: '{}' is not between 100ms and 24h", kTimeoutVariable, base::printable(std::string(text))));
}

}  // namespace

std::string Address::text() const {
  return base::format("{}{}{}:{}/{}{}", kScheme, user.empty() ? "" : user + "@", host, port, database,
                      cluster.empty() ? "" : "?cluster=" + cluster);
}

Address parse_address(std::string_view text) {
  // The part before the last @ may be a password: messages must not show it.
  const size_t at_sign = text.rfind('@');
  const std::string shown =
      at_sign == text.npos ? std::string(text) : std::string(kScheme) + std::string(text.substr(at_sign + 1));
  if (!text.starts_with(kScheme)) refuse(shown, "it does not begin with clickhouse://");
  std::string_view rest = text.substr(kScheme.size());
  Address address;
  if (at_sign != text.npos) {
    const std::string_view account = text.substr(kScheme.size(), at_sign - kScheme.size());
    const size_t colon = std::min(account.find(':'), account.size());
    address.user = decoded(account.substr(0, colon), shown);
    if (colon < account.size()) address.password = decoded(account.substr(colon + 1), shown);
    for (const char c : address.user + address.password)
      if (static_cast<unsigned char>(c) < 0x20) refuse(shown, "the user or password has a control character");
    rest = text.substr(at_sign + 1);
  }
  if (const char* password = base::environment(kPasswordVariable); password != nullptr && address.password.empty())
    address.password = password;
  if (const char* time = base::environment(kTimeoutVariable); time != nullptr && *time != '\0')
    address.patience = parse_patience(time);
  const size_t slash = rest.find('/');
  if (slash == rest.npos) refuse(shown, "it has no database");
  std::string_view host = rest.substr(0, slash), database = rest.substr(slash + 1);
  if (const size_t question = database.find('?'); question != database.npos) {
    constexpr std::string_view kCluster = "cluster=";
    const std::string_view option = database.substr(question + 1);
    if (!option.starts_with(kCluster)) refuse(shown, "the only option is ?cluster=NAME");
    address.cluster = option.substr(kCluster.size());
    if (!is_name(address.cluster)) refuse(shown, "the cluster is not a name of letters, digits, '_', '-' and '.'");
    database = database.substr(0, question);
  }
  size_t colon = host.rfind(':');
  if (host.starts_with('[')) {  // [::1]:8123
    const size_t close = host.find(']');
    if (close == host.npos) refuse(shown, "the host has no ]");
    address.host = host.substr(1, close - 1);
    colon = close + 1 < host.size() && host[close + 1] == ':' ? close + 1 : host.npos;
    if (colon == host.npos && close + 1 != host.size()) refuse(shown, "something follows the ]");
  } else {
    address.host = host.substr(0, colon);
  }
  if (address.host.empty()) refuse(shown, "it has no host");
  if (colon != host.npos) {
    const std::string_view port = host.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (port.empty() || error != std::errc() || end != port.data() + port.size() || address.port == 0)
      refuse(shown, base::format("'{}' is not a port", base::printable(std::string(port))));
  }
  if (!is_name(database)) refuse(shown, "the database is not a name of letters, digits, '_', '-' and '.'");
  address.database = database;
  return address;
}

}  // namespace kymo::push
