#include "metrics/endpoint.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace kymo::metrics {
namespace {

TEST(MetricsTest, OnlyGetOfMetricsHasTheNumbers) {
  const std::string body = "x 1\n";
  EXPECT_EQ(answer("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", body).substr(0, 15), "HTTP/1.1 200 OK");
  EXPECT_NE(answer("GET /metrics?a=b HTTP/1.1\r\n\r\n", body).find("\r\n\r\nx 1\n"), std::string::npos);
  EXPECT_EQ(answer("GET / HTTP/1.1\r\n\r\n", body).substr(9, 3), "404");
  EXPECT_EQ(answer("POST /metrics HTTP/1.1\r\n\r\n", body).substr(9, 3), "405");
  EXPECT_EQ(answer("GET /metrics HTTP/1.1\r\n", body), "");
  EXPECT_EQ(answer("\r\n\r\n", body).substr(9, 3), "404");
  EXPECT_EQ(answer(std::string(kLongestRequest, 'a'), body).substr(9, 3), "431");
}

TEST(MetricsTest, TheTextIsThatOfPrometheus) {
  Text text;
  text.counter("kymo_a_total", "What a is.", 7);
  EXPECT_EQ(text.text(), "# HELP kymo_a_total What a is.\n# TYPE kymo_a_total counter\nkymo_a_total 7\n");
}

TEST(MetricsTest, OtherMachinesCannotReadThem) {
  EXPECT_EQ(parse_place("127.0.0.1:9464").port, 9464);
  EXPECT_EQ(parse_place("[::1]:1").host, "::1");
  EXPECT_EQ(parse_place("unix:/run/x").path, "/run/x");
  for (const char* const text : {"0.0.0.0:1", "10.0.0.1:1", "[::]:1", "example.org:1", "127.0.0.1",
                                 "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:1x", "unix:relative", "unix:", "", ":1"})
    EXPECT_THROW(parse_place(text), InvalidArgument) << text;
}

TEST(MetricsTest, AUnixSocketAnswersAndIsRemovedAtTheEnd) {
  const std::string path = "/tmp/kymo-metrics-test-" + std::to_string(::getpid());
  {
    Endpoint endpoint(parse_place("unix:" + path), [] { return std::string("x 2\n"); });
    EXPECT_THROW(Endpoint(parse_place("unix:" + path), [] { return std::string(); }), Error);
    const int client = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path.c_str());
    ASSERT_EQ(::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
    ASSERT_EQ(::send(client, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
    std::string reply;
    char bytes[256];
    for (ssize_t got; (got = ::recv(client, bytes, sizeof bytes, 0)) > 0;)
      reply.append(bytes, static_cast<size_t>(got));
    ::close(client);
    EXPECT_NE(reply.find("x 2\n"), std::string::npos);
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST(MetricsTest, APortOfLoopbackIsChosen) {
  const Endpoint endpoint(parse_place("127.0.0.1:0"), [] { return std::string(); });
  EXPECT_NE(endpoint.port(), 0);
}

}  // namespace
}  // namespace kymo::metrics
