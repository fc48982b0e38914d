#include "ondemand/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/file.h"
#include "base/output_path.h"
#include "base/text.h"
#include "kymo/error.h"

namespace kymo::ondemand {
namespace {

constexpr size_t kBeginningBytes = 4096;
constexpr int kMaxParts = 100, kMaxSameNames = 10'000;

struct FreeDeleter {
  void operator()(char* text) const { free(text); }
};

std::string without_links(const std::string& folder) {
  const std::unique_ptr<char, FreeDeleter> found(realpath(folder.c_str(), nullptr));
  if (!found) throw Error(base::format("cannot write to {}: {}; make the folder first", folder, std::strerror(errno)));
  return found.get();
}

bool is_below_one(const std::string& path, const std::vector<std::string>& folders) {
  return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
    const std::unique_ptr<char, FreeDeleter> real(realpath(folder.c_str(), nullptr));
    return real && base::is_below(path, real.get());
  });
}

// If others can write to the folder, they could replace our file with a link or another file between two of our calls.
void check_folder(const std::string& folder) {
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0)
    throw Error(base::format("cannot write to {}: {}", folder, std::strerror(errno)));
  // By convention, a group with the same number as the user has only that user as a member.
  const bool private_group = status.st_gid == getegid() && getegid() == geteuid();
  const bool others_write = (status.st_mode & (private_group ? 02 : 022)) != 0;
  const bool trusted_owner = status.st_uid == geteuid() || status.st_uid == 0;
  if (!trusted_owner || (others_write && (status.st_mode & S_ISVTX) == 0)) {
    throw Error(
        base::format("{} belongs to another user, or others can write to it; write to a folder of your own", folder));
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    throw Error(base::format("cannot write to {}: {}; choose a folder that the program's user may write", folder,
                             std::strerror(errno)));
}

void check_existing(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return;
    throw Error(base::format("cannot write {}: {}", path, std::strerror(errno)));
  }
  if (S_ISLNK(status.st_mode)) throw Error(base::format("{} is a symbolic link; choose a regular file", path));
  if (!S_ISREG(status.st_mode))
    throw Error(base::format("{} exists and is not a regular file; choose another name", path));
  if (status.st_uid != geteuid()) throw Error(base::format("{} belongs to another user; choose another name", path));
  const base::FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) throw Error(base::format("cannot read {}: {}", path, std::strerror(errno)));
  std::array<std::byte, kBeginningBytes> buffer;
  const size_t got = base::read_at(file, path, 0, buffer);
  if (!looks_like_trace(path, {reinterpret_cast<const char*>(buffer.data()), got}))
    throw Error(base::format("{} exists and is not a trace, so it was not overwritten: choose another name", path));
}

// Creates a new file with mode 0600. Returns 0 or the errno.
int create_alone(const std::string& path) {
  const base::FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  return file ? 0 : errno;
}

// "a-2.json.gz" of "a.json.gz". Names may have other dots: {time} and {host} do.
std::string with_number(const std::string& path, int number) {
  constexpr std::string_view kGzip = ".gz";
  const size_t name = path.rfind('/') + 1;
  size_t dot = path.rfind('.', path.ends_with(kGzip) ? path.size() - kGzip.size() - 1 : path.npos);
  if (dot == path.npos || dot <= name) dot = path.size();
  return base::format("{}-{}{}", path.substr(0, dot), number, path.substr(dot));
}

}  // namespace

bool looks_like_trace(std::string_view path, std::string_view beginning) {
  constexpr std::string_view kTrace = "\x93KYMO", kGzip = "\x1f\x8b", kPickle = "\x80";
  if (beginning.empty() || beginning.starts_with(kTrace)) return true;
  if (path.ends_with(".gz")) return beginning.starts_with(kGzip);
  if (path.ends_with(".pickle")) return beginning.starts_with(kPickle);
  if (path.ends_with(".pftrace") || path.ends_with(".perfetto-trace")) return beginning[0] == '\x0a';
  if (path.ends_with(".csv")) return beginning.starts_with("kind,name,");
  if (path.ends_with(".html")) return beginning.find("Kymo") != beginning.npos;
  return beginning.find("\"schemaVersion\"") != beginning.npos || beginning.find("\"traceEvents\"") != beginning.npos ||
         beginning.starts_with("[[");
}

