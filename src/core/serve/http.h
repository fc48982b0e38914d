// A small HTTP server on the loopback interface. It knows what the page of `kymo view` needs: GET, a body or a stream.
//
// A connection has a thread only while its request is answered. One thread waits for all others, until the whole header
// of a request is there. So connections that send nothing, or half of a header, delay nobody. They are closed after a
// time limit; if too many wait, the one that has waited longest is closed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"

namespace kymo::serve {

// The header of a request, which is untrusted.
struct HttpRequest {
  std::string_view method;
  std::string_view target;  // as it was sent: nothing is decoded; it begins with a slash
  std::vector<std::pair<std::string_view, std::string_view>> fields;
  bool closes = false;  // nothing can follow on the connection

  // The values of a field, whose name has any case.
  std::vector<std::string_view> values(std::string_view name) const;
};

// `header` ends with an empty line. Nothing if it is not a request of HTTP/1.
std::optional<HttpRequest> parse_request(std::string_view header);

// The other end of a connection. Any thread may use it while the request is answered.
class HttpClient {
 public:
  explicit HttpClient(int socket) : socket_(socket) {}
  // Whether it has closed the connection. Asks the system, in less than a microsecond.
  bool is_gone() const;
  // False if the client is gone, or takes nothing for ten seconds.
  bool write(std::string_view bytes) const;

 private:
  int socket_;
};

struct HttpAnswer {
  int status = 404;
  std::vector<std::pair<std::string, std::string>> fields = {};
  std::string body = {};
  std::function<void()> stream =
      {};  // writes to the client itself, after the header and the body; then the connection ends
};

class HttpServer {
 public:
  struct Limits {
    // A connection is closed if no request comes for so long, or if its header is not complete after so long.
    std::chrono::milliseconds idle{5000};
    size_t most_waiting = 512;
  };
  // Called by many threads at once. The request is valid until the end of the call, the client until the answer ends.
  using Handler = std::function<HttpAnswer(const HttpRequest&, const HttpClient&)>;

  // `listening`: of listen_on_loopback().
  HttpServer(base::FileDescriptor listening, const Limits& limits, Handler handler);
  ~HttpServer();  // ends all connections, and waits for handlers and streams
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// 0: any free port. Nothing if it cannot listen there; errno says why.
base::FileDescriptor listen_on_loopback(uint16_t port);
uint16_t port_of(const base::FileDescriptor& listening);

}  // namespace kymo::serve
