#include "serve/http.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>

namespace kymo::serve {
namespace {

using namespace std::chrono_literals;

TEST(HttpRequestTest, HasItsTargetAndFields) {
  const auto request = parse_request("GET /a?b=%20 HTTP/1.1\r\nHost:  localhost:80 \r\nX: 1\r\nx:2\r\n\r\n");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "GET");
  EXPECT_EQ(request->target, "/a?b=%20");
  EXPECT_EQ(request->values("host"), std::vector<std::string_view>{"localhost:80"});
  EXPECT_EQ(request->values("X"), (std::vector<std::string_view>{"1", "2"}));
  EXPECT_FALSE(request->closes);
}

TEST(HttpRequestTest, OnlyRequestsOfHttp1AreParsed) {
  for (const char* text :
       {"\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/2\r\n\r\n", "GET /\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n",
        "GET x HTTP/1.1\r\n\r\n", "GET http://a/ HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "GET / HTTP/1.1\r\n a\r\n\r\n", "GET / b HTTP/1.1\r\n\r\n"})
    EXPECT_FALSE(parse_request(text)) << text;
}

TEST(HttpRequestTest, NothingFollowsABodyOrTheLastRequest) {
  for (const char* text :
       {"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n", "GET / HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.1\r\nconnection: Close\r\n\r\n", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"})
    EXPECT_TRUE(parse_request(text)->closes) << text;
}

class HttpServerTest : public ::testing::Test {
 protected:
  // Answers with the target.
  void start(const HttpServer::Limits& limits) {
    base::FileDescriptor listening = listen_on_loopback(0);
    port_ = port_of(listening);
    server_.emplace(std::move(listening), limits, [](const HttpRequest& request, const HttpClient&) {
      return HttpAnswer{.status = 200, .fields = {}, .body = std::string(request.target), .stream = {}};
    });
  }
  base::FileDescriptor connect() const {
    base::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return socket;
  }
  static void send(const base::FileDescriptor& socket, std::string_view text) {
    EXPECT_EQ(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  // What comes until `end`, or until the connection ends.
  static std::string receive(const base::FileDescriptor& socket, std::string_view end) {
    std::string text;
    for (char byte = 0; !text.ends_with(end) && ::recv(socket.get(), &byte, 1, 0) == 1;) text.push_back(byte);
    return text;
  }

  uint16_t port_ = 0;
  std::optional<HttpServer> server_;
};

TEST_F(HttpServerTest, RequestsMayComeTogetherAndInPieces) {
  start({});
  const base::FileDescriptor socket = connect();
  send(socket, "GET /one HTTP/1.1\r\n\r\nGET /two HTTP/1.1\r\n\r\nGET /thr");
  EXPECT_NE(receive(socket, "/one").find("HTTP/1.1 200 OK\r\n"), std::string::npos);
  EXPECT_NE(receive(socket, "/two").find("Content-Length: 4\r\n"), std::string::npos);
  send(socket, "ee HTTP/1.1\r\n\r");
  send(socket, "\n");
  EXPECT_TRUE(receive(socket, "/three").ends_with("\r\n\r\n/three"));
}

TEST_F(HttpServerTest, AHeaderThatIsNotCompleteIsGivenUp) {
  start({.idle = 50ms});
  const base::FileDescriptor silent = connect(), part = connect();
  send(part, "GET / HTTP/1.1\r\n");
  EXPECT_EQ(receive(silent, "\n"), "");
  EXPECT_EQ(receive(part, "\n"), "");
}

TEST_F(HttpServerTest, OfTooManyThatWaitTheFirstIsClosed) {
  start({.idle = 600s, .most_waiting = 3});
  std::vector<base::FileDescriptor> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(connect());
  const base::FileDescriptor honest = connect();
  send(honest, "GET /here HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(receive(honest, "/here").ends_with("/here"));
  EXPECT_EQ(receive(silent.front(), "\n"), "");
}

TEST_F(HttpServerTest, AHeaderThatIsTooLongIsRefused) {
  start({});
  const base::FileDescriptor socket = connect();
  const std::string much(64 << 10, 'a');
  (void)!::send(socket.get(), much.data(), much.size(), MSG_NOSIGNAL);
  const std::string answer = receive(socket, "\r\n\r\n");
  EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 431 ")) << answer;  // empty: the system dropped it
}

}  // namespace
}  // namespace kymo::serve