std::vector<std::string> folders_in(base::Variable variable) {
  std::vector<std::string> folders;
  const char* value = base::environment(variable);
  for (std::string& folder : base::split(value != nullptr ? value : "", ':'))
    if (!folder.empty()) folders.push_back(std::move(folder));
  return folders;
}

OutputFile::OutputFile(const std::string& path, const AllowedFolders& allowed, Existing existing)
    : existing_(existing) {
  if (path.empty() || path[0] != '/' || path.back() == '/' || path.find('\0') != path.npos)
    throw InvalidArgument(base::format("cannot write to \"{}\": give the absolute path of a file", path));
  const size_t slash = path.rfind('/');
  const std::string name = path.substr(slash + 1);
  if (name == "." || name == "..")
    throw InvalidArgument(base::format("cannot write to \"{}\": give the absolute path of a file", path));
  const std::string folder = without_links(slash == 0 ? "/" : path.substr(0, slash));
  for (const auto& list : allowed) {
    if (!list.empty() && !is_below_one(folder, list))
      throw Error(base::format("{} is not below {}; write there, or start the program with KYMO_TRACE_DIR=FOLDER", path,
                               base::join(list, " or ")));
  }
  check_folder(folder);
  path_ = folder == "/" ? "/" + name : folder + "/" + name;
  check_existing(path_);
  part_ = reserve(".part");
}

OutputFile::~OutputFile() {
  for (const std::string& file : reserved_)
    if (!keep_ || file != part_) unlink(file.c_str());
}

std::string OutputFile::reserve(const std::string& ending) {
  // An existing one belongs to a process that was killed, or to another process: it is not changed.
  for (int number = 1; number <= kMaxParts; ++number) {
    std::string file = number == 1 ? path_ + ending : base::format("{}.{}{}", path_, number, ending);
    const int error = create_alone(file);
    if (error == 0) return reserved_.emplace_back(std::move(file));
    if (error != EEXIST && error != ELOOP) throw Error(base::format("cannot write {}: {}", file, std::strerror(error)));
  }
  throw Error(base::format("{} unfinished traces named {}{} exist; remove them", kMaxParts, path_, ending));
}

void OutputFile::claim(const std::function<int(const std::string& path)>& take) {
  check_existing(path_);  // it may have appeared since
  if (existing_ == Existing::Replace) return;
  const std::string wanted = path_;
  for (int number = 1; number <= kMaxSameNames; ++number) {
    path_ = number == 1 ? wanted : with_number(wanted, number);
    const int error = take(path_);
    if (error == 0) return void(reserved_.push_back(path_));
    if (error != EEXIST) throw Error(base::format("cannot write {}: {}", path_, std::strerror(error)));
  }
  throw Error(
      base::format("{} traces named {} exist; remove some, or use {{time}} in the name", kMaxSameNames, wanted));
}

void OutputFile::complete() {
  claim([&](const std::string& path) {
    // Whoever waits for this name gets the whole trace. Not every file system has links.
    if (link(part_.c_str(), path.c_str()) == 0) return 0;
    return errno == EEXIST ? EEXIST : create_alone(path);
  });
  if (rename(part_.c_str(), path_.c_str()) != 0)
    throw Error(base::format("cannot write {}: {}", path_, std::strerror(errno)));
  unlink(part_.c_str());  // a rename onto a link to the same file does nothing
  std::erase(reserved_, part_);
  std::erase(reserved_, path_);
}

void OutputFile::complete(const std::function<void(const std::string& path)>& write) {
  claim(create_alone);
  write(path_);
  std::erase(reserved_, path_);
  keep_ = false;  // the file has what part() has
}

}  // namespace kymo::ondemand
