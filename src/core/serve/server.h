// The web server of `kymo view`, on the loopback interface. docs/view.md has its rules: a token in every path, Host and
// Origin are checked, only GET, nothing is written.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "serve/api.h"
#include "serve/view.h"

namespace kymo::serve {

struct ServerOptions {
  uint16_t port = 0;             // 0: any free port
  uint16_t usual_port = 0;       // used if `port` is 0 and this one is free
  std::string token;             // 32 hexadecimal digits; empty: a random one
  std::chrono::seconds idle{5};  // HttpServer::Limits
  bool follow = false;           // look for more in the files, also if nobody seems to write them
};

// 128 random bits, as 32 hexadecimal digits. Throws kymo::Error.
std::string random_token();

class Server {
 public:
  // Listens when it returns. Throws kymo::Error if the port cannot be used. The view must outlive the server.
  Server(View& view, Analyses analyses, const ServerOptions& options);
  ~Server();  // ends all connections
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  uint16_t port() const;
  const std::string& token() const;
  std::string address() const;  // http://127.0.0.1:PORT/TOKEN/

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Whether a request with these headers may come from the page itself: the host is this machine, and the origin, if
// there is one, is the same. Both are untrusted.
bool is_own_host(std::string_view host);
bool is_own_origin(std::string_view origin, std::string_view host);

}  // namespace kymo::serve
