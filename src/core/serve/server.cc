#include "serve/server.h"

#include <sys/random.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <semaphore>
#include <thread>

#include "base/text.h"
#include "kymo/error.h"
#include "serve/http.h"
#include "serve/saved_page.h"

namespace kymo::serve {

namespace {

constexpr auto kLookForMore = std::chrono::milliseconds(100);
constexpr auto kSilence = std::chrono::seconds(10);  // of an event stream: then a comment shows that we are alive
constexpr auto kCheckClient = std::chrono::milliseconds(200);  // how often a stream looks whether its page is closed
constexpr size_t kMaxStreams = 64;
constexpr ptrdiff_t kMaxWorking = 8;  // requests that are computed at a time, so that memory stays bounded
constexpr int kLooksPerFileCheck = 5;

// Takes the same time wherever the two differ.
bool same_token(std::string_view given, const std::string& token) {
  if (given.size() != token.size()) return false;
  unsigned char different = 0;
  for (size_t i = 0; i < token.size(); ++i) different |= static_cast<unsigned char>(given[i] ^ token[i]);
  return different == 0;
}

constexpr std::pair<const char*, const char*> kSafety[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
};

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 && text.find_first_not_of("0123456789") == text.npos;
}

}  // namespace

std::string random_token() {
  uint8_t bytes[16];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
    throw Error(base::format("the system gives no random numbers: {}", std::strerror(errno)));
  return base::hex(bytes);
}

bool is_own_host(std::string_view host) {
  for (const std::string_view name : {"localhost", "127.0.0.1", "[::1]"}) {
    if (!host.starts_with(name)) continue;
    const std::string_view rest = host.substr(name.size());
    return rest.empty() || (rest[0] == ':' && is_port(rest.substr(1)));
  }
  return false;
}

bool is_own_origin(std::string_view origin, std::string_view host) {
  constexpr std::string_view kScheme = "http://";
  return origin.starts_with(kScheme) && origin.substr(kScheme.size()) == host;
}

struct Server::Impl {
  Impl(View& shown, Analyses given, const ServerOptions& options)
      : view(shown),
        analyses(std::move(given)),
        follow(options.follow),
        token(options.token.empty() ? random_token() : options.token) {
    base::FileDescriptor listening = listen_on_loopback(options.port != 0 ? options.port : options.usual_port);
    if (!listening && options.port == 0) listening = listen_on_loopback(0);
    if (!listening) {
      const std::string why = std::strerror(errno);
      throw Error(options.port == 0 ? base::format("cannot listen on 127.0.0.1: {}", why)
                                    : base::format("cannot listen on port {} of 127.0.0.1: {}; choose another one with "
                                                   "--port",
                                                   options.port, why));
    }
    port = port_of(listening);
    http.emplace(std::move(listening), HttpServer::Limits{.idle = options.idle},
                 [this](const HttpRequest& request, const HttpClient& client) { return handle(request, client); });
    watcher = std::thread([this] { watch(); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
      changed.notify_all();
    }
    http.reset();
    watcher.join();
  }

  HttpAnswer handle(const HttpRequest& request, const HttpClient& client);
  HttpAnswer handle_api(std::string_view path, std::string_view parameters, const HttpClient& client);
  HttpAnswer stream_changes(const HttpClient& client);
  void send_changes(const HttpClient& client);
  void watch();
  void check_files();

  View& view;
  const Analyses analyses;
  const bool follow;
  const std::string token;
  uint16_t port = 0;
  std::optional<HttpServer> http;
  std::thread watcher;

  std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;
  std::atomic<size_t> streams = 0;
  std::counting_semaphore<> working{kMaxWorking};
};

HttpAnswer Server::Impl::handle(const HttpRequest& request, const HttpClient& client) {
  const auto hosts = request.values("Host"), origins = request.values("Origin");
  if (request.method != "GET" || hosts.size() != 1 || !is_own_host(hosts[0])) return {};
  if (origins.size() > 1 || (origins.size() == 1 && !is_own_origin(origins[0], hosts[0]))) return {};
  // The path as it was sent: nothing is decoded before the comparison.
  std::string_view path = request.target.substr(1);
  path = path.substr(0, path.find('#'));
  const size_t question = std::min(path.find('?'), path.size());
  const std::string_view parameters = path.substr(std::min(question + 1, path.size()));
  path = path.substr(0, question);
  const size_t slash = path.find('/');
  if (slash == path.npos || !same_token(path.substr(0, slash), token)) return {};
  path.remove_prefix(slash + 1);

  HttpAnswer answer;
  const auto page = [&](std::string_view bytes, const char* type) {
    answer.status = 200;
    answer.fields = {{"Content-Encoding", "gzip"}, {"Content-Type", type}};
    answer.body = bytes;
  };
  if (path.empty()) page(page_html(), "text/html; charset=utf-8");
  if (path == "page.js") page(page_script(), "text/javascript; charset=utf-8");
  if (path == "page.css") page(page_style(), "text/css; charset=utf-8");
  if (path == "api/live")
    answer = stream_changes(client);
  else if (path.starts_with("api/"))
    answer = handle_api(path.substr(4), parameters, client);
  for (const auto& [name, value] : kSafety) answer.fields.emplace_back(name, value);
  return answer;
}

HttpAnswer Server::Impl::handle_api(std::string_view path, std::string_view parameters, const HttpClient& client) {
  working.acquire();
  Answer made = answer(view, analyses, path, Query::parse(parameters), [client] { return client.is_gone(); });
  working.release();
  return {.status = made.status, .fields = {{"Content-Type", made.type}}, .body = std::move(made.body)};
}

HttpAnswer Server::Impl::stream_changes(const HttpClient& client) {
  if (++streams > kMaxStreams) {
    --streams;
    return {.status = 422,
            .fields = {{"Content-Type", "application/json"}},
            .body = "{\"error\": \"too many pages follow this trace; close one of them\"}\n"};
  }
  return {.status = 200, .fields = {{"Content-Type", "text/event-stream"}}, .body = {}, .stream = [this, client] {
            send_changes(client);
            --streams;
          }};
}

// A page that was closed must not keep its place until the next message.
void Server::Impl::send_changes(const HttpClient& client) {
  uint32_t seen = view.version();
  for (bool has_news = true; client.write(has_news ? "data: " + live_json(view) + "\n" : ": still here\n\n");) {
    const auto silent_until = std::chrono::steady_clock::now() + kSilence;
    std::unique_lock lock(mutex);
    has_news = false;
    while (!has_news && !stopping && std::chrono::steady_clock::now() < silent_until) {
      if (client.is_gone()) return;
      has_news = changed.wait_for(lock, kCheckClient, [&] { return stopping || view.version() != seen; });
    }
    if (stopping) return;
    seen = view.version();
  }
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
