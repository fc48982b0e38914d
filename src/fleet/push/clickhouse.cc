#include "push/clickhouse.h"

#include <httplib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <fstream>
#include <set>

#include "base/environment.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/units.h"
#include "kymo/error.h"
#include "push/tables.h"

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

std::string password_of_environment() {
  if (const char* password = base::environment(kPasswordVariable); password != nullptr) return password;
  const char* path = base::environment(kPasswordFileVariable);
  if (path == nullptr || *path == '\0') return {};
  std::string password;
  if (std::ifstream file(path); !std::getline(file, password))
    throw InvalidArgument(
        base::format("{}: cannot read a password from {}", kPasswordFileVariable, base::printable(path)));
  return password;
}

std::chrono::milliseconds parse_patience(std::string_view text) {
  const std::chrono::milliseconds time(base::parse_duration_ns(text, "30s or 5m") / 1'000'000);
  if (time >= kLeastPatience && time <= kMostPatience) return time;
  throw InvalidArgument(
      base::format("{}: '{}' is not between 100ms and 24h", kTimeoutVariable, base::printable(std::string(text))));
}

}  // namespace

std::string Address::text() const {
  std::vector<std::string> options;
  if (!cluster.empty()) options.push_back("cluster=" + cluster);
  if (is_secure) options.emplace_back("secure");
  return base::format("{}{}{}:{}/{}{}{}", kScheme, user.empty() ? "" : user + "@", host, port, database,
                      options.empty() ? "" : "?", base::join(options, "&"));
}

std::string table_everywhere(const Address& address, const TableSpec& table) {
  const std::string database = quoted_name(address.database), name = quoted_name(table.name);
  return address.cluster.empty() ? base::format("{}.{}", database, name)
                                 : base::format("cluster({}, {}, {})", quoted_text(address.cluster), database, name);
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
  if (address.password.empty()) address.password = password_of_environment();
  if (const char* time = base::environment(kTimeoutVariable); time != nullptr && *time != '\0')
    address.patience = parse_patience(time);
  const size_t slash = rest.find('/');
  if (slash == rest.npos) refuse(shown, "it has no database");
  std::string_view host = rest.substr(0, slash), database = rest.substr(slash + 1);
  if (const size_t question = database.find('?'); question != database.npos) {
    constexpr std::string_view kCluster = "cluster=";
    for (std::string_view rest_of_options = database.substr(question + 1); !rest_of_options.empty();) {
      const std::string_view option = rest_of_options.substr(0, rest_of_options.find('&'));
      rest_of_options.remove_prefix(std::min(option.size() + 1, rest_of_options.size()));
      if (option == "secure")
        address.is_secure = true;
      else if (!option.starts_with(kCluster))
        refuse(shown, "the options are ?cluster=NAME and ?secure");
      else if (address.cluster = option.substr(kCluster.size()); !is_name(address.cluster))
        refuse(shown, "the cluster is not a name of letters, digits, '_', '-' and '.'");
    }
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
  if (address.port == 0) address.port = address.is_secure ? 8443 : 8123;
  if (!is_name(database)) refuse(shown, "the database is not a name of letters, digits, '_', '-' and '.'");
  address.database = database;
  return address;
}

namespace {

constexpr size_t kShownCharacters = 300;

// What the server said, for a message.
std::string excerpt(std::string_view text) {
  const bool is_cut = text.size() > kShownCharacters;
  return base::printable(std::string(text.substr(0, kShownCharacters))) + (is_cut ? "…" : "");
}

// `cell` has no tab and no line feed.
std::string unescaped(std::string_view cell) {
  if (cell.find('\\') == cell.npos) return std::string(cell);
  std::string out;
  for (size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] != '\\') {
      out += cell[i];
      continue;
    }
    if (++i == cell.size()) throw Error("the server's answer ends in the middle of an escape");
    switch (cell[i]) {
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case '0':
        out += '\0';
        break;
      case 'N':  // NULL
        break;
      case '\\':
      case '\'':
        out += cell[i];
        break;
      default:
        throw Error(base::format("the server's answer has the unknown escape \\{}", excerpt(cell.substr(i, 1))));
    }
  }
  return out;
}

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  for (;;) {
    const size_t tab = std::min(line.find('\t'), line.size());
    cells.push_back(unescaped(line.substr(0, tab)));
    if (tab == line.size()) return cells;
    line.remove_prefix(tab + 1);
  }
}

