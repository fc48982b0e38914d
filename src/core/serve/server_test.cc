#include "serve/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <thread>
#include <utility>

#include "base/test_wait.h"
#include "serve/test_view.h"

namespace kymo::serve {
namespace {

using testing::TemporaryFolder;
using testing::TestRecorder;

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    testing::write_random_trace(folder_ / "run.kymo", 1, 500);
    std::vector<trace::Reader> readers;
    readers.emplace_back(folder_ / "run.kymo");
    view_ = std::make_unique<View>(std::move(readers));
    Analyses analyses;
    analyses.reopen = [this](uint32_t, const IsGone&) { return trace::Reader(folder_ / "run.kymo"); };
    analyses.report = [](uint32_t, const IsGone&) -> std::string { throw Error("no report today"); };
    server_ = std::make_unique<Server>(*view_, analyses, ServerOptions{});
  }

  std::string own(const std::string& path) const { return "/" + server_->token() + "/" + path; }
  httplib::Client client() const { return httplib::Client("127.0.0.1", server_->port()); }

  static int connect_to(uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return socket;
  }

  // Sends bytes as they are, and returns the whole answer.
  std::string raw(const std::string& request, bool is_complete = false) const {
    const int socket = connect_to(server_->port());
    // The server may close the connection before it has read everything.
    (void)!::send(socket, request.data(), request.size(), MSG_NOSIGNAL);
    if (!is_complete) ::shutdown(socket, SHUT_WR);
    std::string all;
    char buffer[4096];
    for (ssize_t got; (got = ::recv(socket, buffer, sizeof buffer, 0)) > 0;)
      all.append(buffer, static_cast<size_t>(got));
    ::close(socket);
    return all;
  }

  // True if the answer has nothing that a stranger could use.
  static bool is_nothing(const httplib::Result& result) {
    return result && result->status == 404 && result->body.empty() && !result->has_header("Content-Security-Policy");
  }

  const TemporaryFolder folder_;
  std::unique_ptr<View> view_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, ThePageIsCompressedAndHasAStrictPolicy) {
  httplib::Client http = client();
  http.set_decompress(false);
  const auto page = http.Get(own(""));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, 200);
  EXPECT_EQ(page->get_header_value("Content-Encoding"), "gzip");
  EXPECT_EQ(page->body.substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(page->get_header_value("X-Content-Type-Options"), "nosniff");
  const std::string policy = page->get_header_value("Content-Security-Policy");
  EXPECT_NE(policy.find("default-src 'none'"), policy.npos);
  EXPECT_NE(policy.find("script-src 'self';"), policy.npos);
  EXPECT_EQ(policy.find("unsafe-eval"), policy.npos);
  for (const char* file : {"page.js", "page.css"}) EXPECT_EQ(http.Get(own(file))->status, 200);
}

TEST_F(ServerTest, AnswersAreSentAsTheyAre) {
  httplib::Client http = client();
  http.set_decompress(false);
  // What a browser accepts. Compressing the tracks of a large trace would take seconds.
  const httplib::Headers browser = {{"Accept-Encoding", "gzip, deflate, br"}};
  for (const char* path : {"api/trace", "api/names", "api/selection?from=0&to=1000"}) {
    const auto answer = http.Get(own(path), browser);
    ASSERT_TRUE(answer);
    EXPECT_FALSE(answer->has_header("Content-Encoding")) << path;
    EXPECT_EQ(answer->body.front(), '{') << path;
    EXPECT_EQ(answer->get_header_value("Content-Length"), std::to_string(answer->body.size()));
  }
  const auto page = http.Get(own("page.js"), browser);  // it is compressed already
  ASSERT_TRUE(page);
  EXPECT_EQ(page->get_header_value_count("Content-Encoding"), 1u);
  EXPECT_EQ(page->get_header_value("Content-Encoding"), "gzip");
  EXPECT_EQ(page->body.substr(0, 2), "\x1f\x8b");
}

TEST_F(ServerTest, ListensOnTheLoopbackInterfaceOnly) {
  EXPECT_EQ(server_->address().substr(0, 17), "http://127.0.0.1:");
  EXPECT_EQ(server_->token().size(), 32u);
  // 127.0.0.2 is also this machine, but nobody listens there.
  httplib::Client other("127.0.0.2", server_->port());
  EXPECT_FALSE(other.Get(own("")));
}

