#include "push/clickhouse.h"

#include <httplib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <set>

#include "base/environment.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/units.h"
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
    address.user = account.substr(0, colon);
    if (colon < account.size()) address.password = account.substr(colon + 1);
    for (const char c : address.user + address.password)
      if (static_cast<unsigned char>(c) < 0x20) refuse(shown, "the user or password has a control character");
    rest = text.substr(at_sign + 1);
  }
  if (address.password.empty()) address.password = password_of_environment();
  if (const char* time = base::environment(kTimeoutVariable); time != nullptr && *time != '\0')
    address.patience = parse_patience(time);
  const size_t slash = rest.find('/');
  if (slash == rest.npos) refuse(shown, "it has no database");
  const std::string_view host = rest.substr(0, slash), database = rest.substr(slash + 1, rest.find('?') - slash - 1);
  if (const size_t question = rest.find('?'); question != rest.npos) {
    constexpr std::string_view kCluster = "cluster=";
    for (const std::string& option : base::split(rest.substr(question + 1), '&')) {
      if (option == "secure")
        address.is_secure = true;
      else if (!option.starts_with(kCluster))
        refuse(shown, "the options are ?cluster=NAME and ?secure");
      else if (address.cluster = option.substr(kCluster.size()); !is_name(address.cluster))
        refuse(shown, "the cluster is not a name of letters, digits, '_', '-' and '.'");
    }
  }
  const size_t bracket = host.find(']');  // [::1]:8123
  const size_t colon = host.find(':', bracket == host.npos ? 0 : bracket);
  address.host = host.substr(0, colon);
  if (address.host.starts_with('[') != address.host.ends_with(']')) refuse(shown, "the host is not like [::1]");
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
  constexpr std::pair<char, std::string_view> kEscapes[] = {{'b', "\b"}, {'f', "\f"},      {'n', "\n"},
                                                            {'r', "\r"}, {'t', "\t"},      {'\\', "\\"},
                                                            {'\'', "'"}, {'0', {"\0", 1}}, {'N', {}}};  // NULL
  std::string out;
  while (!cell.empty()) {
    const size_t plain = std::min(cell.find('\\'), cell.size());
    out += cell.substr(0, plain);
    cell.remove_prefix(plain);
    if (cell.empty()) break;
    if (cell.size() == 1) throw Error("the server's answer ends in the middle of an escape");
    const auto* const known = std::ranges::find(kEscapes, cell[1], &std::pair<char, std::string_view>::first);
    if (known == std::end(kEscapes))
      throw Error(base::format("the server's answer has the unknown escape \\{}", excerpt(cell.substr(1, 1))));
    out += known->second;
    cell.remove_prefix(2);
  }
  return out;
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
  if (!body.ends_with('\n')) throw Error(base::format("the server's answer has no end: '{}'", excerpt(body)));
  body.remove_suffix(1);
  for (const std::string& line : base::split(body, '\n')) {
    std::vector<std::string> cells = base::split(line, '\t');
    for (std::string& cell : cells) cell = unescaped(cell);
    if (all.columns.empty())
      all.columns = std::move(cells);
    else if (cells.size() == all.columns.size())
      all.rows.push_back(std::move(cells));
    else
      throw Error(
          base::format("the server's answer has a row of {} cells under {} columns", cells.size(), all.columns.size()));
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
  if (cell == "[]") return all;
  for (const std::string& one : base::split(cell.substr(1, cell.size() - 2), ','))
    all.push_back(parse<double>(std::string_view(one).substr(one.starts_with(' ') ? 1 : 0), column));
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

}  // namespace