template <typename Number>
Number parse(std::string_view cell, std::string_view column) {
  Number value{};
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (cell.empty() || error != std::errc() || end != cell.data() + cell.size())
    throw Error(
        base::format("the server's answer has '{}' in column {}, which is not a number", excerpt(cell), column));
  return value;
}

}  // namespace

Rows parse_rows(std::string_view body) {
  Rows all;
  if (body.empty()) throw Error("the server's answer is empty: is it a ClickHouse server?");
  while (!body.empty()) {
    const size_t end = body.find('\n');
    if (end == body.npos) throw Error(base::format("the server's answer has no end: '{}'", excerpt(body)));
    std::vector<std::string> cells = cells_of(body.substr(0, end));
    body.remove_prefix(end + 1);
    if (all.columns.empty()) {
      all.columns = std::move(cells);
      continue;
    }
    if (cells.size() != all.columns.size())
      throw Error(
          base::format("the server's answer has a row of {} cells under {} columns", cells.size(), all.columns.size()));
    all.rows.push_back(std::move(cells));
  }
  return all;
}

void expect_columns(const Rows& rows, size_t columns) {
  if (rows.columns.size() != columns)
    throw Error(base::format("the server's answer has {} columns instead of {}", rows.columns.size(), columns));
}

uint64_t parse_u64(std::string_view cell, std::string_view column) { return parse<uint64_t>(cell, column); }
int64_t parse_i64(std::string_view cell, std::string_view column) { return parse<int64_t>(cell, column); }
double parse_real(std::string_view cell, std::string_view column) { return parse<double>(cell, column); }

std::vector<double> parse_reals(std::string_view cell, std::string_view column) {
  if (cell.size() < 2 || cell.front() != '[' || cell.back() != ']')
    throw Error(base::format("the server's answer has '{}' in column {}, which is not a list", excerpt(cell), column));
  std::vector<double> all;
  cell = cell.substr(1, cell.size() - 2);
  while (!cell.empty()) {
    const size_t comma = std::min(cell.find(','), cell.size());
    std::string_view one = cell.substr(0, comma);
    while (one.starts_with(' ')) one.remove_prefix(1);
    all.push_back(parse<double>(one, column));
    cell.remove_prefix(std::min(comma + 1, cell.size()));
  }
  return all;
}

std::optional<ServerException> parse_exception(std::string_view body) {
  constexpr std::string_view kCode = "Code: ";
  const size_t at = body.find(kCode);
  if (at == body.npos || body.find("Exception", at) == body.npos) return std::nullopt;
  ServerException found;
  std::string_view rest = body.substr(at + kCode.size());
  if (std::from_chars(rest.data(), rest.data() + rest.size(), found.code).ec != std::errc()) return std::nullopt;
  constexpr std::string_view kBefore = "DB::Exception: ";
  if (const size_t text = rest.find(kBefore); text != rest.npos) rest.remove_prefix(text + kBefore.size());
  if (const size_t what = rest.find(", e.what()"); what != rest.npos) rest = rest.substr(0, what);
  while (!rest.empty() && (rest.back() == '\n' || rest.back() == ' ')) rest.remove_suffix(1);
  found.text = excerpt(rest);
  return found;
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kConnect{5'000};
// A server that works on a long query sends a header that often, so that silence means that it hangs. httplib reads a
// limited number of headers.
constexpr std::chrono::milliseconds kProgress{10'000};
constexpr size_t kLongestAnswer = size_t{1} << 30;

// Exceptions that go away: too many parts, not enough memory or disk, too many queries, timeouts, a table that is read
// only at the moment.
bool is_passing(int code) {
  constexpr std::array kPassing = {74,  75,  76,  159, 160, 164, 173, 198, 202, 203, 209, 210, 236,
                                   241, 242, 243, 252, 254, 279, 285, 319, 394, 425, 439, 999};
  return std::find(kPassing.begin(), kPassing.end(), code) != kPassing.end();
}

std::string encoded(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 && byte < 0x80)
      out += c;
    else
      base::format_to(out, "%{:02X}", byte);
  }
  return out;
}

}  // namespace