TEST_F(ServerTest, TheNextServerHasTheSameAddressIfThePortIsFree) {
  ServerOptions options;
  options.token = server_->token();
  options.usual_port = server_->port();
  const std::string address = server_->address();
  EXPECT_NE(Server(*view_, {}, options).port(), options.usual_port) << "it is in use";
  server_.reset();
  EXPECT_EQ(Server(*view_, {}, options).address(), address);
}

TEST_F(ServerTest, WithoutTheTokenThereIsNothing) {
  httplib::Client http = client();
  const std::string token = server_->token();
  std::string wrong = token;
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  std::string upper = token;
  for (char& c : upper) c = static_cast<char>(toupper(c));
  if (upper == token) upper = wrong;
  for (const std::string& path :
       {std::string("/"), std::string("/api/trace"), "/" + token, "/" + wrong + "/", "/" + upper + "/",
        "/" + token.substr(0, 31) + "/", "/" + token + "0/", "//" + token + "/", "/x/../" + token + "/",
        "/%" + token + "/", "/" + token + "%2f", std::string("/favicon.ico"), "/?" + token + "/", "/;" + token + "/"})
    EXPECT_TRUE(is_nothing(http.Get(path))) << path;
}

TEST_F(ServerTest, PathTricksFindNoFile) {
  httplib::Client http = client();
  for (const char* path : {"../", "..", "api", "api/..", "api/../page.js", "./page.js", "page.js/", "page.js%00",
                           "%2e%2e/%2e%2e/etc/passwd", "../../../../etc/passwd", "/etc/passwd", "api/%74race",
                           "page%2ejs", "index.html", "api//trace"}) {
    const auto result = http.Get(own(path));
    ASSERT_TRUE(result) << path;
    EXPECT_EQ(result->status, 404) << path;
    EXPECT_EQ(result->body.find("root:"), std::string::npos) << path;
  }
}

TEST_F(ServerTest, OtherHostsAndOriginsGetNothing) {
  httplib::Client http = client();
  const std::string port = std::to_string(server_->port());
  const auto get = [&](const httplib::Headers& headers) { return http.Get(own("api/trace"), headers); };
  for (const char* host :
       {"evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example",
        "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:123456", "[::2]", "0.0.0.0", "localhost:80@evil", ""})
    EXPECT_TRUE(is_nothing(get({{"Host", host}}))) << host;
  for (const char* host : {"localhost", "localhost:9999", "127.0.0.1:1", "[::1]:8017"})
    EXPECT_EQ(get({{"Host", host}})->status, 200) << host;
  const std::string own_host = "127.0.0.1:" + port;
  for (const std::string& origin :
       {std::string("http://evil.example"), std::string("null"), "https://" + own_host, std::string("http://127.0.0.1"),
        std::string("http://localhost:" + port), "http://" + own_host + "/"})
    EXPECT_TRUE(is_nothing(get({{"Host", own_host}, {"Origin", origin}}))) << origin;
  EXPECT_EQ(get({{"Host", own_host}, {"Origin", "http://" + own_host}})->status, 200);
  EXPECT_TRUE(is_nothing(get({{"Host", own_host}, {"Origin", "http://" + own_host}, {"Origin", "http://evil"}})));
}

TEST_F(ServerTest, OnlyGetIsAnswered) {
  httplib::Client http = client();
  EXPECT_NE(http.Post(own("api/trace"), "x", "text/plain")->status, 200);
  EXPECT_NE(http.Put(own("api/trace"), "x", "text/plain")->status, 200);
  EXPECT_NE(http.Delete(own("api/trace"))->status, 200);
  EXPECT_NE(http.Options(own("api/trace"))->status, 200);
  EXPECT_NE(http.Head(own("api/trace"))->status, 200);
}

TEST_F(ServerTest, BrokenRequestsDoNotStopTheServer) {
  const std::string good = "GET " + own("api/trace") + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  for (const std::string& request :
       {std::string("\r\n\r\n"), std::string("GET\r\n\r\n"), std::string("GET / HTTP/9.9\r\n\r\n"),
        std::string(100'000, 'A'), "GET " + own(std::string(20'000, 'a')) + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET " + own("api/trace") + " HTTP/1.0\r\n\r\n",
        "GET " + own("api/trace") + " HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n",
        "GET http://evil.example" + own("api/trace") + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
        std::string("\x16\x03\x01\x02", 4)})
    EXPECT_EQ(raw(request).find("200 OK"), std::string::npos) << request.substr(0, 80);
  EXPECT_NE(raw(good, true).find("200 OK"), std::string::npos);
}

