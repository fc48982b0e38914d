#include "ondemand/folder_watch.h"

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace kymo::ondemand {
namespace {

// "anon_inode:inotify": descriptors of this kind have no inode of their own. Empty if /proc is not available.
std::string kind_of(int fd) {
  char text[64];
  const ssize_t got = readlink(base::format("/proc/self/fd/{}", fd).c_str(), text, sizeof text);
  return {text, static_cast<size_t>(std::max<ssize_t>(got, 0))};
}

}  // namespace

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

}  // namespace kymo::ondemand