struct Client::Impl {
  explicit Impl(Address given)
      : address(std::move(given)),
        http(base::format("{}://{}:{}", address.is_secure ? "https" : "http",
                          address.host.find(':') == std::string::npos ? address.host : "[" + address.host + "]",
                          address.port)) {
    http.set_connection_timeout(std::min(kConnect, address.patience));
    http.set_read_timeout(address.patience);
    http.set_write_timeout(address.patience);
    http.set_keep_alive(true);
    http.set_tcp_nodelay(true);
    if (!address.user.empty() || !address.password.empty()) {
      headers.emplace("X-ClickHouse-User", address.user.empty() ? "default" : address.user);
      headers.emplace("X-ClickHouse-Key", address.password);
    }
  }

  // `body` follows the statement; both may be long.
  std::string post(const std::string& parameters, const std::string& body) {
    std::string received;
    bool is_too_long = false;
    httplib::Request request;
    request.method = "POST";
    request.path = base::format("/?send_progress_in_http_headers=1&http_headers_progress_interval_ms={}&{}",
                                std::min(kProgress, address.patience / 2).count(), parameters);
    request.headers = headers;
    request.set_header("Content-Type", "application/octet-stream");
    request.body = body;
    int status = 0;
    request.response_handler = [&](const httplib::Response& response) {
      status = response.status;
      return true;
    };
    request.content_receiver = [&](const char* data, size_t size, uint64_t, uint64_t) {
      is_too_long = received.size() + size > kLongestAnswer;
      if (is_too_long) return false;
      received.append(data, size);
      return true;
    };
    const Clock::time_point begin = Clock::now();
    const httplib::Result result = http.send(request);
    if (is_too_long)
      throw Error(base::format("{} answers more than {} bytes: ask for less with --limit or --since", address.text(),
                               kLongestAnswer));
    if (!result) {
      const httplib::Error error = result.error();
      if (error == httplib::Error::Connection || error == httplib::Error::ConnectionTimeout)
        throw TryAgain(base::format("cannot connect to {}: is the server running, and is this its port for HTTP?",
                                    address.text()));
      if (error == httplib::Error::SSLConnection || error == httplib::Error::SSLServerVerification)
        throw Error(
            base::format("no secure connection to {}: does the server speak TLS on this port, and is its "
                         "certificate trusted? SSL_CERT_FILE names a file of trusted certificates",
                         address.text()));
      if (error == httplib::Error::Read && Clock::now() - begin >= address.patience)
        throw TryAgain(base::format("{} does not answer: nothing for {} s; {} sets another time", address.text(),
                                    std::chrono::duration<double>(address.patience).count(), kTimeoutVariable));
      if (error == httplib::Error::Read)
        throw TryAgain(base::format("{} closed the connection before its answer was complete: was the server stopped?",
                                    address.text()));
      throw TryAgain(base::format("the connection to {} failed: {}", address.text(), httplib::to_string(error)));
    }
    if (status == 0) status = result->status;
    check(status, received);
    return received;
  }

  void check(int status, const std::string& body) const {
    if (status == 200) return;
    if (const auto exception = parse_exception(body)) {
      const std::string text = base::format("{}: {} (code {})", address.text(), exception->text, exception->code);
      // The server reports this as if it could not be reached, and waiting does not help.
      if (exception->text.find("There is no table") != std::string::npos)
        throw Error(
            base::format("{}; 'kymo push' to the address of the server that lacks the table, without ?cluster=, "
                         "makes it",
                         text));
      if (is_passing(exception->code)) throw TryAgain(text);
      throw Error(text);
    }
    const std::string text = base::format("{} answers with HTTP status {}: {}", address.text(), status,
                                          base::printable(body.substr(0, 200)));
    if (status >= 500) throw TryAgain(text);
    throw Error(text + "; is this a ClickHouse server?");
  }

  Address address;
  httplib::Client http;
  httplib::Headers headers;
};

