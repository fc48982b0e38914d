#include "serve/server.h"

#include <dirent.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <semaphore>
#include <thread>
#include <vector>

#include "base/text.h"
#include "kymo/error.h"
#include "serve/saved_page.h"

namespace kymo::serve {

namespace {

// The HTTP library does not tell the socket of a request, but the port at its other end.
int socket_of(int remote_port) {
  DIR* const open = ::opendir("/proc/self/fd");
  if (open == nullptr) return -1;
  int found = -1;
  while (const dirent* const entry = ::readdir(open)) {
    char* end = nullptr;
    const long descriptor = std::strtol(entry->d_name, &end, 10);
    if (end == entry->d_name || *end != 0) continue;
    sockaddr_in peer{};
    socklen_t length = sizeof peer;
    if (::getpeername(static_cast<int>(descriptor), reinterpret_cast<sockaddr*>(&peer), &length) != 0) continue;
    if (peer.sin_family != AF_INET || ntohs(peer.sin_port) != remote_port) continue;
    found = static_cast<int>(descriptor);
    break;
  }
  ::closedir(open);
  return found;
}

// For the connection of this process whose other end has this port on the loopback interface. Asks the system each
// time, in less than a microsecond. Valid as long as the connection is open on this side.
IsGone watch_client(int remote_port) {
  const int socket = socket_of(remote_port);
  if (socket < 0) return [] { return false; };
  return [socket] {
    char byte = 0;
    return ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  };
}

// Answers connections, one per thread. Threads are started when they are needed, and used again.
//
// A connection that sends nothing only takes a thread that sleeps, so a browser that opens connections in advance, or a
// program that forgets to close them, does not delay others. If all threads are busy, the next connection is not
// accepted until one is free: a flood of connections waits in the queue of the system and takes no memory here.
class Connections : public httplib::TaskQueue {
 public:
  explicit Connections(size_t most) : most_(most) {}
  void enqueue(std::function<void()> task) override {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return stopping_ || tasks_.size() < most_; });
    tasks_.push_back(std::move(task));
    if (tasks_.size() > idle_ && threads_.size() < most_) threads_.emplace_back([this] { work(); });
    wake_.notify_one();
  }
  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      wake_.notify_all();
      room_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      wake_.wait(lock, [&] { return stopping_ || !tasks_.empty(); });
      --idle_;
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      room_.notify_one();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  const size_t most_;
  std::mutex mutex_;
  std::condition_variable wake_, room_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool stopping_ = false;
};

// As it is: httplib would compress a text with brotli at its best quality, which takes ten seconds for the
// list of 10,000 tracks, and all its workers. It does not do that with a provider. The answers do not leave this
// machine.
void set_body(httplib::Response& response, std::string body, const std::string& type) {
  const auto bytes = std::make_shared<const std::string>(std::move(body));
  if (bytes->empty()) return;
  response.set_content_provider(bytes->size(), type, [bytes](size_t offset, size_t length, httplib::DataSink& sink) {
    return sink.write(bytes->data() + offset, length);
  });
}

constexpr auto kLookForMore = std::chrono::milliseconds(100);
constexpr auto kSilence = std::chrono::seconds(10);  // of an event stream: then a comment shows that we are alive
constexpr auto kCheckClient = std::chrono::milliseconds(200);  // how often a stream looks whether its page is closed
constexpr size_t kMaxStreams = 64;
constexpr time_t kReadSeconds = 5, kWriteSeconds = 10;
constexpr ptrdiff_t kMaxWorking = 8;  // requests that are computed at a time, so that memory stays bounded
constexpr int kLooksPerFileCheck = 5;

// Takes the same time wherever the two differ.
bool same_token(std::string_view given, const std::string& token) {
  if (given.size() != token.size()) return false;
  unsigned char different = 0;
  for (size_t i = 0; i < token.size(); ++i) different |= static_cast<unsigned char>(given[i] ^ token[i]);
  return different == 0;
}

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 && text.find_first_not_of("0123456789") == text.npos;
}

}  // namespace

std::string random_token() {
  uint8_t bytes[16];
  size_t have = 0;
  while (have < sizeof bytes) {
    const ssize_t got = ::getrandom(bytes + have, sizeof bytes - have, 0);
    if (got < 0) throw Error(base::format("the system gives no random numbers: {}", std::strerror(errno)));
    have += static_cast<size_t>(got);
  }
  return base::hex(bytes);
}

