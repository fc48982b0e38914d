#include "capture/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace kymo::capture {
namespace {

constexpr size_t kGatherBytes = size_t{256} << 10;

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
  size_t written = 0;
  const int failed = base::write_all(file_.get(), bytes, written);
  if (failed != 0) throw WriteError(base::file_error("write", path_, failed).what());
}

}  // namespace kymo::capture