Client::Client(Address address) : impl_(std::make_unique<Impl>(std::move(address))) {}
Client::~Client() = default;
const Address& Client::address() const { return impl_->address; }

void Client::execute(const std::string& statement) {
  const std::string answer = impl_->post("", statement);
  if (!answer.empty())
    throw Error(base::format("{} answers '{}' where nothing is expected; is this a ClickHouse server?",
                             impl_->address.text(), base::printable(answer.substr(0, 200))));
}

void Client::insert(const TableSpec& table, const std::string& csv) {
  std::vector<std::string_view> columns;
  for (const ColumnSpec& column : table.columns) columns.push_back(column.name);
  const std::string statement = base::format("INSERT INTO {}.{} ({}) FORMAT CSV", quoted_name(impl_->address.database),
                                             quoted_name(table.name), base::join(columns, ", "));
  const std::string answer = impl_->post("query=" + encoded(statement), csv);
  if (answer.empty()) return;
  if (const auto exception = parse_exception(answer))
    throw TryAgain(base::format("{}: {} (code {})", impl_->address.text(), exception->text, exception->code));
  throw Error(base::format("{} answers '{}' to an insert; is this a ClickHouse server?", impl_->address.text(),
                           base::printable(answer.substr(0, 200))));
}

Rows Client::query(const std::string& statement) {
  // The whole result before the first byte: an exception in the middle of a result would otherwise follow its rows.
  const std::string answer =
      impl_->post("wait_end_of_query=1&skip_unavailable_shards=0", statement + "\nFORMAT TabSeparatedWithNames");
  return parse_rows(answer);
}

void ClickHouseStore::prepare() {
  const Address& address = client_.address();
  client_.execute(base::format("CREATE DATABASE IF NOT EXISTS {}", quoted_name(address.database)));
  const Rows rows =
      client_.query(base::format("SELECT name FROM system.tables WHERE database = {}", quoted_text(address.database)));
  std::set<std::string> names;
  for (const auto& row : rows.rows) names.insert(row.at(0));
  const auto is_there = [&](const TableSpec* table) { return names.contains(std::string(table->name)); };
  const auto other = std::find_if(all_tables().begin(), all_tables().end(), is_there);
  if (other != all_tables().end() && !is_there(&kSchema))
    throw Error(
        base::format("{} has a table {} that is not Kymo's: use another database", address.text(), (*other)->name));
  // The version is written when all tables are there.
  client_.execute(create_statement(address.database, kSchema));
  const Rows found = client_.query(base::format("SELECT max(version) AS version FROM {}.{}",
                                                quoted_name(address.database), quoted_name(kSchema.name)));
  const uint64_t version = parse_u64(found.rows.at(0).at(0), "version");
  if (version != 0) refuse_other_version(version, address.text());
  for (const TableSpec* table : all_tables()) client_.execute(create_statement(address.database, *table));
  if (version == kSchemaVersion) return;
  Block block(kSchema);
  block.number(kSchemaVersion);
  block.end_row();
  client_.insert(kSchema, block.encode(0));
}

KnownTraces ClickHouseStore::known(const std::vector<uint64_t>& traces, uint32_t from, uint32_t to) {
  const Rows rows = client_.query(base::format(
      R"(SELECT trace, max(problems) AS its_problems FROM {}
WHERE started >= toDateTime({}) AND started <= toDateTime({}) AND trace IN ({}) GROUP BY trace)",
      table_everywhere(client_.address(), kTraces), from, to, base::join(traces, ", ")));
  expect_columns(rows, 2);
  KnownTraces found;
  for (const auto& row : rows.rows) found[parse_u64(row[0], rows.columns[0])] = parse_u64(row[1], rows.columns[1]) != 0;
  return found;
}

// Inserts are not atomic. So each has an attempt of its own, and counts when its rows of `traces` are there (tables.h).
void ClickHouseStore::publish(const SummaryBlocks& rows, uint32_t) {
  const uint64_t attempt = new_attempt();
  for (const Block* block : rows.all())
    if (block->rows() > 0) client_.insert(block->table(), block->encode(attempt));
}

}  // namespace kymo::push
