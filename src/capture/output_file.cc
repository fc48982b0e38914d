#include "capture/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <ctime>

namespace kymo::capture {
namespace {

constexpr size_t kGatherBytes = size_t{256} << 10;

// A file beyond its limit (ulimit -f) brings a signal that would end the program, besides the error that is enough.
class WithoutSizeSignal {
 public:
  WithoutSizeSignal() {
    sigemptyset(&size_);
    sigaddset(&size_, SIGXFSZ);
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &size_, &before_);
  }
  ~WithoutSizeSignal() {
    constexpr timespec kNow{0, 0};
    while (!was_pending_ && sigtimedwait(&size_, nullptr, &kNow) == SIGXFSZ) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSizeSignal(const WithoutSizeSignal&) = delete;
  WithoutSizeSignal& operator=(const WithoutSizeSignal&) = delete;

 private:
  sigset_t size_, before_;
  bool was_pending_ = false;
};

}  // namespace

OutputFile::OutputFile(const base::FileDescriptor& folder, const std::string& name, std::string path)
    : path_(std::move(path)),
      file_(::openat(folder.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)) {
  if (!file_) throw WriteError(base::file_error("write", path_, errno).what());
}

void OutputFile::append(base::Bytes bytes) {
  checksum_.add(bytes);
  size_ += bytes.size();
  if (gathered_.size() + bytes.size() > kGatherBytes) {
    write(gathered_);
    gathered_.clear();
  }
  if (bytes.size() > kGatherBytes) return write(bytes);
  gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
}

void OutputFile::close() {
  write(gathered_);
  gathered_.clear();
  if (::close(file_.release()) != 0) throw WriteError(base::file_error("write", path_, errno).what());
}

void OutputFile::write(base::Bytes bytes) {
  if (bytes.empty()) return;
  int failed = 0;
  {
    const WithoutSizeSignal quiet;
    size_t written = 0;
    failed = base::write_all(file_.get(), bytes, written);
  }
  if (failed != 0) throw WriteError(base::file_error("write", path_, failed).what());
}

}  // namespace kymo::capture
