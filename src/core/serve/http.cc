#include "serve/http.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <set>
#include <thread>

#include "base/text.h"
#include "kymo/error.h"

namespace kymo::serve {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kLingerTime = 1s;  // for what a client still sends after its last answer
constexpr int kWriteMs = 10'000;
constexpr size_t kLongestHeader = 32 << 10;
constexpr size_t kMaxThreads = 256;
constexpr std::string_view kEndOfHeader = "\r\n\r\n";

bool is_same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view without_blanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == text.npos ? std::string_view() : text.substr(begin, end + 1 - begin);
}

const char* reason_of(int status) {
  return status == 200 ? "OK" : status == 400 ? "Bad Request" : status == 404 ? "Not Found" : "Error";
}

}  // namespace

std::vector<std::string_view> HttpRequest::values(std::string_view name) const {
  std::vector<std::string_view> found;
  for (const auto& [field, value] : fields)
    if (is_same_name(field, name)) found.push_back(value);
  return found;
}

std::optional<HttpRequest> parse_request(std::string_view header) {
  constexpr std::string_view kEndOfLine = "\r\n";
  const auto next_line = [&] {
    const size_t end = header.find(kEndOfLine);
    const std::string_view line = header.substr(0, end);
    header.remove_prefix(std::min(header.size(), line.size() + kEndOfLine.size()));
    return line;
  };
  HttpRequest request;
  const std::string_view first = next_line();
  const size_t after_method = first.find(' '), after_target = first.rfind(' ');
  if (after_method == first.npos || after_method == after_target) return {};
  request.method = first.substr(0, after_method);
  request.target = first.substr(after_method + 1, after_target - after_method - 1);
  const std::string_view version = first.substr(after_target + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return {};
  if (!request.target.starts_with('/') || request.target.find(' ') != request.target.npos) return {};
  request.closes = version == "HTTP/1.0";
  for (std::string_view line; !(line = next_line()).empty();) {
    const size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == line.npos || name.empty() || name.find_first_of(" \t") != name.npos) return {};
    request.fields.emplace_back(name, without_blanks(line.substr(colon + 1)));
    // A body is not read, so nothing that follows could be told from it.
    request.closes |= is_same_name(name, "Content-Length") || is_same_name(name, "Transfer-Encoding") ||
                      (is_same_name(name, "Connection") && is_same_name(request.fields.back().second, "close"));
  }
  return request;
}

bool HttpClient::is_gone() const {
  char byte = 0;
  const ssize_t got = ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

bool HttpClient::write(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    pollfd room{socket_, POLLOUT, 0};
    if (errno != EAGAIN || ::poll(&room, 1, kWriteMs) == 0) return false;
  }
  return true;
}

base::FileDescriptor listen_on_loopback(uint16_t port) {
  base::FileDescriptor listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Not SO_REUSEPORT, which would let another program take connections to this port.
  const int yes = 1;
  ::setsockopt(listening.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listening.get(), SOMAXCONN) != 0)
    return {};
  return listening;
}

uint16_t port_of(const base::FileDescriptor& listening) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  ::getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

struct HttpServer::Impl {
  struct Connection {
    base::FileDescriptor socket;
    std::string received;
    Clock::time_point until;  // when it is closed, unless a request is complete
    bool is_ending = false;   // it had its last answer: what it still sends is dropped
    bool has_request() const { return !is_ending && received.find(kEndOfHeader) != received.npos; }
  };

  Impl(base::FileDescriptor socket, const Limits& given, Handler made)
      : listening(std::move(socket)), limits(given), handler(std::move(made)), wake(::eventfd(0, EFD_CLOEXEC)) {
    if (!wake) throw Error("cannot make an event for the server: too many files are open");
    waiter = std::thread([this] { wait(); });
  }
  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
      has_ready.notify_all();
      for (const int socket : answering) ::shutdown(socket, SHUT_RDWR);
    }
    wake_waiter();
    waiter.join();
    for (std::thread& thread : threads) thread.join();
  }

  void wake_waiter() const {
    const uint64_t one = 1;
    (void)!::write(wake.get(), &one, sizeof one);
  }

  void wait();
  void accept_new();
  bool receive(Connection& connection) const;
  void give_to_thread(Connection connection);
  void answer_requests();
  bool answer_one(Connection& connection) const;

  const base::FileDescriptor listening;
  const Limits limits;
  const Handler handler;
  const base::FileDescriptor wake;
  std::list<Connection> waiting;  // only of the waiting thread; the one that has waited longest first

  std::mutex mutex;
  std::condition_variable has_ready;
  std::deque<Connection> ready;      // with a request
  std::vector<Connection> answered;  // for the waiting thread
  std::set<int> answering;           // sockets
  std::vector<std::thread> threads;
  size_t idle_threads = 0;
  bool stopping = false;
  std::thread waiter;
};