bool is_own_host(const std::string& host) {
  std::string_view rest = host;
  bool known = false;
  for (const std::string_view name : {"localhost", "127.0.0.1", "[::1]"}) {
    if (rest.substr(0, name.size()) != name) continue;
    rest.remove_prefix(name.size());
    known = true;
    break;
  }
  return known && (rest.empty() || (rest[0] == ':' && is_port(rest.substr(1))));
}

bool is_own_origin(const std::string& origin, const std::string& host) { return origin == "http://" + host; }

struct Server::Impl {
  Impl(View& shown, Analyses given, const ServerOptions& options)
      : view(shown),
        analyses(std::move(given)),
        follow(options.follow),
        token(options.token.empty() ? random_token() : options.token) {
    http.new_task_queue = [most = options.most_connections] { return new Connections(most); };
    // Without SO_REUSEPORT, which would let another program take connections to this port.
    http.set_socket_options([this](socket_t socket) {
      listening = socket;
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    http.set_tcp_nodelay(true);
    http.set_payload_max_length(0);
    http.set_read_timeout(kReadSeconds);
    http.set_write_timeout(kWriteSeconds);
    http.set_keep_alive_timeout(static_cast<time_t>(options.idle.count()));
    http.set_keep_alive_max_count(100'000);
    http.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      handle(request, response);
      return httplib::Server::HandlerResponse::Handled;
    });
    if (options.port != 0) {
      if (!http.bind_to_port("127.0.0.1", options.port))
        throw Error(base::format("cannot listen on port {} of 127.0.0.1: {}; choose another one with --port",
                                 options.port, std::strerror(errno)));
      port = options.port;
    } else if (options.usual_port != 0 && http.bind_to_port("127.0.0.1", options.usual_port)) {
      port = options.usual_port;
    } else {
      const int bound = http.bind_to_any_port("127.0.0.1");
      if (bound <= 0) throw Error(base::format("cannot listen on 127.0.0.1: {}", std::strerror(errno)));
      port = static_cast<uint16_t>(bound);
    }
    // The library lets only five connections wait: the system drops more of them, and tries again after one second,
    // then after two and four.
    ::listen(listening, SOMAXCONN);
    listener = std::thread([this] {
      http.listen_after_bind();
      listened = true;
    });
    watcher = std::thread([this] { watch(); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
      changed.notify_all();
    }
    while (!http.is_running() && !listened) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    http.stop();
    listener.join();
    watcher.join();
  }

  void handle(const httplib::Request& request, httplib::Response& response);
  void handle_api(const std::string& path, const httplib::Request& request, httplib::Response& response);
  // What one page was told.
  struct Stream {
    uint32_t seen = 0;
    bool is_first = true;
    IsGone is_gone;
  };
  void stream_changes(const httplib::Request& request, httplib::Response& response);
  bool send_changes(httplib::DataSink& sink, Stream& stream);
  void watch();
  void check_files();

  View& view;
  const Analyses analyses;
  const bool follow;
  const std::string token;
  uint16_t port = 0;
  socket_t listening = INVALID_SOCKET;
  httplib::Server http;
  std::thread listener, watcher;

  std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;
  std::atomic<bool> listened = false;
  std::atomic<size_t> streams = 0;
  std::counting_semaphore<> working{kMaxWorking};
};

void Server::Impl::handle(const httplib::Request& request, httplib::Response& response) {
  response.status = 404;
  const auto count = [&](const char* name) { return request.get_header_value_count(name); };
  const std::string host = request.get_header_value("Host");
  if (request.method != "GET" || count("Host") != 1 || !is_own_host(host)) return;
  if (count("Origin") > 1 || (count("Origin") == 1 && !is_own_origin(request.get_header_value("Origin"), host))) return;
  // The path as it was sent: nothing is decoded before the comparison.
  std::string_view target = request.target;
  target = target.substr(0, target.find_first_of("?#"));
  if (target.empty() || target[0] != '/') return;
  target.remove_prefix(1);
  const size_t slash = target.find('/');
  if (slash == target.npos || !same_token(target.substr(0, slash), token)) return;
  const std::string path(target.substr(slash + 1));

  response.set_header("Content-Security-Policy",
                      "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
                      "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_header("X-Frame-Options", "DENY");
  response.set_header("Referrer-Policy", "no-referrer");
  response.set_header("Cross-Origin-Resource-Policy", "same-origin");
  response.set_header("Cross-Origin-Opener-Policy", "same-origin");
  response.set_header("Cache-Control", "no-store");
  const auto page = [&](std::string_view bytes, const char* type) {
    response.status = 200;
    response.set_header("Content-Encoding", "gzip");
    set_body(response, std::string(bytes), type);
  };
  if (path.empty()) return page(page_html(), "text/html; charset=utf-8");
  if (path == "page.js") return page(page_script(), "text/javascript; charset=utf-8");
  if (path == "page.css") return page(page_style(), "text/css; charset=utf-8");
  if (path == "api/live") return stream_changes(request, response);
  if (path.rfind("api/", 0) == 0) handle_api(path.substr(4), request, response);
}

void Server::Impl::handle_api(const std::string& path, const httplib::Request& request, httplib::Response& response) {
  const std::string& target = request.target;
  const size_t question = target.find('?');
  const Query query =
      Query::parse(question == target.npos ? std::string_view() : std::string_view(target).substr(question + 1));
  const IsGone is_gone = watch_client(request.remote_port);
  working.acquire();
  Answer made = answer(view, analyses, path, query, is_gone);
  working.release();
  response.status = made.status;
  set_body(response, std::move(made.body), made.type);
}

// A page that was closed must not keep its place until the next message.
bool Server::Impl::send_changes(httplib::DataSink& sink, Stream& stream) {
  bool has_news = stream.is_first;
  if (!has_news) {
    const auto silent_until = std::chrono::steady_clock::now() + kSilence;
    std::unique_lock lock(mutex);
    while (!has_news && !stopping && std::chrono::steady_clock::now() < silent_until) {
      if (stream.is_gone()) return false;
      has_news = changed.wait_for(lock, kCheckClient, [&] { return stopping || view.version() != stream.seen; });
    }
    if (stopping) {
      lock.unlock();
      sink.done();
      return true;
    }
  }
  stream.is_first = false;
  stream.seen = view.version();
  const std::string text = has_news ? "data: " + live_json(view) + "\n" : ": still here\n\n";
  return sink.write(text.data(), text.size());
}

void Server::Impl::stream_changes(const httplib::Request& request, httplib::Response& response) {
  if (++streams > kMaxStreams) {
    --streams;
    response.status = 422;
    set_body(response, "{\"error\": \"too many pages follow this trace; close one of them\"}\n", "application/json");
    return;
  }
  response.status = 200;
  auto stream = std::make_shared<Stream>();
  stream->is_gone = watch_client(request.remote_port);
  response.set_chunked_content_provider(
      "text/event-stream", [this, stream](size_t, httplib::DataSink& sink) { return send_changes(sink, *stream); },
      [this](bool) { --streams; });
}

void Server::Impl::check_files() {
  if (!analyses.trouble) return;
  for (uint32_t file = 0; file < view.sources().size(); ++file)
    view.set_trouble(file, analyses.trouble(file, view.file_size(file)));
}

void Server::Impl::watch() {
  uint32_t known = view.version();
  std::unique_lock lock(mutex);
  for (int looks = 0; !stopping; ++looks) {
    changed.wait_for(lock, kLookForMore, [&] { return stopping; });
    if (stopping) return;
    lock.unlock();
    if (follow) {
      try {
        view.refresh(analyses.is_being_written);
      } catch (const Error&) {
        // the file became shorter: what was read stays
      }
    }
    if (looks % kLooksPerFileCheck == 0) check_files();
    const uint32_t now = view.version();
    lock.lock();
    if (now != known) changed.notify_all();
    known = now;
  }
}

Server::Server(View& view, Analyses analyses, const ServerOptions& options)
    : impl_(std::make_unique<Impl>(view, std::move(analyses), options)) {}
Server::~Server() = default;
uint16_t Server::port() const { return impl_->port; }
const std::string& Server::token() const { return impl_->token; }
std::string Server::address() const { return base::format("http://127.0.0.1:{}/{}/", impl_->port, impl_->token); }

}  // namespace kymo::serve
