#include "push/http.h"

#include <httplib.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/printable.h"
#include "base/text.h"
#include "push/tables.h"

namespace kymo::push {
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
  explicit Impl(Address given) : address(std::move(given)), http(address.host, address.port) {
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
  const std::string answer = impl_->post("allow_experimental_low_cardinality_type=1", statement);
  if (!answer.empty())
    throw Error(base::format("{} answers '{}' where nothing is expected; is this a ClickHouse server?",
                             impl_->address.text(), base::printable(answer.substr(0, 200))));
}

void Client::insert(std::string_view table, const std::string& native) {
  const std::string statement =
      base::format("INSERT INTO {}.{} FORMAT Native", quoted_name(impl_->address.database), quoted_name(table));
  const std::string answer = impl_->post("query=" + encoded(statement), native);
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

}  // namespace kymo::push
