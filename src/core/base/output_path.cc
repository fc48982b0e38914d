#include "base/output_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "base/file.h"
#include "base/text.h"

namespace kymo::base {
namespace {

constexpr int kMaxLinks = 16;

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// A file of another user in a folder where everybody may create files. That user could read what is written there.
bool is_bait(const std::string& file, const struct stat& status) {
  if (status.st_uid == ::geteuid() || status.st_uid == 0) return false;
  const size_t slash = file.rfind('/');
  const std::string folder = slash == file.npos ? "." : slash == 0 ? "/" : file.substr(0, slash);
  struct stat around {};
  return ::stat(folder.c_str(), &around) == 0 && (around.st_mode & S_ISVTX) != 0 && (around.st_mode & S_IWOTH) != 0;
}

std::string target_of(const std::string& link, const std::string& path) {
  std::array<char, PATH_MAX> buffer;
  const ssize_t length = ::readlink(link.c_str(), buffer.data(), buffer.size());
  if (length < 0) throw file_error("write", path, errno);
  const std::string target(buffer.data(), static_cast<size_t>(length));
  if (target.starts_with('/')) return target;
  const size_t slash = link.rfind('/');
  return slash == link.npos ? target : link.substr(0, slash + 1) + target;
}

// Checks the folders of the path. The owner of a symbolic link in the path decides where the file is written.
void check_folders(const std::string& file, const std::string& path) {
  for (size_t slash = file.find('/', 1); slash != file.npos; slash = file.find('/', slash + 1)) {
    const std::string folder = file.substr(0, slash);
    struct stat status {};
    if (::lstat(folder.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) continue;
    if (status.st_uid != ::geteuid() && status.st_uid != 0)
      throw Error(format("cannot write {}: {} is a symbolic link of another user (uid {}); name the folder itself",
                         path, folder, status.st_uid));
  }
}

}  // namespace

std::string output_path(const std::string& path) {
  std::string file = path;
  for (int links = 0; links <= kMaxLinks; ++links) {
    check_folders(file, path);
    struct stat status {};
    if (::lstat(file.c_str(), &status) != 0) {
      if (errno == ENOENT && !path.empty()) return file;
      throw file_error("write", path, errno);
    }
    if (S_ISREG(status.st_mode)) {
      if (is_bait(file, status))
        throw Error(
            format("cannot write {}: it is a file of another user (uid {}) in a folder that everybody may write; "
                   "name another file",
                   path, status.st_uid));
      return file;
    }
    if (!S_ISLNK(status.st_mode))
      throw Error(format("cannot write {}: it is {}; name a regular file", path, kind_of(status.st_mode)));
    // /dev/stdout and similar paths. A rename over such a file would take it away from the process that has it open.
    if (file.starts_with("/proc/"))
      throw Error(format("cannot write {}: it stands for a file that is open already; name a regular file", path));
    if (status.st_uid != ::geteuid() && status.st_uid != 0)
      throw Error(format("cannot write {}: it is a symbolic link of another user (uid {}); name the file itself", path,
                         status.st_uid));
    file = target_of(file, path);
  }
  throw file_error("write", path, ELOOP);
}

}  // namespace kymo::base