TEST_F(ServerTest, WrongNumbersAreErrorsWithTheirValue) {
  httplib::Client http = client();
  for (const char* query : {"tiles",
                            "tiles?w=99&from=0&to=0&tracks=0",
                            "tiles?w=-1&from=0&to=0",
                            "tiles?w=nan&from=0&to=0",
                            "tiles?w=1e3&from=0&to=0",
                            "tiles?w=0x10&from=0&to=0",
                            "tiles?w=10&from=5&to=4&tracks=0",
                            "tiles?w=10&from=99999999999999999999999&to=0",
                            "tiles?w=52&from=1&to=1&tracks=0",
                            "tiles?w=10&to=0",
                            "tiles?w=10&from=0&to=0&tracks=1,,2",
                            "tiles?w=10&from=0&to=0&tracks=,",
                            "tiles?w=10&from=0&to=0&tracks=x",
                            "tiles?w=10&from=0&to=0&tracks=4294967296",
                            "tiles?w=+1&from=0&to=0",
                            "tiles?w= 1&from=0&to=0",
                            "event?track=0",
                            "event?track=0&chunk=0&index=-1",
                            "search",
                            "search?q=",
                            "search?q=a&limit=99999999",
                            "selection?from=5&to=5",
                            "selection?from=NaN&to=9",
                            "names?from=-1"}) {
    const auto result = http.Get(own(std::string("api/") + query));
    ASSERT_TRUE(result) << query;
    EXPECT_EQ(result->status, 400) << query << " " << result->body;
    EXPECT_EQ(result->body.substr(0, 10), "{\"error\": ") << query << " " << result->body;
  }
  for (const char* query : {"tiles?w=10&from=0&to=16&tracks=0", "tiles?w=0&from=0&to=99999999999&tracks=0"})
    EXPECT_EQ(http.Get(own(std::string("api/") + query))->status, 422) << query;
  for (const char* query :
       {"event?track=9999&chunk=0&index=0", "event?track=0&chunk=9999&index=0", "event?track=0&chunk=0&index=99999",
        "event?track=0&chunk=0&index=1999999999", "event?track=0&chunk=0&index=4000000000", "nothing", "",
        "report?file=7", "selection?from=0&to=9&tracks=77", "tiles?w=10&from=0&to=0&tracks=0,77"})
    EXPECT_EQ(http.Get(own(std::string("api/") + query))->status, 404) << query;
  EXPECT_EQ(http.Get(own("api/report"))->status, 500);
}

TEST_F(ServerTest, ANameWithMarkupIsOnlyText) {
  const std::string error = client().Get(own("api/tiles?w=%3Cscript%3E&from=0&to=0"))->body;
  EXPECT_NE(error.find("<script>"), error.npos);
  EXPECT_EQ(client().Get(own("api/tiles?w=x"))->get_header_value("Content-Type"), "application/json");
}

