// One file of a capture while it is written: buffered in memory, written in large parts, with a running checksum.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "capture/checksum.h"
#include "kymo/error.h"

namespace kymo::capture {

// The disk is full, the file is too large, or the folder is gone: nothing more can be written.
class WriteError : public Error {
 public:
  using Error::Error;
};

class OutputFile {
 public:
  // Creates `name` (0600) in the folder; it must not exist. `path` is its name in messages. Throws WriteError, like all
  // functions here.
  OutputFile(const base::FileDescriptor& folder, const std::string& name, std::string path);

  void append(base::Bytes bytes);
  void close();  // writes the buffered data
  // Leaves the file as it is: in a forked child it belongs to the parent.
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