void HttpServer::Impl::wait() {
  std::vector<pollfd> polled;
  for (;;) {
    {
      const std::lock_guard lock(mutex);
      if (stopping) return;
      for (Connection& connection : answered) waiting.push_back(std::move(connection));
      answered.clear();
    }
    polled = {{wake.get(), POLLIN, 0}, {listening.get(), POLLIN, 0}};
    Clock::time_point next = Clock::now() + 1h;
    for (const Connection& connection : waiting) {
      polled.push_back({connection.socket.get(), POLLIN, 0});
      next = std::min(next, connection.has_request() ? Clock::time_point() : connection.until);
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
    ::poll(polled.data(), polled.size(), static_cast<int>(std::max(left, 0ms).count()));
    if (uint64_t count = 0; polled[0].revents != 0) (void)!::read(wake.get(), &count, sizeof count);
    size_t at = 2;
    for (auto connection = waiting.begin(); connection != waiting.end();) {
      const auto current = connection++;
      const bool has_input = polled[at++].revents != 0;
      const bool goes_on = has_input ? receive(*current) : Clock::now() < current->until;
      if (current->has_request()) give_to_thread(std::move(*current));
      if (!goes_on || !current->socket) waiting.erase(current);
    }
    if (polled[1].revents != 0) accept_new();
  }
}

void HttpServer::Impl::accept_new() {
  for (;;) {
    base::FileDescriptor socket(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    const bool has_no_room = !socket && (errno == EMFILE || errno == ENFILE);
    if ((has_no_room || waiting.size() >= limits.most_waiting) && !waiting.empty()) waiting.pop_front();
    if (has_no_room) std::this_thread::sleep_for(1ms);
    if (!socket) return;
    const int yes = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    waiting.push_back({std::move(socket), {}, Clock::now() + limits.idle});
  }
}

// False: the connection has ended.
bool HttpServer::Impl::receive(Connection& connection) const {
  char bytes[8192];
  const ssize_t got = ::recv(connection.socket.get(), bytes, sizeof bytes, 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  if (connection.is_ending) return true;
  if (connection.received.empty()) connection.until = Clock::now() + limits.idle;
  connection.received.append(bytes, static_cast<size_t>(got));
  if (connection.received.size() < kLongestHeader || connection.has_request()) return true;
  HttpClient(connection.socket.get())
      .write("HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\n\r\n");
  return false;
}

void HttpServer::Impl::give_to_thread(Connection connection) {
  const std::lock_guard lock(mutex);
  ready.push_back(std::move(connection));
  if (ready.size() > idle_threads && threads.size() < kMaxThreads) threads.emplace_back([this] { answer_requests(); });
  has_ready.notify_one();
}

void HttpServer::Impl::answer_requests() {
  std::unique_lock lock(mutex);
  for (;;) {
    ++idle_threads;
    has_ready.wait(lock, [&] { return stopping || !ready.empty(); });
    --idle_threads;
    if (stopping) return;
    Connection connection = std::move(ready.front());
    ready.pop_front();
    const int socket = connection.socket.get();
    answering.insert(socket);
    lock.unlock();
    connection.is_ending = !answer_one(connection);
    // The rest of what the client sends is read, or the system would drop the answer too.
    if (connection.is_ending) ::shutdown(socket, SHUT_WR);
    connection.until = Clock::now() + (connection.is_ending ? kLingerTime : limits.idle);
    lock.lock();
    answering.erase(socket);
    answered.push_back(std::move(connection));
    wake_waiter();
  }
}

// True if another request may follow.
bool HttpServer::Impl::answer_one(Connection& connection) const {
  const HttpClient client(connection.socket.get());
  const size_t length = connection.received.find(kEndOfHeader) + kEndOfHeader.size();
  const std::string header = connection.received.substr(0, length);
  connection.received.erase(0, length);
  const std::optional<HttpRequest> request = parse_request(header);
  HttpAnswer answer;
  answer.status = 400;
  try {
    if (request) answer = handler(*request, client);
  } catch (const std::exception&) {  // no memory
    answer.status = 500;
  }
  const bool goes_on = request && !request->closes && !answer.stream;
  std::string text = base::format("HTTP/1.1 {} {}\r\n", answer.status, reason_of(answer.status));
  for (const auto& [name, value] : answer.fields) text += base::format("{}: {}\r\n", name, value);
  if (!answer.stream) text += base::format("Content-Length: {}\r\n", answer.body.size());
  if (!goes_on) text += "Connection: close\r\n";
  text += "\r\n";
  if (!client.write(text) || !client.write(answer.body)) return false;
  if (answer.stream) answer.stream();
  return goes_on;
}

HttpServer::HttpServer(base::FileDescriptor listening, const Limits& limits, Handler handler)
    : impl_(std::make_unique<Impl>(std::move(listening), limits, std::move(handler))) {}
HttpServer::~HttpServer() = default;

}  // namespace kymo::serve
