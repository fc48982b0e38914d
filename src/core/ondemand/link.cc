#include "ondemand/link.h"

#include <errno.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/environment.h"
#include "base/text.h"
#include "client/connect.h"

namespace kymo::ondemand {
namespace {

using State = client::Connection::State;

constexpr uint64_t kLinkNever = ~uint64_t{0};
constexpr uint64_t kLinkMillisecond = 1'000'000;
constexpr size_t kMaxUnsent = 256;
constexpr uint64_t kShortestPause = 5 * kLinkMillisecond;
// For a daemon between bind and listen. The pause doubles each time, up to 0.64 s.
constexpr unsigned kMaxTries = 8;
constexpr uint64_t kLookWithoutWatch = 5'000 * kLinkMillisecond;  // if the system has no free watches

constexpr uint64_t kLookAgainAfterRefusal = 30'000 * kLinkMillisecond;
// The socket is watched. This finds a daemon that was replaced before the watch began.
constexpr uint64_t kLookAgainAfterOtherVersion = 600'000 * kLinkMillisecond;
constexpr uint64_t kStayed = 1'000 * kLinkMillisecond;

// Creates the folder of the user's own daemon (0700) if it is missing, so that it can be watched. Does not create the
// host's folder.
void make_user_folder(const std::string& socket) {
  const char* runtime = base::environment("XDG_RUNTIME_DIR");
  struct stat status {};
  if (runtime == nullptr || !socket.starts_with(std::string(runtime) + "/kymo/")) return;
  if (stat(runtime, &status) != 0 || status.st_uid != geteuid()) return;  // for example root with a user's environment
  mkdir(socket.substr(0, socket.rfind('/')).c_str(), 0700);
}

// "anon_inode:inotify": descriptors of this kind have no inode of their own. Empty if /proc is not available.
std::string kind_of(int fd) {
  char text[64];
  const ssize_t got = readlink(base::format("/proc/self/fd/{}", fd).c_str(), text, sizeof text);
  return {text, static_cast<size_t>(std::max<ssize_t>(got, 0))};
}

}  // namespace

std::vector<std::string> daemon_sockets(const std::string& value) {
  if (value.empty() || value == "0" || !check_address(value)) return {};
  if (value[0] == '/') return {value};
  return client::default_sockets();
}

base::Check check_address(const std::string& value) {
  if (value.find('/') == value.npos) return {};
  if (value[0] != '/')
    return base::Refusal{base::format("\"{}\" is not an absolute path; use 1, or a path that begins with /", value)};
  const size_t max = sizeof sockaddr_un{}.sun_path - 1;
  if (value.size() > max)
    return base::Refusal{base::format("\"{}\" is too long: a socket's path has at most {} bytes", value, max)};
  return {};
}

bool FolderWatch::is_mine() const { return file_ && kind_of(file_.get()) == kind_; }

void FolderWatch::end() noexcept {
  if (!is_mine()) file_.release();
  file_.reset();
}

bool FolderWatch::begin(const std::vector<std::string>& paths) {
  constexpr uint32_t kEvents = IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
  end();
  watched_.clear();
  base::FileDescriptor file(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!file) return false;
  for (const std::string& path : paths) {
    std::string rest = path;
    while (!rest.empty()) {
      const size_t slash = rest.rfind('/');
      if (slash == rest.npos) break;
      const std::string name = rest.substr(slash + 1);
      rest.resize(slash);
      const int number = inotify_add_watch(file.get(), rest.empty() ? "/" : rest.c_str(), kEvents | IN_MASK_ADD);
      if (number < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES)) continue;
      if (number < 0) break;
      watched_.push_back({number, name});
      break;
    }
  }
  if (watched_.empty()) return false;
  file_ = std::move(file);
  kind_ = kind_of(file_.get());
  return true;
}

