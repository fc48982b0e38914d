// One file of a capture while it is written: gathered in memory, written in large parts, summed up on the way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "capture/checksum.h"
#include "kymo/error.h"

namespace kymo::capture {

// The disk is full, the file too large, the folder gone: nothing more can be written.
class WriteError : public Error {
 public:
  using Error::Error;
};

class OutputFile {
 public:
  // Makes `name` (0600), which must not exist, in the folder; `path` is what messages call it. Throws WriteError, as
  // all of it does.
  OutputFile(const base::FileDescriptor& folder, const std::string& name, std::string path);

  void append(base::Bytes bytes);
  void close();  // what is gathered is written
  // The file stays as far as it was written: in a forked child it is another's.
  void abandon() { file_.reset(); }

  uint64_t size() const { return size_; }
  uint64_t checksum() const { return checksum_.value(); }

 private:
  void write(base::Bytes bytes);

  std::string path_;
  base::FileDescriptor file_;
  std::vector<std::byte> gathered_;
  Checksum checksum_;
  uint64_t size_ = 0;
};

}  // namespace kymo::capture