struct ClickHouseStore::Impl {
  explicit Impl(Address given)
      : address(std::move(given)),
        http(base::format("{}://{}:{}", address.is_secure ? "https" : "http", address.host, address.port)) {
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
  std::string post(httplib::Params parameters, const std::string& body) {
    std::string received;
    bool is_too_long = false;
    httplib::Request request;
    request.method = "POST";
    parameters.emplace("send_progress_in_http_headers", "1");
    parameters.emplace("http_headers_progress_interval_ms",
                       std::to_string(std::min(kProgress, address.patience / 2).count()));
    request.path = httplib::append_query_params("/", parameters);
    request.headers = headers;
    request.set_header("Content-Type", "application/octet-stream");
    request.body = body;
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
    check(result->status, received);
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
    const std::string text = base::format("{} answers with HTTP status {}: {}", address.text(), status, excerpt(body));
    if (status >= 500) throw TryAgain(text);
    throw Error(text + "; is this a ClickHouse server?");
  }

  void insert(const Block& block, uint64_t attempt) {
    std::vector<std::string_view> columns;
    for (const ColumnSpec& column : block.table().columns) columns.push_back(column.name);
    const std::string answer = post(
        {{"query", base::format("INSERT INTO {} ({}) FORMAT CSV", table(block.table()), base::join(columns, ", "))}},
        block.encode(attempt));
    if (const auto exception = parse_exception(answer))
      throw TryAgain(base::format("{}: {} (code {})", address.text(), exception->text, exception->code));
  }

  // Of this server only.
  std::string table(const TableSpec& table) const {
    return base::format("{}.{}", quoted_name(address.database), quoted_name(table.name));
  }

  Address address;
  httplib::Client http;
  httplib::Headers headers;
};

ClickHouseStore::ClickHouseStore(Address address) : impl_(std::make_unique<Impl>(std::move(address))) {}
ClickHouseStore::~ClickHouseStore() = default;

Rows ClickHouseStore::ask(const std::string& statement) {
  // The whole result before the first byte: an exception in the middle of a result would otherwise follow its rows.
  return parse_rows(impl_->post({{"wait_end_of_query", "1"}, {"skip_unavailable_shards", "0"}},
                                statement + "\nFORMAT TabSeparatedWithNames"));
}

uint64_t ClickHouseStore::version() {
  const Address& address = impl_->address;
  if (ask(base::format("SELECT name FROM system.tables WHERE database = {} AND name = {}",
                       quoted_text(address.database), quoted_text(kSchema.name)))
          .rows.empty())
    return 0;
  return version_in(table_everywhere(address, kSchema));
}

uint64_t ClickHouseStore::version_in(const std::string& table) {
  const Rows rows = ask(base::format("SELECT max(version) AS version FROM {}", table));
  return rows.rows.empty() ? 0 : parse_u64(rows.rows[0][0], rows.columns[0]);
}

void ClickHouseStore::prepare() {
  const Address& address = impl_->address;
  impl_->post({}, base::format("CREATE DATABASE IF NOT EXISTS {}", quoted_name(address.database)));
  const Rows rows =
      ask(base::format("SELECT name FROM system.tables WHERE database = {}", quoted_text(address.database)));
  std::set<std::string, std::less<>> names;
  for (const auto& row : rows.rows) names.insert(row.at(0));
  const auto is_there = [&](const TableSpec* table) { return names.contains(table->name); };
  const auto other = std::ranges::find_if(all_tables(), is_there);
  if (other != all_tables().end() && !is_there(&kSchema))
    throw Refused(
        base::format("{} has a table {} that is not Kymo's: use another database", address.text(), (*other)->name));
  // The version is written when all tables are there.
  impl_->post({}, create_statement(address.database, kSchema));
  const uint64_t version = version_in(impl_->table(kSchema));
  if (version != 0) refuse_other_version(version, address.text());
  for (const TableSpec* table : all_tables()) impl_->post({}, create_statement(address.database, *table));
  if (version == kSchemaVersion) return;
  Block block(kSchema);
  block.add(kSchemaVersion);
  impl_->insert(block, 0);
}

KnownTraces ClickHouseStore::known(const std::vector<uint64_t>& traces, uint32_t from, uint32_t to) {
  return ask_known(table_everywhere(impl_->address, kTraces), traces, from, to);
}

// Inserts are not atomic. So each has an attempt of its own, and counts when its rows of `traces` are there (tables.h).
void ClickHouseStore::publish(const SummaryBlocks& rows, uint32_t) {
  const uint64_t attempt = new_attempt();
  for (const Block* block : rows.all())
    if (block->rows() > 0) impl_->insert(*block, attempt);
}

}  // namespace kymo::push