bool FolderWatch::read_changes() {
  bool matters = !is_mine();
  alignas(inotify_event) char buffer[4096];
  while (is_mine()) {
    const ssize_t got = read(file_.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    for (ssize_t at = 0; at + static_cast<ssize_t>(sizeof(inotify_event)) <= got;) {
      inotify_event event;
      std::memcpy(&event, buffer + at, sizeof event);
      const std::string_view name(event.len != 0 ? buffer + at + sizeof event : "");
      const bool folder_itself = (event.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_Q_OVERFLOW)) != 0;
      matters |= folder_itself ||
                 std::any_of(watched_.begin(), watched_.end(), [&, number = event.wd](const Watched& watched) {
                   return watched.number == number && watched.name == name;
                 });
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
  }
  return matters;
}

Link::Link(std::vector<std::string> sockets, Hello hello, Receive receive, OtherVersion other_version)
    : sockets_(std::move(sockets)),
      hello_(std::move(hello)),
      receive_(std::move(receive)),
      other_version_(std::move(other_version)) {}

void Link::connect() {
  if (socket_ || sockets_.empty()) return;
  retry_ns_ = kLinkNever;
  // The watch comes first: it reports a daemon that appears between the two steps.
  wait_for_daemon();
  bool refused = false, full = false, denied = false;
  for (const std::string& path : sockets_) {
    client::Connection result = client::connect_to_daemon(path);
    refused |= result.state == State::Refused;
    full |= result.state == State::Full;
    denied |= result.state == State::Denied;
    if (result.state != State::Connected) continue;
    socket_ = OwnFile(std::move(result.socket));
    watch_.end();
    retry_ns_ = kLinkNever;
    connected_ns_ = base::monotonic_ns();
    return send(hello_());
  }
  // There are no notifications for a folder that this user may not enter.
  if (denied) retry_ns_ = std::min(retry_ns_, base::monotonic_ns() + kLookWithoutWatch);
  if (full && tries_ == kMaxTries) --tries_;
  if ((refused || full) && tries_ < kMaxTries) retry_ns_ = base::monotonic_ns() + (kShortestPause << tries_++);
}

// If the daemon was connected for a while, looks for it again at once. A daemon that closes every connection is not
// asked again and again.
void Link::lost() {
  const bool stayed = welcomed_ && base::monotonic_ns() - connected_ns_ > kStayed;
  hang_up();
  if (stayed) {
    tries_ = 0;
    return connect();
  }
  wait_for_daemon();
  const uint64_t pause = tries_ < kMaxTries ? kShortestPause << tries_++ : kLookAgainAfterRefusal;
  retry_ns_ = base::monotonic_ns() + pause;
}

void Link::leave_other_version(const std::string& why) {
  hang_up();
  wait_for_daemon();
  retry_ns_ = base::monotonic_ns() + kLookAgainAfterOtherVersion;
  other_version_(why);
}

void Link::files_closed() {
  if (socket_ && socket_.is_mine()) return;
  hang_up();
  tries_ = 0;
  connect();
}

void Link::abandon() noexcept {
  socket_.reset();
  watch_.end();
}

void Link::wait_for_daemon() {
  for (const std::string& path : sockets_) make_user_folder(path);
  if (!watch_.begin(sockets_)) retry_ns_ = base::monotonic_ns() + kLookWithoutWatch;
}

void Link::hang_up() {
  socket_.reset();
  unsent_.clear();
  welcomed_ = false;
}

void Link::send(const wire::Message& message, uint32_t serial) {
  if (!socket_) return;
  auto packet = wire::message_packet(message, serial);
  if (!packet) return;  // too large for a message; texts are truncated before they come here
  unsent_.push_back(std::move(*packet));
  if (!flush() || unsent_.size() > kMaxUnsent) lost();
}

// False: the connection is gone.
bool Link::flush() {
  while (!unsent_.empty()) {
    if (!socket_.is_mine()) return false;
    const auto& packet = unsent_.front();
    const ssize_t sent = ::send(socket_.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN || errno == ENOBUFS;
    unsent_.pop_front();
  }
  return true;
}

void Link::close(int milliseconds) {
  const uint64_t until = base::monotonic_ns() + static_cast<uint64_t>(milliseconds) * kLinkMillisecond;
  while (socket_ && flush() && !unsent_.empty()) {
    const uint64_t now = base::monotonic_ns();
    if (now >= until) break;
    pollfd file{socket_.get(), POLLOUT, 0};
    poll(&file, 1, static_cast<int>((until - now) / kLinkMillisecond) + 1);
  }
  hang_up();
  watch_.end();
}

void Link::add_files(std::vector<pollfd>& files) const {
  if (socket_)
    files.push_back({socket_.get(), static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT), 0});
  else if (watch_.file() >= 0)
    files.push_back({watch_.file(), POLLIN, 0});
}

void Link::serve(const std::vector<pollfd>& files) {
  for (const pollfd& file : files) {
    if (file.revents == 0) continue;
    if (socket_ && file.fd == socket_.get()) {
      const bool is_lost = (file.revents & POLLOUT) != 0 && !flush();
      return is_lost ? lost() : receive_all();
    }
    if (!socket_ && file.fd == watch_.file()) {
      if (watch_.read_changes()) tries_ = 0, connect();
      return;
    }
  }
  if (!socket_ && retry_ns_ != kLinkNever && base::monotonic_ns() >= retry_ns_) connect();
}

void Link::receive_all() {
  std::vector<std::byte> buffer(wire::kLargestMessage);
  while (socket_ && socket_.is_mine()) {
    iovec part{buffer.data(), buffer.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    const ssize_t got = recvmsg(socket_.get(), &header, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0 || (header.msg_flags & MSG_TRUNC) != 0) break;
    const wire::Packet packet = wire::read_message({buffer.data(), static_cast<size_t>(got)});
    if (packet.kind == wire::PacketKind::Foreign) break;
    if (packet.kind != wire::PacketKind::Good) {
      send(wire::refusal_of(packet), packet.serial);
      continue;
    }
    const auto* refused = std::get_if<wire::Refused>(&packet.message);
    if (refused != nullptr && refused->code == wire::RefusedCode::Version) return leave_other_version(refused->text);
    if (const auto* welcomed = std::get_if<wire::Welcome>(&packet.message)) {
      if (welcomed->version != wire::kProtocolVersion) {
        return leave_other_version(
            wire::versions_differ("kymod", welcomed->version, "this program", wire::kProtocolVersion));
      }
      daemon_ = *welcomed;
      welcomed_ = true;
    }
    receive_(packet);
  }
  if (socket_) lost();
}

}  // namespace kymo::ondemand