TEST_F(ServerTest, TilesOfAllTracksAreOneAnswer) {
  const auto result = client().Get(own("api/tiles?w=24&from=0&to=1&tracks=0,1,2,3"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
  EXPECT_EQ(result->body.substr(0, 4), "KYT1");
  uint32_t tiles = 0;
  memcpy(&tiles, result->body.data() + 4, 4);
  EXPECT_EQ(tiles, 8u);
  EXPECT_EQ(result->body.size() % 8, 0u);
}

TEST_F(ServerTest, ManyConnectionsWaitInsteadOfTakingMemory) {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 60; ++i)
    threads.emplace_back([&] {
      httplib::Client http = client();
      http.set_connection_timeout(60);
      http.set_read_timeout(60);
      const auto result = http.Get(own("api/names"));
      if (result && result->status == 200) ++good;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 60);
}

TEST_F(ServerTest, ConnectionsThatSendNothingOrAPartDoNotDelayOthers) {
  ServerOptions options;
  options.idle = std::chrono::seconds(600);  // they are not closed during the test
  const Server server(*view_, {}, options);
  std::vector<int> silent;
  for (int i = 0; i < 450; ++i) {
    silent.push_back(connect_to(server.port()));
    constexpr std::string_view kPart = "GET / HTTP/1.1\r\nHost: local";
    if (i % 2 == 0) {
      ASSERT_GT(::send(silent.back(), kPart.data(), kPart.size(), MSG_NOSIGNAL), 0);
    }
  }
  httplib::Client http("127.0.0.1", server.port());
  http.set_read_timeout(300);
  const auto result = http.Get("/" + server.token() + "/api/names");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
  for (const int socket : silent) {
    char byte = 0;
    EXPECT_EQ(::recv(socket, &byte, 1, MSG_DONTWAIT), -1);  // still open
    ::close(socket);
  }
}

TEST_F(ServerTest, AnAnalysisEndsWhenItsClientIsGone) {
  std::promise<void> began, ended;
  Analyses analyses;
  analyses.report = [&](uint32_t, const IsGone& is_gone) -> std::string {
    began.set_value();
    base::wait_until("the end of the connection", is_gone);
    ended.set_value();
    throw Abandoned();
  };
  const Server server(*view_, analyses, {});
  const int socket = connect_to(server.port());
  const std::string request = "GET /" + server.token() + "/api/report HTTP/1.1\r\nHost: localhost\r\n\r\n";
  ASSERT_EQ(::send(socket, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  began.get_future().wait();
  ::close(socket);
  ended.get_future().wait();
}

TEST_F(ServerTest, AFileThatIsDeletedIsReported) {
  std::atomic<bool> is_deleted = false;
  Analyses analyses;
  analyses.trouble = [&](uint32_t, uint64_t bytes) -> std::string {
    EXPECT_GT(bytes, 0u);
    return is_deleted ? "run.kymo was deleted" : "";
  };
  const Server server(*view_, analyses, {});
  httplib::Client http("127.0.0.1", server.port());
  const std::string path = "/" + server.token() + "/api/trace";
  EXPECT_EQ(http.Get(path)->body.find("trouble"), std::string::npos);
  is_deleted = true;
  base::wait_until("the report of the deleted file", [&] {
    return http.Get(path)->body.find("\"trouble\": \"run.kymo was deleted\"") != std::string::npos;
  });
}

TEST_F(ServerTest, AnEventStreamBeginsWithTheState) {
  httplib::Client http = client();
  std::string text;
  http.Get(own("api/live"), [&](const char* data, size_t size) {
    text.append(data, size);
    return text.find("\n\n") == text.npos;
  });
  EXPECT_EQ(text.substr(0, 6), "data: ");
  EXPECT_NE(text.find("\"duration_ns\": ["), text.npos) << text;
}

TEST_F(ServerTest, ClosedPagesDoNotKeepTheirEventStreams) {
  const std::string request = "GET " + own("api/live") + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  // The socket, if the server accepts one more stream.
  const auto open_stream = [&] {
    const int socket = connect_to(server_->port());
    EXPECT_EQ(::send(socket, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
    char status[12];
    EXPECT_EQ(::recv(socket, status, sizeof status, MSG_WAITALL), static_cast<ssize_t>(sizeof status));
    if (std::string_view(status, sizeof status) == "HTTP/1.1 200") return socket;
    ::close(socket);
    return -1;
  };
  std::vector<int> pages;
  for (int socket; (socket = open_stream()) >= 0;) pages.push_back(socket);
  EXPECT_GT(pages.size(), 20u) << "many tabs may follow a trace";
  for (const int socket : pages) ::close(socket);
  int again = -1;
  base::wait_until("a free event stream", [&] { return (again = open_stream()) >= 0; });
  ::close(again);
}

TEST_F(ServerTest, AServerThatIsUsedEndsAtOnce) {
  std::promise<void> began;
  httplib::Client http = client();
  std::thread reader([&http, &began, path = own("api/live")] {
    bool is_first = true;
    http.Get(path, [&](const char*, size_t) {
      if (std::exchange(is_first, false)) began.set_value();
      return true;
    });
  });
  began.get_future().wait();
  server_.reset();
  reader.join();
}

TEST(ServerHostTest, OnlyNamesOfThisMachineAreAccepted) {
  EXPECT_TRUE(is_own_host("localhost:80"));
  EXPECT_TRUE(is_own_host("[::1]"));
  EXPECT_FALSE(is_own_host("localhostx"));
  EXPECT_FALSE(is_own_host("Localhost"));
  EXPECT_FALSE(is_own_host("127.0.0.1 "));
  EXPECT_TRUE(is_own_origin("http://localhost:80", "localhost:80"));
  EXPECT_FALSE(is_own_origin("http://localhost:81", "localhost:80"));
}

}  // namespace
}  // namespace kymo::serve
