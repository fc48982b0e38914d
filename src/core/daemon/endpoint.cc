#include "daemon/endpoint.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/text.h"

namespace kymo::daemon {
namespace {

constexpr int kBacklog = 4096;  // a thousand programs may start at once; the kernel cuts it to what it allows

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

Error cannot_listen(const std::string& path, const std::string& why) {
  return Error(base::format("cannot listen at {}: {}", path, why));
}

}  // namespace

Endpoint::Endpoint(EndpointOptions options) : options_(std::move(options)) {
  if (!options_.path.starts_with('/')) throw cannot_listen(options_.path, "give an absolute path");
  if (options_.path.size() >= sizeof sockaddr_un::sun_path) {
    throw cannot_listen(options_.path,
                        base::format("the path of a socket must have less than {} characters; choose another folder",
                                     sizeof sockaddr_un::sun_path));
  }
  if (options_.makes_folder) make_folder();
  check_folder();
  check_path();
  lock();
  listen_there();
}

Endpoint::~Endpoint() { unlink(options_.path.c_str()); }

// Sets these permissions independent of the umask. If this daemon is for all users, also opens a folder that was
// created for one user.
void Endpoint::make_folder() const {
  const std::string folder = folder_of(options_.path);
  const mode_t mode = options_.is_for_all ? 0755 : 0700;
  const bool is_new = mkdir(folder.c_str(), mode) == 0;
  const base::FileDescriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!opened || fstat(opened.get(), &status) != 0 || status.st_uid != geteuid()) return;  // check_folder() says so
  if (is_new || (options_.is_for_all && (status.st_mode & 0777) == 0700)) fchmod(opened.get(), mode);
}

// A user who can write to the folder can replace the socket.
void Endpoint::check_folder() const {
  const std::string folder = folder_of(options_.path);
  const base::FileDescriptor opened(open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!opened || fstat(opened.get(), &status) != 0) {
    const std::string why =
        errno == ENOTDIR || errno == ELOOP ? "it is not a folder, or it is a link to a folder" : std::strerror(errno);
    throw cannot_listen(options_.path,
                        base::format("{}: {}; create it, or give another path with --socket", folder, why));
  }
  if (status.st_uid != geteuid() && status.st_uid != 0) {
    throw cannot_listen(options_.path,
                        base::format("{} belongs to user {}; use a folder that belongs to you", folder, status.st_uid));
  }
  const bool is_open = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (is_open && (options_.makes_folder || (status.st_mode & S_ISVTX) == 0)) {
    throw cannot_listen(options_.path, base::format("other users can write to {}; chmod it to {}", folder,
                                                    options_.is_for_all ? "755" : "700"));
  }
  if (options_.makes_folder && !options_.is_for_all && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    throw cannot_listen(options_.path, base::format("other users can enter {}; chmod it to 700", folder));
}

// Before the lock, which leaves a file.
void Endpoint::check_path() const {
  struct stat status {};
  if (lstat(options_.path.c_str(), &status) == 0 && !S_ISSOCK(status.st_mode))
    throw cannot_listen(options_.path, "the path exists and is not a socket; remove it");
}

void Endpoint::lock() {
  const std::string path = options_.path + ".lock";
  lock_ = base::FileDescriptor(open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock_) throw cannot_listen(options_.path, base::format("{}: {}", path, std::strerror(errno)));
  char text[64] = {};
  long pid = 0;
  unsigned long long last = 0;
  const bool was_held = flock(lock_.get(), LOCK_EX | LOCK_NB) != 0;
  if (pread(lock_.get(), text, sizeof text - 1, 0) > 0 && std::sscanf(text, "%ld %llu", &pid, &last) == 2)
    last_trigger_ = last;
  if (was_held)
    throw cannot_listen(options_.path,
                        base::format("another kymod is already listening there (process {}); stop it first", pid));
  remember();
}

void Endpoint::remember() {
  const std::string text = base::format("{} {}\n", getpid(), last_trigger_);
  if (pwrite(lock_.get(), text.data(), text.size(), 0) < 0)
    return;  // a full disk: numbers may be reused after a restart
}

uint64_t Endpoint::next_trigger_id() {
  ++last_trigger_;
  remember();
  return last_trigger_;
}

void Endpoint::listen_there() {
  const std::string& path = options_.path;
  check_path();
  unlink(path.c_str());  // left by a killed daemon: we hold the lock, so no daemon is listening
  socket_ = base::FileDescriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  // The permissions must be right from the start.
  const mode_t before = umask(options_.is_for_all ? 0111 : 0177);
  const bool is_bound = socket_ && bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  const int error = errno;
  umask(before);
  if (!is_bound) throw cannot_listen(path, std::strerror(error));
  if (listen(socket_.get(), kBacklog) != 0) throw cannot_listen(path, std::strerror(errno));
}

}  // namespace kymo::daemon
