#include "base/atomic_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/output_path.h"

namespace kymo::base {

AtomicFile::AtomicFile(const std::string& path) : path_(output_path(path)), temporary_(path_ + ".XXXXXX") {
  file_ = unfinished_.make(temporary_);
  if (!file_) throw file_error("write", path, errno);
}

AtomicFile::~AtomicFile() {
  if (file_) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  size_t written = 0;
  if (const int error = write_all(file_.get(), bytes, written); error != 0) throw file_error("write", path_, error);
}

void AtomicFile::commit() {
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) throw file_error("write", path_, errno);
  file_.reset();
  unfinished_.done();
}

}  // namespace kymo::base
